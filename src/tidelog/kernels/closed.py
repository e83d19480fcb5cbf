"""Levels that look pairs up in a closure whose pairs are not written: its components and reach sets are the index.

The neighbours of a node are listed from its component and those that this reaches, or, backward, from those found by a
search against the edges, which costs no more than its result and is kept for the next batch. The relation of a closure
has rows only while an epoch has changed it: the deleted pairs, then (from R_START on) the inserted ones. So plans can
see every state of `layout.AT_START` and the names beside it, and no other pair is written.
"""
# mypy: disable-error-code="no-untyped-def"

from tidelog.kernels.components import INTO, MEMBER, REACH
from tidelog.kernels.indexes import HEADER
from tidelog.kernels.layout import (
    AT_START,
    C_ASKED,
    C_CLOCK,
    C_COMPONENT,
    C_IRREFLEXIVE,
    C_LISTS,
    C_LOOPS,
    C_MASK,
    C_NODES,
    C_POOL,
    C_QUEUE,
    C_ROOM,
    C_SLOTS,
    C_STAMPS,
    C_WORDS,
    CHECK_CLOSED,
    EVER,
    GONE,
    I_ARENA,
    I_KEY,
    I_RELATION,
    KEPT,
    L_COLUMNS,
    L_KEYS,
    L_KIND,
    L_LISTS,
    L_LIVE,
    L_OBJECT,
    L_VERSION,
    NEW,
    NOW,
    R_CLOSURE,
    R_MASK,
    R_N,
    R_ROWS,
    R_SLOTS,
    R_START,
    S_CURSOR,
    S_IN,
    S_INNER,
    S_NEXT,
    S_WORK,
)
from tidelog.kernels.lists import LENGTH, START
from tidelog.kernels.probes import find_key
from tidelog.kernels.registers import register, spread_value
from tidelog.kernels.slots import may_name
from tidelog.kernels.words import LOW, kernel, load, load32, load64, mix, store, store32, store64

_ENTRY = 3
ASKED, FOUND, DONE, STAMP = range(4)
"""Of the last search against the edges: its component, how many are in the queue, how many of them it has looked at,
and the stamp of those that it has found."""


@kernel
def list_of(closure, family, k):
    """Return (address of the first value, number of values) of a list."""
    entry = _ENTRY * (family * load64(closure, C_ROOM) + k)
    lists = load64(closure, C_LISTS)
    return load64(closure, C_POOL) + 4 * load64(lists, entry + START), load64(lists, entry + LENGTH)


@kernel
def node_of(closure, word, w):
    """Return the number of the node with this word, or -1."""
    slots, mask, words = load64(closure, C_SLOTS), load64(closure, C_MASK), load64(closure, C_WORDS)
    h = mix(word)
    s = (h >> 32) & mask
    while True:
        v = load32(slots, s)
        if v == 0:
            return -1
        if may_name(v, h, mask) and load(words, (v & mask) - 1, w) == word:
            return (v & mask) - 1
        s = (s + 1) & mask


@kernel
def reaches_itself(closure, x):
    """Return True if (x, x) is a pair."""
    if load32(load64(closure, C_LOOPS), x) > 0:
        return True
    _, size = list_of(closure, MEMBER, load32(load64(closure, C_COMPONENT), x))
    return size > 1 and load64(closure, C_IRREFLEXIVE) == 0


@kernel
def value_behind(first, n, d):
    """Return the place of the first value of a reach set of length `n` that is greater than component d, or `n`; 1 or
    more, because the number of components is in front (kernels/runs.py)."""
    low, high = 1, n
    while low < high:
        middle = (low + high) >> 1
        value = load32(first, middle)
        if (value if value >= 0 else ~value) <= d:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def connected(closure, x, y):
    """Return True if (x, y) is a pair."""
    if x == y:
        return reaches_itself(closure, x)
    c, d = load32(load64(closure, C_COMPONENT), x), load32(load64(closure, C_COMPONENT), y)
    if c == d:
        return True
    first, n = list_of(closure, REACH, c)
    i = value_behind(first, n, d)
    return i > 1 and (load32(first, i - 1) in (d, ~d) or (i < n and load32(first, i) < 0))


@kernel
def components_before(closure, c, most):
    """Put c and the components that reach it into the queue: (how many there are, edges followed). There are 0 where
    more than `most` edges have to be followed; the next call then goes on."""
    asked, queue = load64(closure, C_ASKED), load64(closure, C_QUEUE)
    component, stamps = load64(closure, C_COMPONENT), load64(closure, C_STAMPS)
    if load64(asked, ASKED) != c:
        now = load64(load64(closure, C_CLOCK), 0) + 1
        store64(load64(closure, C_CLOCK), 0, now)
        store32(queue, 0, c)
        store64(stamps, c, now)
        store64(asked, ASKED, c)
        store64(asked, FOUND, 1)
        store64(asked, DONE, 0)
        store64(asked, STAMP, now)
    i, m, now, steps = load64(asked, DONE), load64(asked, FOUND), load64(asked, STAMP), 0
    while i < m and steps < most:
        members, size = list_of(closure, MEMBER, load32(queue, i))
        for a in range(size):
            sources, many = list_of(closure, INTO, load32(members, a))
            steps += many + 1
            for b in range(many):
                d = load32(component, load32(sources, b))
                if load64(stamps, d) != now:
                    store64(stamps, d, now)
                    store32(queue, m, d)
                    m += 1
        i += 1
    store64(asked, FOUND, m)
    store64(asked, DONE, i)
    return (m if i == m else 0), steps


