"""Rows that wait for their insertion, brought into the order of the slots that they go to.

Insertion in that order goes through the slots once, and through the rows that came in one batch, whose numbers have the
same order. That is what memory in files needs: a page is read and written once for many rows, see docs/theory.md.
"""
# mypy: disable-error-code="no-untyped-def"

from tidelog.kernels.layout import R_ARITY, R_MASK, R_SLOTS, R_WAITING, R_WAITING_N
from tidelog.kernels.slots import may_name
from tidelog.kernels.words import hash_row, kernel, load, load32, load64, store, store64


@kernel
def order_waiting(D, relation, ordered, places, shift, w):
    """Write the rows that wait to `ordered`, by the regions of their slots: the position of a slot, shifted right by
    `shift`. `places` is the address of an int64 array that is zero, two longer than the last region; it gets the ends
    of the regions."""
    rows, n, k, mask = D[relation, R_WAITING], D[relation, R_WAITING_N], D[relation, R_ARITY], D[relation, R_MASK]
    for i in range(n):
        region = ((hash_row(rows, i, k, w) >> 32) & mask) >> shift
        store64(places, region + 1, load64(places, region + 1) + 1)
    for region in range(mask >> shift):
        store64(places, region + 1, load64(places, region + 1) + load64(places, region))
    for i in range(n):
        region = ((hash_row(rows, i, k, w) >> 32) & mask) >> shift
        place = load64(places, region)
        store64(places, region, place + 1)
        for j in range(k):
            store(ordered, place * k + j, load(rows, i * k + j, w), w)


@kernel
def slots_met(D, relation, buffer, start, end, numbers, w):
    """Write to the int64 array at `numbers` the positions of the slots where the insertion of rows `start` to `end` of
    `buffer` begins."""
    for i in range(start, end):
        store64(numbers, i - start, (hash_row(buffer, i, D[relation, R_ARITY], w) >> 32) & D[relation, R_MASK])


@kernel
def rows_met(D, relation, buffer, start, end, numbers, w):
    """Write to the int64 array at `numbers` the rows with which rows `start` to `end` of `buffer` are compared first
    when they are inserted; return how many. Those that are new are mostly compared with none."""
    slots, mask, k, n = D[relation, R_SLOTS], D[relation, R_MASK], D[relation, R_ARITY], 0
    for i in range(start, end):
        h = hash_row(buffer, i, k, w)
        s = (h >> 32) & mask
        v = load32(slots, s)
        while v != 0 and not may_name(v, h, mask):
            s = (s + 1) & mask
            v = load32(slots, s)
        if v != 0:
            store64(numbers, n, (v & mask) - 1)
            n += 1
    return n
