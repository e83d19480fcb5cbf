"""The rows of a relation, kept distinct by open addressing over 8-byte slots [32 hash bits | row number + 1].

A slot's position comes from the stored hash bits, so that a growing table never touches rows. A slot whose row number
is 0 while its hash bits are not is a tombstone.
"""
# mypy: disable-error-code="no-untyped-def"
# Kernels are typed by numba from their arguments, all int64.

import numpy

from tidelog.kernels.layout import (
    DEAD,
    MOST_COUNTED,
    R_ARITY,
    R_CAPACITY,
    R_COUNT,
    R_DEAD,
    R_EMITTED,
    R_MASK,
    R_N,
    R_ROWS,
    R_SLOTS,
    R_USED,
)
from tidelog.kernels.words import (
    HIGH,
    LOW,
    hash_row,
    kernel,
    load,
    load32,
    load64,
    prefetch,
    store,
    store32,
    store64,
    width,
)


@kernel
def full(D, relation, batch):
    """Whether a batch might not fit any more: rows, or slots above seven tenths."""
    return (
        D[relation, R_N] + batch > D[relation, R_CAPACITY]
        or (D[relation, R_USED] + batch) * 10 > D[relation, R_MASK] * 7
    )


@kernel
def same_row(rows, r, buffer, i, k, w):
    """Whether row `r` of `rows` equals row `i` of `buffer`."""
    for j in range(k):
        if load(rows, r * k + j, w) != load(buffer, i * k + j, w):
            return False
    return True


@kernel
def find_slot(D, relation, buffer, i, h, w):
    """The position of the slot that holds row `i` of `buffer` with hash `h`, or -1."""
    slots, mask = D[relation, R_SLOTS], D[relation, R_MASK]
    rows, k = D[relation, R_ROWS], D[relation, R_ARITY]
    s = (h >> 32) & mask
    while True:
        v = load64(slots, s)
        if v == 0:
            return -1
        if ((v ^ h) >> 32) == 0 and (v & LOW) != 0 and same_row(rows, (v & LOW) - 1, buffer, i, k, w):
            return s
        s = (s + 1) & mask


@kernel
def insert_batch(D, relation, buffer, m, since, hashes, w):
    """Insert `m` rows of `buffer`, for which there is room; rows met again count one more from number `since` on."""
    rows, k, n = D[relation, R_ROWS], D[relation, R_ARITY], D[relation, R_N]
    slots, mask, counts = D[relation, R_SLOTS], D[relation, R_MASK], D[relation, R_COUNT]
    size, before = width(w), n
    for i in range(m):
        h = hash_row(buffer, i, k, w)
        store64(hashes, i, h)
        prefetch(slots + ((h >> 32) & mask) * 8)
    if m > 2:
        for i in range(m):
            h = load64(hashes, i)
            v = load64(slots, (h >> 32) & mask)
            if ((v ^ h) >> 32) == 0 and (v & LOW) != 0:
                r = (v & LOW) - 1
                prefetch(rows + r * k * size)
                if r >= since:
                    prefetch(counts + 4 * r)
    for i in range(m):
        h = load64(hashes, i)
        s = (h >> 32) & mask
        while True:
            v = load64(slots, s)
            if v == 0:
                store64(slots, s, (h & HIGH) | (n + 1))
                for j in range(k):
                    store(rows, n * k + j, load(buffer, i * k + j, w), w)
                store32(counts, n, 1)
                n += 1
                break
            if ((v ^ h) >> 32) == 0 and (v & LOW) != 0:
                r = (v & LOW) - 1
                if same_row(rows, r, buffer, i, k, w):
                    if r >= since:
                        c = load32(counts, r)
                        if c < MOST_COUNTED:
                            store32(counts, r, c + 1)
                    break
            s = (s + 1) & mask
    D[relation, R_N] = n
    D[relation, R_USED] += n - before


@kernel
def insert_rows(D, relation, buffer, start, m, since, hashes, w):
    """Insert rows `start` to `m` of `buffer` in batches of 256; returns the number inserted or met, less than m - start
    when the relation has to grow first. `hashes` is an address of int64[256]."""
    stride = D[relation, R_ARITY] * width(w)
    while start < m:
        b = min(256, m - start)
        if full(D, relation, b):
            break
        insert_batch(D, relation, buffer + start * stride, b, since, hashes, w)
        D[relation, R_EMITTED] += b
        start += b
    return start


@kernel
def find_rows(D, relation, buffer, m, found, w):
    """Store for each of `m` rows of `buffer` its row number or -1 into the int64 array at `found`."""
    k, slots, mask = D[relation, R_ARITY], D[relation, R_SLOTS], D[relation, R_MASK]
    for base in range(0, m, 64):
        top = min(m, base + 64)
        for i in range(base, top):
            h = hash_row(buffer, i, k, w)
            store64(found, i, h)
            prefetch(slots + ((h >> 32) & mask) * 8)
        for i in range(base, top):
            s = find_slot(D, relation, buffer, i, load64(found, i), w)
            store64(found, i, (load64(slots, s) & LOW) - 1 if s >= 0 else -1)


@kernel
def remove_rows(D, relation, numbers, m, w):
    """Turn the rows with these int64 `numbers` into dead ones for good, with a tombstone for a slot."""
    rows, k, slots = D[relation, R_ROWS], D[relation, R_ARITY], D[relation, R_SLOTS]
    for i in range(m):
        r = load64(numbers, i)
        h = hash_row(rows, r, k, w)
        s = find_slot(D, relation, rows, r, h, w)
        store64(slots, s, h & HIGH if (h & HIGH) != 0 else 1 << 32)
        store32(D[relation, R_COUNT], r, DEAD)
    D[relation, R_DEAD] += m


@kernel
def split(slots, old_mask, mask):
    """Spread a table that was doubled in place, its new half zero: a slot moves to where its hash bits point now."""
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


@kernel
def put_slot(slots, mask, v):
    """Put a slot that is not in the table into the first empty place from its position on."""
    s = (v >> 32) & mask
    while load64(slots, s) != 0:
        s = (s + 1) & mask
    store64(slots, s, v)


@kernel
def live_rows(D, relation, numbers):
    """Write the numbers of the live rows to the int64 array at `numbers`; returns how many."""
    counts, m = D[relation, R_COUNT], 0
    for r in range(D[relation, R_N]):
        if load32(counts, r) > 0:
            store64(numbers, m, r)
            m += 1
    return m
