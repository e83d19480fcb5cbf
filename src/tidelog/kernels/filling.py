"""An index of many rows from scratch, by one column whose values lie close together, as most numbers of symbols do.

Rows are counted by value first. Each segment is then laid out with room for all of its entries, in the order of the
values, and a last pass over the rows writes these. So no segment ever moves, and hashes are needed per value only.
"""
# mypy: disable-error-code="no-untyped-def"

from tidelog.kernels.indexes import HEADER, capacity
from tidelog.kernels.layout import (
    DEAD,
    I_ARENA,
    I_DONE,
    I_KEY,
    I_MASK,
    I_PAYLOAD,
    I_PAYLOADS,
    I_RELATION,
    I_SLOTS,
    I_TOP,
    I_USED,
    R_ARITY,
    R_COUNT,
    R_ROWS,
)
from tidelog.kernels.slots import put_slot
from tidelog.kernels.words import (
    HIGH,
    LOW,
    kernel,
    load,
    load32,
    mix,
    prefetch,
    store,
    store32,
    width,
)

_AHEAD = 16
_HEAD = HEADER + 1


@kernel
def span(D, index, high, w):
    """Return the least and the greatest value of the key column in the rows below `high`, of which there are some."""
    relation = D[index, I_RELATION]
    rows, k, column = D[relation, R_ROWS], D[relation, R_ARITY], D[index, I_KEY]
    least = greatest = load(rows, column, w)
    for r in range(1, high):
        value = load(rows, r * k + column, w)
        least, greatest = min(least, value), max(greatest, value)
    return least, greatest


@kernel
def count_values(D, index, high, least, numbers, w):
    """Count the rows below `high`, without those dead for good, by their value above `least`, in the int32 array at
    `numbers`, which is zero."""
    relation = D[index, I_RELATION]
    rows, k, counts, column = D[relation, R_ROWS], D[relation, R_ARITY], D[relation, R_COUNT], D[index, I_KEY]
    for r in range(high):
        if counts == 0 or load32(counts, r) != DEAD:
            value = load(rows, r * k + column, w) - least
            store32(numbers, value, load32(numbers, value) + 1)


@kernel
def class_for(length):
    """Return the smallest class whose segments have room for so many entries."""
    size_class = 0
    while capacity(size_class) < length:
        size_class += 1
    return size_class


@kernel
def needed(D, index, numbers, values):
    """Return the number of segments for the rows that were counted, and the words of an arena with room for them."""
    keys, words, stride = 0, 0, 1 + D[index, I_PAYLOADS]
    for value in range(values):
        number = load32(numbers, value)
        if number > 0:
            keys += 1
            words += _HEAD + stride * capacity(class_for(number))
    return keys, words


@kernel
def lay_out(D, index, least, numbers, values, w):
    """Make a segment for each of the `values` above `least` with rows; there is room. Its number of rows gives way to
    the offset of its first entry, of 32 bits."""
    slots, mask, arena, top = D[index, I_SLOTS], D[index, I_MASK], D[index, I_ARENA], 0
    stride, keys = 1 + D[index, I_PAYLOADS], 0
    for value in range(values):
        if value + _AHEAD < values:
            prefetch(slots + 8 * ((mix(least + value + _AHEAD) >> 32) & mask))
        number = load32(numbers, value)
        if number > 0:
            put_slot(slots, mask, (mix(least + value) & HIGH) | (top + 1))
            size_class = class_for(number)
            store(arena, top, number, w)
            store(arena, top + 1, size_class, w)
            store(arena, top + HEADER, least + value, w)
            store32(numbers, value, top + _HEAD)
            top += _HEAD + stride * capacity(size_class)
            keys += 1
    D[index, I_TOP], D[index, I_USED] = top, keys


@kernel
def fill(D, index, high, least, numbers, values, w):
    """Enter the rows below `high` that were counted; there is room for them."""
    lay_out(D, index, least, numbers, values, w)
    relation, arena = D[index, I_RELATION], D[index, I_ARENA]
    rows, k, counts, size = D[relation, R_ROWS], D[relation, R_ARITY], D[relation, R_COUNT], width(w)
    column, payloads = D[index, I_KEY], D[index, I_PAYLOADS]
    for r in range(high):
        if r + 2 * _AHEAD < high:
            prefetch(numbers + 4 * (load(rows, (r + 2 * _AHEAD) * k + column, w) - least))
        if r + _AHEAD < high:
            value = load(rows, (r + _AHEAD) * k + column, w) - least
            prefetch(arena + size * (load32(numbers, value) & LOW))
        if counts == 0 or load32(counts, r) != DEAD:
            value = load(rows, r * k + column, w) - least
            entry = load32(numbers, value) & LOW
            store(arena, entry, r, w)
            for j in range(payloads):
                store(arena, entry + 1 + j, load(rows, r * k + D[index, I_PAYLOAD + j], w), w)
            store32(numbers, value, entry + 1 + payloads)
    D[index, I_DONE] = high
