"""Change scripts over symbols and records, run on a database that gives words back and on one that keeps them all."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

import tidelog
from tidelog.maintain import reclaim
from tidelog.maintain.reclaim import Reclaimer

PROGRAM = """
.type Pair = [a: symbol, b: symbol]
.type List = [head: Pair, tail: List]
.decl e(x: symbol, y: symbol)           // facts
.decl n(x: symbol, k: number)
.decl l(x: List)
.decl closed(x: symbol, y: symbol)      // a closure
closed(x, y) :- e(x, y).
closed(x, z) :- closed(x, y), closed(y, z).
.decl copied(x: symbol)                 // words of facts, also of those inside of records
copied(x) :- e(x, _), !n(x, _).
copied(x) :- l([[x, _], _]).
.decl made(x: symbol, p: Pair)          // words that only rules make
made(cat(x, cat("/", to_string(k))), [y, x]) :- e(x, y), n(x, k).
.decl further(x: symbol, q: List)
further(x, [p, nil]) :- made(x, p).
further(x, q) :- further(x, [p, _]), l(q), q = [p, _].
.decl tested(x: symbol)                 // words that are made and forgotten
tested(x) :- e(x, y), contains("7", cat(x, y)).
.decl counted(x: symbol, c: number)
counted(x, c) :- e(x, _), c = count : { e(x, _) }.
.decl shown(x: symbol)
"""
RULES = [
    ('special', 'special: shown(x) :- e(x, "s{0}").'),
    ('fixed', 'fixed: shown("fixed {0}") :- n(_, {0}).'),
    ('pairs', 'pairs: made("pair {0}", [x, "s{0}"]) :- e(x, x).'),
]  # fmt: skip
FACTS = ("e", "n", "l")


@contextmanager
def reclaiming_always() -> Iterator[pytest.MonkeyPatch]:
    """Inside, words are looked through before every epoch."""
    original = Reclaimer.sweep

    def always(self: Reclaimer, *arguments: object) -> bool:
        self._kept = 0
        return original(self, *arguments)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reclaim, "LEAST", 0)
        patch.setattr(reclaim, "_PER_WORD", 1 << 40)
        patch.setattr(Reclaimer, "sweep", always)
        yield patch


def value(rng: random.Random) -> str:
    """A symbol: some are often there, most come once."""
    return f"s{rng.randrange(6)}" if rng.random() < 0.5 else f"word {rng.randrange(100_000)}"


def fact(rng: random.Random, name: str) -> tuple[Any, ...]:
    if name == "n":
        return value(rng), rng.randrange(9)
    if name == "e":
        return value(rng), value(rng)
    chain: Any = None
    for _ in range(rng.randrange(4)):
        chain = (value(rng), value(rng)), chain
    return (chain,)


class Twins:
    """Two databases that do the same; `plain` never gives a word back."""

    def __init__(self, connect: Callable[[], tidelog.Database] = tidelog.connect) -> None:
        self.sparing, self.plain = connect(), tidelog.connect()
        self.plain.workspace.dictionary.shared = True
        self.held: list[tuple[Any, Any]] = []
        """What a user still has, and what it showed when it was new."""

    def both(self) -> tuple[tidelog.Database, tidelog.Database]:
        return self.sparing, self.plain

    def compare(self) -> None:
        for name in self.plain.relations:
            assert set(self.sparing[name]) == set(self.plain[name]), name
        columns = self.sparing["e"].to_arrow().to_pydict()
        assert set(zip(columns["x"], columns["y"], strict=True)) == set(self.plain["e"])
        for shown, before in self.held:
            assert contents(shown) == before


def contents(held: Any) -> Any:
    """Return the content of a change or an answer; of an iterator nothing before its end."""
    if isinstance(held, tidelog.Change):
        return {name: (set(held[name].inserted), set(held[name].deleted)) for name in held}
    return set(held)


def epochs(rng: random.Random, twins: Twins, count: int) -> Iterator[None]:
    """Make changes in both databases, one epoch after the other."""
    facts: dict[str, set[Any]] = {name: set() for name in FACTS}
    rules: dict[str, str] = {}
    iterators: list[tuple[Iterator[Any], list[Any], set[Any]]] = []
    for db in twins.both():
        db.rules.add(PROGRAM)
        db.commit()
    for _ in range(count):
        gone = {name: {row for row in rows if rng.random() < 0.4} for name, rows in facts.items()}
        came = {name: {fact(rng, name) for _ in range(rng.randrange(6))} for name in FACTS}
        if rng.random() < 0.1:
            gone, came = facts, {name: set() for name in FACTS}
        wasted = [fact(rng, "e") for _ in range(5)]
        name, text = RULES[rng.randrange(len(RULES))]
        change = rng.random()
        for db in twins.both():
            db.insert("e", wasted)
            db.rollback()
            if change < 0.3 and name in rules:
                db.rules.remove(name)
            elif change < 0.3:
                db.rules.add(text.format(len(rules)))
            for relation in FACTS:
                db.delete(relation, list(gone[relation]))
                db.insert(relation, list(came[relation]))
        if change < 0.3:
            rules = (
                {key: each for key, each in rules.items() if key != name} if name in rules else {**rules, name: text}
            )
        change_of, _ = (db.commit() for db in twins.both())
        facts = {relation: facts[relation] - gone[relation] | came[relation] for relation in FACTS}
        twins.compare()
        for iterator, found, expected in iterators:
            assert set(found) | set(iterator) == expected
        iterators.clear()
        if rng.random() < 0.4:
            twins.held.append((change_of, contents(change_of)))
        if rng.random() < 0.4:
            answer = twins.sparing.query(f'e(X, "s{rng.randrange(6)}")')
            twins.held.append((answer, contents(answer)))
        if rng.random() < 0.4:
            rows = twins.sparing[rng.choice([*FACTS, "made", "further"])]  # A closure is read as it goes.
            iterator = iter(rows)
            iterators.append((iterator, list(islice(iterator, 2)), set(rows)))
        while len(twins.held) > 4 or (twins.held and rng.random() < 0.2):
            del twins.held[rng.randrange(len(twins.held))]
        yield


def reopened(rng: random.Random, folder: Path, count: int) -> Twins:
    """Make changes in a store and in a database that keeps all words; now and then the store is closed and opened."""
    twins = Twins(lambda: tidelog.connect(folder))
    for _ in epochs(rng, twins, count):
        if rng.random() < 0.5:
            if rng.random() < 0.7:
                twins.sparing.keeper.write_checkpoint(twins.sparing.engine)  # type: ignore[attr-defined]
            twins.sparing.close()
            twins.sparing = tidelog.connect(folder)
            twins.held.clear()
            twins.compare()
    return twins
