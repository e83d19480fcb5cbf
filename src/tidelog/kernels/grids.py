"""The pairs of a dense relation as bits: most derived pairs are there already, which a look at a bit tells.

A grid is int64 words at an address: the height and the breadth of a rectangle, and a bit for each pair in it. A bit is
set for a pair that is in the relation or about to be inserted. Pairs whose bits are not set are looked for as ever, so
that threads may lose the bits of each other.
"""
# mypy: disable-error-code="no-untyped-def"

from tidelog.kernels.layout import G_BITS, G_BREADTH, G_HEIGHT, R_GRID, R_N, R_ROWS
from tidelog.kernels.words import kernel, load, load64, store, store64, wrap


@kernel
def drop_known(D, relation, buffer, n, w):
    """Move the pairs of `buffer` that the grid of a relation does not have to the front, and enter them; return how
    many there are of `n`."""
    grid = D[relation, R_GRID]
    height, breadth, kept = load64(grid, G_HEIGHT), load64(grid, G_BREADTH), 0
    for i in range(n):
        x, y = load(buffer, 2 * i, w), load(buffer, 2 * i + 1, w)
        if 0 <= x < height and 0 <= y < breadth:
            place = x * breadth + y
            word = load64(grid, G_BITS + (place >> 6))
            if (word >> (place & 63)) & 1 != 0:
                continue
            store64(grid, G_BITS + (place >> 6), wrap(word | (1 << (place & 63))))
        store(buffer, 2 * kept, x, w)
        store(buffer, 2 * kept + 1, y, w)
        kept += 1
    return kept


@kernel
def fill_grid(D, relation, grid, w):
    """Set the bits of all pairs of a relation in a grid, which has all of them."""
    rows, breadth = D[relation, R_ROWS], load64(grid, G_BREADTH)
    for r in range(D[relation, R_N]):
        place = load(rows, 2 * r, w) * breadth + load(rows, 2 * r + 1, w)
        word = load64(grid, G_BITS + (place >> 6))
        store64(grid, G_BITS + (place >> 6), wrap(word | (1 << (place & 63))))
