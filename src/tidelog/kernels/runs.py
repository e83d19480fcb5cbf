"""Reach sets as runs: sets of components whose size in memory follows their structure.

A reach set is a list of the family REACH: its number of components, then these in ascending order. A run of two or more
consecutive numbers is its first number and the complement of its last one, which is negative. So no set takes more room
than its numbers one by one, and that of a node of a chain takes three numbers. An empty set is an empty list.

A `row` is an array with such a list at its beginning, where an empty set is a single 0. Ranges of runs are given by
where they begin, behind the number of components, and where they end.
"""
# mypy: disable-error-code="no-untyped-def, assignment"

import numpy

from tidelog.kernels.components import ONE, REACH, ZERO
from tidelog.kernels.lists import LENGTH, START
from tidelog.kernels.words import kernel

MOST = numpy.int64(1 << 31)
"""More than the number of any component."""
BLOCK = 16
"""So many values are compared at once."""


@kernel
def size_of(pool, lists, c):
    """Return how many components c reaches."""
    return numpy.int64(pool[lists[REACH, c, START]]) if lists[REACH, c, LENGTH] > 0 else ZERO


@kernel
def runs_of(lists, c):
    """Return where the runs of the reach set of c begin and end in the pool."""
    start, length = lists[REACH, c, START], lists[REACH, c, LENGTH]
    return start + min(length, 1), start + length


@kernel
def last_of(values, i, end):
    """Return the last number of the run at `i`, and where the next one begins."""
    if i + 1 < end and values[i + 1] < 0:
        return numpy.int64(~values[i + 1]), i + 2
    return numpy.int64(values[i]), i + 1


@kernel
def place_of(values, i, end, number):
    """Return the first place in the runs from `i` to before `end` of a value that says `number` or more, or `end`."""
    low, high = i, end
    while low < high:
        middle = (low + high) >> 1
        value = values[middle]
        if (value if value >= 0 else ~value) < number:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def contains(values, i, end, number):
    """Return True if one of the runs from `i` to before `end` contains `number`."""
    place = place_of(values, i, end, number)
    return place < end and (values[place] == number or values[place] < 0)


@kernel
def reaches(pool, lists, c, d):
    """Return True if component c reaches component d."""
    i, end = runs_of(lists, c)
    return contains(pool, i, end, d)


@kernel
def put(row, n, low, high):
    """Add the numbers from `low` to `high` to a row of length `n`, none of whose runs begins behind `low`; returns the
    new length."""
    if n > 1:
        value = row[n - 1]
        top = value if value >= 0 else ~value
        if low <= top + 1:
            if high > top:
                row[0] += high - top
                if value >= 0:
                    row[n] = ~high
                    return n + 1
                row[n - 1] = ~high
            return n
    row[0] += high - low + 1
    row[n] = low
    if high == low:
        return n + 1
    row[n + 1] = ~high
    return n + 2


@kernel
def put_below(row, n, values, i, end, limit):
    """Add the runs from `i` on that end below `limit` to a row of length `n`, whose numbers end before the one in front
    of them; returns the new length and the place of the next run."""
    cut = place_of(values, i, end, limit)
    if cut < end and values[cut] < 0:
        cut -= 1  # The run begins below the limit and does not end there.
    if cut <= i:
        return n, i
    # Machine code copies at once, and looks at once whether there are runs of several numbers.
    ours, target = values[i:cut], row[n : n + cut - i]
    any_sign = values[i]
    for k in range(len(ours)):
        target[k] = ours[k]
        any_sign |= ours[k]
    row[0] += len(ours)
    if any_sign < 0:
        for k in range(1, len(ours)):
            if ours[k] < 0:
                row[0] += ~ours[k] - ours[k - 1] - 1
    return n + len(ours), cut


@kernel
def put_rest(row, n, values, i, end):
    """Add all runs from `i` on, of which the first ones may begin before the row of length `n` ends; returns the new
    length."""
    while i < end:
        top = numpy.int64(row[n - 1]) if n > 1 else numpy.int64(-2)
        if values[i] > (top if top >= 0 or n == 1 else ~top) + 1:
            return put_below(row, n, values, i, end, MOST)[0]
        low = numpy.int64(values[i])
        high, i = last_of(values, i, end)
        n = put(row, n, low, high)
    return n


@kernel
def united(row, ours, i, end, others, j, stop):
    """Write the union of two ranges of runs, of `ours` and of `others`, to `row`; returns its length."""
    row[0] = 0
    n = ONE
    if j < stop:
        n, i = put_below(row, n, ours, i, end, numpy.int64(others[j]) - 1)
    while i < end and j < stop:
        if ours[i] <= others[j]:
            low = numpy.int64(ours[i])
            high, i = last_of(ours, i, end)
        else:
            low = numpy.int64(others[j])
            high, j = last_of(others, j, stop)
        n = put(row, n, low, high)
    n = put_rest(row, n, ours, i, end)
    return put_rest(row, n, others, j, stop)


