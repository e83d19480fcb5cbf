"""Certificates of relations with choice-domains: each right choice is accepted, and nothing else."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import tidelog
from tests.certificate.alter import altered, judged, verdict
from tests.certificate.test_random import corruptions
from tests.choosing import FAMILIES, Judged, script_for
from tests.depth import cases
from tests.generate import Row
from tests.suite import FIRST_SEED, loaded
from tidelog.certificate import check

PROGRAM = """
.decl edge(x: symbol, y: symbol)
.decl tree(x: symbol, parent: symbol) choice-domain x
.decl pair(x: symbol, y: symbol) choice-domain x, y
edge("a", "b"). edge("a", "c"). edge("b", "d"). edge("c", "d"). edge("d", "e"). edge("e", "f").
tree("a", "").
tree(y, x) :- tree(x, _), edge(x, y).
pair(x, y) :- edge(x, y).
pair("f", "z").
"""


def test_a_saved_certificate_is_accepted(tmp_path: Path) -> None:
    db = loaded(PROGRAM)
    db.delete("edge", [("b", "d")])
    db.commit()
    db.save_certificate(tmp_path / "saved")
    tidelog.check_certificate(tmp_path / "saved")


def test_another_right_choice_is_accepted_too() -> None:
    sound = altered(loaded(PROGRAM))
    birth = sound.views["tree"][("d", "b")]
    assert verdict(sound.without("tree", ("d", "b")).with_row("tree", ("d", "c"), birth)) == set()


@pytest.mark.parametrize(
    ("relation", "without", "added", "codes"),
    [
        ("tree", None, ("d", "c"), {"E0805"}),
        ("tree", ("f", "e"), None, {"E0802"}),
        ("tree", ("e", "d"), None, {"E0802", "E0803"}),
        ("tree", ("d", "b"), ("d", "e"), {"E0803"}),
        ("tree", None, ("g", "a"), {"E0803"}),
        ("tree", ("a", ""), None, {"E0801", "E0803"}),
        ("pair", None, ("c", "b"), {"E0803", "E0805"}),
        ("pair", ("b", "d"), None, {"E0802"}),
        ("pair", ("b", "d"), ("c", "d"), set()),
        ("pair", ("f", "z"), None, {"E0801"}),
    ],
)
def test_forged_choices(relation: str, without: Row | None, added: Row | None, codes: set[str]) -> None:
    """Two tuples of a key, a tuple that is missing though it is free, one without a derivation, and right ones."""
    changed = altered(loaded(PROGRAM))
    changed = changed if without is None else changed.without(relation, without)
    changed = changed if added is None else changed.with_row(relation, added, 90)
    assert verdict(changed) == judged(changed) == codes


def test_messages_say_what_is_wrong() -> None:
    sound = altered(loaded(PROGRAM))
    with pytest.raises(tidelog.CertificateRejected, match="another tuple of the same key") as raised:
        check(sound.with_row("tree", ("d", "c"), 90).certificate())
    assert "keep one tuple of each key" in str(raised.value)


@pytest.mark.parametrize("family", FAMILIES)
def test_random_scripts(family: str) -> None:
    for seed in range(FIRST_SEED, FIRST_SEED + cases(2)):
        script = script_for(seed * len(FAMILIES) + list(FAMILIES).index(family) + 70_000)
        follower = Judged(script, ("update", "auto", "bootstrap")[seed % 3])
        for epoch in script.epochs:
            follower.follow(epoch)
        sound = altered(follower.db)
        assert verdict(sound) == set(), script
        for label, changed in corruptions(sound, random.Random(seed)):
            assert verdict(changed) == judged(changed), f"{label}\n{script}"


def test_facts_of_a_relation_that_chooses_and_has_groups_in_its_recursion() -> None:
    """Such facts are in a relation of their own, which a certificate keeps."""
    db = loaded(
        """
        .decl e(x: number, y: number)
        .decl k(x: number, y: number) choice-domain x
        .decl t(x: number, y: number)
        e(1, 2). e(2, 3). e(2, 1).
        k(5, 1).
        k(x, y) :- t(x, y).
        t(y, z) :- k(x, z), e(x, y), 0 <= count : { e(w, _), w >= z }.
        t(x, y) :- e(x, y).
        """
    )
    assert ("k", "#facts.k") in db.engine.program.candidates.items()
    db.check()
    db.delete("k", [(5, 1)])
    db.commit()
    assert not [row for row in db["k"] if row[0] == 5]
    db.check()
