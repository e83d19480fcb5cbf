"""Rows as of an earlier epoch, in the memory of a relation to which other threads append: sets over them.

Readers look at rows below a number only, which keep their words. The slots that they share with the relation lead to
more rows, and lose those that die.
"""
# mypy: disable-error-code="no-untyped-def"

from tidelog.kernels.sets import same_row
from tidelog.kernels.slots import may_name
from tidelog.kernels.words import hash_row, kernel, load32, store64


@kernel
def find_below(rows, slots, mask, k, end, buffer, m, found, w):
    """Store for each of `m` rows of `buffer`, with `k` columns, its number among the `rows` below `end`, or -1, into
    the int64 array at `found`."""
    for i in range(m):
        h, number = hash_row(buffer, i, k, w), -1
        s = (h >> 32) & mask
        v = load32(slots, s)
        while v != 0:
            r = (v & mask) - 1
            if may_name(v, h, mask) and 0 <= r < end and same_row(rows, r, buffer, i, k, w):
                number = r
                break
            s = (s + 1) & mask
            v = load32(slots, s)
        store64(found, i, number)
