"""Aggregate rules, evaluated in one go: rows are grouped by sorting, values are folded per group.

Groups are the rows of `outer`; values the distinct rows of `inner` with their witnesses. Sums of floats are exact
before they are rounded once, so that the order of rows does not matter.
"""

from __future__ import annotations

from math import fsum, nan
from typing import Any

import numpy
from numpy.typing import NDArray

from tidelog.language.syntax import Kind
from tidelog.maintain.machine import Inputs, WidenError, narrow
from tidelog.rules.core import AggregateRule

Words = NDArray[numpy.int64]

_EXACT = float(2**53)


def evaluate(rule: AggregateRule, outer: Words, inner: Words) -> Words:
    """The rows of the rule's head, shape (groups with a value, rule.groups + 1), for the rows of its two relations."""
    g = rule.groups
    keys = numpy.concatenate([outer[:, :g], inner[:, :g]])
    group = _number_groups(keys)
    asked, given = group[: len(outer)], group[len(outer) :]
    count = int(group.max()) + 1 if len(group) else 0
    sizes = numpy.bincount(given, minlength=count)
    if rule.op == "count":
        values: Words = sizes.astype(numpy.int64)
        has = numpy.ones(count, bool)
    else:
        order = numpy.argsort(given, kind="stable")
        values, has = _fold(rule.op, rule.kind, inner[order, g], sizes)
    wanted = has[asked]
    return numpy.concatenate([outer[wanted, :g], values[asked[wanted], None]], axis=1)


def update_aggregate(rule: AggregateRule, inputs: Inputs, *, everything: bool = False) -> None:
    """Evaluate anew, in its open relation, the groups of an aggregate rule that have changed, or `everything`."""
    g = rule.groups
    outer, inner, head = (inputs.relations[name] for name in (rule.outer, rule.inner, rule.head))
    touched = [stored.changed_rows()[:, :g] for stored in (outer, inner) if stored.changing]
    if everything:
        touched = [outer.words()[:, :g]]
    groups = numpy.empty((1, 0), numpy.int64)
    if g:
        groups = numpy.unique(numpy.concatenate(touched).astype(numpy.int64), axis=0)
    keys = tuple(range(g))
    asked = outer.take(outer.select(keys, groups)).astype(numpy.int64)
    given = inner.take(inner.select(keys, groups)).astype(numpy.int64)
    new = evaluate(rule, asked, given)
    if inputs.catalog.bits == 32 and not narrow(new):
        raise WidenError
    old = head.select(keys, groups)
    found = head.find(new)
    inputs.watch.look(len(new))
    head.change_facts(numpy.setdiff1d(old, found), new[found < 0])


def _number_groups(keys: Words) -> Words:
    """A number for each row, equal for equal rows, without gaps."""
    if len(keys) == 0 or keys.shape[1] == 0:
        return numpy.zeros(len(keys), numpy.int64)
    order = numpy.lexsort(keys.T[::-1])
    ordered = keys[order]
    new = numpy.concatenate([[False], (ordered[1:] != ordered[:-1]).any(axis=1)])
    numbers = numpy.empty(len(keys), numpy.int64)
    numbers[order] = numpy.cumsum(new)
    return numbers


def _typed(words: Words, kind: Kind) -> NDArray[Any]:
    return words.view({"unsigned": numpy.uint64, "float": numpy.float64}.get(kind, numpy.int64))


def _fold(op: str, kind: Kind, words: Words, sizes: NDArray[numpy.intp]) -> tuple[Words, NDArray[numpy.bool_]]:
    """The value of each group and whether it has one; `words` are the values, group by group, `sizes` many each."""
    has = sizes > 0
    result = numpy.zeros(len(sizes), numpy.int64)
    values = _typed(numpy.ascontiguousarray(words), kind)
    starts = (numpy.cumsum(sizes) - sizes)[has]
    if op == "sum":
        if kind == "float":
            sums = result.view(numpy.float64)
            sums[has] = _exact_sums(values, sizes[has])
            return result, ~numpy.isnan(sums)
        result.view(values.dtype)[has] = numpy.add.reduceat(values, starts) if len(starts) else []
        return result, numpy.ones(len(sizes), bool)
    if not len(starts):
        return result, has
    if op in ("min", "max"):
        result.view(values.dtype)[has] = (numpy.minimum if op == "min" else numpy.maximum).reduceat(values, starts)
        return result, has
    floats = result.view(numpy.float64)
    if op == "mean":
        floats[has] = _exact_sums(values.astype(numpy.float64), sizes[has]) / sizes[has]
    else:
        floats[has] = _medians(values, sizes[has])
    floats += 0.0  # -0.0 is 0.0
    return result, has & ~numpy.isnan(floats)


def _exact_sums(values: NDArray[numpy.float64], sizes: NDArray[numpy.intp]) -> NDArray[numpy.float64]:
    """The correctly rounded sum of each group, NaN where it has none."""
    starts = numpy.cumsum(sizes) - sizes
    whole = values == numpy.trunc(values)
    if len(starts) and whole.all() and numpy.abs(values).max() * sizes.max() < _EXACT:
        return numpy.asarray(numpy.add.reduceat(values, starts), numpy.float64)
    sums = [_exact_sum(values[a : a + n].tolist()) for a, n in zip(starts, sizes, strict=True)]
    return numpy.array(sums, numpy.float64) + 0.0


def _exact_sum(values: list[float]) -> float:
    """fsum, NaN where it has no value: infinities of both signs, or an overflow."""
    try:
        return fsum(values)
    except (OverflowError, ValueError):
        return nan


def _medians(values: NDArray[Any], sizes: NDArray[numpy.intp]) -> NDArray[numpy.float64]:
    """The middle value of each group, or the mean of the middle two; NaN where that is none."""
    starts = numpy.cumsum(sizes) - sizes
    order = numpy.lexsort([values, numpy.repeat(numpy.arange(len(sizes)), sizes)])
    ordered = values[order]
    low = ordered[starts + (sizes - 1) // 2].astype(numpy.float64)
    high = ordered[starts + sizes // 2].astype(numpy.float64)
    with numpy.errstate(invalid="ignore", over="ignore"):
        return numpy.asarray(numpy.where(sizes % 2 == 1, low, (low + high) / 2), numpy.float64)
