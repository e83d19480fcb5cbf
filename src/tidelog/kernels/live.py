"""Levels of an update: they see a relation in one of several states, and carry the largest birth of a derivation.

During an update dead rows keep their entries and slots until the epoch ends, so that one relation can be seen as it
was, as deletions left it, and as it is (`layout.AT_START` and the names beside it). The largest birth among the tuples
of the hyper-node itself decides whether a derivation counts; it travels in a register that stands behind the lists of a
level (twice: where it comes from, where it goes) if the level's atom belongs to the hyper-node (L_EXTRA is 1).

A large relation that is scanned for the few rows that meet changed ones is sifted by a sieve first: bits at the hashes
of the values that the changed rows have in a column.
"""
# mypy: disable-error-code="no-untyped-def"

from tidelog.kernels.indexes import entries_below
from tidelog.kernels.layout import (
    AFTER,
    AT_START,
    BEFORE,
    CHECK_LIVE,
    EVER,
    GONE,
    I_ARENA,
    I_PAYLOADS,
    I_RELATION,
    IN,
    KEPT,
    L_COLUMNS,
    L_EXTRA,
    L_KEYS,
    L_KIND,
    L_LISTS,
    L_LIVE,
    L_OBJECT,
    L_VERSION,
    NEW,
    NOW,
    OUT,
    P_VERSION,
    R_ARITY,
    R_BIRTH,
    R_COUNT,
    R_IN,
    R_IN_N,
    R_MASK,
    R_N,
    R_OUT,
    R_OUT_N,
    R_ROWS,
    R_SLOTS,
    R_START,
    S_CURSOR,
    S_IN,
    S_INNER,
    S_LEVELS,
    S_ROUND,
    S_SKIP,
    S_WORK,
    SIEVE,
    UP_TO,
    WITH,
)
from tidelog.kernels.registers import hash_registers, register, spread_value
from tidelog.kernels.sets import prefetch_row
from tidelog.kernels.slots import may_name
from tidelog.kernels.words import LOW, kernel, load, load32, load64, prefetch, store, store64, wrap

_LIVE = 0x7FFFFFFE
"""The largest live count less one; counts are compared like that, unsigned: live rows, the dead ones of former epochs,
those of this epoch from the last death to the first."""


@kernel
def window(D, relation, state, current):
    """Return (first row, end, least count, greatest, end of the births) of the rows that exist in `state`. Counts are
    as in `_LIVE`, `current` is the running round of death or birth."""
    first, end, least, most, births = 0, D[relation, R_N], 0, _LIVE, 1 << 40
    if state in (AT_START, KEPT, GONE):
        end = D[relation, R_START]
    if state == NEW:
        first = D[relation, R_START]
    if state in (EVER, AT_START):
        most = LOW
    if state == GONE:
        least, most = _LIVE + 2, LOW
    if state == AFTER:
        most = LOW - 1 - current
    if state == WITH:
        most = LOW - current
    if state == UP_TO:
        births = current
    if state == BEFORE:
        births = current - 1
    return first, end, least, most, births


@kernel
def visible(D, relation, r, seen):
    """Return True if row `r` is in the window `seen`."""
    first, end, least, most, births = seen
    if r < first or r >= end:
        return False
    counts = D[relation, R_COUNT]
    count = (load32(counts, r) - 1) & LOW if counts != 0 else 0
    if count < least or count > most or count == _LIVE + 1:
        return False
    return births == 1 << 40 or load32(D[relation, R_BIRTH], r) < births


@kernel
def birth_registers(level, registers, size, w):
    """Return (register that the largest birth comes from, register that it goes to)."""
    at = load64(level, L_KEYS) + 2 * load64(level, L_COLUMNS) + 2 * load64(level, L_LIVE)
    return register(registers, level, at, size, w), register(registers, level, at + 1, size, w)


@kernel
def hole(word):
    """Return the bit of a sieve for a value."""
    return (wrap(word * -7046029254386353131) >> 40) & (SIEVE - 1)


@kernel
def mark(D, relation, version, column, sieve, w):
    """Make a sieve let through the values that the rows of a list (OUT or IN) have in `column`, and few others."""
    rows, k = D[relation, R_ROWS], D[relation, R_ARITY]
    numbers, m = D[relation, R_OUT], D[relation, R_OUT_N]
    if version == IN:
        numbers, m = D[relation, R_IN], D[relation, R_IN_N]
    for i in range(SIEVE >> 5):
        store64(sieve, i, 0)
    for i in range(m):
        bit = hole(load(rows, load64(numbers, i) * k + column, w))
        store64(sieve, bit >> 5, load64(sieve, bit >> 5) | (1 << (bit & 31)))


