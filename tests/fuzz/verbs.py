"""Call the verbs of databases in any order, with good and bad arguments, until the time is up:
`python -m tests.fuzz.verbs SECONDS [SEED]`.

A case is a list of statements of Python over a database in memory or in a folder (tests/fuzz/verbs.txt). Each ends
well, or in an error of tidelog with a hint; then the database and what was pending are as before, and so they are after
statements that only read. In the end the views follow from the facts and rules, and a folder has the same contents when
it is opened again. A case that fails is made smaller, shown as a program, and ends the run with exit code 1; the seed
shown with it gives it again.
"""

from __future__ import annotations

import random
import re
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import tidelog
from tests.fuzz.asked import asked, show
from tests.fuzz.language import mutate_tokens
from tests.fuzz.statements import NAMES, OwnError, Rules, difference, shrunk, step

RULES = Rules(Path(__file__).with_suffix(".txt"))
PROGRAM = """
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
BEGIN = """
db = opened(store)
kept = kept2 = db["e"]; proof = db.explain("path", (1, 2)); shot = db.snapshot(); change = db.commit()
each = db.undo("path", (1, 2))
"""
RELATIONS = {
    "e": "x number y number", "s": "name symbol n number", "f": "x float u unsigned", "pairs": "p Pair l List",
    "trees": "t Tree u Unit", "unit": "", "path": "x number y number", "d": "x number c number", "odd": "x number",
    "k": "x number y number", "same": "x number y number", "small": "x number", "box.item": "x number",
    "box.more": "x number", "g": "x number", "nope": "x number",
}  # fmt: skip
CHECK = "db.turns.closed or (db.options(timeout=None, memory=None), db.check())"
REOPEN = "db.close(); db = opened(store)"
MOST_ROWS = 1_000
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


FUNCTIONS = (half, angry, wild, glued)


class Maker:
    """Random statements over a database `db`."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._relation, self._columns, self._key = "e", [("x", "number")], ["x"]

    def statements(self, count: int) -> list[str]:
        """Return so many statements or some more, as some come together."""
        return [each for _ in range(count) for each in self._any("statement").split("⏎")]

    def _any(self, name: str) -> str:
        return RULES.expand(name, self._rng, self._made)

    def _draw(self) -> None:
        self._relation = self._rng.choice(list(RELATIONS))
        parts = RELATIONS[self._relation].split()
        self._columns = list(zip(parts[::2], parts[1::2], strict=True))
        names = [name for name, _ in self._columns]
        self._key = self._rng.sample(names, self._rng.randrange(len(names) + 1))

    def _made(self, name: str) -> str | None:
        rng = self._rng
        if name in ("change", "read", "look", "explain", "give"):
            self._draw()
        match name:
            case "relation":
                return repr(self._relation) if rng.random() < 0.97 else self._any("value")
            case "row":
                return self._row(self._columns)
            case "some":
                return f"[{', '.join(self._row(self._columns) for _ in range(rng.choice((0, 1, 1, 2, 3))))}]"
            case "own":
                own = [each for each in self._columns if each[0] in self._key]
                return f"[{self._row(own)}, {self._row(own)}]"
            case "key":
                return repr(self._key) if rng.random() < 0.8 else self._any("value")
            case "dicts":
                return f"[{self._cells(self._value)}, {self._cells(self._value)}]"
            case "cells_pandas" | "cells_polars" | "cells_pyarrow":
                column = name.replace("cells", "column")
                return self._cells(
                    lambda kind: f"[{self._any(kind)}, {self._any(kind)}]" if rng.random() < 0.6 else self._any(column)
                )
            case "atom":
                return repr(f"{self._relation}({', '.join(rng.choice('_x1y') for _ in self._columns)})")
            case "changed_text":
                return repr(mutate_tokens(self._any("good_text"), RULES.alternatives["good_text"], rng))
            case "of_shot":
                return re.sub(r"\bdb\b", "shot", self._any(rng.choice(("read", "explain", "change", "rules"))))
            case "inner" if rng.random() < 0.5:
                return re.sub(r"\bdb\.(insert|delete|clear|rules)\b", r"t.\1", self._any("inner"))
        return None

    def _value(self, kind: str) -> str:
        return self._any(kind if self._rng.random() < 0.92 else "value")

    def _row(self, columns: Sequence[tuple[str, str]]) -> str:
        if self._rng.random() < 0.04:
            return self._any("value")
        kinds = [kind for _, kind in columns]
        if self._rng.random() < 0.04:
            kinds = [*kinds, "number"] if self._rng.random() < 0.5 else kinds[1:]
        return f"({''.join(f'{self._value(kind)}, ' for kind in kinds)})"

    def _cells(self, made: Callable[[str], str]) -> str:
        """Return a dict from the names of the columns, or from others, to what `made` makes of their kinds."""
        columns = self._columns
        if self._rng.random() < 0.1:
            columns = [*columns, ("more", "number")][self._rng.randrange(2) :]
        spelled = [(self._rng.choice((name, name, name, name.upper(), f" {name}")), kind) for name, kind in columns]
        return f"{{{', '.join(f'{name!r}: {made(kind)}' for name, kind in spelled)}}}"


