"""Large groups of aggregates in Python that can merge states: a change reads a part of the group again.

The members of a group are parted by a hash of their operands. Each part has a state, of its members in ascending order.
After a change, the parts of the members that came or went are read, and the value is that of all parts merged. So a
change costs the steps of some parts and a merge for each part, where a group that is read as a whole costs a step for
each member.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy
from numpy.typing import NDArray

from tidelog.common.arrays import Words

LARGE = 4_096
"""Members of a group from which on it has parts."""
_FEWEST = 32
_FACTOR = numpy.uint64(0x9E3779B97F4A7C15)


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
    mixed = numpy.zeros(len(words), numpy.uint64)
    for column in words.T:
        mixed = (mixed ^ numpy.ascontiguousarray(column).view(numpy.uint64)) * _FACTOR
        mixed ^= mixed >> numpy.uint64(29)
    return (mixed & numpy.uint64(count - 1)).astype(numpy.int64)