@kernel
def neighbours(closure, x, backward, j, k, most, found):
    """Write the next nodes behind (or before) x to `found`, int64, `most` at most, beginning with member k of what j
    says: (number of nodes, j, k to continue from, steps of a search), j being -1 at the end. Backward that is the j-th
    component found by the search; forward it is component j - 1, or that of x for 0. While the search for nodes before
    x is running, there are no such nodes."""
    c = load32(load64(closure, C_COMPONENT), x)
    if not backward:
        n, j, k = neighbours_behind(closure, x, c, j, k, most, found)
        return n, j, k, 0
    others = load64(closure, C_QUEUE)
    m, steps = components_before(closure, c, 64 * most)
    if m == 0:
        return 0, j, k, steps
    itself, n = reaches_itself(closure, x), 0
    while j < m and n < most:
        n, k, many = write_members(closure, load32(others, j), x, itself, k, most, found, n)
        if k >= many:
            j += 1
            k = 0
    return n, (j if j < m else -1), k, steps


@kernel
def neighbours_behind(closure, x, c, j, k, most, found):
    """Write the next nodes behind x, of component c, as `neighbours` does: (number of nodes, j, k)."""
    runs, length = list_of(closure, REACH, c)
    itself, n, i, d = reaches_itself(closure, x), 0, 1, c
    high = c
    if j > 0:
        d = high = j - 1
        i = value_behind(runs, length, d)
        if i < length and load32(runs, i) < 0:
            high = ~load32(runs, i)
            i += 1
    while n < most:
        n, k, many = write_members(closure, d, x, itself, k, most, found, n)
        if k < many:
            break
        k = 0
        if d < high:
            d += 1
        elif i < length:
            d = high = load32(runs, i)
            i += 1
            if i < length and load32(runs, i) < 0:
                high = ~load32(runs, i)
                i += 1
        else:
            return n, -1, 0
        j = d + 1
    return n, j, k


@kernel
def write_members(closure, d, x, itself, k, most, found, n):
    """Write members of component d, from member k on, behind the first `n` of `found`, `most` in all; x only if it is
    paired with `itself`. Return how many are there, the member to continue from, and how many members d has."""
    members, many = list_of(closure, MEMBER, d)
    t = min(many - k, most - n)
    for i in range(t):
        y = load32(members, k + i)
        store64(found, n, y)
        n += y != x or itself
    return n, k + t, many


@kernel
def changed_row(D, relation, a, b, w):
    """Return the number of the row of the pair (a, b) among those that the epoch has changed, or -1."""
    rows, slots, mask = D[relation, R_ROWS], D[relation, R_SLOTS], D[relation, R_MASK]
    h = mix(mix(a) ^ b)
    s = (h >> 32) & mask
    while True:
        v = load32(slots, s)
        if v == 0:
            return -1
        r = (v & mask) - 1
        if may_name(v, h, mask) and load(rows, 2 * r, w) == a and load(rows, 2 * r + 1, w) == b:
            return r
        s = (s + 1) & mask


@kernel
def shown(D, relation, r, state):
    """Return True if changed pair `r` exists in `state`."""
    if r < D[relation, R_START]:
        return state in (AT_START, EVER, GONE)
    return state not in (AT_START, KEPT, GONE)


@kernel
def look_nodes_up(D, level, m, registers, nodes, size, w):
    """Write the node that each binding of a batch has in the level's key register, or -1."""
    closure = D[D[load64(level, L_OBJECT), I_RELATION], R_CLOSURE]
    if load64(level, L_KEYS) > 0:
        key = register(registers, level, 0, size, w)
        for i in range(m):
            store64(nodes, i, node_of(closure, load(key, i, w), w))


@kernel
def without_new(D, relation, x, backward, found, t, w):
    """Drop those of the `t` neighbours of node x whose pair was inserted in this epoch; returns how many are left."""
    words, n = load64(D[relation, R_CLOSURE], C_WORDS), 0
    mine = load(words, x, w)
    for i in range(t):
        y = load64(found, i)
        other = load(words, y, w)
        r = changed_row(D, relation, other, mine, w) if backward else changed_row(D, relation, mine, other, w)
        store64(found, n, y)
        n += r < 0
    return n