def opened(store: str | None) -> tidelog.Database:
    """Return a database, with the program unless its folder has it."""
    db = tidelog.connect(functors=FUNCTIONS) if store is None else tidelog.connect(store, functors=FUNCTIONS)
    db.options(max_rows=MOST_ROWS)
    if "e" not in db:
        db.load(PROGRAM)
        db.commit()
    return db


def contents(db: tidelog.Database) -> dict[str, Any]:
    """Return the views, facts and rules as of the last epoch."""
    relations = db.workspace.committed.checked.relations.values()
    rows = {
        each.name: tuple(sorted(map(repr, part)) for part in (db[each.name], db.asserted(each.name)))
        for each in relations
        if "inline" not in each.qualifiers
    }
    return {**rows, "rules": [db.rules[name] for name in db.rules]}


def state(db: tidelog.Database) -> dict[str, Any]:
    """Return what a statement that fails, or only reads, must not change."""
    if db.turns.closed:
        return {"closed": True}
    waiting = [(each.relation, each.asserts, each.words.tolist()) for each in db.workspace.facts]
    return {**contents(db), "pending": waiting, "program": db.workspace.programs, "options": db._options}


def run(statements: Sequence[str], in_folder: bool) -> str:
    """Return what is wrong with the statements, or ""."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        store = f"{folder}/store" if in_folder else None
        own = {each.__name__: each for each in (opened, *FUNCTIONS)}
        known: dict[str, Any] = {**NAMES, **own, "folder": folder, "store": store}
        exec(BEGIN, known)
        committed: dict[str, Any] = {}
        for statement in (*statements, CHECK, REOPEN):
            db = known["db"]
            committed = committed if db.turns.closed else contents(db)
            ends = statement in (CHECK, REOPEN)
            if problem := step(statement, known, lambda: state(known["db"]), must_end_well=ends):
                return f"{problem}, by {statement}"
            if known["db"]._options.max_rows is None:
                known["db"].options(max_rows=MOST_ROWS)
            if statement == REOPEN and in_folder and (found := contents(known["db"])) != committed:
                return f"the folder has other contents: {difference(committed, found)}"
        return ""


def case_for(seed: int, count: int | None = None) -> tuple[list[str], bool]:
    """Return so many statements, and True if they are for a database in a folder."""
    rng = random.Random(f"verbs {seed}")
    return Maker(rng).statements(count or rng.choice((5, 10, 30))), rng.random() < 0.4


def main(seconds: float, seed: int) -> int:
    """Run until the time is up; the exit code."""
    end, tried, count = time.monotonic() + seconds, 0, 0
    while time.monotonic() < end:
        statements, in_folder = case_for(seed + tried)
        if problem := run(statements, in_folder):
            show(f"seed {seed + tried}{', in a folder' if in_folder else ''}: {problem}")
            for each in shrunk(statements, problem, partial(run, in_folder=in_folder)):
                show(each)
            return 1
        tried, count = tried + 1, count + len(statements)
    show(f"{tried} cases of {count} statements, from seed {seed} on")
    return 0


if __name__ == "__main__":
    sys.exit(main(*asked()))