@kernel
def sift(D, level, st, numbers, size, w):
    """Write the numbers of the next rows that come through the level's sieve and that it sees; returns how many."""
    relation, state = load64(level, L_OBJECT), load64(level, L_VERSION)
    behind = L_LISTS + 2 * load64(level, L_COLUMNS) + 2 * (load64(level, L_EXTRA) & 1)
    column, sieve = load64(level, behind), load64(level, behind + 1)
    rows, k = D[relation, R_ROWS], D[relation, R_ARITY]
    place, m = st[S_LEVELS + S_CURSOR], 0
    seen = window(D, relation, state, st[S_ROUND])
    high = min(st[S_LEVELS + S_IN], place + 64 * size)
    while place < high and m < size:
        bit = hole(load(rows, place * k + column, w))
        if (load64(sieve, bit >> 5) >> (bit & 31)) & 1:
            store64(numbers, m, place)
            m += visible(D, relation, place, seen)
        place += 1
    st[S_WORK] += (place - st[S_LEVELS + S_CURSOR]) >> 5
    st[S_LEVELS + S_CURSOR] = place
    return m


@kernel
def next_rows(D, plan, level, st, numbers, size):
    """Write the numbers of the next rows of a list, or of the relation, that the level sees; returns how many."""
    relation, state, version = load64(level, L_OBJECT), load64(level, L_VERSION), load64(plan, P_VERSION)
    place, high, m = st[S_LEVELS + S_CURSOR], st[S_LEVELS + S_IN], 0
    seen = window(D, relation, state, st[S_ROUND])
    while place < high and m < size:
        r = place
        if version == OUT:
            r = load64(D[relation, R_OUT], place)
        elif version == IN:
            r = load64(D[relation, R_IN], place)
        store64(numbers, m, r)
        m += visible(D, relation, r, seen)
        place += 1 + st[S_SKIP]
    st[S_LEVELS + S_CURSOR] = place
    return m


@kernel
def scan_live(D, plan, level, st, registers, numbers, size, w):
    """Read the next rows of a list, or of the relation as the level sees it, into registers."""
    relation = load64(level, L_OBJECT)
    rows, k = D[relation, R_ROWS], D[relation, R_ARITY]
    if load64(level, L_EXTRA) & 2:
        m = sift(D, level, st, numbers, size, w)
    else:
        m = next_rows(D, plan, level, st, numbers, size)
    for c in range(load64(level, L_COLUMNS)):
        column, target = load64(level, L_LISTS + 2 * c), register(registers, level, 2 * c + 1, size, w)
        for i in range(m):
            store(target, i, load(rows, load64(numbers, i) * k + column, w), w)
    if load64(level, L_EXTRA) & 1:
        _, births = birth_registers(level, registers, size, w)
        for i in range(m):
            store(births, i, load32(D[relation, R_BIRTH], load64(numbers, i)), w)
    return m


@kernel
def choose_entries(D, index, offset, start, length, room, seen, own, chosen, w):
    """Write to `chosen` the places of those of the entries `start` to `length` of a segment that are in the window
    `seen`, at most `room` of them. Return (how many, number of the next entry). Read births if it is the level's
    `own`."""
    relation = D[index, I_RELATION]
    arena, stride = D[index, I_ARENA], 1 + D[index, I_PAYLOADS]
    counts, births = D[relation, R_COUNT], D[relation, R_BIRTH]
    n, e = 0, start
    while e < length and n < room:
        entry = offset + e * stride
        r = load(arena, entry, w)
        e += 1
        if e + 8 < length:
            ahead = load(arena, entry + 8 * stride, w)
            if ahead >= 0:
                prefetch(counts + 4 * ahead)
                if own:
                    prefetch(births + 4 * ahead)
        store64(chosen, n, entry)
        n += r >= 0 and visible(D, relation, r, seen)
    return n, e


@kernel
def all_entries(D, index, offset, start, length, room, end, chosen, w):
    """Write to `chosen` the places of the entries `start` to `length` of a segment whose rows are below `end`, at most
    `room` of them; all are alive. Return (how many, number of the next entry)."""
    arena, stride = D[index, I_ARENA], 1 + D[index, I_PAYLOADS]
    wanted = length
    if load(arena, offset + (length - 1) * stride, w) >= end:
        wanted = entries_below(arena, offset, length, stride, end, w)
    n = min(wanted - start, room)
    for x in range(n):
        store64(chosen, x, offset + (start + x) * stride)
    return n, start + n if start + n < wanted else length


