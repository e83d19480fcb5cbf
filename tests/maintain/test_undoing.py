"""Taking an epoch back loads and compiles no kernel: where it is needed, the disk may be full and memory gone."""

from __future__ import annotations

import subprocess
import sys

import pytest

FAILING = """
import tidelog
from tidelog.kernels.calling import Kernel
from tidelog.maintain.epoch import EpochState

late, taking_back, load, undo = [], [], Kernel.ready, EpochState.undo

def loaded(self, *arguments):
    if taking_back:
        late.append(self.name)
    return load(self, *arguments)

def undone(self):
    taking_back.append(True)
    undo(self)
    taking_back.clear()

Kernel.ready, EpochState.undo = loaded, undone
db = tidelog.connect()
db.rules.add({program!r})
db.options(strategy="update")
db.insert("e", [(1, 2), (2, 3), (3, 1), (5, 6)])
db.commit()
db.insert("e", [(3, 4), (4, 5)])
db.delete("e", [(1, 2), (5, 6)])
db.options(max_rows=1)
try:
    db.commit()
except tidelog.LimitError:
    print("taken back", *late)
"""
PROGRAMS = {
    "recursion": ".decl e(x: number, y: number) .decl t(x: number, y: number) t(x, y) :- e(x, y), x < 99. "
    "t(x, z) :- t(x, y), e(y, z), z < 99.",
    "closure": ".decl e(x: number, y: number) .decl t(x: number, y: number) t(x, y) :- e(x, y). "
    "t(x, z) :- t(x, y), t(y, z).",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_is_loaded_to_take_an_epoch_back(name: str) -> None:
    command = [sys.executable, "-c", FAILING.format(program=PROGRAMS[name])]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "taken back\n"
