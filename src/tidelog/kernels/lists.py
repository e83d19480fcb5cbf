"""Families of lists of int32 that share one pool: the adjacency, members and reach sets of a closure.

`lists[family, k]` is (start, length, room) of list k. Lists that outgrow their room move to the end of the pool;
kernels that may do this return the pool, which may be new. `used` holds the numbers of values of the pool in use, of
these given up, and of lists that are noted, then which these are.

A list that is noted can be restored: `note` saves the place of its values SAVED families further on, and takes its room
away, so that a change has to move the list. Loops rather than slices: they run as fast and compile in a fraction of the
time.
"""
# mypy: disable-error-code="no-untyped-def"

import numpy

from tidelog.kernels.layout import ENTRIES, FAMILIES, GIVEN_UP, NOTED, SAVED, USED
from tidelog.kernels.words import kernel

START, LENGTH, ROOM = range(3)


@kernel
def with_room(pool, lists, used, family, k, room):
    """Let list `k`, whose values may be lost, have room for so many values."""
    if lists[family, k, ROOM] >= room:
        return pool
    used[GIVEN_UP] += lists[family, k, ROOM]
    if used[USED] + room > len(pool):
        more = numpy.empty(2 * (used[USED] + room), numpy.int32)
        for i in range(used[USED]):
            more[i] = pool[i]
        pool = more
    lists[family, k, START] = used[USED]
    lists[family, k, ROOM] = room
    used[USED] += room
    return pool


@kernel
def note(lists, used, family, k):
    """Keep where list `k` is, unless that has been done, before it changes."""
    if lists[family + SAVED, k, ROOM] == 0:
        lists[family + SAVED, k, START] = lists[family, k, START]
        lists[family + SAVED, k, LENGTH] = lists[family, k, LENGTH]
        lists[family + SAVED, k, ROOM] = lists[family, k, ROOM] + 1
        used[ENTRIES + used[NOTED]] = SAVED * k + family % SAVED
        used[NOTED] += 1
        used[GIVEN_UP] += lists[family, k, ROOM]
        lists[family, k, ROOM] = 0


@kernel
def end_notes(lists, used, back):
    """Forget the notes, or restore the lists as they were then, going `back`."""
    for i in range(used[NOTED]):
        k, family = used[ENTRIES + i] // SAVED, FAMILIES - SAVED + used[ENTRIES + i] % SAVED
        if back:
            used[GIVEN_UP] += lists[family, k, ROOM] - (lists[family + SAVED, k, ROOM] - 1)
            lists[family, k, START] = lists[family + SAVED, k, START]
            lists[family, k, LENGTH] = lists[family + SAVED, k, LENGTH]
            lists[family, k, ROOM] = lists[family + SAVED, k, ROOM] - 1
        lists[family + SAVED, k, ROOM] = 0
    used[NOTED] = 0


@kernel
def replace(pool, lists, used, family, k, values, n):
    """Note list `k` and make it the first `n` of `values`, an array that is not the pool."""
    note(lists, used, family, k)
    return assign(pool, lists, used, family, k, values, n)


@kernel
def append(pool, lists, used, family, k, value):
    """Add a value at the end of list `k`."""
    start, length = lists[family, k, START], lists[family, k, LENGTH]
    if length >= lists[family, k, ROOM]:
        pool = with_room(pool, lists, used, family, k, max(2, 2 * length))
        moved = lists[family, k, START]
        for i in range(length):
            pool[moved + i] = pool[start + i]
        start = moved
    pool[start + length] = value
    lists[family, k, LENGTH] = length + 1
    return pool


@kernel
def put_alone(pool, lists, used, family, first, last):
    """Let each of the lists from `first` to before `last` hold its own number."""
    for k in range(first, last):
        pool = append(pool, lists, used, family, k, k)
    return pool


@kernel
def assign(pool, lists, used, family, k, values, n):
    """Make list `k` the first `n` of `values`, an array that is not the pool."""
    pool = with_room(pool, lists, used, family, k, n)
    start = lists[family, k, START]
    for i in range(n):
        pool[start + i] = values[i]
    lists[family, k, LENGTH] = n
    return pool


@kernel
def discard(pool, lists, family, k, value):
    """Take one occurrence of `value` out of list `k`, where it is; the last value takes its place."""
    start, length = lists[family, k, START], lists[family, k, LENGTH]
    i = start
    while pool[i] != value:
        i += 1
    pool[i] = pool[start + length - 1]
    lists[family, k, LENGTH] = length - 1


@kernel
def compacted(pool, lists, used):
    """Return the lists in a new pool, without released space."""
    many = lists.shape[1]
    total = 0
    for family in range(FAMILIES):
        for k in range(many):
            total += lists[family, k, LENGTH]
    fresh = numpy.empty(total + total // 2 + 16, numpy.int32)
    at = 0
    for family in range(FAMILIES):
        for k in range(many):
            start, length = lists[family, k, START], lists[family, k, LENGTH]
            for i in range(length):
                fresh[at + i] = pool[start + i]
            lists[family, k, START] = at
            lists[family, k, ROOM] = length
            at += length
    used[USED], used[GIVEN_UP] = at, 0
    return fresh


@kernel
def renumbered(pool, lists, family, lent, given, sized, fresh, fresh_lists, fresh_used):
    """Write the lists of one family to the pool `fresh`, which has room, under the numbers `lent`; those with -1 have
    no values. Values, or complements of values, become numbers `given`, but for the first `sized` ones of a list."""
    at = fresh_used[USED]
    for k in range(len(lent)):
        if lent[k] >= 0:
            start, length = lists[family, k, START], lists[family, k, LENGTH]
            for i in range(length):
                value = pool[start + i]
                if i < sized:
                    fresh[at + i] = value
                else:
                    fresh[at + i] = given[value] if value >= 0 else ~given[~value]
            fresh_lists[family, lent[k], START] = at
            fresh_lists[family, lent[k], LENGTH] = fresh_lists[family, lent[k], ROOM] = length
            at += length
    fresh_used[USED] = at
