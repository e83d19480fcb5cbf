"""A policy of ten rules over a hundred facts, as access checks have it: transactions of a fact or two, each of which
reads all that it has changed.

A service asks who may do what after each change, so that a transaction is one change of a fact with its consequences.
The baseline evaluates all rules anew for each of the same transactions.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator

import tidelog
from benchmarks.evaluate import warm_up
from benchmarks.harness import Line, Measured, Options, Run, Target, in_child, measure
from tidelog.database.database import Database

PROGRAM = """
.decl user(u: symbol) .decl role(u: symbol, r: symbol) .decl inherits(r: symbol, s: symbol)
.decl grants(r: symbol, a: symbol, k: symbol) .decl kind(o: symbol, k: symbol) .decl owner(u: symbol, o: symbol)
.decl blocked(u: symbol) .decl inside(o: symbol, p: symbol)
.decl has(u: symbol, r: symbol) .decl below(o: symbol, p: symbol) .decl may(u: symbol, a: symbol, o: symbol)
.decl reader(u: symbol, o: symbol) .decl admin(u: symbol) .decl odd(u: symbol)
has(u, r) :- role(u, r).
has(u, s) :- has(u, r), inherits(r, s).
below(o, p) :- inside(o, p).
below(o, q) :- below(o, p), inside(p, q).
may(u, a, o) :- has(u, r), grants(r, a, k), kind(o, k), !blocked(u).
may(u, "write", o) :- owner(u, o), !blocked(u).
may(u, a, o) :- may(u, a, p), below(o, p).
reader(u, o) :- may(u, "read", o).
admin(u) :- has(u, "admin"), user(u).
odd(u) :- blocked(u), admin(u).
"""
Facts = tuple[str, list[tuple[str, ...]]]
"""A relation, and some of its facts."""
ROLES = "admin", "editor", "viewer", "guest"
_USERS = [f"u{i}" for i in range(20)]
_OBJECTS = [f"o{i}" for i in range(20)]
_TRANSACTIONS = 2_000
_FIRST = 500
"""Transactions before those that are measured: the first ones make plans and indexes."""


def facts(choice: random.Random) -> dict[str, list[tuple[str, ...]]]:
    """Return the facts of the policy, by relation."""
    return {
        "user": [(user,) for user in _USERS],
        "role": [(user, choice.choice(ROLES)) for user in _USERS],
        "inherits": [("admin", "editor"), ("editor", "viewer"), ("viewer", "guest")],
        "grants": [
            ("viewer", "read", "doc"),
            ("editor", "write", "doc"),
            ("guest", "read", "page"),
            ("admin", "delete", "doc"),
        ],
        "kind": [(each, choice.choice(["doc", "page"])) for each in _OBJECTS],
        "owner": [(choice.choice(_USERS), each) for each in _OBJECTS[:10]],
        "blocked": [("u3",)],
        "inside": [(_OBJECTS[i], _OBJECTS[i // 3]) for i in range(3, 20)],
    }


def evaluation(strategy: str, part: float, runs: int | None) -> Measured:
    """Measure transactions by a strategy, see `Database.options`: the seconds are those of a thousand, if each took as
    long as it takes until this part of them has ended, with its changes read."""
    warm_up()
    return measure(lambda: _run(strategy, part), runs)


def _run(strategy: str, part: float) -> Run:
    choice = random.Random(1)
    db = tidelog.connect()
    db.load(PROGRAM)
    for name, rows in facts(choice).items():
        db.insert(name, rows)
    db.commit()
    db.options(strategy=strategy)
    walls: list[float] = []
    cpus: list[float] = []
    changed = 0
    last: Facts = "blocked", [("u3",)]
    for number in range(_FIRST + _TRANSACTIONS):
        user = choice.choice(_USERS)
        following: Facts = ("role", [(user, choice.choice(ROLES))]) if number % 2 else ("blocked", [(user,)])
        wall, cpu = time.perf_counter(), time.process_time()
        changed += _transact(db, last, following)
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
        last = following
    db.close()
    place = int(part * _TRANSACTIONS)
    wall, cpu = (1_000 * sorted(each[_FIRST:])[place] for each in (walls, cpus))
    return Run({"changed": changed}, wall, cpu)


def _transact(db: Database, deleted: Facts, inserted: Facts) -> int:
    """Take some facts out, put others in, and read what follows; return how many tuples have changed."""
    db.delete(*deleted)
    db.insert(*inserted)
    change = db.commit()
    return sum(len([*change[name].inserted, *change[name].deleted]) for name in change)


def lines(options: Options) -> Iterator[Line]:
    """Yield a line for the median and one for the slowest of a hundred, beside evaluations anew."""
    for what, part, bound in (("the median", 0.5, 0.15), ("the slowest of 100", 0.99, 0.4)):
        measured, anew = (in_child(evaluation, each, part, options.runs) for each in ("update", "bootstrap"))
        text = f"ten rules: 1,000 transactions of two facts, their changes read, at the pace of {what}"
        expected = {"changed": anew.sizes["changed"]}
        yield Line("policies", text, measured, expected, (Target("seconds", bound),), {"anew": anew})
