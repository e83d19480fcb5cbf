"""Indexes: a directory of 8-byte slots [32 hash bits | offset + 1] to segments in an arena of words.

A segment is [length | class + dead << 6 | key ... | entries ...], its class saying for how many entries it has room:
1, 2, 3, 4, 6, 8, 12, … (`capacity`), which wastes half as much as doubling does. An entry is a row number, ascending
within the segment, and up to MAX_PAYLOADS columns, so that a probe need not touch the row. Full segments move to the
next class. Freed ones go to lists by class, [next of the list + 1 | class, complemented], until an arena that is full
is packed. A deleted row's entry keeps its place with the row number complemented, and a segment is compacted once half
of it is dead.
"""
# mypy: disable-error-code="no-untyped-def"

from tidelog.kernels.layout import (
    DEAD,
    DONE,
    GROW_ARENA,
    GROW_DIRECTORY,
    I_ARENA,
    I_CAPACITY,
    I_DONE,
    I_FREE,
    I_KEY,
    I_KEYS,
    I_MASK,
    I_PAYLOAD,
    I_PAYLOADS,
    I_RELATION,
    I_SLOTS,
    I_TOP,
    I_UNUSED,
    I_USED,
    R_ARITY,
    R_COUNT,
    R_ROWS,
)
from tidelog.kernels.words import (
    HIGH,
    LOW,
    kernel,
    load,
    load32,
    load64,
    mix,
    prefetch,
    store,
    store64,
    width,
)

HEADER = 2
CLASS, DEAD_SHIFT = 63, 6
SECOND = 3
"""The class after that of one entry: room for four, since to move costs more than some words that stay free."""
BATCH = 32


@kernel
def hash_key(D, index, rows, r, k, w):
    """Return the hash of the key columns of row `r`."""
    h = 0
    for j in range(D[index, I_KEYS]):
        h = mix(h ^ load(rows, r * k + D[index, I_KEY + j], w))
    return h


@kernel
def find_segment(D, index, rows, r, k, h, w):
    """Return the position of the directory slot for the key of row `r`; the slot is 0 if the key is new."""
    slots, mask, arena, keys = D[index, I_SLOTS], D[index, I_MASK], D[index, I_ARENA], D[index, I_KEYS]
    s = (h >> 32) & mask
    while True:
        v = load64(slots, s)
        if v == 0:
            return s
        if ((v ^ h) >> 32) == 0:
            key = (v & LOW) - 1 + HEADER
            same = True
            for j in range(keys):
                if load(arena, key + j, w) != load(rows, r * k + D[index, I_KEY + j], w):
                    same = False
            if same:
                return s
        s = (s + 1) & mask


@kernel
def entries_below(arena, offset, length, stride, limit, w):
    """Return how many entries, from the first on, have a row number below `limit`."""
    low, high = 0, length
    while low < high:
        middle = (low + high) >> 1
        r = load(arena, offset + middle * stride, w)
        if (r if r >= 0 else ~r) < limit:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def capacity(size_class):
    """Return the number of entries for which a segment of a class has room."""
    return 1 if size_class == 0 else (2 + ((size_class - 1) & 1)) << ((size_class - 1) >> 1)


@kernel
def segment_words(D, index, size_class):
    """Return the number of words of a segment of a class."""
    return HEADER + D[index, I_KEYS] + (1 + D[index, I_PAYLOADS]) * capacity(size_class)


@kernel
def allocate(D, index, size_class, w):
    """Return the offset of a segment of a class, or -1 if the arena has to grow."""
    arena, free = D[index, I_ARENA], D[index, I_FREE]
    offset, need = load64(free, size_class) - 1, segment_words(D, index, size_class)
    if offset >= 0:
        store64(free, size_class, load(arena, offset, w) & LOW)
        D[index, I_UNUSED] -= need
        return offset
    if D[index, I_TOP] + need > D[index, I_CAPACITY]:
        return -1
    D[index, I_TOP] += need
    return D[index, I_TOP] - need


@kernel
def pack(D, index, w):
    """Move all segments to the front of the arena, so that none of them is free. Request no memory."""
    slots, mask, arena, keys = D[index, I_SLOTS], D[index, I_MASK], D[index, I_ARENA], D[index, I_KEYS]
    offset, end = 0, 0
    while offset < D[index, I_TOP]:
        shape = load(arena, offset + 1, w)
        words = segment_words(D, index, (shape if shape >= 0 else ~shape) & CLASS)
        if shape >= 0:
            h = 0
            for j in range(keys):
                h = mix(h ^ load(arena, offset + HEADER + j, w))
            s = (h >> 32) & mask
            while (load64(slots, s) & LOW) != offset + 1:
                s = (s + 1) & mask
            store64(slots, s, (h & HIGH) | (end + 1))
            for j in range(HEADER + keys + (1 + D[index, I_PAYLOADS]) * load(arena, offset, w)):
                store(arena, end + j, load(arena, offset + j, w), w)
            end += words
        offset += words
    for size_class in range(CLASS + 1):
        store64(D[index, I_FREE], size_class, 0)
    D[index, I_TOP], D[index, I_UNUSED] = end, 0


