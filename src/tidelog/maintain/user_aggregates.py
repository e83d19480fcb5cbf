"""Aggregates in Python over the groups of a rule.

Without an inverse, a group that has changed is read again. With an inverse, the first change of a group reads it and
keeps its state, and later changes cost a step for each member that comes or goes. The engine compares such values with
those of the group read again at the 1st, 2nd, 4th, 8th, … change of each aggregate, because an inverse that does not
undo the step would let views drift. After an epoch that fails, the groups that it touched have no state: a step may
have changed a state in place.

A large group of an aggregate that can `merge` states is parted by a hash of the operands. Each part has a state, of its
members in ascending order. After a change, the parts of the members that came or went are read, and the value is that
of all parts merged. So a change costs the steps of some parts and a merge for each part, where a group that is read as
a whole costs a step for each member.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import numpy
from numpy.typing import NDArray

from tidelog.common.arrays import Flags, Words
from tidelog.common.looking import Look, Pace
from tidelog.errors import DataError
from tidelog.language.syntax import FunctorType
from tidelog.maintain.compiled import fold_of
from tidelog.maintain.large_groups import GroupKey
from tidelog.rules.core import AggregateRule, OwnAggregate
from tidelog.semantics.user_aggregates import Folding, Group, folding_of, in_order, start_value
from tidelog.semantics.user_functors import DTYPES, PASSED, CallSite
from tidelog.semantics.values import Scalar
from tidelog.storage.dictionary import Dictionary
from tidelog.storage.rows import row_hashes

LARGE = 4_096
"""Members of a group from which on it has parts."""
_FEWEST = 32
WORTH_COMPILING = 100_000
"""Members that are read at once, from which on compiling takes less time than it saves."""
_AT_ONCE = 1 << 20
"""Members that a compiled fold takes between two looks."""
Members = tuple[Words, NDArray[numpy.intp]]
"""The operands of members as words, shape (members, operands), group by group, and the sizes of the groups."""


@dataclass
class Parts:
    """The states of the parts of a group by their numbers, of which there are `count`; parts without members have
    none."""

    count: int
    states: dict[int, Any]

    def fits(self, size: int) -> bool:
        """Return True if a group of this size is parted well enough."""
        return size < 16 * self.count * self.count

    @property
    def copies(self) -> Mapping[int, Any]:
        """Copies of the states, which a merge may change."""
        return {number: deepcopy(self.states[number]) for number in sorted(self.states)}


def parts_for(size: int) -> Parts:
    """Return the parts, not read yet, for a group of this size: about as many as each has members."""
    count = _FEWEST
    while count * count < size:
        count *= 2
    return Parts(count, {})


def changed_parts(members: Words, changed: Words, count: int) -> Iterator[tuple[int, Words]]:
    """Yield the numbers of the parts in which members have `changed`, with their members now."""
    wanted = numpy.zeros(count, bool)
    wanted[part_of(changed, count)] = True
    numbers = part_of(members, count)
    rows = numpy.flatnonzero(wanted[numbers])
    rows = rows[numpy.argsort(numbers[rows], kind="stable")]
    ends = numpy.searchsorted(numbers[rows], numpy.arange(count + 1))
    for number in numpy.flatnonzero(wanted).tolist():
        yield number, members[rows[ends[number] : ends[number + 1]]]


def part_of(words: Words, count: int) -> NDArray[numpy.int64]:
    """Return the number of the part of each row of operands, below `count`, a power of two."""
    return (row_hashes(words) & numpy.uint64(count - 1)).astype(numpy.int64)


@dataclass
class OwnGroups:
    """The states of the groups of one aggregate with an inverse, or the parts of large ones with a merge, each with its
    number of members. `read` counts the members that were read, `changes` the groups that changed by their states."""

    states: dict[GroupKey, tuple[Any, int]] = field(default_factory=dict)
    read: int = 0
    changes: int = 0
    _touched: set[GroupKey] = field(default_factory=set)

    def touch(self, group: GroupKey) -> tuple[Any, int] | None:
        """Return the state of a group, which a call may now change in place; None if there is none."""
        self._touched.add(group)
        return self.states.get(group)

    def note_state(self, group: GroupKey, state: Any, size: int) -> None:
        """Keep a state that was touched, unless no member is left."""
        if size:
            self.states[group] = state, size
        else:
            self.states.pop(group, None)

    def keep(self) -> None:
        """Make the changes last."""
        self._touched.clear()

    def take_back(self) -> None:
        """Drop the states that were touched since `keep`; these groups are read again."""
        for group in self._touched:
            self.states.pop(group, None)
        self._touched.clear()


class Fold:
    """The calls of an aggregate from one rule."""

    def __init__(self, rule: AggregateRule, dictionary: Dictionary) -> None:
        assert rule.own is not None
        self.own: OwnAggregate = rule.own
        self.dictionary = dictionary
        self.site = CallSite(rule.origin, rule.span)
        self.folding: Folding = folding_of(self.own)

    def group(self, key: Words) -> Group:
        """Return a group."""

        def keys() -> list[Scalar]:
            with suppress(DataError):  # a partition of the cluster engine may not know a symbol
                words = zip(key.tolist(), self.own.keys, strict=True)
                return [self.dictionary.decode(word, kind) for word, kind in words]
            return []

        return Group(self.own, self.site, keys)

    def rows(self, words: Words) -> list[tuple[Scalar, ...]]:
        """Return the operands of members in ascending order."""
        columns = [
            self.dictionary.decode_list(numpy.ascontiguousarray(words[:, i]), column.kind)
            for i, column in enumerate(self.own.operands)
        ]
        return in_order(self.own, zip(*columns, strict=True))

    def state(self, group: Group, words: Words, pace: Pace) -> Any:
        """Return the state of a group with these members."""
        return group.after("step", self.folding, group.init(self.folding), pace.over(self.rows(words)))

    def values(self, keys: Words, members: Members, look: Look) -> tuple[Words, Flags]:
        """Return the values of groups from all their members, and a mask of those that have one."""
        words, sizes = members
        loop = fold_of(self.own) if len(words) >= WORTH_COMPILING else None
        found = None if loop is None else self._values_by_loop(loop, words, sizes, look)
        return found or self.encode(self._values_by_rows(keys, members, look))

    def _values_by_rows(self, keys: Words, members: Members, look: Look) -> Iterator[Scalar]:
        pace = Pace(look)
        for key, words in pace.over(zip(keys, _parts(members), strict=True)):
            if len(words):
                group = self.group(key)
                yield group.value(self.folding, self.state(group, words, pace))
            else:
                yield None if self.own.start is None else start_value(self.own.start)

    def _values_by_loop(
        self, loop: Callable[..., Any], words: Words, sizes: NDArray[numpy.intp], look: Look
    ) -> tuple[Words, Flags] | None:
        """Return the values of groups by compiled code; None if it raises, because only the functions themselves say
        for which group."""
        kinds = [column.kind for column in self.own.operands]
        typed = [numpy.ascontiguousarray(words[:, i]).view(DTYPES[kind]) for i, kind in enumerate(kinds)]
        order = numpy.lexsort([*typed[::-1], numpy.repeat(numpy.arange(len(sizes)), sizes)])
        typed = [column[order] for column in typed]
        found = numpy.zeros(len(sizes), DTYPES[self.own.declared.result.kind])
        ends = numpy.cumsum(sizes)
        first = 0
        while first < len(sizes):
            look()
            start = int(ends[first] - sizes[first])
            last = max(first + 1, int(numpy.searchsorted(ends, start + _AT_ONCE, "right")))
            try:
                loop(*(column[start : ends[last - 1]] for column in typed), sizes[first:last], found[first:last])
            except PASSED:
                raise
            except BaseException:
                return None
            first = last
        has = sizes > 0
        if found.dtype == numpy.float64:
            found += 0.0  # -0.0 is 0.0
            has &= ~numpy.isnan(found)
        result = found.view(numpy.int64)
        result[~has] = 0
        if self.own.start is not None:
            empty, _ = self.encode(iter([start_value(self.own.start)]))
            result[sizes == 0] = empty[0]
            has |= sizes == 0
        return result, has

    def encode(self, values: Iterator[Scalar]) -> tuple[Words, Flags]:
        """Return values as words, and a mask of those that are no None."""
        kind, found = self.own.declared.result.kind, list(values)
        has = numpy.fromiter((value is not None for value in found), bool, len(found))
        words = numpy.zeros(len(found), numpy.int64)
        words[has] = [self.dictionary.encode(value, kind) for value in found if value is not None]
        return words, has


def update_values(
    fold: Fold,
    groups: Words,
    born: Members,
    died: Members,
    kept: OwnGroups,
    read: Callable[[Flags], Members],
    look: Look,
    *,
    everything: bool,
) -> tuple[Words, Flags]:
    """Return the values of groups after members were born and died, and a mask of those that have one. `read` gives all
    members of some of the groups."""
    if everything or (fold.folding.inverse is None and fold.folding.merge is None):
        return fold.values(groups, read(numpy.ones(len(groups), bool)), look)
    if fold.folding.inverse is None:
        return _values_of_parts(fold, groups, born, died, kept, read(numpy.ones(len(groups), bool)), look)
    found: list[Scalar] = [None if fold.own.start is None else start_value(fold.own.start)] * len(groups)
    unknown = numpy.zeros(len(groups), bool)
    suspects: list[int] = []
    pace = Pace(look)
    parts = zip(groups, _parts(born), _parts(died), strict=True)
    for i, (key, inserted, deleted) in enumerate(pace.over(parts)):
        state = kept.touch(tuple(key.tolist()))
        if state is None:
            unknown[i] = True
            continue
        if not len(inserted) and not len(deleted):  # The group was asked for, or is so no more.
            found[i] = fold.group(key).value(fold.folding, state[0])
            continue
        found[i] = _value_after(fold, key, state, inserted, deleted, kept, found[i], pace)
        kept.changes += 1
        if kept.changes & (kept.changes - 1) == 0:
            suspects.append(i)
    for i, words in pace.over(zip(numpy.flatnonzero(unknown).tolist(), _parts(read(unknown)), strict=True)):
        if len(words):
            group = fold.group(groups[i])
            state = fold.state(group, words, pace)
            kept.note_state(tuple(groups[i].tolist()), state, len(words))
            found[i] = group.value(fold.folding, state)
    _verify(fold, groups, suspects, found, read, pace)
    return fold.encode(iter(found))


def _value_after(
    fold: Fold,
    key: Words,
    before: tuple[Any, int],
    inserted: Words,
    deleted: Words,
    kept: OwnGroups,
    empty: Scalar,
    pace: Pace,
) -> Scalar:
    """Return the value of a group after a change of its members, and keep its state."""
    state, size = before
    group, size = fold.group(key), size + len(inserted) - len(deleted)
    if size:
        state = group.after("step", fold.folding, state, pace.over(fold.rows(inserted)))
        state = group.after("inverse", fold.folding, state, pace.over(fold.rows(deleted)))
    kept.note_state(tuple(key.tolist()), state, size)
    return group.value(fold.folding, state) if size else empty


def _values_of_parts(
    fold: Fold, groups: Words, born: Members, died: Members, kept: OwnGroups, members: Members, look: Look
) -> tuple[Words, Flags]:
    """Return the values of groups with these members after members were born and died, and a mask of those that have
    one. Keep the states of the parts of large groups."""
    large = members[1] >= LARGE
    small = members[0][numpy.repeat(~large, members[1])], numpy.where(large, 0, members[1])
    words, has = fold.values(groups, small, look)
    values: list[Scalar] = []
    pace = Pace(look)
    for i, (own, inserted, deleted) in enumerate(
        pace.over(zip(_parts(members), _parts(born), _parts(died), strict=True))
    ):
        key = tuple(groups[i].tolist())
        before = kept.touch(key)
        if not large[i]:
            kept.note_state(key, None, 0)
            continue
        group, parts = fold.group(groups[i]), before[0] if before is not None else None
        if parts is None or not parts.fits(len(own)):
            parts, changed = parts_for(len(own)), own
        else:
            changed = numpy.concatenate([inserted, deleted])
        for number, part in changed_parts(own, changed, parts.count):
            parts.states.pop(number, None)
            if len(part):
                parts.states[number] = fold.state(group, part, pace)
        kept.note_state(key, parts, len(own))
        values.append(group.value(fold.folding, group.merge(fold.folding, pace.over(parts.copies.values()))))
        kept.changes += before is not None
        if before is not None and kept.changes & (kept.changes - 1) == 0:
            again = group.value(fold.folding, fold.state(group, own, pace))
            if again != values[-1]:
                raise group.changed_value_error(fold.folding, values[-1], again)
    words[large], has[large] = fold.encode(iter(values))
    return words, has


def _verify(
    fold: Fold, groups: Words, suspects: list[int], found: list[Scalar], read: Callable[[Flags], Members], pace: Pace
) -> None:
    """Raise UsageError (E0644) if a group has another value when it is read again."""
    if not suspects:
        return
    mask = numpy.zeros(len(groups), bool)
    mask[suspects] = True
    for i, words in zip(suspects, _parts(read(mask)), strict=True):
        if len(words):
            group = fold.group(groups[i])
            again = group.value(fold.folding, fold.state(group, words, pace))
            if again != found[i]:
                raise group.changed_value_error(fold.folding, found[i], again)


def _parts(members: Members) -> list[Words]:
    """Return the members of each group."""
    words, sizes = members
    return numpy.split(words, numpy.cumsum(sizes)[:-1]) if len(sizes) else []


def aggregate_statistics(
    aggregates: Mapping[str, FunctorType], kept: Mapping[str, Any], names: Mapping[str, str]
) -> dict[str, Any]:
    """Return for each aggregate how its functions are called, and of how many groups states are kept; `names` are the
    aggregates of the relations in `kept`."""
    found = {}
    for name, declared in aggregates.items():
        given = declared.given.aggregates.get(name)
        own = [kept[relation] for relation, other in names.items() if other == name and relation in kept]
        way = "missing" if given is None else "compiled" if given.made.get(declared.key) is not None else "rows"
        found[name] = {"way": way, "states": sum(len(each.states) for each in own), "read": sum(e.read for e in own)}
    return found
