"""A store of triples that runs out of memory: E0503 in every call, a commit has not happened, and the next is right."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.allocations import Budget
from tests.rdf.stores import everything, insert, stored, terms, triples
from tidelog.errors import LimitError
from tidelog.rdf import Store

BEFORE = triples(":Dog rdfs:subClassOf :Mammal; :rex rdf:type :Dog")
MORE = triples(":Mammal rdfs:subClassOf :Animal; :rex :likes :mia; :likes rdfs:subPropertyOf :knows")
AFTER = triples(":Dog rdfs:subClassOf :Animal; :rex rdf:type :Mammal; :rex rdf:type :Animal; :rex :knows :mia")


def filled() -> Store:
    return stored(terms(BEFORE), rules="owl-rl")


def fits(call: Callable[[], object], budget: Budget) -> bool:
    """Return True if a call ends within a budget; raise all errors but E0503."""
    try:
        with budget:
            call()
    except LimitError as error:
        if error.code != "E0503":
            raise
        return False
    return True


def test_a_commit_without_memory() -> None:
    census, store = Budget(0, blocks=False), filled()
    before = everything(store)
    insert(store, MORE)
    assert fits(store.commit, census)
    lines = [line for line in census.lines if line.startswith("rdf/")]
    store, failures = filled(), 0
    budgets = [*(Budget(1, blocks=False, line=line) for line in lines), *(Budget(last) for last in range(1, 700, 111))]
    for budget in budgets:
        insert(store, MORE)
        if fits(store.commit, budget):
            assert everything(store) >= BEFORE | MORE | AFTER
            store = filled()
            continue
        failures += 1
        assert everything(store) == before
        store.rollback()
        assert everything(store) == before
    assert failures > 5
    insert(store, MORE)
    store.commit()
    assert everything(store) == BEFORE | MORE | AFTER
    store.check()


@pytest.mark.parametrize(
    "call",
    [
        lambda store: store.insert("<http://a/a> <http://a/b> <http://a/c> .", "ntriples"),
        list,
        len,
        lambda store: list(store.inferred()),
        lambda store: list(store.query("triple(s, p, o)")),
        lambda store: store.to_text("nquads"),
    ],
)
def test_calls_without_memory(call: Callable[[Store], object]) -> None:
    store = filled()
    before = everything(store)
    for last in range(1, 40, 3):
        fits(lambda: call(store), Budget(last))
        store.rollback()
    assert everything(store) == before
