"""A profile as its user sees it: epochs, in these hyper-nodes, in these rules, in these plans, in these levels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from textwrap import shorten
from typing import Any

from tidelog.common.markup import table

_SHOWN = 20
"""The most rules in a table."""
_WIDTH = 100
"""The most characters of a rule in a text."""


@dataclass(frozen=True)
class LevelProfile:
    """One level of a plan: a scan, a join, or a filter.

    `tried` are the bindings that it got, for a scan the rows; `made` those that it passed on, of which the planner
    expected `estimated` from as many rows as the scan read. `seconds` are an estimate from some of its runs.
    """

    text: str
    tried: int
    made: int
    estimated: float
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Return the level as JSON has it."""
        return dict(vars(self))


@dataclass(frozen=True)
class PlanProfile:
    """One join plan of a rule: what it started from, `start`, how often it ran, `runs`, and how long in all, in
    `seconds`, with the work of its `levels` and the insertion of what they `found`."""

    start: str
    runs: int
    seconds: float
    found: int
    new: int
    levels: tuple[LevelProfile, ...]

    @property
    def tried(self) -> int:
        """The bindings that its levels got."""
        return sum(level.tried for level in self.levels)

    @property
    def inserting(self) -> float:
        """The seconds that were not spent in levels: those in which derivations went to the head."""
        return max(0.0, self.seconds - sum(level.seconds for level in self.levels))

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as JSON has it."""
        return {
            "start": self.start,
            "runs": self.runs,
            "seconds": self.seconds,
            "inserting": self.inserting,
            "found": self.found,
            "new": self.new,
            "levels": [level.to_dict() for level in self.levels],
        }


@dataclass(frozen=True)
class RuleProfile:
    """One rule of the user's, by its `name`: bindings `tried`, derivations `found`, and tuples that were `new` or died
    because of them. `rounds` is the number of runs of its most frequent plan.

    A rule that is evaluated without plans, of a closure or with an aggregate, has only `seconds`.
    """

    name: str
    seconds: float
    plans: tuple[PlanProfile, ...]
    rounds: int

    @property
    def tried(self) -> int:
        """The bindings that the levels of its plans got."""
        return sum(plan.tried for plan in self.plans)

    @property
    def found(self) -> int:
        """The derivations that it found, or lost."""
        return sum(plan.found for plan in self.plans)

    @property
    def new(self) -> int:
        """The tuples that were new by one of its derivations, or died because of it."""
        return sum(plan.new for plan in self.plans)

    def to_dict(self, plans: bool = True) -> dict[str, Any]:
        """Return the rule as JSON has it, with its plans if they are wanted."""
        return {
            "name": self.name,
            "seconds": self.seconds,
            "tried": self.tried,
            "found": self.found,
            "new": self.new,
            "rounds": self.rounds,
            **({"plans": [plan.to_dict() for plan in self.plans]} if plans else {}),
        }


@dataclass(frozen=True)
class IndexProfile:
    """An index of a `relation` by the positions `columns`. The epoch entered `rows` rows; `bytes` is its size."""

    relation: str
    columns: tuple[int, ...]
    rows: int
    bytes: int

    def to_dict(self) -> dict[str, Any]:
        """Return the index as JSON has it."""
        return {**vars(self), "columns": list(self.columns)}


@dataclass(frozen=True)
class NodeProfile:
    """One hyper-node in one epoch, as `NodeReport` has it: its `seconds` are those of its `rules` and of its `steps`,
    which belong to no rule. `indexes` are those that got rows."""

    relations: tuple[str, ...]
    strategy: str
    seconds: float
    rounds: int
    rules: tuple[RuleProfile, ...]
    steps: Mapping[str, float]
    indexes: tuple[IndexProfile, ...]

    def to_dict(self, plans: bool = True) -> dict[str, Any]:
        """Return the hyper-node as JSON has it, with the plans of its rules if they are wanted."""
        return {
            "relations": list(self.relations),
            "strategy": self.strategy,
            "seconds": self.seconds,
            "rounds": self.rounds,
            "rules": [rule.to_dict(plans) for rule in self.rules],
            "steps": dict(self.steps),
            "indexes": [index.to_dict() for index in self.indexes],
        }


@dataclass(frozen=True)
class EpochProfile:
    """One epoch: its `seconds` are those of its `nodes` and of its `steps`, which belong to no hyper-node."""

    epoch: int
    seconds: float
    steps: Mapping[str, float]
    nodes: tuple[NodeProfile, ...]

    def to_dict(self, plans: bool = True) -> dict[str, Any]:
        """Return the epoch as JSON has it, with the plans of rules if they are wanted."""
        return {
            "epoch": self.epoch,
            "seconds": self.seconds,
            "steps": dict(self.steps),
            "nodes": [node.to_dict(plans) for node in self.nodes],
        }


@dataclass(frozen=True)
class Profile:
    """Where the time of the last epochs went, see docs/how-to/profiles.md. `texts` are those of the rules by name;
    `recording` says whether the database records epochs now."""

    epochs: tuple[EpochProfile, ...]
    texts: Mapping[str, str] = field(repr=False)
    recording: bool

    @property
    def seconds(self) -> float:
        """The seconds of all epochs."""
        return sum(epoch.seconds for epoch in self.epochs)

    @cached_property
    def rules(self) -> tuple[RuleProfile, ...]:
        """The rules with their figures in all epochs, the slowest first."""
        return merge_rules(rule for epoch in self.epochs for node in epoch.nodes for rule in node.rules)

    @cached_property
    def steps(self) -> Mapping[str, float]:
        """The seconds that belong to no rule, by step, the longest first."""
        found: dict[str, float] = {}
        for epoch in self.epochs:
            for steps in (epoch.steps, *(node.steps for node in epoch.nodes)):
                for name, seconds in steps.items():
                    found[name] = found.get(name, 0.0) + seconds
        return dict(sorted(found.items(), key=lambda each: -each[1]))

    def to_dict(self, plans: bool = True) -> dict[str, Any]:
        """Return the profile as JSON has it: with the plans of each epoch, or only with those of all together."""
        return {
            "recording": self.recording,
            "seconds": self.seconds,
            "rules": [{**rule.to_dict(), "text": self.texts.get(rule.name, "")} for rule in self.rules],
            "steps": dict(self.steps),
            "epochs": [epoch.to_dict(plans) for epoch in self.epochs],
        }

    def __str__(self) -> str:
        if not self.epochs:
            hint = "commit a change" if self.recording else "db.options(profile=True) records the next ones"
            return f"no epoch was recorded; {hint}"
        rows: list[tuple[str, ...]] = [("seconds", "share", "tried", "found", "new", "rounds", "rule")]
        rows += [(*self._cells(rule), self.texts.get(rule.name, rule.name)) for rule in self.rules[:_SHOWN]]
        rows += [(*self._time(seconds), "", "", "", "", f"({name})") for name, seconds in self.steps.items()]
        widths = [max(len(row[column]) for row in rows) for column in range(6)]
        texts = [shorten(row[6], _WIDTH, placeholder=" …") for row in rows]
        lines = ["  ".join([*map(str.rjust, row[:6], widths), text]) for row, text in zip(rows, texts, strict=True)]
        return "\n".join([self._caption(), *lines])

    def _caption(self) -> str:
        return f"{self.seconds:.3f} s in {len(self.epochs)} epoch{'s' * (len(self.epochs) != 1)}"

    def _time(self, seconds: float) -> tuple[str, str]:
        return f"{seconds:.4f}", f"{seconds / self.seconds:.1%}" if self.seconds else ""

    def _cells(self, rule: RuleProfile | PlanProfile) -> tuple[str, ...]:
        rounds = rule.rounds if isinstance(rule, RuleProfile) else rule.runs
        return (*self._time(rule.seconds), f"{rule.tried:,}", f"{rule.found:,}", f"{rule.new:,}", f"{rounds:,}")

    def _repr_html_(self) -> str:
        heads = ("rule", "seconds", "share", "tried", "found", "new", "rounds")
        rows = [(self.texts.get(rule.name, rule.name), *self._cells(rule)) for rule in self.rules[:_SHOWN]]
        rows += [(f"({name})", *self._time(seconds), "", "", "", "") for name, seconds in self.steps.items()]
        return table(self._caption(), heads, rows)

    def to_html(self) -> str:
        """Return a page with all rules, and the plans that they ran with."""
        parts = [f"<!doctype html><html lang='en'><meta charset='utf-8'><title>Profile</title><style>{_STYLE}</style>"]
        parts.append(f"<h1>Profile</h1>{self._repr_html_()}")
        for rule in self.rules:
            parts.append(f"<h2>{escape(rule.name)}</h2><pre>{escape(self.texts.get(rule.name, ''))}</pre>")
            parts += [self._plan_table(plan) for plan in rule.plans]
        return "".join(parts)

    def _plan_table(self, plan: PlanProfile) -> str:
        done = f"{plan.runs:,} runs, {plan.found:,} found, {plan.new:,} new"
        caption = f"from {plan.start}: {plan.seconds:.4f} s, {done}"
        rows = [
            (level.text, f"{level.seconds:.4f}", f"{level.tried:,}", f"{level.estimated:,.0f}", f"{level.made:,}")
            for level in plan.levels
        ]
        rows.append(("insert into the head", f"{plan.inserting:.4f}", f"{plan.found:,}", "", f"{plan.new:,}"))
        return table(caption, ("level", "seconds", "tried", "estimated", "made"), rows)


_STYLE = (
    "body{font:14px sans-serif;margin:2em;max-width:80em}table{border-collapse:collapse;margin:1em 0}"
    "td,th{padding:2px 10px;text-align:right;border-bottom:1px solid #ccc}"
    "td:first-child,th:first-child{text-align:left}caption{text-align:left;font-weight:bold}"
)


def merge_rules(rules: Iterable[RuleProfile]) -> tuple[RuleProfile, ...]:
    """Return rules with the figures of all profiles of the same name together, the slowest first."""
    found: dict[str, list[RuleProfile]] = {}
    for rule in rules:
        found.setdefault(rule.name, []).append(rule)
    together = [
        RuleProfile(
            name,
            sum(each.seconds for each in parts),
            merge_plans([plan for each in parts for plan in each.plans]),
            sum(each.rounds for each in parts),
        )
        for name, parts in found.items()
    ]
    return tuple(sorted(together, key=lambda rule: -rule.seconds))


def merge_plans(plans: Sequence[PlanProfile]) -> tuple[PlanProfile, ...]:
    """Return plans with the figures of all that have the same start and levels together, the slowest first."""
    found: dict[tuple[str, ...], list[PlanProfile]] = {}
    for plan in plans:
        found.setdefault((plan.start, *(level.text for level in plan.levels)), []).append(plan)
    together = [
        PlanProfile(
            parts[0].start,
            sum(each.runs for each in parts),
            sum(each.seconds for each in parts),
            sum(each.found for each in parts),
            sum(each.new for each in parts),
            tuple(map(_merge_levels, zip(*(each.levels for each in parts), strict=True))),
        )
        for parts in found.values()
    ]
    return tuple(sorted(together, key=lambda plan: -plan.seconds))


def _merge_levels(levels: Sequence[LevelProfile]) -> LevelProfile:
    return LevelProfile(
        levels[0].text,
        sum(level.tried for level in levels),
        sum(level.made for level in levels),
        sum(level.estimated for level in levels),
        sum(level.seconds for level in levels),
    )
