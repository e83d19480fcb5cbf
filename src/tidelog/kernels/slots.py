"""The slots of hash tables with open addressing: 4 bytes to name rows, 8 in the directories of indexes and texts.

A row's slot is [hash bits | row number + 1]. Of the upper 32 bits of a hash, those in the mask of the table are the
position where a search begins, and the others stand in the slot: a row number needs no more bits than a position, since
there are fewer rows than slots. So a slot of 4 bytes sorts out other rows as well as one of 8 does among those that
begin at its position; but a table that grows has to take its rows anew. An empty slot is 0, one with hash bits and
without a row is a tombstone. A slot of a directory has all 32 hash bits in front of a number + 1, and moves by itself.
"""
# mypy: disable-error-code="no-untyped-def"

import numpy

from tidelog.kernels.words import kernel, load32, load64, store32, store64


@kernel
def slot_of(r, h, mask):
    """Return the slot of row `r` with hash `h`."""
    return ((h >> 32) & ~mask) | (r + 1)


@kernel
def may_name(v, h, mask):
    """Return True if slot `v`, which is not empty, may name a row with hash `h`: row (v & mask) - 1."""
    return (((h >> 32) ^ v) & ~mask) == 0 and (v & mask) != 0


@kernel
def put_row(slots, mask, r, h):
    """Put row `r`, which is not in the table, into the first empty slot for its hash `h`."""
    s = (h >> 32) & mask
    while load32(slots, s) != 0:
        s = (s + 1) & mask
    store32(slots, s, slot_of(r, h, mask))


@kernel
def bury_slot(slots, mask, s):
    """Turn slot `s` into a tombstone."""
    store32(slots, s, mask + 1)


@kernel
def put_slot(slots, mask, v):
    """Put a slot of a directory that is not in it into the first empty place from its position on."""
    s = (v >> 32) & mask
    while load64(slots, s) != 0:
        s = (s + 1) & mask
    store64(slots, s, v)


@kernel
def split(slots, old_mask, mask):
    """Spread a directory that was doubled in place, its new half zero: a slot moves to where its hash bits point."""
    first = 0
    while load64(slots, first) != 0:
        first += 1
    # The run of collisions that wraps around to the front is set aside: slots that move may wrap around there as well.
    front = numpy.empty(first, numpy.int64)
    for q in range(first):
        front[q] = load64(slots, q)
        store64(slots, q, 0)
    for q in range(first + 1, old_mask + 1):
        v = load64(slots, q)
        if v != 0:
            store64(slots, q, 0)
            put_slot(slots, mask, v)
    for q in range(first):
        put_slot(slots, mask, front[q])
