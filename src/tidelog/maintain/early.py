"""Early projections that pay, by what bootstraps count.

A bootstrap that tries many more bindings than it derives rows stops, and estimates the parts that
`rules/early_projections.py` finds over the rows so far. A part may pay where several of its bindings make the same row,
or where few rows of a relation that the hyper-node derives take part. The engine then begins again with these parts in
the program. Once it has the rows at which it had stopped, it compares what they have cost, and keeps the early
projections or begins again without them, for good. All of that is a small part of a bootstrap that takes long.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

from tidelog.maintain.machine import Inputs
from tidelog.maintain.statistics import LiveStatistics
from tidelog.rules.core import CoreAtom, CoreRule, HyperNode
from tidelog.rules.early_projections import can_be_projected, early_projections
from tidelog.rules.plans import plan_full
from tidelog.rules.projections import PROJECTION

_STOPS = (10_000_000, 40_000_000)
"""The bindings tried at which parts are looked at."""
_WASTE = 8
"""Bindings for each row that are too many."""
_SAME, _FEW = 2, 8
"""A part may pay with so many bindings for each of its rows, or with so many rows of a derived relation."""
_ROW = 3
"""The cost of a row, which gets into a set and into indexes, in bindings."""
_GAIN = 0.6
"""The part of the cost that early projections have to leave."""


class ProjectEarlyError(Exception):
    """A bootstrap has to begin again with other early projections."""


@dataclass(frozen=True)
class _Trial:
    """The `cost` of a hyper-node when it had so many `rows`, without the early projections of `names`."""

    names: frozenset[str]
    rows: int
    cost: int


class EarlyChoice:
    """The relations of early projections in use, `names`, and those that did not pay."""

    def __init__(self, names: frozenset[str] = frozenset()) -> None:
        self.names = names
        self._rejected: frozenset[str] = frozenset()
        self._trials: dict[str, _Trial] = {}
        """By the first relation of the hyper-node."""

    def end_trials(self) -> None:
        """End all trials at the end of an epoch: its bootstraps have not become too dear."""
        self._trials.clear()

    def counter(self, node: HyperNode) -> Callable[[Inputs, int], None] | None:
        """Return what a bootstrap of a hyper-node has to call with the bindings that it has tried, None for nothing. It
        raises ProjectEarlyError."""
        if not can_be_projected(node):
            return None
        own = [name for name in node.relations if not name.startswith(PROJECTION)]
        stops = list(_STOPS)

        def count(inputs: Inputs, work: int) -> None:
            trial = self._trials.get(own[0])
            if trial is None and (not stops or work < stops[0]):
                return
            rows = sum(inputs.relations[name].rows for name in own)
            cost = work + _ROW * sum(inputs.relations[name].rows for name in node.relations)
            if trial is not None:
                self._compare(trial, own[0], rows, cost)
            else:
                del stops[: sum(work >= each for each in stops)]
                names = _paying_relations(node, inputs) - self._rejected if work >= _WASTE * rows else None
                if names:
                    self._trials[own[0]] = _Trial(names, rows, cost)
                    self.names |= names
                    raise ProjectEarlyError

        return count

    def _compare(self, trial: _Trial, first: str, rows: int, cost: int) -> None:
        """End a trial when it is decided."""
        if cost > _GAIN * trial.cost * max(1.0, rows / trial.rows):
            del self._trials[first]
            self.names -= trial.names
            self._rejected |= trial.names
            raise ProjectEarlyError
        if rows >= trial.rows:
            del self._trials[first]


def _paying_relations(node: HyperNode, inputs: Inputs) -> frozenset[str]:
    """Return the relations of the parts that may pay, the smallest one of each rule."""
    statistics = LiveStatistics(inputs.relations, frozenset())
    names = set()
    for rule in node.rules:
        assert isinstance(rule, CoreRule)  # as `can_be_projected` asks for
        found = (
            (_rows_if_paying(each.part, node, statistics), each.relation)
            for each in early_projections(rule, node.derives)
        )
        best = min((each for each in found if each[0]), default=None)
        if best is not None:
            names.add(best[1])
    return frozenset(names)


def _rows_if_paying(part: CoreRule, node: HyperNode, statistics: LiveStatistics) -> float:
    """Return the estimated rows of a part; 0 unless it may pay."""
    atoms = [literal for literal in part.body if isinstance(literal, CoreAtom) and not literal.negated]
    plan = plan_full(part, statistics)
    scanned = part.body[plan.source or 0]
    assert isinstance(scanned, CoreAtom)
    bindings = statistics.size(scanned.relation) * prod(plan.fanouts.values())
    distinct = (
        min(statistics.distinct(each.relation, (each.args.index(value),)) for each in atoms if value in each.args)
        for value in part.head.args
    )
    rows = min(bindings, prod(distinct))
    own = max(statistics.size(each.relation) for each in atoms if each.relation in node.derives)
    return rows if rows * _SAME <= bindings or rows * _FEW <= own else 0
