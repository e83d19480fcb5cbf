"""Rows as of an earlier epoch, in the memory of a relation to which other threads append: sets over them.

Readers look at rows below a number only, which keep their words. The slots that they share with the relation lead to
more rows, and lose those that die.
"""
# mypy: disable-error-code="no-untyped-def"

import numpy

from tidelog.kernels.layout import R_ARITY, R_COUNT, R_MASK, R_N, R_ROWS, R_SLOTS, R_USED
from tidelog.kernels.sets import put_slot, same_row
from tidelog.kernels.words import HIGH, LOW, hash_row, kernel, load32, load64, prefetch, store64


@kernel
def find_below(rows, slots, mask, k, end, buffer, m, found, w):
    """Store for each of `m` rows of `buffer`, with `k` columns, its number among the `rows` below `end`, or -1, into
    the int64 array at `found`."""
    for i in range(m):
        h, number = hash_row(buffer, i, k, w), -1
        s = (h >> 32) & mask
        v = load64(slots, s)
        while v != 0:
            r = (v & LOW) - 1
            if ((v ^ h) >> 32) == 0 and 0 <= r < end and same_row(rows, r, buffer, i, k, w):
                number = r
                break
            s = (s + 1) & mask
            v = load64(slots, s)
        store64(found, i, number)


@kernel
def enter_rows(D, relation, w):
    """Enter the live rows into slots, which are all empty and enough."""
    rows, k, counts = D[relation, R_ROWS], D[relation, R_ARITY], D[relation, R_COUNT]
    slots, mask, n, used = D[relation, R_SLOTS], D[relation, R_MASK], D[relation, R_N], 0
    hashes = numpy.empty(64, numpy.int64)
    for base in range(0, n, 64):
        top = min(n, base + 64)
        for r in range(base, top):
            hashes[r - base] = hash_row(rows, r, k, w)
            prefetch(slots + ((hashes[r - base] >> 32) & mask) * 8)
        for r in range(base, top):
            if counts == 0 or load32(counts, r) > 0:
                put_slot(slots, mask, (hashes[r - base] & HIGH) | (r + 1))
                used += 1
    D[relation, R_USED] = used
