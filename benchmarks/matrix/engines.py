"""The engines of the matrix: what each needs for a workload, the process that evaluates it, and what that takes.

Peers are looked for in the folder that TIDELOG_PEERS names, each as it is built from its sources: `souffle/build/src`,
`flowlog/target/release` and `datatoad/target/release`.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.harness import ROOT, BenchmarkError
from benchmarks.matrix import programs
from benchmarks.matrix.programs import WORKLOADS
from benchmarks.matrix.usage import Usage

_LIMIT = 300.0
"""Seconds of wall time for a process, which is killed then."""
_LAUNCHER = """
import os, sys
_, status, used = os.wait4(os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ), 0)
print()
print(os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, used.ru_maxrss)
"""
"""A small process starts the evaluation: the peak of a process is at least what the one had that started it."""


Prepare = Callable[[str, Path, Path], Sequence[object] | None]
"""Return the command that evaluates a workload over the facts in a folder, with files of its own in another folder;
None if the engine has no program for it."""


@dataclass(frozen=True)
class Engine:
    """An engine: how to prepare a workload, and what the line of a relation in its output looks like, with `NAME` for
    its name and a group for its size. Where an engine `adds`, there is a line for each transaction, with the rows that
    it adds; the group has the number of the transaction before them. `seconds` is the line with the CPU seconds that
    count, by default all of the process."""

    prepare: Prepare
    line: str
    adds: bool = False
    seconds: str = ""


def engines(threads: int) -> dict[str, Engine]:
    """Return tidelog without and with maintenance, and those peers that are there."""
    found = {
        name: Engine(partial(_tidelog, option, threads), r'"NAME": (\d+)')
        for name, option in (("tidelog", "once"), ("tidelog, maintained", "maintain"))
    }
    folder = peers()
    souffle = folder / "souffle/build/src/souffle"
    compiler = folder / "flowlog/target/release/flowlog-compiler"
    datatoad = folder / "datatoad/target/release/datatoad"
    if souffle.exists():
        found["Soufflé compiled"] = Engine(partial(_souffle, souffle, threads), r"\bNAME\t(\d+)")
    if compiler.exists():
        found["FlowLog"] = Engine(partial(_flowlog, compiler, threads), r"\bNAME\b[^\n\d]*?[\s:\]=]+([\d,]+)")
    if datatoad.exists():
        found["datatoad"] = Engine(partial(_datatoad, datatoad, threads), r"(\d+) NAME\s")
    return found


def peers() -> Path:
    """Return the folder of the peers."""
    return Path(os.environ.get("TIDELOG_PEERS", "/nowhere"))


def evaluate(engine: Engine, workload: str, facts: Path, folder: Path) -> Usage | None:
    """Evaluate a workload, in a process of its own; return None if the engine has no program for it."""
    command = engine.prepare(workload, facts, folder)
    if command is None:
        return None
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-S", "-E", "-c", _LAUNCHER, *map(str, command)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=_LIMIT)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return Usage(_LIMIT, _LIMIT, 0, {})
    wall = time.perf_counter() - started
    status, cpu, peak = output.splitlines()[-1].split()
    shown = {name: re.findall(engine.line.replace("NAME", name), output) for name in WORKLOADS[workload].sizes}
    sizes = {name: _size(found if engine.adds else found[:1]) for name, found in shown.items() if found}
    counted = re.search(engine.seconds, output) if engine.seconds else None
    return Usage(float(counted[1] if counted else cpu), wall, int(peak) * 1024, sizes if status == "0" else {})


def _size(found: Sequence[str]) -> int:
    """Return the sum of the numbers at the ends of texts, each text once: an engine repeats what has not changed."""
    return sum(int(re.split(r"[ =]", text)[-1].replace(",", "")) for text in set(found))


def _tidelog(option: str, threads: int, workload: str, facts: Path, folder: Path) -> Sequence[object]:
    return [sys.executable, "-m", "benchmarks.matrix.evaluation", workload, facts, option, threads]


def _souffle(souffle: Path, threads: int, workload: str, facts: Path, folder: Path) -> Sequence[object]:
    program = folder / "souffle"
    if not program.exists():
        text = folder / "souffle.dl"
        text.write_text(programs.souffle(WORKLOADS[workload]))
        build([souffle, "-w", "-o", program, text], folder)
    return [program, "-F", facts, "-D", folder, "-j", threads]


def _flowlog(compiler: Path, threads: int, workload: str, facts: Path, folder: Path) -> Sequence[object]:
    program = folder / "flowlog"
    if not program.exists():
        text = folder / "flowlog.dl"
        text.write_text(programs.flowlog(WORKLOADS[workload]))
        command = [compiler, text, "-F", facts, "-D", "-", "-o", program, "--mode", "datalog-batch"]
        build([*command, "-B", folder.parent / "crate"], folder)
    return [program, "-w", threads]


def _datatoad(datatoad: Path, threads: int, workload: str, facts: Path, folder: Path) -> Sequence[object] | None:
    text = programs.datatoad(WORKLOADS[workload], facts)
    if text is None:
        return None
    (folder / "datatoad.dt").write_text(text)
    return [datatoad, "-w", threads, folder / "datatoad.dt"]


def build(command: Sequence[object], folder: Path) -> None:
    """Run the compiler of a peer in a folder. Raise BenchmarkError."""
    done = subprocess.run([str(word) for word in command], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BenchmarkError(f"{command[0]} ended with {done.returncode}: {(done.stdout + done.stderr)[-2000:]}")
