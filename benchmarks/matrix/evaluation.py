"""The process of a tidelog line: `python -m benchmarks.matrix.evaluation WORKLOAD FOLDER MAINTAIN THREADS`, and for
`benchmarks.matrix.changes` a relation behind them, and files of rows to delete and to insert, in turn.

It prints the sizes of the shown relations and the CPU seconds of the first commit and of the transactions as JSON.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import tidelog
from benchmarks import data
from benchmarks.harness import Stopwatch
from benchmarks.matrix.programs import WORKLOADS
from benchmarks.matrix.programs import tidelog as text_of


def evaluate(
    workload: str, folder: Path, maintain: bool, threads: int, changed: str = "", files: Sequence[str] = ()
) -> None:
    """Load the facts of a workload, commit, commit changes of a relation by pairs of files, and print what was
    found."""
    work = WORKLOADS[workload]
    with tidelog.connect() as db:
        db.options(maintain=maintain, threads=threads)
        db.load(text_of(work))
        for name, columns in work.inputs.items():
            db.insert(name, data.numbers(folder / f"{name}.csv", ",", columns))
        with Stopwatch() as commit:
            db.commit()
        with Stopwatch() as transactions:
            for deleted, inserted in zip(files[::2], files[1::2], strict=True):
                _commit(db, changed, Path(deleted), Path(inserted))
        sizes = {name: len(db[name]) for name in work.sizes}
        print(json.dumps({"sizes": sizes, "commit": round(commit.cpu, 2), "changes": round(transactions.cpu, 3)}))


def _commit(db: tidelog.Database, name: str, deleted: Path, inserted: Path) -> None:
    """Commit the rows of two files, and decode all that have changed, as peers do."""
    columns = "".join(column.name for column in db[name].columns)
    db.delete(name, data.numbers(deleted, ",", columns))
    db.insert(name, data.numbers(inserted, ",", columns))
    change = db.commit()
    for each in change:
        _ = change[each].inserted.rows(), change[each].deleted.rows()


if __name__ == "__main__":
    workload, folder, option, threads, *rest = sys.argv[1:]
    evaluate(workload, Path(folder), option == "maintain", int(threads), "".join(rest[:1]), rest[1:])
