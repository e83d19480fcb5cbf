"""Exact sums of floats, rounded once, for many groups; and values dealt out to their groups.

A sum is kept as floats of falling size that do not overlap, as `math.fsum` has it (Shewchuk, "Adaptive Precision
Floating-Point Arithmetic", 1997, grow-expansion), so that neither the order of values nor the way to them matters.
"""
# mypy: disable-error-code="no-untyped-def"

from tidelog.kernels.words import kernel

PARTS = 64
"""Floats that a sum may need: more than 2098 bits, those of all floats, in pieces of 53."""
_NAN = float("nan")
_MOST = 1.7976931348623157e308


@kernel
def deal(place, values, low, high, ends, dealt):
    """Write the `values` from `low` to `high`, in their order, to where those of their groups in `dealt` end so far:
    ends[place[i]], which moves on."""
    for i in range(low, high):
        at = ends[place[i]]
        dealt[at] = values[i]
        ends[place[i]] = at + 1


@kernel
def add_exactly(values, at, sizes, low, high, most, parts, sums):
    """Write the sum of each group from `low` to `high`, whose values begin at `at`; NaN for a group with more than
    `most` values, with a value that is not finite, or with a partial sum that is too large. Return where the values of
    the group `high` begin. `parts` has PARTS floats."""
    for group in range(low, high):
        end = at + sizes[group]
        n = 0 if sizes[group] <= most else -1
        while at < end and n >= 0:
            n = grow(parts, n, values[at])
            at += 1
        at = end
        sums[group] = rounded(parts, n) if n >= 0 else _NAN
    return at


@kernel
def grow(parts, n, x):
    """Add a float to a sum of `n` parts; returns the parts that it then has, -1 if it has no finite sum or too many."""
    kept = 0
    for j in range(n):
        y = parts[j]
        if abs(x) < abs(y):
            x, y = y, x
        high = x + y
        low = y - (high - x)
        if low != 0.0:
            parts[kept] = low
            kept += 1
        x = high
    if kept == PARTS or not abs(x) <= _MOST:
        return -1
    parts[kept] = x
    return kept + 1


@kernel
def rounded(parts, n):
    """Return the sum of `n` parts, rounded once."""
    if n == 0:
        return 0.0
    high, low = parts[n - 1], 0.0
    n -= 1
    while n > 0 and low == 0.0:
        n -= 1
        x = high
        high = x + parts[n]
        low = parts[n] - (high - x)
    # Half a unit in the last place is rounded by the sign of what follows.
    if n > 0 and ((low < 0.0 and parts[n - 1] < 0.0) or (low > 0.0 and parts[n - 1] > 0.0)):
        twice = low * 2.0
        away = high + twice
        if away - high == twice:
            high = away
    return high
