"""A certificate without memory, a disk or an end: it is written and checked whole, or there is nothing of it."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tidelog
from tests.allocations import Budget
from tests.memory_stories import fingerprint
from tests.pressing import pressed, presses
from tidelog.certificate import CertifiedRows, PartedCertificate, save
from tidelog.errors import LimitError, UsageError
from tidelog.limits.watch import Watch

PROGRAM = """
.type Pair = [name: symbol, number: number]
.type List = [first: Pair, rest: List]
.decl e(s: symbol, n: number)
.decl pairs(p: Pair)
.decl lists(l: List)
.decl other(x: float, y: unsigned)
pairs([s, n]) :- e(s, n), n % 2 = 0.
lists([[s, n], nil]) :- e(s, n).
other(to_float(n), to_unsigned(n)) :- e(_, n).
"""


@pytest.fixture(scope="module")
def db() -> tidelog.Database:
    made = tidelog.connect()
    made.load(PROGRAM)
    made.insert("e", [(f"a name of {n}" * 9, n) for n in range(120)])
    made.commit()
    return made


def below(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*"))


@pytest.mark.parametrize(("for_good", "step"), [(False, 5), (True, 5)])
def test_saving_without_memory(db: tidelog.Database, tmp_path: Path, for_good: bool, step: int) -> None:
    before, failures, last = fingerprint(db), 0, 1
    while True:
        folder = tmp_path / str(last)
        with Budget(last, for_good=for_good) as budget:
            try:
                db.save_certificate(folder)
            except LimitError as error:
                if error.code != "E0503":
                    raise
                failures += 1
                assert not folder.exists()
        assert fingerprint(db) == before
        if not budget.failed:
            break
        last += step
    assert failures > 10
    tidelog.check_certificate(folder)


def test_checking_without_memory(db: tidelog.Database, tmp_path: Path) -> None:
    """Nothing is known then: E0503, and never that the certificate is wrong."""
    db.save_certificate(tmp_path / "c")
    failures, last = 0, 1
    while True:
        with Budget(last) as budget:
            try:
                tidelog.check_certificate(tmp_path / "c")
            except LimitError as error:
                if error.code != "E0503":
                    raise
                failures += 1
        if not budget.failed:
            break
        last += 1 if last < 12 else 37
    assert failures > 20


def test_ctrl_c_while_saving(db: tidelog.Database, tmp_path: Path) -> None:
    for number, attempt in enumerate(presses("certificate/folder.py", every=17)):
        folder = tmp_path / str(number)
        if number % 2:
            folder.mkdir()
        if pressed(attempt, partial(db.save_certificate, folder)) and (folder / "manifest.json").exists():
            tidelog.check_certificate(folder)  # It was done already.
        elif attempt.stopped:
            assert folder.exists() == bool(number % 2), attempt.place
            assert below(folder) == [], attempt.place
    tidelog.check_certificate(folder)
    assert number > 10


@pytest.mark.parametrize("is_there", [True, False])
def test_a_full_disk(db: tidelog.Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_there: bool) -> None:
    write: Callable[..., int] = Path.write_text

    def full(path: Path, *arguments: str, **options: str) -> int:
        if path.name == "manifest.json":
            write(path, "{")
            raise OSError(28, "No space left on device")
        return write(path, *arguments, **options)

    monkeypatch.setattr(Path, "write_text", full)
    folder = tmp_path / "c"
    if is_there:
        folder.mkdir()
    with pytest.raises(UsageError, match=r"E0816.*No space left"):
        db.save_certificate(folder)
    assert folder.exists() == is_there
    assert below(tmp_path) == ["c"] * is_there


def test_rows_that_come_in_parts_are_written_part_by_part(tmp_path: Path) -> None:
    """However many there are, memory holds one part, and the one before while its successor is made."""
    small = tidelog.connect()
    small.load(".decl n(x: number)\n")
    small.commit()
    with small._certificate_to_save(Watch()) as whole:
        own = whole
    alive: list[int] = []
    taken: list[int] = []
    seen: list[weakref.ref[Any]] = []

    def parts(name: str, part: str) -> Iterator[CertifiedRows]:
        for number in range(30):
            rows = np.arange(20_000).reshape(-1, 1) + 20_000 * number
            seen.append(weakref.ref(rows))
            alive.append(sum(each() is not None for each in seen))
            taken.append(pa.total_allocated_bytes())
            yield rows, np.zeros(len(rows), np.int64) if part == "views" else None

    parted = PartedCertificate(own.program, own.dictionary, own.place, parts)
    before = pa.total_allocated_bytes()
    save(parted, ".decl n(x: number)\n", tmp_path / "c")
    assert (len(alive), max(alive)) == (60, 2)
    assert max(taken) - before < 20 * 160_000, "bytes of a tenth of the rows"
    tidelog.check_certificate(tmp_path / "c")