@kernel
def compact(arena, offset, head, stride, w):
    """Drop the dead entries of a segment; returns the entries left."""
    body, kept = offset + head, 0
    for e in range(load(arena, offset, w)):
        if load(arena, body + e * stride, w) >= 0:
            if kept != e:
                for j in range(stride):
                    store(arena, body + kept * stride + j, load(arena, body + e * stride + j, w), w)
            kept += 1
    store(arena, offset, kept, w)
    store(arena, offset + 1, load(arena, offset + 1, w) & CLASS, w)
    return kept


@kernel
def room(D, index, slot, h, w):
    """Return the offset of the segment of a directory slot, with room for one more entry; -1 if the arena has to
    grow."""
    slots, arena, free = D[index, I_SLOTS], D[index, I_ARENA], D[index, I_FREE]
    head, stride = HEADER + D[index, I_KEYS], 1 + D[index, I_PAYLOADS]
    offset = (load64(slots, slot) & LOW) - 1
    length, shape = load(arena, offset, w), load(arena, offset + 1, w)
    size_class = shape & CLASS
    if length == capacity(size_class) and (shape >> DEAD_SHIFT) > 0:
        length = compact(arena, offset, head, stride, w)
    if length < capacity(size_class):
        return offset
    next_class = max(size_class + 1, SECOND)
    larger = allocate(D, index, next_class, w)
    if larger < 0:
        return -1
    for j in range(head + length * stride):
        store(arena, larger + j, load(arena, offset + j, w), w)
    store(arena, larger + 1, next_class, w)
    store(arena, offset, load64(free, size_class), w)
    store(arena, offset + 1, ~size_class, w)
    store64(free, size_class, offset + 1)
    D[index, I_UNUSED] += segment_words(D, index, size_class)
    store64(slots, slot, (h & HIGH) | (larger + 1))
    return larger


@kernel
def enter(D, index, rows, r, k, h, w):
    """Enter row `r`; returns False when the arena has to grow first."""
    slots, arena, keys, payloads = D[index, I_SLOTS], D[index, I_ARENA], D[index, I_KEYS], D[index, I_PAYLOADS]
    slot = find_segment(D, index, rows, r, k, h, w)
    if load64(slots, slot) == 0:
        offset = allocate(D, index, 0, w)
        if offset < 0:
            return False
        store64(slots, slot, (h & HIGH) | (offset + 1))
        D[index, I_USED] += 1
        store(arena, offset, 0, w)
        store(arena, offset + 1, 0, w)
        for j in range(keys):
            store(arena, offset + HEADER + j, load(rows, r * k + D[index, I_KEY + j], w), w)
    else:
        offset = room(D, index, slot, h, w)
        if offset < 0:
            return False
    length = load(arena, offset, w)
    entry = offset + HEADER + keys + length * (1 + payloads)
    store(arena, entry, r, w)
    for j in range(payloads):
        store(arena, entry + 1 + j, load(rows, r * k + D[index, I_PAYLOAD + j], w), w)
    store(arena, offset, length + 1, w)
    return True


@kernel
def extend(D, index, high, hashes, w):
    """Enter the rows from I_DONE up to `high`, those dead for good left out; DONE, GROW_DIRECTORY or GROW_ARENA.
    `hashes` is an address of int64[BATCH]."""
    relation = D[index, I_RELATION]
    rows, k, counts = D[relation, R_ROWS], D[relation, R_ARITY], D[relation, R_COUNT]
    key, keys, stride, size = D[index, I_KEY], D[index, I_KEYS], 1 + D[index, I_PAYLOADS], width(w)
    while D[index, I_DONE] < high:
        start = D[index, I_DONE]
        m = min(BATCH, high - start)
        slots, mask, arena = D[index, I_SLOTS], D[index, I_MASK], D[index, I_ARENA]
        if (D[index, I_USED] + m) * 3 > mask * 2:
            return GROW_DIRECTORY
        for i in range(m):
            h = hash_key(D, index, rows, start + i, k, w)
            store64(hashes, i, h)
            prefetch(slots + ((h >> 32) & mask) * 8)
        if m > 4:
            for i in range(m):
                h = load64(hashes, i)
                v = load64(slots, (h >> 32) & mask)
                if v != 0 and ((v ^ h) >> 32) == 0:
                    prefetch(arena + size * ((v & LOW) - 1))
            for i in range(m):
                h = load64(hashes, i)
                v = load64(slots, (h >> 32) & mask)
                if v != 0 and ((v ^ h) >> 32) == 0:
                    offset = (v & LOW) - 1
                    prefetch(arena + size * (offset + HEADER + keys + load(arena, offset, w) * stride))
        for i in range(m):
            r, h = start + i, load64(hashes, i)
            if counts != 0 and load32(counts, r) == DEAD:
                continue
            v = load64(slots, (h >> 32) & mask)
            if v != 0 and ((v ^ h) >> 32) == 0:
                # Most rows find a segment with room in the first slot: the same as `enter`, without its look-ups.
                offset = (v & LOW) - 1
                same = load(arena, offset + HEADER, w) == load(rows, r * k + key, w)
                for j in range(1, keys):
                    same &= load(arena, offset + HEADER + j, w) == load(rows, r * k + D[index, I_KEY + j], w)
                length = load(arena, offset, w)
                if same and length < capacity(load(arena, offset + 1, w) & CLASS):
                    entry = offset + HEADER + keys + length * stride
                    store(arena, entry, r, w)
                    for j in range(1, stride):
                        store(arena, entry + j, load(rows, r * k + D[index, I_PAYLOAD + j - 1], w), w)
                    store(arena, offset, length + 1, w)
                    continue
            if not enter(D, index, rows, r, k, h, w):
                D[index, I_DONE] = r
                return GROW_ARENA
        D[index, I_DONE] = start + m
    return DONE


