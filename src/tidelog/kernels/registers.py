"""Registers: the columns of a batch, and the moves of bindings between them.

The lists behind a level's header name registers by number; a register is `size` words.
"""
# mypy: disable-error-code="no-untyped-def"

from tidelog.kernels.layout import L_COLUMNS, L_KEYS, L_LISTS, L_LIVE, P_ARGUMENTS
from tidelog.kernels.words import kernel, load, load64, mix, store, store64, width


@kernel
def register(registers, level, i, size, w):
    """Return the address of the register named by list entry `i` of a level."""
    return registers + load64(level, L_LISTS + i) * size * width(w)


@kernel
def hash_registers(level, first, m, keys, registers, hashes, size, w):
    """Hash the key registers of a batch, in the level's list from `first` on; without keys the hash is 0."""
    if keys == 0:
        for i in range(m):
            store64(hashes, i, 0)
    for j in range(keys):
        key = register(registers, level, first + j, size, w)
        if j == 0:
            for i in range(m):
                store64(hashes, i, mix(load(key, i, w)))
        else:
            for i in range(m):
                store64(hashes, i, mix(load64(hashes, i) ^ load(key, i, w)))


@kernel
def hash_binding(level, first, keys, i, registers, size, w):
    """Return the hash of the key registers of binding `i`, in the level's list from `first` on."""
    h = 0
    for j in range(keys):
        h = mix(h ^ load(register(registers, level, first + j, size, w), i, w))
    return h


@kernel
def spread_value(level, lists, live, i, n, t, registers, size, w):
    """Repeat the live registers of binding `i` for the `t` bindings from `n` on."""
    for c in range(live):
        value = load(register(registers, level, lists + 2 * c, size, w), i, w)
        target = register(registers, level, lists + 2 * c + 1, size, w)
        for x in range(t):
            store(target, n + x, value, w)


@kernel
def copy_head(plan, k, n, registers, buffer, size, w):
    """Copy the `k` arguments of a plan's head in a batch of `n` bindings to the rows of `buffer`."""
    arguments = load64(plan, P_ARGUMENTS)
    for j in range(k):
        column = registers + load64(plan, arguments + j) * size * width(w)
        for i in range(n):
            store(buffer, i * k + j, load(column, i, w), w)


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
