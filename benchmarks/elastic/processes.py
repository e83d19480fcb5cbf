"""One measurement in a process of its own, so that its memory is its own. A measurement returns JSON."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any, TypeVar

from benchmarks.harness import ROOT, BenchmarkError

Result = TypeVar("Result")


def apart(function: Callable[..., Result], *arguments: Any) -> Result:
    """Call a function of a module in a new process. Raise BenchmarkError with the output of the process if it fails."""
    name = f"{function.__module__}:{function.__name__}"
    command = [sys.executable, "-m", "benchmarks.elastic.processes", name, json.dumps(arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BenchmarkError(f"{name}{arguments} ended with {done.returncode}: {done.stderr.strip()[-2000:]}")
    found: Result = json.loads(done.stdout.splitlines()[-1])
    return found


def main(name: str, arguments: str) -> None:
    """Call the function and print its result."""
    module, _, function = name.partition(":")
    print(json.dumps(getattr(importlib.import_module(module), function)(*json.loads(arguments))))


if __name__ == "__main__":
    main(*sys.argv[1:])
