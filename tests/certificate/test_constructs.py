"""Certificates of programs with inline relations, equivalence relations and witnesses: saved, checked and forged."""

from __future__ import annotations

from pathlib import Path

import pytest

import tidelog
from tests.certificate.alter import altered, verdict
from tests.suite import PROGRAMS, loaded


@pytest.mark.parametrize("name", ["equivalences", "inline", "witnesses"])
def test_a_saved_certificate_is_accepted(name: str, tmp_path: Path) -> None:
    loaded((PROGRAMS / f"{name}.dl").read_text("utf-8")).save_certificate(tmp_path / "saved")
    tidelog.check_certificate(tmp_path / "saved")


@pytest.mark.parametrize(
    ("name", "relation", "row"),
    [
        ("equivalences", "alias", ("c", "a")),
        ("equivalences", "equal", ("ffx", "ffy")),
        ("inline", "ones", (8,)),
        ("inline", "others", (3,)),
        ("witnesses", "cheapest", ("b", 2)),
    ],
)
def test_a_tuple_that_is_missing_is_noticed(name: str, relation: str, row: tuple[object, ...]) -> None:
    forged = altered(loaded((PROGRAMS / f"{name}.dl").read_text("utf-8"))).without(relation, row)
    assert verdict(forged) & {"E0801", "E0802"}


@pytest.mark.parametrize(
    ("name", "relation", "row"),
    [
        ("equivalences", "alias", ("d", "a")),
        ("equivalences", "equal", ("fx", "ffy")),
        ("inline", "ones", (3,)),
        ("inline", "others", (8,)),
        ("witnesses", "cheapest", ("a", 2)),
    ],
)
def test_a_tuple_too_many_is_noticed(name: str, relation: str, row: tuple[object, ...]) -> None:
    forged = altered(loaded((PROGRAMS / f"{name}.dl").read_text("utf-8"))).with_row(relation, row)
    assert verdict(forged) & {"E0802", "E0803"}


def test_atoms_that_only_computed_values_connect_are_not_multiplied() -> None:
    calls = 0

    def target(place: int) -> int:
        nonlocal calls
        calls += 1
        return place + 1

    db = tidelog.connect()
    db.load(
        ".functor target(place: number): number .decl jump(x: number) .decl code(x: number) .decl reached(x: number)"
        "reached(x) :- jump(x), code(y), y = @target(x), code(z), z = @target(y)."
    )
    db.functor("target", target)
    db.insert("jump", [(x,) for x in range(100)])
    db.insert("code", [(x,) for x in range(50)])
    db.commit()
    assert len(db["reached"]) == 48
    calls = 0
    db.check()
    assert calls <= 200