@kernel
def without(row, ours, i, end, others, j, stop):
    """Write the numbers of a range of runs of `ours` that a range of `others` lacks to `row`; returns its length."""
    row[0] = 0
    n = ONE
    while i < end:
        if j >= stop or ours[i] < others[j]:
            n, i = put_below(row, n, ours, i, end, numpy.int64(others[j]) if j < stop else MOST)
            if i >= end:
                break
        low = numpy.int64(ours[i])
        high, i = last_of(ours, i, end)
        while low <= high:
            top, following = numpy.int64(-1), j
            while j < stop:
                top, following = last_of(others, j, stop)
                if top >= low:
                    break
                j = following
            if j >= stop or others[j] > high:
                n = put(row, n, low, high)
                break
            if others[j] > low:
                n = put(row, n, low, numpy.int64(others[j]) - 1)
            low = top + 1
    return n


@kernel
def same_runs(ours, i, end, others, j, stop):
    """Return how many values from `i` and from `j` on are the same whole runs. Blocks, which machine code compares at
    once, make this cheap where nearly all is the same."""
    n, most = 0, min(end - i, stop - j)
    while n + BLOCK <= most:
        mine, theirs = ours[i + n : i + n + BLOCK], others[j + n : j + n + BLOCK]
        different = mine[0] ^ theirs[0]
        for k in range(1, BLOCK):
            different |= mine[k] ^ theirs[k]
        if different != 0:
            break
        n += BLOCK
    while n < most and ours[i + n] == others[j + n]:
        n += 1
    if (i + n < end and ours[i + n] < 0) or (j + n < stop and others[j + n] < 0):
        n -= 1  # One of two runs that begin together is longer.
    return n


@kernel
def apart(lost, gained, ours, i, end, others, j, stop):
    """Write the numbers that only the range of runs of `ours` has to the row `lost`, and those that only the range of
    `others` has to `gained`; returns the lengths of both rows."""
    lost[0] = gained[0] = 0
    m, n = ONE, ONE
    low, high, first, last = ZERO, ZERO - 1, ZERO, ZERO - 1  # What is left of a run of ours, and of one of others.
    while True:
        if low > high and first > last:
            same = same_runs(ours, i, end, others, j, stop)
            i, j = i + same, j + same
        if low > high and i < end:
            low = numpy.int64(ours[i])
            high, i = last_of(ours, i, end)
        if first > last and j < stop:
            first = numpy.int64(others[j])
            last, j = last_of(others, j, stop)
        if low > high and first > last:
            return m, n
        if first > last or (low <= high < first):
            m = put(lost, m, low, high)
            low = high + 1
        elif low > high or last < low:
            n = put(gained, n, first, last)
            first = last + 1
        else:
            if low < first:
                m = put(lost, m, low, first - 1)
            elif first < low:
                n = put(gained, n, first, low - 1)
            low = first = min(high, last) + 1


@kernel
def with_itself(row, pool, lists, c):
    """Write c and the components that it reaches to `row`; returns its length."""
    i, end = runs_of(lists, c)
    row[0] = 0
    n = ONE
    late = True
    while i < end:
        low = numpy.int64(pool[i])
        if late and low > c:
            n = put(row, n, c, c)
            late = False
        high, i = last_of(pool, i, end)
        n = put(row, n, low, high)
    return put(row, n, c, c) if late else n


@kernel
def spread(found, values, i, end):
    """Write the numbers of a range of runs to `found`, one by one; returns how many."""
    n = ZERO
    while i < end:
        low = numpy.int64(values[i])
        high, i = last_of(values, i, end)
        for number in range(low, high + 1):
            found[n] = number
            n += 1
    return n


@kernel
def gathered(row, found, n):
    """Write the first `n` numbers of `found`, ascending, to `row`; returns its length."""
    row[0] = n
    m, i = ONE, ZERO
    while i < n:
        low = high = found[i]
        i += 1
        while i < n and found[i] == high + 1:
            high = found[i]
            i += 1
        row[m] = low
        m += 1
        if high > low:
            row[m] = ~high
            m += 1
    return m


@kernel
def equal(row, n, pool, lists, c):
    """Return True if the reach set of c is the row of length `n`."""
    start, length = lists[REACH, c, START], lists[REACH, c, LENGTH]
    if length == 0 or length != n:
        return length == 0 and n == 1
    for i in range(n):
        if row[i] != pool[start + i]:
            return False
    return True
