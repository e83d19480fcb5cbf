"""The time until a user's first answer: `tidelog run` of a ten-line program, as a command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.harness import BenchmarkError, Line, Measured, Options, Run, Target, measure

PROGRAM = """\
.decl parent(x: symbol, y: symbol)
.decl ancestor(x: symbol, y: symbol)
.output ancestor
parent("ann", "bob").
parent("bob", "cid").
parent("cid", "dan").
parent("dan", "eve").
parent("eve", "fay").
ancestor(x, y) :- parent(x, y).
ancestor(x, z) :- ancestor(x, y), parent(y, z).
"""
SIZES = {"ancestor": 15}


def command(cache: str | None, runs: int | None) -> Measured:
    """Run the command with the kernels cached in the folder `cache`, or in their usual place."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "family.dl"
        path.write_text(PROGRAM)
        return measure(lambda: _once(path, cache), runs)


def _once(path: Path, cache: str | None) -> Run:
    environment = dict(os.environ)
    environment.pop("TIDELOG_KERNELS", None)  # which the package of benchmarks sets
    if cache is not None:
        for name in ("NUMBA_CACHE_DIR", "TIDELOG_CACHE_DIR"):
            environment.pop(name, None)
        environment["XDG_CACHE_HOME"] = cache
    words = [sys.executable, "-m", "tidelog", "run", str(path), "-D", "-", "--json"]
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        started = time.perf_counter()
        process = subprocess.Popen(words, env=environment, stdout=output, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        errors.seek(0)
        if process.returncode:
            raise BenchmarkError(f"tidelog run ended with {process.returncode}: {errors.read()[-2000:]}")
        outputs = json.load(output)["outputs"]
    sizes = {name: outputs[name]["rows"] for name in SIZES}
    return Run(sizes, wall, usage.ru_utime + usage.ru_stime, peak=usage.ru_maxrss * 1024)


def lines(options: Options) -> Iterator[Line]:
    """Yield the run with an empty cache, then with the same one filled."""
    with tempfile.TemporaryDirectory() as cache:
        yield Line("first_result", "tidelog run, cold cache", command(cache, 1), SIZES, (Target("seconds", 4),))
        warm = command(cache, options.runs or 7)
        yield Line("first_result", "tidelog run, warm cache", warm, SIZES, (Target("seconds", 0.7),))
