"""An update - rules or facts that come or go - timed against evaluating the program after it from scratch.

As in the paper: a new database gets the program without what the update brings, then the update as one transaction.
A `Pair` is two such states; each run evaluates both from scratch and then takes each to the other, so that every
insertion is measured together with the deletion that takes it back. What an update leaves behind is compared, tuple by
tuple, with what evaluation from scratch gave.
"""

from __future__ import annotations

import gc
import statistics
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy

import tidelog
from benchmarks.harness import Stopwatch
from tidelog.database.database import Database
from tidelog.maintain.protocol import NodeReport
from tidelog.workspace.change import Change

Views = dict[str, numpy.ndarray[Any, Any]]


@dataclass(frozen=True)
class State:
    """A program, rule by rule, and its facts; `texts` maps the names of the rules to their texts, names included."""

    declarations: str
    texts: Mapping[str, str]
    facts: Mapping[str, Any]

    def without(self, *names: str) -> State:
        """Return the same without these rules."""
        return State(self.declarations, {n: t for n, t in self.texts.items() if n not in names}, self.facts)

    def lacking(self, relation: str, *rows: tuple[int, ...]) -> State:
        """Return the same without these facts."""
        kept = [row for row in self.facts[relation] if row not in rows]
        return State(self.declarations, self.texts, {**self.facts, relation: kept})

    def with_facts(self, relation: str, *rows: tuple[int, ...]) -> State:
        """Return the same with these facts besides."""
        return State(self.declarations, self.texts, {**self.facts, relation: [*self.facts.get(relation, ()), *rows]})


@dataclass(frozen=True)
class Goal:
    """An upper bound: `kind` is "ratio", of the fix-point from scratch, or "seconds"."""

    kind: str
    bound: float

    def __str__(self) -> str:
        return f"<= {self.bound:g} x" if self.kind == "ratio" else f"<= {self.bound * 1e3:g} ms"


@dataclass(frozen=True)
class Step:
    """One direction of a pair: its name, the figure of the paper (or its companion), and its goals; `seconds_below` is
    a bound in seconds that holds if the impact is below 10,000 tuples."""

    what: str
    paper: str = ""
    goals: tuple[Goal, ...] = ()
    seconds_below: float | None = None


@dataclass(frozen=True)
class Pair:
    """Two states; `forth` is the update from `less` to `more`, `back` the one that undoes it."""

    group: str
    less: State
    more: State
    forth: Step
    back: Step


@dataclass(frozen=True)
class Timed:
    """One update: medians.

    `again` is the same update once more after it was undone, when its indexes exist. `scratch` is storing the facts and
    the fix-point, `fixpoint` the latter alone. `wrong` are the relations that differ from an evaluation from scratch,
    `size` all tuples afterwards.
    """

    group: str
    step: Step
    runs: int
    wall: float
    cpu: float
    again: float
    scratch: float
    scratch_cpu: float
    fixpoint: float
    impact: int
    nodes: tuple[NodeReport, ...]
    wrong: tuple[str, ...]
    size: int = 0

    @property
    def ratio(self) -> float | None:
        """Return the wall time as a ratio to the fix-point from scratch; None if no rule is left."""
        return self.wall / self.fixpoint if self.fixpoint else None

    @property
    def cpu_ratio(self) -> float:
        """Return the CPU time as a ratio to the one from scratch, storing the facts included; steadier on a busy
        machine."""
        return self.cpu / self.scratch_cpu

    @property
    def goals(self) -> tuple[Goal, ...]:
        """Return the goals of the update, now that its impact is known."""
        small = self.step.seconds_below is not None and self.impact < 10_000
        return (*self.step.goals, Goal("seconds", self.step.seconds_below or 0.0)) if small else self.step.goals

    @property
    def met(self) -> bool | None:
        """Return True if all goals are met; None without goals."""
        figures = {"ratio": float("inf") if self.ratio is None else self.ratio, "seconds": self.wall}
        return all(figures[goal.kind] <= goal.bound for goal in self.goals) if self.goals else None

    @property
    def strategies(self) -> str:
        """Return the number of hyper-nodes per strategy."""
        found = [node.strategy for node in self.nodes]
        return ", ".join(f"{found.count(s)} {s}" for s in ("drop", "update", "bootstrap", "skip") if s in found)

    def as_json(self) -> dict[str, Any]:
        """Return everything about the update, for the JSON document."""
        goals = [str(goal) for goal in self.goals]
        return asdict(self) | {
            "ratio": self.ratio,
            "cpu_ratio": self.cpu_ratio,
            "goals": goals,
            "met": self.met,
            "exact": not self.wrong,
        }


