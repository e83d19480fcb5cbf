"""Levels that bind a variable which several atoms share: its candidates come from the shortest of their segments.

For each binding the atoms have one segment each, of the rows that fit it. The value that they have in common is in all
of them, so the shortest has every candidate; tests of membership behind the level remove those that are not in the
others, or that the level does not see. Work is then bounded by the largest result that relations of these sizes can
have: Ngo, Porat, Ré, Rudra, "Worst-case optimal join algorithms", PODS 2012.

Behind the lists of the level there are three words for each atom: its index, the column of the variable, and the first
of its key registers.
"""
# mypy: disable-error-code="no-untyped-def"

from tidelog.kernels.indexes import HEADER
from tidelog.kernels.layout import (
    I_ARENA,
    I_KEYS,
    I_MASK,
    I_PAYLOADS,
    I_RELATION,
    I_SLOTS,
    L_COLUMNS,
    L_KEYS,
    L_LISTS,
    L_LIVE,
    L_OBJECT,
    R_ARITY,
    R_ROWS,
    S_CURSOR,
    S_IN,
    S_INNER,
    S_WORK,
)
from tidelog.kernels.registers import hash_registers, register, spread_value
from tidelog.kernels.words import LOW, kernel, load, load64, prefetch, store, store64, width

_LENGTH = (1 << 40) - 1
"""The bits of a length; the number of the atom stands above."""


@kernel
def atoms_of(level):
    """Return the address of the words of the level's atoms."""
    lists = load64(level, L_KEYS) + 2 * load64(level, L_COLUMNS) + 2 * load64(level, L_LIVE)
    return level + 8 * (L_LISTS + lists)


@kernel
def find_key_from(D, index, level, first, i, h, registers, size, w):
    """Return the directory slot for the key that binding `i` has in the level's registers from list entry `first` on;
    0 without a slot. Probes and routes have their own: compilers inline what has few callers, and one function for all
    made GALEN 5 % slower."""
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
                if load(arena, key + j, w) != load(register(registers, level, first + j, size, w), i, w):
                    same = False
            if same:
                return v
        s = (s + 1) & mask


@kernel
def find_shortest(D, level, m, registers, offsets, lengths, hashes, size, w):
    """Find for each binding the shortest segment: offset of the first entry, and length with the atom's number."""
    atoms = atoms_of(level)
    for a in range(load64(level, L_OBJECT)):
        index, first = load64(atoms, 3 * a), load64(atoms, 3 * a + 2)
        slots, mask, arena, keys = D[index, I_SLOTS], D[index, I_MASK], D[index, I_ARENA], D[index, I_KEYS]
        hash_registers(level, first, m, keys, registers, hashes, size, w)
        for i in range(m):
            prefetch(slots + ((load64(hashes, i) >> 32) & mask) * 8)
        for i in range(m):
            h = load64(hashes, i)
            v = load64(slots, (h >> 32) & mask)
            if v != 0 and ((v ^ h) >> 32) == 0:
                prefetch(arena + width(w) * ((v & LOW) - 1))
        for i in range(m):
            v = find_key_from(D, index, level, first, i, load64(hashes, i), registers, size, w)
            offset = (v & LOW) - 1
            length = load(arena, offset, w) if v != 0 else 0
            if a == 0 or length < load64(lengths, i) & _LENGTH:
                store64(offsets, i, offset + HEADER + keys)
                store64(lengths, i, length | a << 40)


@kernel
def expand_shortest(D, level, st, at, registers, offsets, lengths, size, w):
    """Multiply bindings by the candidates of their segments, until the batch is full or the input is used up.

    It may return with no binding before that, so that long segments of dead rows do not keep it long.
    """
    atoms, keys, live, m, n = atoms_of(level), load64(level, L_KEYS), load64(level, L_LIVE), st[at + S_IN], 0
    target = register(registers, level, keys + 1, size, w)
    i, e, steps = st[at + S_CURSOR], st[at + S_INNER], 0
    while i < m and n < size and steps < 64 * size:
        length, a, offset, before = load64(lengths, i) & _LENGTH, load64(lengths, i) >> 40, load64(offsets, i), n
        index, column = load64(atoms, 3 * a), load64(atoms, 3 * a + 1)
        relation = D[index, I_RELATION]
        arena, stride, rows, k = D[index, I_ARENA], 1 + D[index, I_PAYLOADS], D[relation, R_ROWS], D[relation, R_ARITY]
        first = e
        while e < length and n < size:
            entry = offset + e * stride
            e += 1
            r = load(arena, entry, w)
            if r >= 0:
                store(target, n, load(arena, entry + 1 + column, w) if stride > 1 else load(rows, r * k + column, w), w)
                n += 1
        steps += e - first
        if n > before:
            spread_value(level, keys + 2, live, i, before, n - before, registers, size, w)
        if e >= length:
            i += 1
            e = 0
    st[at + S_CURSOR], st[at + S_INNER] = i, e
    st[S_WORK] += steps >> 3
    return n
