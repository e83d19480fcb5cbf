"""What a new user waits for: a wheel of `make wheel`, installed where tidelog never was, and its first answers.

Each line begins in an environment and with a folder of caches of its own. Without a wheel in dist/ there are no lines.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.harness import ROOT, BenchmarkError, Line, Measured, Options, Run, Target, measure

EDGES = 100_000
LIBRARY = f"""
import time, tidelog
db = tidelog.connect()
db.load('''.decl edge(x: number, y: number)
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).''')
db.insert("edge", [(i, i + 1) for i in range({EDGES} + {EDGES} // 9) if i % 10 < 9][:{EDGES}])
started = time.perf_counter(), time.process_time()
db.commit()
first = time.perf_counter(), time.process_time()
db.delete("edge", [(4, 5)])
db.commit()
print(len(db["path"]), first[0] - started[0], first[1] - started[1], time.perf_counter() - first[0],
      time.process_time() - first[1])
"""
"""Paths over chains of ten nodes, and one edge less."""
PATHS = EDGES // 9 * 45 + 1 - 25


def program(relations: int) -> str:
    """Return a program of so many relations, a third of them inputs, and as many rules as others: each of these joins
    the one before it with an input."""
    inputs = relations // 3
    text = [f".decl r{i}(x: number, y: number)" for i in range(relations)]
    text += [f".input r{i}" for i in range(inputs)]
    text += [f"r{i}(x, z) :- r{i - 1}(x, y), r{i % inputs}(y, z)." for i in range(inputs, relations)]
    return "\n".join([*text, f".output r{relations - 1}"])


def lines(options: Options) -> Iterator[Line]:
    """Yield the first commit and the first deletion, then small runs on the command line, first and again."""
    wheels = sorted((ROOT / "dist").glob("tidelog-*-manylinux*.whl"), key=lambda path: path.stat().st_mtime)
    if not wheels:
        raise BenchmarkError("there is no wheel in dist/: run `make wheel`")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _run([sys.executable, "-m", "venv", str(folder / "env")], folder)
        _run(
            [
                str(folder / "env/bin/pip"),
                "install",
                "--quiet",
                "--constraint",
                str(ROOT / "constraints.txt"),
                str(wheels[-1]),
            ],
            folder,
        )
        yield from _library(folder)
        yield from _small(folder, options, 15, 100, ((Target("seconds", 1),), (Target("seconds", 0.5),)))
        yield from _small(folder, options, 30, 1_000, ((), (Target("seconds", 0.6), Target("bytes", 120e6))))


def _small(
    folder: Path, options: Options, relations: int, facts: int, targets: tuple[tuple[Target, ...], ...]
) -> Iterator[Line]:
    place = folder / str(relations)
    place.mkdir()
    (place / "p.dl").write_text(program(relations))
    inputs = relations // 3
    for name in range(inputs):
        rows = (f"{i}\t{(i + 1 + name) % (facts // inputs)}\n" for i in range(facts // inputs))
        (place / f"r{name}.facts").write_text("".join(rows))
    command = [str(folder / "env/bin/tidelog"), "run", str(place / "p.dl"), "-F", str(place), "-D", "-", "--json"]
    for when, runs, bounds in zip(("first", "again"), (1, options.runs or 7), targets, strict=True):
        measured = measure(lambda: _command(command, place / "caches"), runs)
        what = f"tidelog run, {relations - inputs} rules, {facts:,} facts, {when}"
        yield Line("first_contact", what, measured, {}, bounds)


def _library(folder: Path) -> Iterator[Line]:
    out, usage = _run([str(folder / "env/bin/python"), "-c", LIBRARY], folder / "caches")
    paths, *seconds = map(float, out.split())
    for i, (what, bound) in enumerate(((f"commit of {EDGES:,} edges", 2), ("deletion of one of them", 1))):
        wall, cpu = seconds[2 * i : 2 * i + 2]
        measured = Measured({"path": int(paths)}, wall, cpu, {}, 1, usage.ru_maxrss * 1024)
        yield Line("first_contact", f"first {what}", measured, {"path": PATHS}, (Target("seconds", bound),))


def _command(command: Sequence[str], cache: Path) -> Run:
    started = time.perf_counter()
    out, usage = _run(command, cache)
    sizes = {name: output["rows"] for name, output in json.loads(out)["outputs"].items()}
    return Run(sizes, time.perf_counter() - started, usage.ru_utime + usage.ru_stime, peak=usage.ru_maxrss * 1024)


def _run(command: Sequence[str], cache: Path) -> tuple[str, resource.struct_rusage]:
    """Run a command with a folder of caches; return its output and what it used."""
    leave_out = ("TIDELOG_KERNELS", "NUMBA_CACHE_DIR", "TIDELOG_CACHE_DIR", "PYTHONPATH")
    environment = {name: value for name, value in os.environ.items() if name not in leave_out}
    environment["XDG_CACHE_HOME"] = str(cache)
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=errors, cwd=cache.parent)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        errors.seek(0)
        if process.returncode:
            raise BenchmarkError(f"{command[0]} ended with {process.returncode}: {errors.read()[-2000:]}")
        return output.read(), usage
