"""Aggregate rules: evaluated at once, and maintained at a cost in proportion to the change.

Groups are the rows of `outer`; values the distinct rows of `inner` with their witnesses. `evaluate` finds the group of
each row by the set of `outer`, then folds values per group, in the order of groups where that matters.
`update_aggregate` looks at the groups that gained or lost members: counts and sums of integers are added to and
subtracted from; all others have states for large groups (large_groups.py), and read small groups again. Sums of floats
are exact before they are rounded once, so that neither the order of rows nor the way to a value matters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan
from typing import Any, assert_never

import numpy
from numpy.typing import NDArray

from tidelog.common.arrays import AnyWords, Flags, Words
from tidelog.common.looking import Look
from tidelog.errors import InternalError, LimitError, Problem
from tidelog.kernels.calling import expect
from tidelog.language.aggregates import AGGREGATES, AggregateName
from tidelog.language.syntax import Kind
from tidelog.maintain import large_groups
from tidelog.maintain.functors import LONGEST
from tidelog.maintain.large_groups import LargeGroups, Total, Values, state_of
from tidelog.maintain.machine import Inputs
from tidelog.maintain.threads import WidenError
from tidelog.maintain.user_aggregates import Fold, Members, OwnGroups, update_values
from tidelog.rules.core import AggregateRule
from tidelog.storage.changes import change_facts, changed_rows
from tidelog.storage.closed_relation import ClosedRelation
from tidelog.storage.dictionary import Dictionary
from tidelog.storage.ordering import order_of
from tidelog.storage.rows import narrow
from tidelog.storage.stored import StoredRelation

_SELECTIVE = {"any": min, "min": min, "max": max}
"""The aggregates whose value is a member."""
_AT_ONCE = 1 << 20
"""Values that are dealt out or added between two looks."""


def folds_texts(op: AggregateName, kind: Kind) -> bool:
    """Return True if an aggregate of values of a kind needs the dictionary."""
    return op == "collect" or kind == "symbol"


def fold_texts(
    op: AggregateName, kind: Kind, words: Words, sizes: NDArray[numpy.intp], dictionary: Dictionary, look: Look
) -> tuple[Words, Flags]:
    """Return the value of each group as a word, and a mask of those that have one. `words` are the values of all groups
    in a row, `sizes` many each."""
    has = sizes > 0
    values = [dictionary.decode(word, kind) for word in words.tolist()] if kind != "symbol" else None
    texts = dictionary.strings(words) if values is None else []
    found: list[str] = []
    start = 0
    for size in sizes[has].tolist():
        look()
        if values is None:
            group = texts[start : start + size]
            found.append(_SELECTIVE[op](group) if op in _SELECTIVE else join_texts(sorted(set(group))))
        else:
            members = sorted(set(values[start : start + size]))  # type: ignore[type-var]  # numbers of one kind
            found.append(join_texts([repr(each) if kind == "float" else str(each) for each in members]))
        start += size
    result = numpy.zeros(len(sizes), numpy.int64)
    result[has] = dictionary.ids_of(found)
    return result, has


def join_texts(texts: list[str]) -> str:
    """Return texts with commas between them. Raise LimitError (E0503) if that is too long."""
    size = sum(map(len, texts)) + len(texts) - 1
    if size > LONGEST:
        message = f"`collect` would make a symbol of {size:,} characters, the limit is {LONGEST:,}"
        raise LimitError(Problem("E0503", message, hint="group the values further; nothing has changed"))
    return ",".join(texts)


def evaluate(
    rule: AggregateRule, outer: StoredRelation, inner: StoredRelation, dictionary: Dictionary, look: Look
) -> Words:
    """Return the rows of the rule's head, shape (groups with a value, rule.groups + 1), for the rows of its two
    relations, with symbols of `dictionary`. An exception of `look` ends the work."""
    asked, members = outer.words().astype(numpy.int64, copy=False), inner.words()
    place = _places_in_outer(outer, members[:, : rule.groups], look)
    if len(place) and place.min() < 0:
        members, place = members[place >= 0], place[place >= 0]
    count = len(asked)
    scattered = _fold_at_once(rule, place, members, count)
    if scattered is not None:
        values, has = scattered
    elif rule.own is not None:
        values, has = Fold(rule, dictionary).values(asked, _members(rule, place, members, count, look), look)
    else:
        gathered = _values_by_group(rule, place, members, count, look)
        values, has = _values(rule, *gathered, dictionary, look)
    return numpy.concatenate([asked[has], values[has, None]], axis=1)


def _places_in_outer(outer: StoredRelation, groups: AnyWords, look: Look) -> Words:
    """Return for each of these groups its position among the live rows of `outer`, or -1."""
    live = outer.live()  # In the midst of an epoch, rows that died still count in its length.
    if not outer.arity:
        return numpy.full(len(groups), len(live) - 1)
    positions = numpy.full(outer.rows + 1, -1)  # The last one is that of -1.
    positions[live] = numpy.arange(len(live))
    place = numpy.empty(len(groups), numpy.int64)
    for start in range(0, len(groups), _AT_ONCE):
        look()
        some = slice(start, start + _AT_ONCE)
        place[some] = positions[outer.find(groups[some])]
    return place


def _fold_at_once(rule: AggregateRule, place: Words, members: AnyWords, count: int) -> tuple[Words, Flags] | None:
    """Return the value of each of `count` groups, and a mask of those that have one, for members whose groups have
    these places; None for aggregates that need the members of a group together."""
    if rule.op == "count":
        return numpy.bincount(place, minlength=count), numpy.ones(count, bool)
    if rule.op not in ("sum", "min", "max", "any") or rule.kind not in ("number", "unsigned"):
        return None
    values = _view_as(members[:, rule.groups].astype(numpy.int64), rule.kind)
    result = numpy.zeros(count, numpy.int64)
    typed = result.view(values.dtype)
    if rule.op == "sum":
        numpy.add.at(typed, place, values)
        return result, numpy.ones(count, bool)
    has = numpy.bincount(place, minlength=count) > 0
    bounds = numpy.iinfo(values.dtype)
    typed[has] = bounds.min if rule.op == "max" else bounds.max
    (numpy.maximum if rule.op == "max" else numpy.minimum).at(typed, place, values)
    return result, has


# --- following changes -----------------------------------------------------------------------------------------------


def update_aggregate(
    rule: AggregateRule, inputs: Inputs, large: LargeGroups | OwnGroups, *, everything: bool = False
) -> None:
    """Bring the open head of an aggregate rule up to date with the rows that its two relations have gained and lost,
    or, by reading `everything` again, with all their rows.

    Raise WidenError, LimitError, KeyboardInterrupt; the caller then has to undo the head and `large`.
    """
    g, look = rule.groups, inputs.watch.look
    outer, inner, head = (inputs.relations[name] for name in (rule.outer, rule.inner, rule.head))
    died, born = changed_words(inner)
    others = (outer.words(), head.words()) if everything else changed_words(outer)
    groups, numbers = distinct_groups([rows[:, :g] for rows in (died, born, *others)], look)
    change = _Change(died, numbers[: len(died)], born, numbers[len(died) :][: len(born)])
    rows, before = values_before(head, groups, look)
    if isinstance(large, OwnGroups):
        fold = Fold(rule, inputs.dictionary)
        values, has = _user_values_after(rule, fold, inner, groups, change, large, look, everything=everything)
    elif everything:
        values, has = _read_groups(rule, inner, groups, large, inputs.dictionary, look)
    elif _counts(rule):
        values, has = _add_change(rule, before, change), numpy.ones(len(groups), bool)
    else:
        values, has = _values_after(rule, inner, groups, change, large, inputs.dictionary, look)
    replace_values(rule, inputs, groups, (rows, before), (values, has))


def replace_values(
    rule: AggregateRule, inputs: Inputs, groups: Words, before: tuple[Words, Words], now: tuple[Words, Flags]
) -> None:
    """Change the open head of an aggregate rule: `groups` had the values `before` (see `values_before`), and have the
    values `now` where the mask is set and they are asked for. Raise WidenError, and what `watch.look` raises."""
    outer, head = inputs.relations[rule.outer], inputs.relations[rule.head]
    (rows, old), (values, has) = before, now
    asked = outer.find(groups)
    has &= asked >= 0
    has[has] = outer.marks.alive(asked[has])
    same = (rows >= 0) & has & (values == old)
    new = numpy.concatenate([groups, values[:, None]], axis=1)[has & ~same]
    if inputs.catalog.bits == 32 and not narrow(new):
        raise WidenError
    inputs.watch.look(len(new))
    change_facts(head, rows[(rows >= 0) & ~same], new)


@dataclass(frozen=True)
class _Change:
    """Rows of `inner` that died and were born, and the numbers of their groups."""

    died: Words
    died_in: Words
    born: Words
    born_in: Words


def changed_words(stored: StoredRelation) -> tuple[Words, Words]:
    """Return the rows that died and that were born in this epoch."""
    none = numpy.empty((0, stored.arity), numpy.int64)
    died, born = changed_rows(stored) if stored.changing else (none, none)
    return died.astype(numpy.int64), born.astype(numpy.int64)


def values_before(head: StoredRelation, groups: Words, look: Look) -> tuple[Words, Words]:
    """Return for each group, in ascending order, its row in `head` or -1, and its value or 0."""
    g = groups.shape[1]
    selected = head.select(tuple(range(g)), groups)
    found = head.take(selected).astype(numpy.int64)
    place = _places(groups, found, look)
    rows, before = numpy.full(len(groups), -1), numpy.zeros(len(groups), numpy.int64)
    rows[place], before[place] = selected, found[:, g]
    return rows, before


def _counts(rule: AggregateRule) -> bool:
    """Return True if the value of a group after a change depends only on its value before and on the change."""
    return rule.op == "count" or (rule.op == "sum" and rule.kind != "float")


def _add_change(rule: AggregateRule, before: Words, change: _Change) -> Words:
    """Return counts and sums of integers from the old values; a new group has only the members that were inserted."""
    values = before.copy()
    count = rule.op == "count"
    numpy.subtract.at(values, change.died_in, 1 if count else change.died[:, rule.groups])
    numpy.add.at(values, change.born_in, 1 if count else change.born[:, rule.groups])
    return values


def _values_after(
    rule: AggregateRule,
    inner: StoredRelation,
    groups: Words,
    change: _Change,
    large: LargeGroups,
    dictionary: Dictionary,
    look: Look,
) -> tuple[Words, Flags]:
    """Return the values of groups, and a mask of those that have one. Values of large groups come from their states, if
    they have one."""
    values, has = numpy.zeros(len(groups), numpy.int64), numpy.zeros(len(groups), bool)
    unknown = numpy.ones(len(groups), bool)
    if large.states:
        died, died_sizes = _values_by_group(rule, change.died_in, change.died, len(groups), look)
        born, born_sizes = _values_by_group(rule, change.born_in, change.born, len(groups), look)
        died_ends, born_ends = numpy.cumsum(died_sizes), numpy.cumsum(born_sizes)
        for i, group in enumerate(groups.tolist()):
            before = large.states.get(tuple(group))
            if before is None:
                continue
            state = before.with_changes(
                born[born_ends[i] - born_sizes[i] : born_ends[i]], died[died_ends[i] - died_sizes[i] : died_ends[i]]
            )
            large.note_state(tuple(group), state)
            if state is not None:
                values[i], has[i] = _word(state.value())
                unknown[i] = False
    values[unknown], has[unknown] = _read_groups(rule, inner, groups[unknown], large, dictionary, look)
    return values, has


def _user_values_after(
    rule: AggregateRule,
    fold: Fold,
    inner: StoredRelation,
    groups: Words,
    change: _Change,
    own: OwnGroups,
    look: Look,
    *,
    everything: bool,
) -> tuple[Words, Flags]:
    """Return the values of groups of an aggregate in Python, and a mask of those that have one."""

    def read_members(which: Flags) -> Members:
        wanted = groups[which]
        members = _members_of(inner, wanted)
        own.read += len(members)
        return _members(rule, _places(wanted, members, look), members, len(wanted), look)

    born = _members(rule, change.born_in, change.born, len(groups), look)
    died = _members(rule, change.died_in, change.died, len(groups), look)
    return update_values(fold, groups, born, died, own, read_members, look, everything=everything)


def _read_groups(
    rule: AggregateRule,
    inner: StoredRelation,
    groups: Words,
    large: LargeGroups,
    dictionary: Dictionary,
    look: Look,
) -> tuple[Words, Flags]:
    """Return the values of groups, in ascending order, and a mask of those that have one, from all their members. Make
    states for large groups."""
    members = _members_of(inner, groups)
    large.read += len(members)
    given, sizes = _values_by_group(rule, _places(groups, members, look), members, len(groups), look)
    big = (sizes >= large_groups.LARGE) & (not _counts(rule) and not folds_texts(rule.op, rule.kind))
    small = given[numpy.repeat(~big, sizes)]
    values, has = _values(rule, small, numpy.where(big, 0, sizes), dictionary, look)
    ends = numpy.cumsum(sizes)
    for i in numpy.flatnonzero(big):
        look()
        state = state_of(rule.op, given[ends[i] - sizes[i] : ends[i]])
        large.note_state(tuple(groups[i].tolist()), state)
        values[i], has[i] = _word(state.value())
    return values, has


def _members_of(inner: StoredRelation, groups: Words) -> Words:
    """Return the rows of distinct groups."""
    keys = tuple(range(groups.shape[1]))
    if isinstance(inner, ClosedRelation):  # It has rows of its own only for what the epoch has changed.
        return inner.rows_with(keys, groups).astype(numpy.int64)
    return inner.take(inner.select(keys, groups)).astype(numpy.int64)


def _word(value: float | numpy.integer[Any] | None) -> tuple[int, bool]:
    """Return a value as a word, and True if there is one."""
    return (0, False) if value is None else (int(numpy.asarray(value).view(numpy.int64)), True)


# --- groups ----------------------------------------------------------------------------------------------------------


def _number_groups(keys: Words, look: Look) -> Words:
    """Return a number for each row, equal for equal rows, without gaps, in the order of the rows."""
    if len(keys) == 0 or keys.shape[1] == 0:
        return numpy.zeros(len(keys), numpy.int64)
    order = order_of(list(keys.T), look)
    ordered = keys[order]
    new = numpy.concatenate([[False], (ordered[1:] != ordered[:-1]).any(axis=1)])
    numbers = numpy.empty(len(keys), numpy.int64)
    numbers[order] = numpy.cumsum(new)
    return numbers


def distinct_groups(parts: Sequence[AnyWords], look: Look) -> tuple[Words, Words]:
    """Return the distinct rows of several arrays of groups, in ascending order, and for each row of all of them the
    number of its group."""
    keys = numpy.concatenate([rows.astype(numpy.int64) for rows in parts])
    numbers = _number_groups(keys, look)
    example = numpy.empty(int(numbers.max(initial=-1)) + 1, numpy.int64)
    example[numbers] = numpy.arange(len(numbers))
    return keys[example], numbers


def _places(groups: Words, rows: Words, look: Look) -> Words:
    """Return the position in `groups`, ascending and distinct, of the group of each row, which is one of them."""
    if len(groups) == 1:
        return numpy.zeros(len(rows), numpy.int64)
    return _number_groups(numpy.concatenate([groups, rows[:, : groups.shape[1]]]), look)[len(groups) :]


def _values_by_group(
    rule: AggregateRule, place: Words, inner: AnyWords, count: int, look: Look
) -> tuple[Values, NDArray[numpy.intp]]:
    """Return the values of rows of `inner`, group by group, and the sizes of the `count` groups numbered in `place`."""
    sizes = numpy.bincount(place, minlength=count)
    if rule.op == "count":
        return place, sizes
    return _view_as(_deal_out(place, inner[:, rule.groups], sizes, look), rule.kind), sizes


def _members(rule: AggregateRule, place: Words, inner: Words, count: int, look: Look) -> Members:
    """Return the operands of an aggregate in Python, see `_gathered`."""
    assert rule.own is not None
    columns = slice(rule.groups, rule.groups + len(rule.own.operands))
    sizes = numpy.bincount(place, minlength=count)
    order = _deal_out(place, numpy.arange(len(place)), sizes, look)
    return inner[order, columns].astype(numpy.int64), sizes


def _deal_out(place: Words, values: AnyWords, sizes: NDArray[numpy.intp], look: Look) -> Words:
    """Return values group by group, each group in the order given."""
    from tidelog.kernels.sums import deal

    expect(len(values))
    ends, dealt = numpy.cumsum(sizes) - sizes, numpy.empty(len(values), numpy.int64)
    given = numpy.ascontiguousarray(values, numpy.int64)
    for start in range(0, len(values), _AT_ONCE):
        look()
        deal(place, given, start, min(start + _AT_ONCE, len(values)), ends, dealt)
    return dealt


def _view_as(words: Words, kind: Kind) -> Values:
    return words.view({"unsigned": numpy.uint64, "float": numpy.float64}.get(kind, numpy.int64))


# --- values ----------------------------------------------------------------------------------------------------------


def _values(
    rule: AggregateRule, values: Values, sizes: NDArray[numpy.intp], dictionary: Dictionary, look: Look
) -> tuple[Words, Flags]:
    """Return the value of each group, and a mask of those that have one."""
    if folds_texts(rule.op, rule.kind):
        return fold_texts(rule.op, rule.kind, values.view(numpy.int64), sizes, dictionary, look)
    return _fold(rule.op, values, sizes, look)


def _fold(op: AggregateName, values: Values, sizes: NDArray[numpy.intp], look: Look) -> tuple[Words, Flags]:
    """Return the value of each group, and a mask of those that have one. `values` are those of all groups in a row,
    `sizes` many each."""
    has = filled = sizes > 0
    result = numpy.zeros(len(sizes), numpy.int64)
    starts = (numpy.cumsum(sizes) - sizes)[filled]
    typed, floats = result.view(values.dtype), result.view(numpy.float64)
    if AGGREGATES[op].empty is not None:
        has = numpy.ones(len(sizes), bool)
    match op:
        case "count":
            return sizes.astype(numpy.int64), has
        case _ if not len(starts):
            return result, has
        case "sum" if values.dtype != numpy.float64:
            typed[filled] = numpy.add.reduceat(values, starts)
            return result, has
        case "min" | "any":
            typed[filled] = numpy.minimum.reduceat(values, starts)
            return result, has
        case "max":
            typed[filled] = numpy.maximum.reduceat(values, starts)
            return result, has
        case "sum":
            floats[filled] = _exact_sums(values, sizes[filled], look)
        case "mean":
            floats[filled] = _exact_sums(values.astype(numpy.float64), sizes[filled], look) / sizes[filled]
        case "median":
            floats[filled] = _medians(values, sizes[filled], look)
        case "collect" | "argmin" | "argmax" | "autoinc" | "own":
            raise InternalError(Problem("E0901", f"`{op}` has no value of numbers"))
        case _:
            assert_never(op)
    floats += 0.0  # -0.0 is 0.0
    return result, has & ~numpy.isnan(floats)


def _exact_sums(values: NDArray[numpy.float64], sizes: NDArray[numpy.intp], look: Look) -> NDArray[numpy.float64]:
    """Return the correctly rounded sum of each group, NaN where it has none."""
    from tidelog.kernels.sums import PARTS, add_exactly

    expect(len(values))
    ends, sums, parts = numpy.cumsum(sizes), numpy.empty(len(sizes)), numpy.empty(PARTS)
    low, at = 0, 0
    while low < len(sizes):
        look()
        high = max(int(numpy.searchsorted(ends, at + _AT_ONCE)), low + 1)
        at = add_exactly(values, at, sizes, low, high, _AT_ONCE, parts, sums)
        low = high
    for group in numpy.flatnonzero(numpy.isnan(sums)).tolist():
        sums[group] = _total(values[ends[group] - sizes[group] : ends[group]], look)
    return sums + 0.0


def _total(values: NDArray[numpy.float64], look: Look) -> float:
    """Return the correctly rounded sum of many values, or of such as have no finite sum on the way. NaN if it has no
    value: for infinities of both signs, or if it is too large for a float."""
    total = Total("sum")
    for start in range(0, len(values), _AT_ONCE):
        look()
        total = total.with_changes(values[start : start + _AT_ONCE], values[:0])
    value = total.value()
    return nan if value is None else float(value)


def _medians(values: NDArray[Any], sizes: NDArray[numpy.intp], look: Look) -> NDArray[numpy.float64]:
    """Return the middle value of each group, or the mean of the middle two; NaN where there is no mean."""
    starts = numpy.cumsum(sizes) - sizes
    order = order_of([numpy.repeat(numpy.arange(len(sizes)), sizes), values], look)
    ordered = values[order]
    low = ordered[starts + (sizes - 1) // 2].astype(numpy.float64)
    high = ordered[starts + sizes // 2].astype(numpy.float64)
    with numpy.errstate(invalid="ignore", over="ignore"):
        return numpy.asarray(numpy.where(sizes % 2 == 1, low, (low + high) / 2), numpy.float64)