@kernel
def rows_to_enter(D, indexes, end):
    """Return how many entries indexes lack; their relations have field `end` as the end of their rows."""
    n = 0
    for i in range(len(indexes)):
        n += D[D[indexes[i], I_RELATION], end] - D[indexes[i], I_DONE]
    return n


@kernel
def row_of(numbers, first, i):
    """Return the `i`-th of some int64 row numbers at an address; without an address, the i-th row from `first` on."""
    return load64(numbers, i) if numbers != 0 else first + i


@kernel
def bury(D, index, numbers, first, m, hashes, w):
    """Complement the entries of `m` rows (see `row_of`), except those not yet entered, and without numbers those that
    are dead for good. Request no memory. `hashes` is an address of int64[BATCH]."""
    relation = D[index, I_RELATION]
    rows, k, arena, slots = D[relation, R_ROWS], D[relation, R_ARITY], D[index, I_ARENA], D[index, I_SLOTS]
    head, stride, size = HEADER + D[index, I_KEYS], 1 + D[index, I_PAYLOADS], width(w)
    counts = D[relation, R_COUNT] if numbers == 0 else 0
    for start in range(0, m, BATCH):
        end = min(m, start + BATCH)
        for i in range(start, end):
            prefetch(rows + size * k * row_of(numbers, first, i))
        for i in range(start, end):
            h = hash_key(D, index, rows, row_of(numbers, first, i), k, w)
            store64(hashes, i - start, h)
            prefetch(slots + ((h >> 32) & D[index, I_MASK]) * 8)
        for i in range(start, end):
            v = load64(slots, (load64(hashes, i - start) >> 32) & D[index, I_MASK])
            prefetch(arena + size * ((v & LOW) - 1))
        for i in range(start, end):
            r = row_of(numbers, first, i)
            if r >= D[index, I_DONE] or (counts != 0 and load32(counts, r) == DEAD):
                continue
            slot = find_segment(D, index, rows, r, k, load64(hashes, i - start), w)
            offset = (load64(slots, slot) & LOW) - 1
            length = load(arena, offset, w)
            entry = offset + head + entries_below(arena, offset + head, length, stride, r, w) * stride
            store(arena, entry, ~r, w)
            shape = load(arena, offset + 1, w) + (1 << DEAD_SHIFT)
            store(arena, offset + 1, shape, w)
            if (shape >> DEAD_SHIFT) * 2 > length:
                compact(arena, offset, head, stride, w)


@kernel
def collect(D, index, rows, m, found, w):
    """Return the number of live rows with the key columns of one of `m` rows at `rows`, which are distinct in those.
    Write their numbers to the int64 array at `found` unless that is 0."""
    relation = D[index, I_RELATION]
    k, arena, counts, n = D[relation, R_ARITY], D[index, I_ARENA], D[relation, R_COUNT], 0
    head, stride = HEADER + D[index, I_KEYS], 1 + D[index, I_PAYLOADS]
    for i in range(m):
        slot = find_segment(D, index, rows, i, k, hash_key(D, index, rows, i, k, w), w)
        v = load64(D[index, I_SLOTS], slot)
        if v != 0:
            offset = (v & LOW) - 1
            for e in range(load(arena, offset, w)):
                r = load(arena, offset + head + e * stride, w)
                if r >= 0 and (counts == 0 or load32(counts, r) > 0):
                    if found != 0:
                        store64(found, n, r)
                    n += 1
    return n
