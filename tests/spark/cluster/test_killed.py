"""A driver that is killed (SIGKILL) at every single step that it does on the disk: before an epoch or after it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import tidelog
from tests.spark.cluster.harness import NOTHING_EVERYWHERE, Cluster

PROGRAM = """
.decl e(x: number, y: number)
.decl t(x: number, y: number)
.decl name(x: number, s: symbol)
.decl joined(s: symbol)
t1: t(x, y) :- e(x, y).
t2: t(x, z) :- t(x, y), t(y, z).
joined(cat(s, r)) :- t(x, y), name(x, s), name(y, r).
"""

DRIVER = """
import importlib, itertools, os, shutil, signal, sys
from pathlib import Path
from tests.spark.cluster.harness import NOTHING_EVERYWHERE, Cluster

folder, story = Path(sys.argv[1]), importlib.import_module(sys.argv[2])
change, filled, reopened = story.change, story.filled, story.reopened
with Cluster(2, NOTHING_EVERYWHERE, folder / "before") as db:
    filled(db)
steps = {"os.rename", "os.remove"}  # before the first there is half a file, or a whole one under another name
for moment in itertools.count():
    here = shutil.copytree(folder / "before", folder / f"{moment:03}")
    process = os.fork()
    if not process:
        db = reopened(here)
        left = moment
        def kill(event, arguments):
            global left
            if event in steps and str(arguments[0]).startswith(str(here)):
                if left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                left -= 1
        sys.addaudithook(kill)
        change(db)
        os._exit(7)
    _, status = os.waitpid(process, 0)
    if os.waitstatus_to_exitcode(status) == 7:
        break
    assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL
"""


def killed(folder: Path, story: str) -> list[Path]:
    """Return a folder for each step of the `change` of a module, after whose first part the driver was killed."""
    command = [sys.executable, "-c", DRIVER, str(folder), story]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return sorted(folder.glob("[0-9]*"))


def filled(db: Cluster | tidelog.Database) -> None:
    db.load(PROGRAM)
    db.insert("e", [(1, 2), (2, 3), (3, 1), (4, 5), (5, 6)])
    db.insert("name", [(i, f"n{i}") for i in range(7)])
    db.commit()


def change(db: Cluster | tidelog.Database) -> None:
    db.insert("e", [(3, 4)])
    db.delete("e", [(3, 1)])
    db.rules.add("more: joined(s) :- name(_, s), !t(1, 1).")
    db.commit()


def reopened(folder: Path) -> Cluster:
    db = Cluster(2, NOTHING_EVERYWHERE, folder)
    db.load(PROGRAM)
    db.workspace.settle(db.workspace.draft())
    return db


def views(of: Any, *doings: Any) -> dict[str, set[Any]]:
    for do in doings:
        do(of)
    return (
        {name: set(of[name]) for name in of.workspace.program.relations}
        if isinstance(of, Cluster)
        else {name: set(of[name]) for name in of.relations}
    )


def test_a_driver_killed_at_every_step_on_the_disk(tmp_path: Path) -> None:
    """Another driver finds the epoch done or undone, nothing else in the folder, and can do it (again)."""
    before, after = views(tidelog.connect(), filled), views(tidelog.connect(), filled, change)
    found = []
    for folder in killed(tmp_path, __name__):
        with reopened(folder) as db:
            held = db.views()
            assert held in (before, after)
            found.append(held == after)
            assert not list(folder.glob("*.part"))
            change(db)
            assert db.views() == after
    assert found == sorted(found)
    assert found.count(False) > 15
    assert found.count(True) > 1
