"""Levels that look rows up: probes, which multiply bindings by the rows of a segment, and tests of membership."""
# mypy: disable-error-code="no-untyped-def"

from tidelog.kernels.indexes import DEAD_SHIFT, HEADER, entries_below
from tidelog.kernels.layout import (
    CHECK,
    I_ARENA,
    I_KEYS,
    I_MASK,
    I_PAYLOADS,
    I_RELATION,
    I_SLOTS,
    I_USED,
    L_COLUMNS,
    L_EXTRA,
    L_KEYS,
    L_KIND,
    L_LISTS,
    L_LIVE,
    L_OBJECT,
    L_VERSION,
    OLD,
    R_ARITY,
    R_MASK,
    R_NEW,
    R_OLD,
    R_ROWS,
    R_SLOTS,
    S_CURSOR,
    S_IN,
    S_INNER,
)
from tidelog.kernels.registers import hash_binding, hash_registers, register, spread_value
from tidelog.kernels.slots import may_name
from tidelog.kernels.words import HIGH, LOW, kernel, load, load32, load64, prefetch, store, store64, width


@kernel
def find_key(D, index, level, i, h, registers, size, w):
    """Return the directory slot for the key that binding `i` has in the level's key registers; 0 without a slot."""
    slots, mask, arena = D[index, I_SLOTS], D[index, I_MASK], D[index, I_ARENA]
    s = (h >> 32) & mask
    while True:
        v = load64(slots, s)
        if v == 0:
            return 0
        if ((v ^ h) >> 32) == 0:
            key = (v & LOW) - 1 + HEADER
            same = True
            for j in range(D[index, I_KEYS]):
                if load(arena, key + j, w) != load(register(registers, level, j, size, w), i, w):
                    same = False
            if same:
                return v
        s = (s + 1) & mask


@kernel
def look_up(D, index, level, m, registers, offsets, lengths, size, w):
    """Find the segments for a batch: offset of the first entry, and length (bit 40 set when some entries are dead)."""
    slots, mask, arena, keys = D[index, I_SLOTS], D[index, I_MASK], D[index, I_ARENA], D[index, I_KEYS]
    relation, stride, bytes_per_word = D[index, I_RELATION], 1 + D[index, I_PAYLOADS], width(w)
    hash_registers(level, 0, m, keys, registers, lengths, size, w)
    if m > 2:
        for i in range(m):
            prefetch(slots + ((load64(lengths, i) >> 32) & mask) * 8)
        for i in range(m):
            h = load64(lengths, i)
            v = load64(slots, (h >> 32) & mask)
            if v != 0 and ((v ^ h) >> 32) == 0:
                prefetch(arena + bytes_per_word * ((v & LOW) - 1))
    old = load64(level, L_VERSION) == OLD
    for i in range(m):
        v = find_key(D, index, level, i, load64(lengths, i), registers, size, w)
        length = 0
        if v != 0:
            offset = (v & LOW) - 1
            length = load(arena, offset, w)
            dead = load(arena, offset + 1, w) >> DEAD_SHIFT
            offset += HEADER + keys
            store64(offsets, i, offset)
            if old:
                length = entries_below(arena, offset, length, stride, D[relation, R_OLD], w)
            if dead > 0:
                length |= 1 << 40
        store64(lengths, i, length)


@kernel
def expand(D, level, st, at, registers, offsets, lengths, size, w):
    """Multiply bindings by the entries of their segments, until the batch is full or the input is used up."""
    index = load64(level, L_OBJECT)
    arena, stride, k = D[index, I_ARENA], 1 + D[index, I_PAYLOADS], D[D[index, I_RELATION], R_ARITY]
    rows, live = D[D[index, I_RELATION], R_ROWS], load64(level, L_LIVE)
    keys, columns = load64(level, L_KEYS), load64(level, L_COLUMNS)
    stored, m, n = D[index, I_PAYLOADS] > 0, st[at + S_IN], 0
    i, e = st[at + S_CURSOR], st[at + S_INNER]
    while i < m and n < size:
        length, offset = load64(lengths, i) & 0xFFFFFFFFFF, load64(offsets, i)
        if load64(lengths, i) >> 40:
            t = 0
            while e < length and n < size:
                entry = offset + e * stride
                e += 1
                r = load(arena, entry, w)
                if r < 0:
                    continue
                for c in range(columns):
                    column, target = (
                        load64(level, L_LISTS + keys + 2 * c),
                        register(registers, level, keys + 2 * c + 1, size, w),
                    )
                    store(target, n, load(arena, entry + 1 + column, w) if stored else load(rows, r * k + column, w), w)
                n += 1
                t += 1
        else:
            t = min(length - e, size - n)
            for c in range(columns):
                column, target = (
                    load64(level, L_LISTS + keys + 2 * c),
                    register(registers, level, keys + 2 * c + 1, size, w),
                )
                if stored:
                    first = offset + e * stride + 1 + column
                    for x in range(t):
                        store(target, n + x, load(arena, first + x * stride, w), w)
                else:
                    for x in range(t):
                        store(target, n + x, load(rows, load(arena, offset + (e + x) * stride, w) * k + column, w), w)
            e += t
            n += t
        if t > 0:
            spread_value(level, keys + 2 * columns, live, i, n - t, t, registers, size, w)
        if e >= length:
            i += 1
            e = 0
    st[at + S_CURSOR], st[at + S_INNER] = i, e
    return n


