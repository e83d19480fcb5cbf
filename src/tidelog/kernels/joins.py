"""The batched plan interpreter: a plan is a list of levels, each of which turns a batch of bindings into the next.

A binding is a row across registers, a batch is up to `size` bindings. Level 0 scans rows; probes and ranges multiply
bindings; all other levels filter a batch in place. Nothing larger than a batch is ever built, and what a batch is going
to touch is prefetched. `step` runs until the last level has a batch and can stop anywhere: what is under way stands in
the state array.
"""
# mypy: disable-error-code="no-untyped-def"

from tidelog.kernels.indexes import HEADER, entries_below
from tidelog.kernels.layout import (
    CALL,
    CALL_OUT,
    CHECK,
    COMPARE,
    COMPUTE,
    DELTA,
    DONE,
    EMPTY,
    FLOAT,
    I_ARENA,
    I_KEYS,
    I_MASK,
    I_PAYLOADS,
    I_RELATION,
    I_SLOTS,
    L_COLUMNS,
    L_EXTRA,
    L_KEYS,
    L_KIND,
    L_LISTS,
    L_LIVE,
    L_OBJECT,
    L_VERSION,
    LOOK,
    OLD,
    P_LEVEL,
    P_LEVELS,
    P_SOURCE,
    P_VERSION,
    PROBE,
    R_ARITY,
    R_COUNT,
    R_MASK,
    R_NEW,
    R_OLD,
    R_ROWS,
    R_SLOTS,
    RANGE,
    ROUTE,
    S_BUDGET,
    S_CURSOR,
    S_IN,
    S_INNER,
    S_LEVEL,
    S_LEVELS,
    S_NEXT,
    S_WORK,
    SCAN,
    WIDEN,
)
from tidelog.kernels.scalars import compute, fits, inside, less, range_length, select
from tidelog.kernels.words import (
    LOW,
    as_bits,
    as_float,
    kernel,
    load,
    load32,
    load64,
    mix,
    prefetch,
    store,
    store64,
    width,
    wrap,
)


@kernel
def register(registers, level, i, size, w):
    """The address of the register named by list entry `i` of a level."""
    return registers + load64(level, L_LISTS + i) * size * width(w)


@kernel
def begin(D, plan, st):
    """Start a plan: the cursor of level 0 stands on the first row of its version."""
    source = D[load64(plan, P_SOURCE)]
    st[S_LEVEL] = 0
    st[S_LEVELS + S_CURSOR] = source[R_OLD] if load64(plan, P_VERSION) == DELTA else 0
    st[S_LEVELS + S_IN] = source[R_OLD] if load64(plan, P_VERSION) == OLD else source[R_NEW]


@kernel
def scan(D, level, st, registers, chosen, size, w):
    """Read the next live rows into registers."""
    relation = load64(level, L_OBJECT)
    rows, k, counts = D[relation, R_ROWS], D[relation, R_ARITY], D[relation, R_COUNT]
    r, high, m = st[S_LEVELS + S_CURSOR], st[S_LEVELS + S_IN], 0
    while r < high and m < size:
        store64(chosen, m, r)
        m += load32(counts, r) > 0
        r += 1
    st[S_LEVELS + S_CURSOR] = r
    for c in range(load64(level, L_COLUMNS)):
        column, target = load64(level, L_LISTS + 2 * c), register(registers, level, 2 * c + 1, size, w)
        if m > 0 and load64(chosen, m - 1) - load64(chosen, 0) == m - 1:
            first = load64(chosen, 0) * k + column
            for i in range(m):
                store(target, i, load(rows, first + i * k, w), w)
        else:
            for i in range(m):
                store(target, i, load(rows, load64(chosen, i) * k + column, w), w)
    return m


@kernel
def find_key(D, index, level, i, h, registers, size, w):
    """The directory slot for the key that binding `i` has in the level's key registers; 0 when there is none."""
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
def hash_registers(level, m, keys, registers, hashes, size, w):
    """Hash the key registers of a batch; without keys the hash is 0."""
    if keys == 0:
        for i in range(m):
            store64(hashes, i, 0)
    for j in range(keys):
        key = register(registers, level, j, size, w)
        if j == 0:
            for i in range(m):
                store64(hashes, i, mix(load(key, i, w)))
        else:
            for i in range(m):
                store64(hashes, i, mix(load64(hashes, i) ^ load(key, i, w)))


@kernel
def look_up(D, index, level, m, registers, offsets, lengths, size, w):
    """Find the segments for a batch: offset of the first entry, and length (bit 40 set when some entries are dead)."""
    slots, mask, arena, keys = D[index, I_SLOTS], D[index, I_MASK], D[index, I_ARENA], D[index, I_KEYS]
    relation, stride, bytes_per_word = D[index, I_RELATION], 1 + D[index, I_PAYLOADS], width(w)
    hash_registers(level, m, keys, registers, lengths, size, w)
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
            dead = load(arena, offset + 1, w) >> 5
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
def spread_value(level, lists, live, i, n, t, registers, size, w):
    """Repeat the live registers of binding `i` for the `t` bindings from `n` on."""
    for c in range(live):
        value = load(register(registers, level, lists + 2 * c, size, w), i, w)
        target = register(registers, level, lists + 2 * c + 1, size, w)
        for x in range(t):
            store(target, n + x, value, w)


