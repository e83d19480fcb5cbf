"""Early projections that pay, by what bootstraps count.

A bootstrap that tries many more bindings than it derives rows stops, and counts over the rows so far the relations of
the parts that `rules/early_projections.py` finds. A part may pay where several of its bindings make the same row, or
where few rows of a relation that the hyper-node derives take part. The engine then begins again with these relations in
the program. Once it has the rows at which it had stopped, it compares what they have cost, and keeps the early
projections or begins again without them, for good. All of that is a small part of a bootstrap that takes long.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from tidelog.maintain.assemble import UNIT
from tidelog.maintain.bootstrap import bootstrap
from tidelog.maintain.machine import Inputs
from tidelog.rules.core import CoreRule, HyperNode
from tidelog.rules.early_projections import can_be_projected, early_projections
from tidelog.rules.projections import PROJECTION
from tidelog.storage.stored import StoredRelation

_STOPS = (10_000_000, 40_000_000)
"""The bindings tried at which parts are counted."""
_STEPS = 500_000
"""The bindings of a part between two looks at how many it has."""
_WASTE = 8
"""Bindings for each row that are too many."""
_SAME, _FEW, _PART = 2, 8, 4
"""A part may pay with so many bindings for each of its rows, or so many rows of a derived relation, if all relations of
the hyper-node together have so many times its rows."""
_ROW = 20
"""The cost of a row, which gets into a set and into indexes, in bindings."""
_GAIN = 0.6
"""The part of the cost that early projections have to leave."""


class ProjectEarlyError(Exception):
    """A bootstrap has to begin again with other early projections."""


class _EnoughError(Exception):
    """A part is too large, or has as many bindings as the rules have tried."""


@dataclass(frozen=True)
class _Trial:
    """The `cost` of a hyper-node when it had so many `rows`, without the early projections of `names`. Those of `names`
    are the best of those `counted`."""

    names: frozenset[str]
    counted: frozenset[str]
    rows: int
    cost: int


class EarlyChoice:
    """The relations of early projections in use, `names`, and those that did not pay."""

    def __init__(self, names: frozenset[str] = frozenset()) -> None:
        self.names = names
        self._rejected: frozenset[str] = frozenset()
        self._trials: dict[str, _Trial] = {}
        """By the first relation of the hyper-node."""

    def settle(self) -> None:
        """End all trials: the bootstraps have ended before they were as dear as without early projections."""
        self._trials.clear()

    def counter(self, node: HyperNode) -> Callable[[Inputs, int], None] | None:
        """Return what a bootstrap of a hyper-node has to call with the bindings that it has tried, None for nothing. It
        raises ProjectEarlyError."""
        if not can_be_projected(node):
            return None
        own = [name for name in node.relations if not name.startswith(PROJECTION)]
        stops = list(_STOPS)

        def count(inputs: Inputs, work: int) -> None:
            rows = sum(inputs.relations[name].rows for name in own)
            cost = work + _ROW * sum(inputs.relations[name].rows for name in node.relations)
            trial = self._trials.get(own[0])
            if trial is not None:
                self._compare(trial, own[0], rows, cost)
            elif stops and work >= stops[0]:
                del stops[: sum(work >= each for each in stops)]
                if work >= _WASTE * rows:
                    self._try(node, inputs, work, rows, cost)

        return count

    def _compare(self, trial: _Trial, first: str, rows: int, cost: int) -> None:
        """End a trial when it is decided."""
        if cost > _GAIN * trial.cost * max(1.0, rows / trial.rows):
            del self._trials[first]
            self.names -= trial.names
            self._rejected |= trial.counted
            raise ProjectEarlyError
        if rows >= trial.rows:
            del self._trials[first]

    def _try(self, node: HyperNode, inputs: Inputs, work: int, rows: int, cost: int) -> None:
        """Begin a trial with the parts that may pay, the smallest one of each rule."""
        counted: dict[str, int] = {}
        names = set()
        for rule in node.rules:
            assert isinstance(rule, CoreRule)  # as `can_be_projected` asks for
            parts = {each.relation: each.part for each in early_projections(rule, node.derives)}
            for name in parts.keys() - counted.keys() - self._rejected:
                counted[name] = _rows_if_paying(parts[name], node, inputs, work)
            paying = [name for name in sorted(parts) if counted.get(name)]
            if paying:
                names.add(min(paying, key=lambda name: counted[name]))
        if names:
            self._trials[node.relations[0]] = _Trial(frozenset(names), frozenset(counted), rows, cost)
            self.names |= names
            raise ProjectEarlyError


def _rows_if_paying(part: CoreRule, node: HyperNode, inputs: Inputs, most: int) -> int:
    """Return the rows that a part would have now; 0 unless it may pay, or where it has more than `most` bindings."""
    # The bootstrap settles what it reads, and those that the hyper-node derives are in the midst of a round.
    own = {name: inputs.relations[name].copy_to(inputs.catalog) for name, _ in part.reads if name in node.derives}
    others = {name: inputs.relations[name] for name, _ in (*part.reads, (UNIT, False)) if name not in own}
    found = StoredRelation(inputs.catalog, len(part.head.args))
    relations = {**others, **own, part.head.relation: found}
    large = sum(inputs.relations[name].rows for name in node.relations) // _PART

    def stop(_: Inputs, work: int) -> None:
        if work > most or found.rows > large:
            raise _EnoughError

    try:
        inputs = replace(inputs, relations=relations, at_work=stop, steps=_STEPS)
        bootstrap(HyperNode((part.head.relation,), (part,), False), inputs)
    except _EnoughError:
        return 0
    rows = found.rows
    saves = rows * _SAME <= found.emitted or any(rows * _FEW <= each.rows for each in own.values())
    return rows if rows <= large and saves else 0
