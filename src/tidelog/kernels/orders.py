"""The orders and keys of a selection: which of two rows is better, and which row of a relation has a key.

A selection is a block of int64 words, see `layout`. Rows are given by their addresses. Relations with one row per key
may have a hash table that knows their rows by these columns only, so that better rows take the places of others.
"""
# mypy: disable-error-code="no-untyped-def"

from tidelog.kernels.layout import (
    R_MASK,
    R_SLOTS,
    X_FRONT,
    X_KEY,
    X_KEYS,
    X_ORDER,
    X_ORDERS,
)
from tidelog.kernels.marked import address_of
from tidelog.kernels.slots import may_name
from tidelog.kernels.words import kernel, load, load32, load64, mix, prefetch

_LARGEST = 0x7FFFFFFFFFFFFFFF
SMALLEST = -0x7FFFFFFFFFFFFFFF - 1


@kernel
def cost(sel, order, row, w):
    """Return the value of a row, by its address, in an order as a number that is the smaller the better. Kinds are
    those of `layout.NUMBER` and its neighbours; floats are compared by their bits, since there is no NaN."""
    at = X_ORDER + 3 * order
    value, kind = load(row, load64(sel, at), w), load64(sel, at + 2)
    if kind == 1:
        value = value ^ SMALLEST
    elif kind == 2 and value < 0:
        value = value ^ _LARGEST
    return ~value if load64(sel, at + 1) else value


@kernel
def comparison(sel, one, other, w):
    """Return -1, 0 or 1 if row `one` is better than row `other`, which has the same key, equal to it, or worse, by the
    orders one after the other."""
    for order in range(load64(sel, X_ORDERS)):
        left, right = cost(sel, order, one, w), cost(sel, order, other, w)
        if left != right:
            return -1 if left < right else 1
    return 0


@kernel
def beats(sel, one, other, w):
    """Return True if row `one` is better than row `other`, which has the same key."""
    if load64(sel, X_FRONT) == 0:
        return comparison(sel, one, other, w) < 0
    some = False
    for order in range(load64(sel, X_ORDERS)):
        left, right = cost(sel, order, one, w), cost(sel, order, other, w)
        if left > right:
            return False
        some |= left < right
    return some


@kernel
def hash_of_key(sel, row, w):
    """Return the hash of the columns of a row that competing rows share."""
    h = 0
    for j in range(load64(sel, X_KEYS)):
        h = mix(h ^ load(row, load64(sel, X_KEY + j), w))
    return h


@kernel
def row_of_key(D, sel, relation, row, h, w):
    """Return (row number or -1, position of its slot or of an empty one) of the row with the key of `row`."""
    slots, mask = D[relation, R_SLOTS], D[relation, R_MASK]
    s = (h >> 32) & mask
    while True:
        v = load32(slots, s)
        if v == 0:
            return -1, s
        if may_name(v, h, mask):
            r, same = (v & mask) - 1, True
            found = address_of(D, relation, r, w)
            for j in range(load64(sel, X_KEYS)):
                column = load64(sel, X_KEY + j)
                if load(found, column, w) != load(row, column, w):
                    same = False
            if same:
                return r, s
        s = (s + 1) & mask


@kernel
def prefetch_slot(D, relation, h):
    """Prefetch the first slot for a hash."""
    prefetch(D[relation, R_SLOTS] + ((h >> 32) & D[relation, R_MASK]) * 4)


@kernel
def prefetch_words(D, relation, h, w):
    """Prefetch the first row with the bits of a hash: in a full table, every third row is not in the first slot for
    its hash."""
    slots, mask = D[relation, R_SLOTS], D[relation, R_MASK]
    s = (h >> 32) & mask
    v = load32(slots, s)
    while v != 0 and not may_name(v, h, mask):
        s = (s + 1) & mask
        v = load32(slots, s)
    if v != 0:
        prefetch(address_of(D, relation, (v & mask) - 1, w))