@kernel
def expand_range(level, st, at, registers, size, w):
    """Multiply bindings by the values of a range; -1 when a value does not fit into a word."""
    kind, keys, live = load64(level, L_OBJECT), load64(level, L_KEYS), load64(level, L_LIVE)
    target = register(registers, level, keys + 1, size, w)
    i, j, m, n = st[at + S_CURSOR], st[at + S_INNER], st[at + S_IN], 0
    good = True
    while i < m and n < size:
        first = load(register(registers, level, 0, size, w), i, w)
        last = load(register(registers, level, 1, size, w), i, w)
        step = load(register(registers, level, keys - 1, size, w), i, w)
        if kind == FLOAT:
            t, more = expand_floats(first, last, step, keys == 3, st, at, j, target, n, size, w)
        else:
            length = range_length(kind, first, last, step, keys == 3)
            stride = step if keys == 3 else (1 if less(kind, first, last) else -1)
            t = min(length - j, size - n)
            for x in range(t):
                value = wrap(first + wrap((j + x) * stride))
                good &= fits(value, w)
                store(target, n + x, value, w)
            more = j + t < length
        if t > 0:
            spread_value(level, keys + 2, live, i, n, t, registers, size, w)
        n += t
        j += t
        if not more:
            i += 1
            j = 0
    st[at + S_CURSOR], st[at + S_INNER] = i, j
    return n if good else -1


@kernel
def expand_floats(first, last, step, given, st, at, j, target, n, size, w):
    """(values written, whether there are more) of a range of floats, which adds up its steps; `j` came before."""
    a, b = as_float(first), as_float(last)
    s = as_float(step) if given else (1.0 if a <= b else -1.0)
    value = a if j == 0 else as_float(st[at + S_NEXT])
    t = 0
    while inside(value, b, s) and n + t < size:
        store(target, n + t, as_bits(value + 0.0), w)
        t += 1
        if value + s == value:
            return t, False
        value += s
    st[at + S_NEXT] = as_bits(value)
    return t, inside(value, b, s)


@kernel
def member(D, level, m, registers, hashes, chosen, size, w):
    """Positions whose key registers are (CHECK) or are not (ABSENT) a row of the level's version of a relation."""
    relation, keys = load64(level, L_OBJECT), load64(level, L_KEYS)
    rows, k, slots, mask = D[relation, R_ROWS], D[relation, R_ARITY], D[relation, R_SLOTS], D[relation, R_MASK]
    limit = D[relation, R_OLD] if load64(level, L_VERSION) == OLD else D[relation, R_NEW]
    wanted = load64(level, L_KIND) == CHECK
    bytes_per_word, n = width(w), 0
    hash_registers(level, m, keys, registers, hashes, size, w)
    if m > 2:
        for i in range(m):
            prefetch(slots + ((load64(hashes, i) >> 32) & mask) * 8)
        for i in range(m):
            h = load64(hashes, i)
            v = load64(slots, (h >> 32) & mask)
            if v != 0 and ((v ^ h) >> 32) == 0:
                prefetch(rows + ((v & LOW) - 1) * k * bytes_per_word)
    for i in range(m):
        h = load64(hashes, i)
        s = (h >> 32) & mask
        found = False
        while True:
            v = load64(slots, s)
            if v == 0:
                break
            if ((v ^ h) >> 32) == 0 and (v & LOW) != 0:
                r = (v & LOW) - 1
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
def empty(D, level, m, registers, offsets, lengths, size, w):
    """Positions for whose key no live row exists; the positions go to `offsets`."""
    index, n = load64(level, L_OBJECT), 0
    arena, stride = D[index, I_ARENA], 1 + D[index, I_PAYLOADS]
    look_up(D, index, level, m, registers, offsets, lengths, size, w)
    for i in range(m):
        length, offset = load64(lengths, i) & 0xFFFFFFFFFF, load64(offsets, i)
        none = True
        for e in range(length):
            if load(arena, offset + e * stride, w) >= 0:
                none = False
                break
        store64(offsets, n, i)
        n += none
    return n


@kernel
def segment_length(D, index, key, w):
    """The number of entries for a key of one column."""
    slots, mask, arena = D[index, I_SLOTS], D[index, I_MASK], D[index, I_ARENA]
    h = mix(key)
    s = (h >> 32) & mask
    while True:
        v = load64(slots, s)
        if v == 0:
            return 0
        if ((v ^ h) >> 32) == 0 and load(arena, (v & LOW) - 1 + HEADER, w) == key:
            return load(arena, (v & LOW) - 1, w)
        s = (s + 1) & mask


