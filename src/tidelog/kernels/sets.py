"""The rows of a relation, distinct by open addressing (`slots`)."""
# mypy: disable-error-code="no-untyped-def"
# Kernels are typed by numba from their arguments, all int64.

import numpy

from tidelog.kernels.layout import (
    DEAD,
    MOST_COUNTED,
    R_ARITY,
    R_BIRTH,
    R_CAPACITY,
    R_COUNT,
    R_DEAD,
    R_EMITTED,
    R_KEYED,
    R_MASK,
    R_N,
    R_ROWS,
    R_SLOTS,
    R_SUPPORT,
    R_USED,
)
from tidelog.kernels.orders import hash_of_key
from tidelog.kernels.slots import bury_slot, may_name, put_row, slot_of
from tidelog.kernels.words import (
    hash_row,
    kernel,
    load,
    load32,
    load64,
    prefetch,
    row_at,
    store,
    store32,
    store64,
    width,
)


@kernel
def full(D, relation, batch):
    """Return True if a batch might not fit any more: rows, or slots above seven tenths."""
    return (
        D[relation, R_N] + batch > D[relation, R_CAPACITY]
        or (D[relation, R_USED] + batch) * 10 > D[relation, R_MASK] * 7
    )


@kernel
def same_row(rows, r, buffer, i, k, w):
    """Return True if row `r` of `rows` equals row `i` of `buffer`."""
    for j in range(k):
        if load(rows, r * k + j, w) != load(buffer, i * k + j, w):
            return False
    return True


@kernel
def find_slot(D, relation, buffer, i, h, w):
    """Return the position of the slot that contains row `i` of `buffer` with hash `h`, or -1."""
    slots, mask = D[relation, R_SLOTS], D[relation, R_MASK]
    rows, k = D[relation, R_ROWS], D[relation, R_ARITY]
    s = (h >> 32) & mask
    while True:
        v = load32(slots, s)
        if v == 0:
            return -1
        if may_name(v, h, mask) and same_row(rows, (v & mask) - 1, buffer, i, k, w):
            return s
        s = (s + 1) & mask


@kernel
def prefetch_row(D, relation, h, w):
    """Prefetch words, count, birth and support of the row in the first slot for hash `h`, if it is a row of this
    hash."""
    mask = D[relation, R_MASK]
    v = load32(D[relation, R_SLOTS], (h >> 32) & mask)
    if may_name(v, h, mask):
        r = (v & mask) - 1
        prefetch(D[relation, R_ROWS] + r * D[relation, R_ARITY] * width(w))
        prefetch(D[relation, R_COUNT] + 4 * r)
        if D[relation, R_BIRTH] != 0:
            prefetch(D[relation, R_BIRTH] + 4 * r)
        if D[relation, R_SUPPORT] != 0:
            prefetch(D[relation, R_SUPPORT] + 4 * r)


@kernel
def hash_marked_rows(D, relation, buffer, n, hashes, w):
    """Write the hashes of `n` rows of `buffer`, and prefetch their slots, and the rows there with all of their
    marks."""
    k, slots, mask = D[relation, R_ARITY], D[relation, R_SLOTS], D[relation, R_MASK]
    for i in range(n):
        h = hash_row(buffer, i, k, w)
        store64(hashes, i, h)
        prefetch(slots + ((h >> 32) & mask) * 4)
    if n > 2:
        for i in range(n):
            prefetch_row(D, relation, load64(hashes, i), w)


@kernel
def hash_rows(D, relation, buffer, m, since, hashes, w):
    """Write the hashes of `m` rows of `buffer`, and prefetch what an insertion reads: slots, and the rows there with
    their supports, and from number `since` on their counts."""
    rows, k, slots, mask = D[relation, R_ROWS], D[relation, R_ARITY], D[relation, R_SLOTS], D[relation, R_MASK]
    counts, supports, size = D[relation, R_COUNT], D[relation, R_SUPPORT], width(w)
    for i in range(m):
        h = hash_row(buffer, i, k, w)
        store64(hashes, i, h)
        prefetch(slots + ((h >> 32) & mask) * 4)
    if m > 2:
        for i in range(m):
            h = load64(hashes, i)
            v = load32(slots, (h >> 32) & mask)
            if may_name(v, h, mask):
                r = (v & mask) - 1
                prefetch(rows + r * k * size)
                if r >= since:
                    prefetch(counts + 4 * r)
                if supports != 0:
                    prefetch(supports + 4 * r)