@kernel
def member(D, level, m, registers, hashes, chosen, size, w):
    """Write to `chosen` the positions whose key registers are (CHECK) or are not (ABSENT) a row of the level's version
    of a relation."""
    relation, keys = load64(level, L_OBJECT), load64(level, L_KEYS)
    rows, k, slots, mask = D[relation, R_ROWS], D[relation, R_ARITY], D[relation, R_SLOTS], D[relation, R_MASK]
    limit = D[relation, R_OLD] if load64(level, L_VERSION) == OLD else D[relation, R_NEW]
    wanted = load64(level, L_KIND) == CHECK
    bytes_per_word, n = width(w), 0
    hash_registers(level, 0, m, keys, registers, hashes, size, w)
    if m > 2:
        for i in range(m):
            prefetch(slots + ((load64(hashes, i) >> 32) & mask) * 4)
        for i in range(m):
            h = load64(hashes, i)
            v = load32(slots, (h >> 32) & mask)
            if may_name(v, h, mask):
                prefetch(rows + ((v & mask) - 1) * k * bytes_per_word)
    for i in range(m):
        h = load64(hashes, i)
        s = (h >> 32) & mask
        found = False
        while True:
            v = load32(slots, s)
            if v == 0:
                break
            if may_name(v, h, mask):
                r = (v & mask) - 1
                same = True
                for j in range(keys):
                    if load(rows, r * k + j, w) != load(register(registers, level, j, size, w), i, w):
                        same = False
                        break
                if same:
                    found = r < limit
                    break
            s = (s + 1) & mask
        store64(chosen, n, i)
        n += found == wanted
    return n


@kernel
def segment_length(D, index, level, first, i, h, registers, size, w):
    """Return the number of entries for the key that binding `i` has in the level's registers from list entry `first`
    on."""
    slots, mask, arena, keys = D[index, I_SLOTS], D[index, I_MASK], D[index, I_ARENA], D[index, I_KEYS]
    s = (h >> 32) & mask
    while True:
        v = load64(slots, s)
        if v == 0:
            return 0
        if ((v ^ h) >> 32) == 0:
            segment = (v & LOW) - 1
            same = True
            for j in range(keys):
                if load(arena, segment + HEADER + j, w) != load(register(registers, level, first + j, size, w), i, w):
                    same = False
            if same:
                return load(arena, segment, w)
        s = (s + 1) & mask


@kernel
def prefetch_segment(D, index, h, w):
    """Prefetch the segment in the first directory slot for hash `h`, if it is of this hash."""
    v = load64(D[index, I_SLOTS], (h >> 32) & D[index, I_MASK])
    if v != 0 and ((v ^ h) >> 32) == 0:
        prefetch(D[index, I_ARENA] + width(w) * ((v & LOW) - 1))


@kernel
def route(D, level, m, registers, chosen, lengths, size, w):
    """Write to `chosen` the positions whose segment in the level's index is shorter than in the rival index. L_EXTRA is
    1 where ties stay, and neither may be empty. The rival plan keeps the others: each binding takes the way with fewer
    candidates. The index of fewer keys comes first: few bindings are left for the other one where many have no segment
    in it."""
    index, rival, ties = load64(level, L_OBJECT), load64(level, L_VERSION), load64(level, L_EXTRA)
    first, second, at, behind = index, rival, 0, D[index, I_KEYS]
    turned = D[rival, I_USED] < D[index, I_USED]
    if turned:
        first, second, at, behind = rival, index, behind, 0
    hash_registers(level, at, m, D[first, I_KEYS], registers, lengths, size, w)
    for i in range(m):
        prefetch(D[first, I_SLOTS] + ((load64(lengths, i) >> 32) & D[first, I_MASK]) * 8)
    for i in range(m):
        prefetch_segment(D, first, load64(lengths, i), w)
    some, n = 0, 0
    for i in range(m):
        length = segment_length(D, first, level, at, i, load64(lengths, i), registers, size, w)
        if length > 0:
            h = hash_binding(level, behind, D[second, I_KEYS], i, registers, size, w)
            prefetch(D[second, I_SLOTS] + ((h >> 32) & D[second, I_MASK]) * 8)
            store64(chosen, some, (h & HIGH) | i)
            store64(lengths, some, length)
            some += 1
    for j in range(some):
        prefetch_segment(D, second, load64(chosen, j), w)
    for j in range(some):
        h, a = load64(chosen, j), load64(lengths, j)
        b = segment_length(D, second, level, behind, h & LOW, h, registers, size, w)
        if turned:
            a, b = b, a
        store64(chosen, n, h & LOW)
        n += a > 0 and b > 0 and (a < b or (a == b and ties == 1))
    return n
