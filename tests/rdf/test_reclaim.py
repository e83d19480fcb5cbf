"""Stores of triples give back the symbols that nothing refers to, and no triple changes its terms."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

import tidelog
from tests.maintain.churn import reclaiming_always
from tests.rdf.random_ontologies import triple as random_triple
from tests.rdf.stores import EXAMPLE, clashes, full
from tidelog.rdf import TYPE, Store, connect, data
from tidelog.rdf.terms import PREFIXES
from tidelog.storage import dictionary

RULES = """
@prefix : <http://example.org/> .
.decl named(x: symbol, y: symbol)
named(x, cat("name of ", x)) :- :p(x, _).
:q(x, y) :- :p(x, z), :p(z, y).
"""


@pytest.fixture
def eager() -> Iterator[None]:
    """Words are looked through before every epoch."""
    with reclaiming_always():
        yield


def fresh(rng: random.Random) -> tuple[str, ...]:
    """A triple: some are of the schema, most are about terms that come once; some objects are literals."""
    if rng.random() < 0.3:
        return tuple(map(full, random_triple(rng, 0.1)))
    one, other = (f"{EXAMPLE}i{rng.randrange(10_000)}" for _ in range(2))
    match rng.randrange(3):
        case 0:
            return one, TYPE, EXAMPLE + rng.choice("ABCXY")
        case 1:
            return one, EXAMPLE + rng.choice("pqr"), f'"value {rng.randrange(10_000)}"'
        case _:
            return one, EXAMPLE + rng.choice("pqr"), other


def shown(store: Store) -> tuple[Any, ...]:
    """Everything that a store shows."""
    return set(store.triples()), set(store.inferred()), set(store["named"]), clashes(store)


def test_literals_are_told_apart_among_words_that_were_given_back(eager: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A large answer looks at all symbols at once, between which there are words without a text."""
    monkeypatch.setattr(data, "_FEW", 0)
    store = connect()
    for step in range(4):
        for number in range(300):
            store.insert([(f"{EXAMPLE}i{number}", f"{EXAMPLE}p", f'"{step} {number}"')])
        if step:
            for number in range(0, 300, 2):
                store.delete([(f"{EXAMPLE}i{number}", f"{EXAMPLE}p", f'"{step - 1} {number}"')])
        store.commit()
    assert len(set(store.triples())) == 300 + 3 * 150


@pytest.mark.parametrize(("seed", "few"), [(0, 0), (1, 4096)])
def test_churn_shows_what_a_store_shows_that_keeps_all_words(
    seed: int, few: int, eager: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Terms are decoded one by one, or by copies of all symbols."""
    monkeypatch.setattr(dictionary, "_BULK", few)
    monkeypatch.setattr(data, "_FEW", few)
    rng, there = random.Random(seed), set[Any]()
    held: list[tuple[Any, Any]] = []
    sparing, plain = (connect(rules=["owl-rl", RULES]) for _ in range(2))
    plain.database.dictionary  # noqa: B018 - who has asked for it keeps all words
    for step in range(14):
        gone = {each for each in there if rng.random() < 0.5}
        came = {fresh(rng) for _ in range(12)}
        there = there - gone | came
        wasted = [fresh(rng) for _ in range(5)]
        changes = []
        for store in (sparing, plain):
            store.insert(wasted)
            store.rollback()
            store.delete(list(gone))
            if step % 5 == 3:  # What waits, waits on while the commit fails.
                store.options(max_rows=1)
                with suppress(tidelog.LimitError):
                    store.commit()
                store.options(max_rows=None)
            store.insert(list(came))
            changes.append(store.commit())
        assert shown(sparing) == shown(plain)
        if step % 2:
            answer = sparing.triples(predicate=TYPE)
            held += [(answer, set(answer)), (changes[0], None)]
            if step % 4 == 1:
                assert set(changes[0].inserted) == set(changes[1].inserted)
            held.append((changes, [set(part) for part in (changes[1].inserted, changes[1].deleted)]))
        del held[:-6]
        for kept, before in held:
            if isinstance(kept, list):
                assert [set(kept[0].inserted), set(kept[0].deleted)] == before
            elif before is not None:
                assert set(kept) == before
    sparing.check()
    held.clear()
    del changes
    sparing.delete(list(there))
    sparing.commit()
    sparing.commit()
    assert sparing.database.workspace.dictionary.size < plain.database.workspace.dictionary.size / 2


def test_a_commit_that_fails_late_finds_the_words_of_what_it_has_deleted(eager: None) -> None:
    """Facts that the first of several epochs has retracted come back with their terms."""
    store = connect(rules="owl-rl")
    before = {(f"{EXAMPLE}s{i}", EXAMPLE + "p", f"{EXAMPLE}o{i}") for i in range(20)}
    store.insert(list(before))
    store.commit()
    epochs: list[None] = []
    original = store.database.commit

    def commit() -> tidelog.Change:
        epochs.append(None)
        if len(epochs) == 2:
            store.database.options(timeout=1e-9)
            try:
                return original()  # looks through the words, and fails
            finally:
                store.database.workspace.dictionary.ids_of([f"other {i}" for i in range(90)])  # would get free words
        return original()

    store._database.commit = commit  # type: ignore[method-assign]
    store.delete(list(before))
    # That a rule makes two properties the same asks for a second epoch.
    chain = [("x", "r", "y"), ("r", PREFIXES["rdfs"] + "subPropertyOf", PREFIXES["owl"] + "sameAs")]
    store.insert([tuple(part if ":" in part else EXAMPLE + part for part in each) for each in chain])
    with pytest.raises(tidelog.LimitError):
        store.commit()
    assert len(epochs) == 3
    assert set(store.triples()) == before
    store.rollback()
    store.commit()
    assert set(store.triples()) == before
    store.check()


def test_what_waits_for_a_commit_keeps_its_words(eager: None) -> None:
    store = connect(rules="owl-rl")
    store.commit()
    waiting = (EXAMPLE + "waiting", EXAMPLE + "p", '"a value"')
    store.insert([waiting])
    store.database.commit()  # looks through the words while the triple waits
    store.insert([(EXAMPLE + f"x{i}", EXAMPLE + "q", f'"{i}"') for i in range(9)])
    store.commit()
    assert waiting in store
    assert set(store.triples(predicate=EXAMPLE + "p")) == {waiting}


def test_a_long_life_with_few_triples_has_few_words() -> None:
    store = connect(rules="owl-rl")
    last: list[Any] = []
    sizes: list[int] = []
    for i in range(40):
        rows = [(f"{EXAMPLE}s{i}x{j}", EXAMPLE + "p", f'"value {i} {j}"') for j in range(400)]
        store.insert(rows)
        store.delete(last)
        change = store.commit()
        assert len(change.inserted) == 400
        last = rows
        sizes.append(store.database.workspace.dictionary.size)
    assert max(sizes) < 14_000
    assert len(store.database.workspace.dictionary) < 14_000
    assert set(store) == set(last)