@dataclass
class _Samples:
    """The measurements of one direction so far."""

    watches: list[Stopwatch] = field(default_factory=list)
    again: list[float] = field(default_factory=list)
    scratches: list[Stopwatch] = field(default_factory=list)
    fixpoints: list[float] = field(default_factory=list)
    reports: list[tuple[NodeReport, ...]] = field(default_factory=list)
    wrong: set[str] = field(default_factory=set)
    size: int = 0

    def timed(self, group: str, step: Step) -> Timed:
        walls = [watch.wall for watch in self.watches]
        typical = self.reports[walls.index(statistics.median_low(walls))]
        return Timed(
            group,
            step,
            len(walls),
            statistics.median(walls),
            statistics.median(watch.cpu for watch in self.watches),
            statistics.median(self.again),
            statistics.median(watch.wall for watch in self.scratches),
            statistics.median(watch.cpu for watch in self.scratches),
            statistics.median(self.fixpoints),
            sum(node.impact for node in typical),
            typical,
            tuple(sorted(self.wrong)),
            self.size,
        )


def evaluated(state: State) -> tuple[Database, Stopwatch, float]:
    """Return a new database with this state, the seconds of its commit, and of them those of the fix-point."""
    db = tidelog.connect()
    db.load("\n".join([state.declarations, *state.texts.values()]))
    for name, data in state.facts.items():
        if len(data):
            db.insert(name, data)
    with Stopwatch() as watch:
        change = db.commit()
    return db, watch, sum(node.seconds for node in change.report.nodes)


def apply(db: Database, now: State, then: State) -> tuple[Change, Stopwatch]:
    """Take a database from one state to another in one transaction."""
    gone = [name for name in now.texts if name not in then.texts]
    came = [text for name, text in then.texts.items() if name not in now.texts]
    facts = {} if now.facts is then.facts else _difference(now.facts, then.facts)
    with Stopwatch() as watch, db.transaction() as transaction:
        for name in gone:
            transaction.rules.remove(name)
        if came:
            transaction.rules.add("\n".join(came))
        for name, (deleted, inserted) in facts.items():
            if deleted:
                transaction.delete(name, deleted)
            if inserted:
                transaction.insert(name, inserted)
    assert transaction.change is not None
    return transaction.change, watch


def _difference(now: Mapping[str, Any], then: Mapping[str, Any]) -> dict[str, tuple[list[Any], list[Any]]]:
    changed = {}
    for name in {**now, **then}:
        old, new = now.get(name, []), then.get(name, [])
        if old is not new:
            changed[name] = sorted(set(old) - set(new)), sorted(set(new) - set(old))
    return changed


def measured(pair: Pair, runs: int) -> Iterator[Timed]:
    """Yield both directions of a pair; the views are compared in the first run, the sizes in all."""
    forth, back = _Samples(), _Samples()
    for run in range(runs):
        gc.collect()
        less, less_watch, less_fixpoint = evaluated(pair.less)
        more, more_watch, more_fixpoint = evaluated(pair.more)
        want_less, want_more = contents(less, run == 0), contents(more, run == 0)
        for db, now, then, want, samples, scratch, fixpoint in (
            (less, pair.less, pair.more, want_more, forth, more_watch, more_fixpoint),
            (more, pair.more, pair.less, want_less, back, less_watch, less_fixpoint),
        ):
            change, watch = apply(db, now, then)
            samples.watches.append(watch)
            samples.scratches.append(scratch)
            samples.fixpoints.append(fixpoint)
            samples.reports.append(change.report.nodes)
            samples.wrong |= differing(contents(db, run == 0), want)
            samples.size = sum(len(db[name]) for name in db.relations)
            apply(db, then, now)
            samples.again.append(apply(db, now, then)[1].wall)
            samples.wrong |= differing(contents(db, run == 0), want)
            db.close()
    yield forth.timed(pair.group, pair.forth)
    yield back.timed(pair.group, pair.back)


def contents(db: Database, all_of_it: bool) -> Views:
    """Return the tuples of every relation in a fixed order, as numbers; or only their number.

    Symbols are numbered in the order in which they were met: two databases agree when facts came in the same order.
    """
    if not all_of_it:
        return {name: numpy.array([len(db[name])]) for name in db.relations}
    views = {name: db[name].words() for name in db.relations}
    return {name: words[numpy.lexsort(words.T[::-1])] if words.shape[1] else words for name, words in views.items()}


def differing(found: Views, wanted: Views) -> set[str]:
    """Return the relations that differ from the expected ones."""
    names = {**found, **wanted}
    return {n for n in names if n not in found or n not in wanted or not numpy.array_equal(found[n], wanted[n])}
