"""A store that runs out of memory: E0503 wherever that shows, never damage, and the folder is as it was."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

import tidelog
from tests.allocations import Budget
from tests.depth import cases, stride
from tidelog.errors import LimitError

PROGRAM = """
.type Pair = [a: symbol, b: number]
.decl e(s: symbol, n: number)
.decl held(p: Pair)
held([s, n]) :- e(s, n), n % 2 = 0.
"""


def facts(first: int, last: int) -> list[tuple[str, int]]:
    return [(f"name{n}", n) for n in range(first, last)]


def held(numbers: Iterable[int]) -> set[object]:
    return {((f"name{n}", n),) for n in numbers}


def filled(folder: Path, epochs: int) -> None:
    """A store with a checkpoint, 200 facts, and as many for each of so many epochs behind it."""
    with tidelog.connect(folder) as db:
        db.load(PROGRAM)
        db.insert("e", facts(0, 200))
        db.commit()
        db.keeper.price = float("inf")  # no other checkpoint
        for epoch in range(epochs):
            db.insert("e", facts(200 * epoch + 200, 200 * epoch + 400))
            db.commit()


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("for_good", [False, True])
def test_a_commit_without_memory(tmp_path: Path, for_good: bool) -> None:
    filled(tmp_path / "s", 0)
    with tidelog.connect(tmp_path / "s") as db:
        db.keeper.price = float("inf")
        db.insert("e", [("first", -1)])  # Kernels and plans are there.
        db.commit()
        before, last, failures = contents(tmp_path / "s"), 1, 0
        db.insert("e", facts(200, 500))
        while True:
            with Budget(last, for_good=for_good):
                try:
                    db.commit()
                except LimitError as error:
                    if error.code != "E0503":
                        raise
                else:
                    break
            failures += 1
            assert contents(tmp_path / "s") == before
            assert len(db["e"]) == 201
            last += stride(4)
        assert failures > cases(16)
        db.check()
    with tidelog.connect(tmp_path / "s") as again:
        assert set(again["held"]) == held(range(0, 500, 2))


def test_a_checkpoint_without_memory(tmp_path: Path) -> None:
    """The epoch is safe without one, and the next has the old one to go on from."""
    filled(tmp_path / "s", 1)
    with tidelog.connect(tmp_path / "s") as db:
        for last in range(1, 400, 13):
            saved = {name for name in contents(tmp_path / "s") if "checkpoints" in name}
            with Budget(last) as budget:
                db.keeper.write_checkpoint(db.engine)
            now = {name for name in contents(tmp_path / "s") if "checkpoints" in name}
            assert now == saved or len(now) == len(saved) == 1
            if not budget.failed:
                break
        assert last > 1
        db.insert("e", facts(400, 600))
        db.commit()
    with tidelog.connect(tmp_path / "s") as again:
        assert set(again["held"]) == held(range(0, 600, 2))
        again.check()


def test_opening_without_memory(tmp_path: Path) -> None:
    filled(tmp_path / "s", 2)
    before, last, failures = contents(tmp_path / "s"), 1, 0
    while True:
        with Budget(last) as budget:
            try:
                tidelog.connect(tmp_path / "s").close()
            except LimitError as error:
                if error.code != "E0503":
                    raise
                failures += 1
                assert contents(tmp_path / "s") == before
        if not budget.failed:
            break
        last += stride(3)
    assert failures > cases(20)
    with tidelog.connect(tmp_path / "s") as again:
        assert set(again["held"]) == held(range(0, 600, 2))
