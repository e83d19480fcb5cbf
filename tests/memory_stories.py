"""Epochs that need memory in every way that there is, to be tried with a budget that ends at each request.

A story is a program with facts, the epochs before, and an epoch, which fails until the budget suffices. Each failure
has to be E0503 and to leave everything as it was, whereupon reading, checking and other epochs work.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import tidelog
from tests.allocations import Budget, asking_for_nothing
from tests.generate import Row
from tests.recount import mistakes, state_of
from tidelog.errors import LimitError
from tidelog.maintain.epoch import EpochState
from tidelog.maintain.large_groups import LargeGroups
from tidelog.storage.catalog import Catalog
from tidelog.storage.closed_relation import ClosedRelation
from tidelog.storage.closure import Closure
from tidelog.storage.stored import StoredRelation

NEVER_ASKING = (
    (EpochState, "undo"),
    (StoredRelation, "take_back"),
    (StoredRelation, "close"),
    (ClosedRelation, "close"),
    (Closure, "take_back"),
    (Closure, "keep"),
    (LargeGroups, "take_back"),
    (LargeGroups, "keep"),
    (Catalog, "release"),
)
"""What takes an epoch back, or ends it."""

Act = Callable[[tidelog.Transaction[tidelog.Change]], None]


@dataclass(frozen=True)
class Story:
    """`before` are the facts of the first epoch; `acts` the epochs behind that, the last of which is tried."""

    program: str
    before: dict[str, Sequence[Row]]
    acts: tuple[Act, ...]
    options: dict[str, Any] = field(default_factory=dict)


def graph(nodes: int, edges: int, seed: int = 1) -> list[Row]:
    """Some random edges, all different."""
    rng = random.Random(seed)
    return list(dict.fromkeys((rng.randrange(nodes), rng.randrange(nodes)) for _ in range(edges)))


def fingerprint(db: tidelog.Database) -> tuple[Any, ...]:
    """All that an epoch changes, as it is in memory."""
    engine = db.engine
    rows = {}
    for name, stored in engine.views.items():
        marks = engine.births(name).tolist(), engine.counts(name).tolist()
        rows[name] = sorted(zip(map(tuple, stored.words().tolist()), *marks, strict=True))
    asserted = {name: stored.words().tolist() for name, stored in engine.asserted.items()}
    closed = sorted(engine.closures), dict(engine.mirrors)
    return rows, asserted, closed, engine.round, db.hyper_nodes, db.stats()["relations"], tuple(db.rules)


def opened(story: Story, connect: Callable[[], tidelog.Database] = tidelog.connect) -> tidelog.Database:
    """A new database in which all has happened but the last epoch."""
    db = connect()
    db.options(**story.options)
    db.load(story.program)
    for name, rows in story.before.items():
        db.insert(name, rows)
    db.commit()
    for act in story.acts[:-1]:
        with db.transaction() as transaction:
            act(transaction)
    return db


def attempt(db: tidelog.Database, act: Act, budget: Budget) -> bool:
    """Return True if an epoch fits into a budget; raise any error but its own."""
    try:
        with db.transaction() as transaction:
            act(transaction)
            budget.begin()
    except LimitError as error:
        if error.problems[0].code != budget.code:
            raise
        return False
    finally:
        budget.end()
    return True


def right(db: tidelog.Database) -> None:
    """The state proves itself: by recounting, and by the checker."""
    engine = db.engine
    facts = {name: set(db_rows(db, name)) for name in engine.asserted}
    assert mistakes(db, state_of(db), facts) == ""
    db.check()


def db_rows(db: tidelog.Database, name: str) -> list[Row]:
    from tests.recount import decoded

    return list(decoded(db, name, db.engine.asserted[name].words()))


def refresh(db: tidelog.Database) -> None:
    """Put relations as they are after a bootstrap in the place of those that have grown, and forget plans and indexes:
    the next epoch asks for as much memory as the first one."""
    engine = db.engine
    catalog = Catalog(engine.catalog.bits, engine.catalog.room)
    copies = {id(stored): stored.copy_to(catalog) for stored in (*engine.views.values(), *engine.asserted.values())}
    engine.views = {name: copies[id(stored)] for name, stored in engine.views.items()}
    engine.asserted = {name: copies[id(stored)] for name, stored in engine.asserted.items()}
    engine.catalog = catalog
    engine.maintained.clear()


def try_all(
    story: Story,
    budgets: Iterable[Budget],
    *,
    often: int = 50,
    connect: Callable[[], tidelog.Database] = tidelog.connect,
) -> int:
    """Let the last epoch of a story fail with each of these budgets, without a trace; how often it has. Each `often`-th
    time other epochs happen in between, which use again what has moved, and now and then the state proves itself. What
    takes an epoch back, or ends it, has to ask for nothing."""
    db, act, failures = opened(story, connect), story.acts[-1], 0
    before = fingerprint(db)
    for number, budget in enumerate(budgets):
        with asking_for_nothing(*NEVER_ASKING) as noted:
            fits = attempt(db, act, budget)
        assert not noted, f"while an epoch that fails at request {budget.last} is taken back, or ends"
        if fits:
            right(db)
            db = opened(story, connect)
        else:
            failures += 1
            assert fingerprint(db) == before, f"a trace of a failure at request {budget.last}"
        if number % 50 == 0:
            right(db)
        if number % often == 0:
            for other in (forth, back):
                with db.transaction() as transaction:
                    other(transaction)
        refresh(db)
        before = fingerprint(db)
    return failures


def each(first: int = 1, step: int = 1, **how: Any) -> Iterator[Budget]:
    """Budgets that end at one request after the other, up to the first that suffices."""
    for last in count(first, step):
        yield (budget := Budget(last, **how))
        if not budget.failed:
            return


def lines_of(story: Story) -> dict[str, None]:
    """The lines of the package that ask for memory in the last epoch of a story."""
    db, budget = opened(story), Budget(0, blocks=False)
    refresh(db)
    assert attempt(db, story.acts[-1], budget)
    return budget.lines


def back(transaction: tidelog.Transaction[tidelog.Change]) -> None:
    transaction.delete("e", [(-1, 0)])


def forth(transaction: tidelog.Transaction[tidelog.Change]) -> None:
    """An epoch that `back` takes back."""
    transaction.insert("e", [(-1, 0)])


EDGES = graph(400, 900)
MORE = [edge for edge in graph(400, 900, seed=2) if edge not in EDGES]
RINGS = [(n, (n + 1) % 40) for n in range(40)] + [(n, n + 1) for n in (*range(40, 59), *range(100, 140))]
JOIN = """
.decl e(x: number, y: number)
.decl t(x: number, y: number, z: number)
.decl r(x: number, y: number)
t(x, y, z) :- e(x, y), e(y, z).
r(x, y) :- e(x, y), x < 9.
r(x, y) :- r(x, z), e(z, y), x < 9, y < 200.
"""
CLOSED = """
.decl e(x: number, y: number)
.decl t(x: number, y: number)
.decl v(x: number, y: number)
.decl w(x: number, z: number)
t(x, y) :- e(x, y).
t(x, z) :- t(x, y), e(y, z).
v(x, y) :- <e+>(x, y).
w(x, y) :- t(x, z), e(y, z), x < 5.
"""
FOLDED = """
.decl e(x: number, y: number)
.decl value(x: number, f: float)
.decl degree(x: number, n: number)
.decl least(x: number, n: number)
.decl middle(f: float)
degree(x, n) :- e(x, _), n = count : { e(x, _) }.
least(x, n) :- e(x, _), n = min y : { e(x, y) }.
value(x, to_float(y) / 4.0) :- e(x, y).
middle(f) :- f = median y : { value(_, y) }.
"""
NAMED = """
.type Pair = [a: symbol, b: number]
.decl e(x: number, y: number)
.decl label(x: number, s: symbol)
.decl pair(p: Pair)
.decl known(s: symbol)
label(x, cat("node", to_string(y))) :- e(x, y).
pair([s, x]) :- label(x, s), x < 100.
known(s) :- pair([s, _]), !label(0, s).
"""


def change(transaction: tidelog.Transaction[tidelog.Change]) -> None:
    """Much comes, some goes."""
    transaction.insert("e", MORE)
    transaction.delete("e", EDGES[:60])


def small_change(transaction: tidelog.Transaction[tidelog.Change]) -> None:
    transaction.insert("e", MORE[:40])
    transaction.delete("e", EDGES[:10])


def torn(transaction: tidelog.Transaction[tidelog.Change]) -> None:
    """A ring falls apart, another closes, a chain is cut and joined."""
    transaction.delete("e", [(0, 1), (20, 21), (100, 101)])
    transaction.insert("e", [(59, 40), (120, 200), (130, 30), *((n, n + 1) for n in range(300, 340))])


def wide(transaction: tidelog.Transaction[tidelog.Change]) -> None:
    transaction.insert("e", [(2**40, 1), (3, 2**41)])
    transaction.delete("e", EDGES[:10])


def new_rules(transaction: tidelog.Transaction[tidelog.Change]) -> None:
    """Two relations get to be of one hyper-node."""
    transaction.rules.add("e2(y, x) :- t(x, y, _), x < 50. e2(x, y) :- r(x, y). r(x, y) :- e2(x, y), y < 30.")
    transaction.insert("e", MORE[:100])


STORIES = {
    "an update": Story(JOIN, {"e": EDGES}, (change,), {"strategy": "update"}),
    "a bootstrap": Story(JOIN, {"e": EDGES}, (change,), {"strategy": "bootstrap"}),
    "closures": Story(CLOSED, {"e": graph(60, 90)}, (small_change,), {"strategy": "update"}),
    "closures torn": Story(CLOSED, {"e": RINGS}, (torn,), {"strategy": "update"}),
    "closures anew": Story(CLOSED, {"e": graph(60, 90)}, (small_change,), {"strategy": "bootstrap"}),
    "aggregates": Story(FOLDED, {"e": graph(60, 200)}, (small_change,), {"strategy": "update"}),
    "symbols and records": Story(NAMED, {"e": EDGES}, (change,), {"strategy": "update"}),
    "wider words": Story(JOIN, {"e": EDGES}, (wide,)),
    "wider words in closures": Story(CLOSED, {"e": graph(60, 90)}, (wide,)),
    "rules": Story(f"{JOIN} .decl e2(x: number, y: number)", {"e": EDGES}, (new_rules,), {"strategy": "update"}),
}