@kernel
def route(D, level, m, registers, chosen, size, w):
    """Positions whose segment in the level's index is shorter than in the rival index; L_EXTRA is 1 where ties stay,
    and neither may be empty. The rival plan keeps the others: each binding takes the way with fewer candidates."""
    index, rival, ties, n = load64(level, L_OBJECT), load64(level, L_VERSION), load64(level, L_EXTRA), 0
    mine, other = register(registers, level, 0, size, w), register(registers, level, 1, size, w)
    for i in range(m):
        prefetch(D[index, I_SLOTS] + ((mix(load(mine, i, w)) >> 32) & D[index, I_MASK]) * 8)
        prefetch(D[rival, I_SLOTS] + ((mix(load(other, i, w)) >> 32) & D[rival, I_MASK]) * 8)
    for i in range(m):
        a, b = segment_length(D, index, load(mine, i, w), w), segment_length(D, rival, load(other, i, w), w)
        store64(chosen, n, i)
        n += a > 0 and b > 0 and (a < b or (a == b and ties == 1))
    return n


@kernel
def keep(level, n, m, registers, chosen, size, w):
    """Move the chosen positions of the registers that stay alive to the front."""
    if n in (0, m):
        return
    lists = load64(level, L_KEYS) + 2 * load64(level, L_COLUMNS)
    for c in range(load64(level, L_LIVE)):
        column = register(registers, level, lists + 2 * c, size, w)
        for i in range(n):
            store(column, i, load(column, load64(chosen, i), w), w)


@kernel
def filter_batch(D, level, m, registers, scratch, size, w):
    """Run a level that filters or computes in place; returns the bindings left, or -1 when a value does not fit."""
    kind, extra, chosen, second = load64(level, L_KIND), load64(level, L_EXTRA), scratch, scratch + size * 8
    if kind == COMPARE:
        a, b = register(registers, level, 0, size, w), register(registers, level, 1, size, w)
        n = select(load64(level, L_OBJECT), extra, a, b, m, chosen, w)
    elif kind == COMPUTE:
        a, b = register(registers, level, 0, size, w), register(registers, level, 1, size, w)
        target = register(registers, level, 3, size, w)
        n = compute(load64(level, L_OBJECT), extra, target, a, b, m, chosen, w)
    elif kind == EMPTY:
        n = empty(D, level, m, registers, chosen, second, size, w)
    elif kind == ROUTE:
        n = route(D, level, m, registers, chosen, size, w)
    else:
        n = member(D, level, m, registers, second, chosen, size, w)
    keep(level, n, m, registers, chosen, size, w)
    return n


@kernel
def step(D, plan, st, registers, scratch, size, w):
    """Advance a plan until its last level has a batch: (status, bindings). DONE with 0 bindings means that the plan is
    finished; CALL_OUT, LOOK and WIDEN leave the level to go on with in st[S_LEVEL]."""
    last, depth = load64(plan, P_LEVELS) - 1, st[S_LEVEL]
    while depth >= 0:
        if st[S_WORK] > st[S_BUDGET]:
            st[S_LEVEL] = depth
            return LOOK, 0
        level, at, room = plan + 8 * load64(plan, P_LEVEL + depth), S_LEVELS + 4 * depth, scratch + 16 * size * depth
        kind, n = load64(level, L_KIND), 0
        if kind == SCAN:
            n = scan(D, level, st, registers, room, size, w)
        elif kind == PROBE:
            if st[at + S_CURSOR] < 0:
                index = load64(level, L_OBJECT)
                look_up(D, index, level, st[at + S_IN], registers, room, room + 8 * size, size, w)
                st[at + S_CURSOR], st[at + S_INNER] = 0, 0
            n = expand(D, level, st, at, registers, room, room + 8 * size, size, w)
        elif kind == RANGE:
            if st[at + S_CURSOR] < 0:
                st[at + S_CURSOR], st[at + S_INNER] = 0, 0
            n = expand_range(level, st, at, registers, size, w)
        elif kind == CALL:
            if st[at + S_CURSOR] == -1:
                st[S_LEVEL] = depth
                return CALL_OUT, st[at + S_IN]
            if st[at + S_CURSOR] == -2:  # Python has applied the function and left the number of bindings
                n = st[at + S_INNER]
            st[at + S_CURSOR] = 0
        elif st[at + S_CURSOR] < 0:
            n = filter_batch(D, level, st[at + S_IN], registers, room, size, w)
            st[at + S_CURSOR] = 0
        if n < 0:
            st[S_LEVEL] = depth
            return WIDEN, 0
        st[S_WORK] += n + 1
        if n == 0:
            if kind != SCAN or st[S_LEVELS + S_CURSOR] >= st[S_LEVELS + S_IN]:
                depth -= 1
            continue
        if depth == last:
            st[S_LEVEL] = depth
            return DONE, n
        depth += 1
        at = S_LEVELS + 4 * depth
        st[at + S_IN], st[at + S_CURSOR], st[at + S_INNER] = n, -1, 0
    st[S_LEVEL] = -1
    return DONE, 0
