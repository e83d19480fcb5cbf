"""One measurement in a process of its own, with a limit on time and memory."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from benchmarks.harness import ROOT, BenchmarkError

TIME, MEMORY = "time", "memory"


def apart(function: Callable[..., dict[str, Any]], *arguments: Any, seconds: float, memory: int) -> dict[str, Any]:
    """Return the result of a module's function in a new process, or only "stopped" with TIME or MEMORY.

    Not all peers stop by themselves, so a process is killed after so many seconds, and gets no more address space than
    `memory` bytes. Raise BenchmarkError with its output if it failed for another reason.
    """
    name = f"{function.__module__}:{function.__name__}"
    command = [sys.executable, "-m", "benchmarks.elastic.processes", name, json.dumps(arguments)]

    def confine() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))

    try:
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=seconds, preexec_fn=confine
        )
    except subprocess.TimeoutExpired:
        return {"stopped": TIME, "cpu": seconds, "wall": seconds}
    if done.returncode:
        said = done.stderr.strip()
        if done.returncode < 0 or "memory allocation" in said or "MemoryError" in said:
            return {"stopped": MEMORY}
        raise BenchmarkError(f"{name}{arguments} ended with {done.returncode}: {said[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found
