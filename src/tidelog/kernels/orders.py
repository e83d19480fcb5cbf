"""The orders and keys of a selection: which of two rows is better, and which row of a relation has a key.

A selection is a block of int64 words, see `layout`. Relations with one row per key may have a hash table that knows
their rows by these columns only, so that better rows take the places of others.
"""
# mypy: disable-error-code="no-untyped-def"

from tidelog.kernels.layout import (
    R_ARITY,
    R_MASK,
    R_ROWS,
    R_SLOTS,
    X_FRONT,
    X_KEY,
    X_KEYS,
    X_ORDER,
    X_ORDERS,
)
from tidelog.kernels.words import LOW, kernel, load, load64, mix, prefetch, width

_LARGEST = 0x7FFFFFFFFFFFFFFF
SMALLEST = -0x7FFFFFFFFFFFFFFF - 1


@kernel
def cost(sel, order, rows, r, k, w):
    """Return the value of row `r` in an order as a number that is the smaller the better. Kinds are those of
    `layout.NUMBER` and its neighbours; floats are compared by their bits, since there is no NaN."""
    at = X_ORDER + 3 * order
    value, kind = load(rows, r * k + load64(sel, at), w), load64(sel, at + 2)
    if kind == 1:
        value = value ^ SMALLEST
    elif kind == 2 and value < 0:
        value = value ^ _LARGEST
    return ~value if load64(sel, at + 1) else value


@kernel
def beats(sel, one_rows, one, other_rows, other, k, w):
    """Return True if row `one` of `one_rows` is better than row `other` of `other_rows`, which has the same key."""
    front, some = load64(sel, X_FRONT), False
    for order in range(load64(sel, X_ORDERS)):
        left, right = cost(sel, order, one_rows, one, k, w), cost(sel, order, other_rows, other, k, w)
        if left != right:
            if front == 0:
                return left < right
            if left > right:
                return False
            some = True
    return some


@kernel
def hash_of_key(sel, rows, r, k, w):
    """Return the hash of the columns of row `r` that competing rows share."""
    h = 0
    for j in range(load64(sel, X_KEYS)):
        h = mix(h ^ load(rows, r * k + load64(sel, X_KEY + j), w))
    return h


@kernel
def row_of_key(D, sel, relation, buffer, i, h, w):
    """Return (row number or -1, position of its slot or of an empty one) of the row with the key of row `i` of
    `buffer`."""
    slots, mask, rows, k = D[relation, R_SLOTS], D[relation, R_MASK], D[relation, R_ROWS], D[relation, R_ARITY]
    s = (h >> 32) & mask
    while True:
        v = load64(slots, s)
        if v == 0:
            return -1, s
        if ((v ^ h) >> 32) == 0:
            r, same = (v & LOW) - 1, True
            for j in range(load64(sel, X_KEYS)):
                column = load64(sel, X_KEY + j)
                if load(rows, r * k + column, w) != load(buffer, i * k + column, w):
                    same = False
            if same:
                return r, s
        s = (s + 1) & mask


@kernel
def prefetch_slot(D, relation, h):
    """Prefetch the first slot for a hash."""
    prefetch(D[relation, R_SLOTS] + ((h >> 32) & D[relation, R_MASK]) * 8)


@kernel
def prefetch_words(D, relation, h, w):
    """Prefetch the row in the first slot for a hash."""
    v = load64(D[relation, R_SLOTS], (h >> 32) & D[relation, R_MASK])
    if v != 0:
        prefetch(D[relation, R_ROWS] + ((v & LOW) - 1) * D[relation, R_ARITY] * width(w))