@kernel
def expand_live(D, level, st, at, registers, offsets, lengths, chosen, size, w):
    """Multiply bindings by those entries of their segments that the level sees.

    It may return with no binding before the input is used up, so that long segments of dead rows do not keep it long.
    """
    index, state = load64(level, L_OBJECT), load64(level, L_VERSION)
    relation = D[index, I_RELATION]
    arena, k, rows = D[index, I_ARENA], D[relation, R_ARITY], D[relation, R_ROWS]
    stored, own = D[index, I_PAYLOADS] > 0, load64(level, L_EXTRA) == 1
    keys, columns, live = load64(level, L_KEYS), load64(level, L_COLUMNS), load64(level, L_LIVE)
    before, births = 0, 0
    if own:
        before, births = birth_registers(level, registers, size, w)
    seen = window(D, relation, state, st[S_ROUND])
    # Rows that died in former epochs have no entries; where none has died in this one, counts tell nothing.
    every = state in (EVER, AT_START) or (state in (NOW, KEPT, AFTER, WITH) and D[relation, R_OUT_N] == 0)
    i, e, m, n = st[at + S_CURSOR], st[at + S_INNER], st[at + S_IN], 0
    steps = 0
    while i < m and n < size and steps < 64 * size:
        length, offset, first = load64(lengths, i) & 0xFFFFFFFFFF, load64(offsets, i), e
        if every and length == load64(lengths, i) and length > 0:
            t, e = all_entries(D, index, offset, e, length, size - n, seen[1], chosen, w)
        else:
            t, e = choose_entries(D, index, offset, e, length, size - n, seen, own, chosen, w)
        steps += e - first
        for c in range(columns):
            column = load64(level, L_LISTS + keys + 2 * c)
            target = register(registers, level, keys + 2 * c + 1, size, w)
            for x in range(t):
                entry = load64(chosen, x)
                if stored:
                    value = load(arena, entry + 1 + column, w)
                else:
                    value = load(rows, load(arena, entry, w) * k + column, w)
                store(target, n + x, value, w)
        if own:
            oldest = load(before, i, w)
            for x in range(t):
                birth = load32(D[relation, R_BIRTH], load(arena, load64(chosen, x), w))
                store(births, n + x, max(oldest, birth), w)
        if t > 0:
            spread_value(level, keys + 2 * columns, live, i, n, t, registers, size, w)
        n += t
        if e >= length:
            i += 1
            e = 0
    st[at + S_CURSOR], st[at + S_INNER] = i, e
    st[S_WORK] += steps >> 3
    return n


@kernel
def find_row(D, relation, level, i, h, registers, size, w):
    """Return the number of the row that binding `i` has in the level's key registers, or -1."""
    rows, k, slots, mask = D[relation, R_ROWS], D[relation, R_ARITY], D[relation, R_SLOTS], D[relation, R_MASK]
    s = (h >> 32) & mask
    while True:
        v = load32(slots, s)
        if v == 0:
            return -1
        if may_name(v, h, mask):
            r = (v & mask) - 1
            same = True
            for j in range(k):
                if load(rows, r * k + j, w) != load(register(registers, level, j, size, w), i, w):
                    same = False
                    break
            if same:
                return r
        s = (s + 1) & mask


@kernel
def member_live(D, level, st, m, registers, hashes, chosen, size, w):
    """Select positions whose key registers are (CHECK_LIVE) or are not (ABSENT_LIVE) a row that the level sees."""
    relation, state, n = load64(level, L_OBJECT), load64(level, L_VERSION), 0
    wanted, own = load64(level, L_KIND) == CHECK_LIVE, load64(level, L_EXTRA) == 1
    before, births = 0, 0
    if own:
        before, births = birth_registers(level, registers, size, w)
    hash_registers(level, 0, m, load64(level, L_KEYS), registers, hashes, size, w)
    if m > 2:
        for i in range(m):
            prefetch(D[relation, R_SLOTS] + ((load64(hashes, i) >> 32) & D[relation, R_MASK]) * 4)
        for i in range(m):
            prefetch_row(D, relation, load64(hashes, i), w)
    seen = window(D, relation, state, st[S_ROUND])
    for i in range(m):
        r = find_row(D, relation, level, i, load64(hashes, i), registers, size, w)
        found = r >= 0 and visible(D, relation, r, seen)
        if own and found:
            store(births, i, max(load(before, i, w), load32(D[relation, R_BIRTH], r)), w)
        store64(chosen, n, i)
        n += found == wanted
    return n
