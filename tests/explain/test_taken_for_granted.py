"""A check of a proof says all that it takes for granted, and takes no value for another one."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import tidelog
from tests.suite import loaded
from tidelog.errors import DataError, ProofRejected
from tidelog.explain.checking import OpenTuple
from tidelog.explain.proof import Proof
from tidelog.explain.steps import ProofStep

CHAIN = ".decl e(x: number, y: number)\n.decl t(x: number, y: number)\n.decl s(x: number)\ns(x) :- t(x, 3), x > 0.\n"
RULES = "t(x, y) :- e(x, y).\nt(x, z) :- e(x, y), e(y, z).\n"


def explained() -> tuple[tidelog.Database, Proof]:
    db = loaded(CHAIN + RULES, {"e": [(1, 2), (2, 3)]})
    return db, db.explain("s", (1,))


def partial(proof: Proof) -> Proof:
    """The proof with its derived premise left open, as a limit would do it."""
    goal = proof.steps[-1]
    premise = proof.steps[goal.premises[0]]
    rest = ProofStep(premise.relation, premise.values, "open")
    return replace(proof, steps=(rest, replace(goal, premises=(0,), height=1)))


def test_open_tuples_are_named_and_looked_up_where_that_is_possible() -> None:
    db, proof = explained()
    assert proof.check().open == ()
    cut = partial(proof)
    without, looked_up = cut.check(), cut.check(db)
    assert without.open == without.granted == (OpenTuple("t", (1, 3), False),)
    assert [each.text for each in without.granted] == ["t(1, 3)"]
    assert looked_up.open == (OpenTuple("t", (1, 3), True),)
    assert looked_up.granted == ()


def test_an_open_tuple_that_is_not_there_is_rejected() -> None:
    db, proof = explained()
    db.delete("e", [(2, 3)])
    db.commit()
    with pytest.raises(ProofRejected):
        partial(proof).check(db)


def test_a_proof_that_shows_nothing_is_rejected() -> None:
    db, proof = explained()
    invented = replace(proof, steps=(ProofStep("s", (77,), "open"),))
    empty = replace(proof, steps=())
    for each in (invented, empty):
        for database in (None, db):
            with pytest.raises(ProofRejected):
                each.check(database)


@pytest.mark.parametrize("value", [1.0, True])
def test_other_types_are_other_values(value: Any) -> None:
    """In each step that has the number 1, and in all of them together."""
    db, proof = explained()

    def forged(step: ProofStep) -> ProofStep:
        return replace(step, values=tuple(value if each == 1 else each for each in step.values))

    having = [i for i, step in enumerate(proof.steps) if 1 in step.values]
    for places in (*([i] for i in having), having):
        steps = tuple(forged(step) if i in places else step for i, step in enumerate(proof.steps))
        for database in (None, db):
            with pytest.raises(ProofRejected):
                replace(proof, steps=steps).check(database)


@pytest.mark.parametrize(
    "change",
    [
        lambda manifest: manifest.update(more=1),
        lambda manifest: manifest.update(whole=[]),
        lambda manifest: manifest.update(whole=["nothing"]),
        lambda manifest: manifest.update(whole=["e"]),
        lambda manifest: manifest["relations"][0].update(more=1),
        lambda manifest: manifest["relations"][0]["columns"][0].update(more=1),
    ],
)
def test_a_manifest_has_nothing_but_what_the_program_determines(
    change: Callable[[dict[str, Any]], object], tmp_path: Path
) -> None:
    db, _ = explained()
    db.save_certificate(tmp_path / "c")
    tidelog.check_certificate(tmp_path / "c")
    manifest = json.loads((tmp_path / "c/manifest.json").read_text())
    change(manifest)
    (tmp_path / "c/manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(DataError):
        tidelog.check_certificate(tmp_path / "c")
