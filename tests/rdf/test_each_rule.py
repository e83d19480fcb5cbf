"""Each rule of tables 4 to 9 of OWL 2 RL/RDF: a text has the premises, all of which it needs, and the conclusion."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.rdf.stores import delete, full, insert, stored, terms, triples
from tests.rdf.w3c import Triple
from tidelog.rdf import Store
from tidelog.rdf.tables import table

_TEXT = (Path(__file__).parent / "each_rule.txt").read_text(encoding="utf-8")
_TABLE: list[tuple[str, str, str]] = re.findall(r"^(\S+) +(.+) => (.+)$", _TEXT, re.MULTILINE)
RULES = {name: (premises, conclusion) for name, premises, conclusion in _TABLE if conclusion != "false"}
CLASHES = {name: premises for name, premises, conclusion in _TABLE if conclusion == "false"}
FROM_OTHERS = {"cls-int2", "cls-uni", "cax-eqc1", "cax-eqc2", "prp-eqp1", "prp-eqp2"}
"""Rules that the store does not have, because they follow from others."""


def store_of(asserted: set[Triple]) -> Store:
    return stored(terms(asserted), rules="owl-rl")


def without_each(store: Store, asserted: set[Triple]) -> Iterator[Triple]:
    """Let one premise after the other go and come back: the store is updated, not made anew."""
    gone: list[Triple] = []
    for premise in sorted(asserted):
        delete(store, [premise])
        insert(store, gone)
        store.commit()
        gone = [premise]
        yield premise
    insert(store, gone)
    store.commit()


def test_no_rule_is_left_out() -> None:
    of_store = {rule.name for rule in table("owl-rl") if not rule.name.startswith("list-")}
    of_lists = {"cls-int1", "prp-spo2", "prp-key"}
    assert RULES.keys() | CLASHES.keys() == of_store - {"eq-rep-c"} | of_lists | FROM_OTHERS


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_needs_all_of_its_premises(rule: str) -> None:
    asserted, ((subject, predicate, value),) = map(triples, RULES[rule])
    goal = full(subject), full(predicate), full(value)
    store = store_of(asserted)
    proofs = list(store.explain(*goal, all=True))
    assert all(proof.check() for proof in proofs)
    assert rule in FROM_OTHERS or rule in {proof.steps[-1].rule for proof in proofs}
    for premise in without_each(store, asserted):
        assert not store.contains(*goal), premise
    assert store.contains(*goal)


@pytest.mark.parametrize("rule", CLASHES)
def test_a_contradiction_needs_all_of_its_premises(rule: str) -> None:
    asserted = triples(CLASHES[rule])
    store = store_of(asserted)
    assert rule in {row[0] for row in store.inconsistencies()}
    for row in store.inconsistencies():
        assert store.explain(*row).check()
    for premise in without_each(store, asserted):
        assert rule not in {row[0] for row in store.inconsistencies()}, premise
    assert rule in {row[0] for row in store.inconsistencies()}
