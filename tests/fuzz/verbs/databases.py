"""Databases of relations in memory and in folders."""

from __future__ import annotations

import re
from typing import Any

import tidelog
from tests.fuzz.statements import OwnError
from tests.fuzz.verbs.kind import Kind, Known
from tidelog.storage.record_text import row_text

_PROGRAM = """
.type Pair = [a: number, b: symbol]  .type List = [head: symbol, tail: List]  .type Unit = []
.type Tree = Leaf { x: number } | Fork { left: Tree, right: Tree } | None {}
.decl e(x: number, y: number)  .decl s(name: symbol, n: number)  .decl f(x: float, u: unsigned)
.decl pairs(p: Pair, l: List)  .decl trees(t: Tree, u: Unit)  .decl unit()  .decl odd(x: number) inline
.decl path(x: number, y: number)  .decl total(x: number, n: number)  .decl d(x: number, c: number) min(c)
.decl k(x: number, y: number) choice-domain x  .decl same(x: number, y: number) eqrel  .decl small(x: number)
.decl g(x: number)  .limitsize small(n=3)
.comp Box { .decl item(x: number)  .decl more(x: number)  more(x) :- item(x). }  .init box = Box
.functor half(x: number): number  .functor angry(x: number): number  .functor wild(x: number): float
.aggregate glued(x: symbol): symbol
base: path(x, y) :- e(x, y).  step: path(x, z) :- path(x, y), e(y, z).
t: total(x, n) :- e(x, _), n = count : { e(x, _) }.  first: d(x, 0) :- s(_, x).  h: g(@half(x)) :- e(x, _).
leaves: trees($Leaf(x), []) :- e(x, _).  heads: pairs([x, n], nil) :- s(n, x).  k(x, y) :- e(x, y).
e(1, 2). e(2, 3). e(4, 4). s("a", 1). f(1.5, 7). box.item(1). unit().
"""
_BEGIN = """
db = opened(store)
kept = kept2 = db["e"]; proof = db.explain("path", (1, 2)); shot = db.snapshot(); change = db.commit()
each = db.ways_to_remove("path", (1, 2))
"""
_RELATIONS = {
    "e": "x number y number", "s": "name symbol n number", "f": "x float u unsigned", "pairs": "p Pair l List",
    "trees": "t Tree u Unit", "unit": "", "path": "x number y number", "d": "x number c number", "odd": "x number",
    "k": "x number y number", "same": "x number y number", "small": "x number", "box.item": "x number",
    "box.more": "x number", "g": "x number", "nope": "x number",
}  # fmt: skip
_MOST_ROWS = 1_000
"""Tuples that an epoch may derive, as some rules have no end."""


@tidelog.functor("number -> number")
def half(x: int) -> int | None:
    """Return no value for odd numbers."""
    return x // 2 if x % 2 == 0 else None


@tidelog.functor("number -> number")
def angry(x: int) -> int:
    """Raise an error for 2."""
    if x == 2:
        raise OwnError
    return x + 1


@tidelog.functor("number -> float")
def wild(x: int) -> Any:
    """Return values that are no floats, for some arguments."""
    return [1.5, float("nan"), "text", None, 2**80, float("inf")][x % 6]


@tidelog.aggregate("symbol -> symbol", init="")
def glued(state: str, text: str) -> str:
    """Add a text to others."""
    return state + text


_FUNCTIONS = (half, angry, wild, glued)


def opened(store: str | None) -> tidelog.Database:
    """Return a database, with the program unless its folder has it."""
    db = tidelog.connect(functors=_FUNCTIONS) if store is None else tidelog.connect(store, functors=_FUNCTIONS)
    db.options(max_rows=_MOST_ROWS)
    if "e" not in db:
        db.load(_PROGRAM)
        db.commit()
    return db


def contents(db: tidelog.Database) -> dict[str, Any]:
    """Return the views, facts and rules as of the last epoch."""
    relations = db.workspace.committed.checked.relations.values()
    rows = {
        each.name: tuple(
            sorted(row_text(each.name, row) for row in part) for part in (db[each.name], db.asserted(each.name))
        )
        for each in relations
        if "inline" not in each.qualifiers
    }
    return {**rows, "rules": [db.rules[name] for name in db.rules]}


def waiting(db: tidelog.Database) -> dict[str, Any]:
    """Return the changes that wait for a commit."""
    facts = [(each.relation, each.asserts, each.words.tolist()) for each in db.workspace.facts]
    return {"pending": facts, "program": db.workspace.programs}


def _state(known: Known) -> dict[str, Any]:
    db: tidelog.Database = known["db"]
    return {"closed": True} if db.turns.closed else {**contents(db), **waiting(db), "options": db._options}


def _lasting(known: Known) -> dict[str, Any] | None:
    db: tidelog.Database = known["db"]
    return None if known["store"] is None or db.turns.closed else contents(db)


def _tidy(known: Known) -> None:
    db: tidelog.Database = known["db"]
    if db._options.max_rows is None:
        db.options(max_rows=_MOST_ROWS)


DATABASES = Kind(
    name="databases",
    relations=_RELATIONS,
    names={each.__name__: each for each in (opened, *_FUNCTIONS)},
    begin=_BEGIN,
    state=_state,
    changing=re.compile(
        r"\b(insert|delete|clear|insert_words|delete_words|commit|rollback|add|remove|remove_instance|load|options|functor"
        r"|functors|aggregate|subscribe|close|opened|with)\b"
    ),
    check="db.turns.closed or (db.options(timeout=None, memory=None), db.check())",
    reopen="db.close(); db = opened(store)",
    lasting=_lasting,
    tidy=_tidy,
)