@kernel
def expand_closed(D, level, st, at, registers, nodes, found, size, w):
    """Multiply bindings by the neighbours of their nodes, or without a key by all pairs, until the batch is full or the
    input is used up; it may return with no binding before that.

    S_INNER is the place among the neighbours, j << 32 | k as in `neighbours`, and once these have been read -1 minus
    the place among the deleted pairs of the key; S_NEXT is the node, where there is no key.
    """
    index, state = load64(level, L_OBJECT), load64(level, L_VERSION)
    relation = D[index, I_RELATION]
    closure = D[relation, R_CLOSURE]
    keys, columns, live = load64(level, L_KEYS), load64(level, L_COLUMNS), load64(level, L_LIVE)
    words, backward = load64(closure, C_WORDS), keys == 1 and D[index, I_KEY] == 1
    current, changed = state not in (GONE, NEW), D[relation, R_N] > 0
    gone = changed and state not in (KEPT, NOW)
    i, e, m, n, steps = st[at + S_CURSOR], st[at + S_INNER], st[at + S_IN], 0, 0
    while i < m and n < size and steps < 64 * size:
        if e >= 0:
            x, t, j, k = -1, 0, -1, 0
            if current:
                x = load64(nodes, i) if keys == 1 else st[at + S_NEXT]
            if x >= 0 and x < load64(closure, C_NODES):
                t, j, k, searched = neighbours(closure, x, backward, e >> 32, e & LOW, size - n, found)
                steps += t + 1 + searched
                if changed and state in (AT_START, KEPT):
                    t = without_new(D, relation, x, backward, found, t, w)
            for c in range(columns):
                target = register(registers, level, keys + 2 * c + 1, size, w)
                if keys == 0 and load64(level, L_LISTS + 2 * c) == 0:
                    for y in range(t):
                        store(target, n + y, load(words, x, w), w)
                else:
                    for y in range(t):
                        store(target, n + y, load(words, load64(found, y), w), w)
            if t > 0:
                spread_value(level, keys + 2 * columns, live, i, n, t, registers, size, w)
            n += t
            e = (j << 32) | k
            if j < 0:
                e = -1
                if keys == 0 and current and x + 1 < load64(closure, C_NODES):
                    st[at + S_NEXT] = x + 1
                    e = 0
            continue
        if gone:
            t, e = expand_changed(D, level, i, -1 - e, n, registers, size, w)
            steps += t + 1
            if t > 0:
                spread_value(level, keys + 2 * columns, live, i, n, t, registers, size, w)
            n += t
        else:
            e = 0
        if e >= 0:
            i += 1
            st[at + S_NEXT] = 0
    st[at + S_CURSOR], st[at + S_INNER] = i, e
    st[S_WORK] += steps >> 3
    return n


@kernel
def expand_changed(D, level, i, e, n, registers, size, w):
    """Write the pairs of binding `i` that are only among those changed, from the e-th on, behind `n` bindings: (how
    many, S_INNER to continue from, or 0)."""
    index, state = load64(level, L_OBJECT), load64(level, L_VERSION)
    relation, arena = D[index, I_RELATION], D[index, I_ARENA]
    keys, columns, t = load64(level, L_KEYS), load64(level, L_COLUMNS), 0
    h = mix(load(register(registers, level, 0, size, w), i, w)) if keys == 1 else 0
    v = find_key(D, index, level, i, h, registers, size, w)
    if v == 0:
        return 0, 0
    offset = (v & LOW) - 1
    length, stride = load(arena, offset, w), 3 - keys
    offset += HEADER + keys
    while e < length and n + t < size:
        entry = offset + e * stride
        r = load(arena, entry, w)
        e += 1
        # Pairs that came are among those of the closure, unless nothing of that is read.
        if shown(D, relation, r, state) and (r < D[relation, R_START] or state == NEW):
            for c in range(columns):
                column = load64(level, L_LISTS + keys + 2 * c)
                target = register(registers, level, keys + 2 * c + 1, size, w)
                store(target, n + t, load(arena, entry + 1 + column, w), w)
            t += 1
    return t, (-1 - e if e < length else 0)


@kernel
def member_closed(D, level, m, registers, chosen, size, w):
    """Select positions whose key registers are (CHECK_CLOSED) or are not (ABSENT_CLOSED) a pair that the level sees."""
    relation, state = load64(level, L_OBJECT), load64(level, L_VERSION)
    closure, wanted, n = D[relation, R_CLOSURE], load64(level, L_KIND) == CHECK_CLOSED, 0
    first, second = register(registers, level, 0, size, w), register(registers, level, 1, size, w)
    for i in range(m):
        a, b, r = load(first, i, w), load(second, i, w), -1
        if D[relation, R_N] > 0:
            r = changed_row(D, relation, a, b, w)
        if r >= 0:
            there = shown(D, relation, r, state)
        else:
            x, y = node_of(closure, a, w), node_of(closure, b, w)
            there = state not in (GONE, NEW) and x >= 0 and y >= 0 and connected(closure, x, y)
        store64(chosen, n, i)
        n += there == wanted
    return n