@kernel
def insert_batch(D, relation, buffer, m, since, hashes, w):
    """Insert `m` rows of `buffer`, for which there is room; rows met again have one support more, and from number
    `since` on count one more."""
    rows, k, n = D[relation, R_ROWS], D[relation, R_ARITY], D[relation, R_N]
    slots, mask, counts = D[relation, R_SLOTS], D[relation, R_MASK], D[relation, R_COUNT]
    supports, before = D[relation, R_SUPPORT], n
    if counts == 0:
        since = 1 << 62
    hash_rows(D, relation, buffer, m, since, hashes, w)
    for i in range(m):
        h = load64(hashes, i)
        s = (h >> 32) & mask
        while True:
            v = load32(slots, s)
            if v == 0:
                store32(slots, s, slot_of(n, h, mask))
                for j in range(k):
                    store(rows, n * k + j, load(buffer, i * k + j, w), w)
                if counts != 0:
                    store32(counts, n, 1)
                if supports != 0:
                    store32(supports, n, 1)
                n += 1
                break
            if may_name(v, h, mask):
                r = (v & mask) - 1
                if same_row(rows, r, buffer, i, k, w):
                    if r >= since:
                        c = load32(counts, r)
                        if c < MOST_COUNTED:
                            store32(counts, r, c + 1)
                    if supports != 0:
                        c = load32(supports, r)
                        if c < MOST_COUNTED:
                            store32(supports, r, c + 1)
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
            prefetch(slots + ((h >> 32) & mask) * 4)
        for i in range(base, top):
            s = find_slot(D, relation, buffer, i, load64(found, i), w)
            store64(found, i, (load32(slots, s) & mask) - 1 if s >= 0 else -1)


@kernel
def place_rows(D, relation, other, found, w):
    """Store for each row of the relation `other` its row number in `relation`, -1 where it is absent and -2 where the
    row of `other` is dead, into the int32 array at `found`."""
    k, slots, mask, size = D[relation, R_ARITY], D[relation, R_SLOTS], D[relation, R_MASK], width(w)
    rows, buffer, counts = D[relation, R_ROWS], D[other, R_ROWS], D[other, R_COUNT]
    hashes = numpy.empty(64, numpy.int64)
    for base in range(0, D[other, R_N], 64):
        top = min(D[other, R_N], base + 64)
        for i in range(base, top):
            h = hash_row(buffer, i, k, w)
            hashes[i - base] = h
            prefetch(slots + ((h >> 32) & mask) * 4)
        for i in range(base, top):
            v = load32(slots, (hashes[i - base] >> 32) & mask)
            if may_name(v, hashes[i - base], mask):
                prefetch(rows + ((v & mask) - 1) * k * size)
        for i in range(base, top):
            s = find_slot(D, relation, buffer, i, hashes[i - base], w)
            place = (load32(slots, s) & mask) - 1 if s >= 0 else -1
            store32(found, i, place if counts == 0 or load32(counts, i) > 0 else -2)


@kernel
def remove_rows(D, relation, numbers, m, hashes, w):
    """Turn the rows with these int64 `numbers` into dead ones for good, with a tombstone for a slot. `hashes` is an
    address of int64[64]."""
    rows, k, slots, mask = D[relation, R_ROWS], D[relation, R_ARITY], D[relation, R_SLOTS], D[relation, R_MASK]
    for start in range(0, m, 64):
        end = min(m, start + 64)
        for i in range(start, end):
            r = load64(numbers, i)
            prefetch(rows + width(w) * k * r)
            prefetch(D[relation, R_COUNT] + 4 * r)
        for i in range(start, end):
            h = hash_row(rows, load64(numbers, i), k, w)
            store64(hashes, i - start, h)
            prefetch(slots + ((h >> 32) & mask) * 4)
        for i in range(start, end):
            r = load64(numbers, i)
            s = find_slot(D, relation, rows, r, load64(hashes, i - start), w)
            bury_slot(slots, mask, s)
            store32(D[relation, R_COUNT], r, DEAD)
    D[relation, R_DEAD] += m


@kernel
def enter_rows(D, relation, first, end, hashes, w):
    """Enter the rows that are not dead for good into slots: those whose positions are from `first` on and before `end`,
    where the slots are empty. Request no memory. `hashes` is an address of int64[256]."""
    rows, k, counts, keyed = D[relation, R_ROWS], D[relation, R_ARITY], D[relation, R_COUNT], D[relation, R_KEYED]
    slots, mask, used = D[relation, R_SLOTS], D[relation, R_MASK], 0
    for base in range(0, D[relation, R_N], 256):
        top = min(D[relation, R_N], base + 256)
        for r in range(base, top):
            h = hash_row(rows, r, k, w) if keyed == 0 else hash_of_key(keyed, row_at(rows, r, k, w), w)
            store64(hashes, r - base, h)
            prefetch(slots + ((h >> 32) & mask) * 4)
        for r in range(base, top):
            h = load64(hashes, r - base)
            if first <= ((h >> 32) & mask) < end and (counts == 0 or load32(counts, r) != DEAD):
                put_row(slots, mask, r, h)
                used += 1
    D[relation, R_USED] += used


@kernel
def live_rows(D, relation, numbers):
    """Write the numbers of the live rows to the int64 array at `numbers`; returns how many."""
    counts, m = D[relation, R_COUNT], 0
    for r in range(D[relation, R_N]):
        if load32(counts, r) > 0:
            store64(numbers, m, r)
            m += 1
    return m
