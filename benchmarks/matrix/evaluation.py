"""The process of a tidelog line: `python -m benchmarks.matrix.evaluation WORKLOAD FOLDER MAINTAIN THREADS`.

It prints the sizes of the shown relations and the CPU seconds of the commit as JSON.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import tidelog
from benchmarks import data
from benchmarks.harness import Stopwatch
from benchmarks.matrix.programs import WORKLOADS
from benchmarks.matrix.programs import tidelog as text_of


def evaluate(workload: str, folder: Path, maintain: bool, threads: int) -> None:
    """Load the facts of a workload, commit, and print what was found."""
    work = WORKLOADS[workload]
    with tidelog.connect() as db:
        db.options(maintain=maintain, threads=threads)
        db.load(text_of(work))
        for name, columns in work.inputs.items():
            db.insert(name, data.numbers(folder / f"{name}.csv", ",", columns))
        with Stopwatch() as commit:
            db.commit()
        print(json.dumps({"sizes": {name: len(db[name]) for name in work.sizes}, "commit": round(commit.cpu, 2)}))


if __name__ == "__main__":
    evaluate(sys.argv[1], Path(sys.argv[2]), sys.argv[3] == "maintain", int(sys.argv[4]))
