"""Numbers of new rows, which each of several threads reserves before it uses them.

A thread takes many at a time from a counter that all share. Those that it has not used in the end are gaps, which
Python closes (`maintain/threads.py`).
"""
# mypy: disable-error-code="no-untyped-def"

from tidelog.kernels.layout import (
    O_END,
    O_NEXT,
    R_ARITY,
    R_BIRTH,
    R_CAPACITY,
    R_COUNT,
    R_ROWS,
    R_SUPPORT,
    RESERVED,
    T_ROWS,
)
from tidelog.kernels.words import add_shared, add_shared32, kernel, width

PAGE = 21
"""Bits of an address within a large page."""


@kernel
def touch_ahead(start, size, n, capacity):
    """Let the system find memory for the large page behind those of items `n` to `n` + RESERVED, of `size` bytes each,
    when these begin a page. Threads that reach it at the same time would each wait for memory of their own."""
    last = start + (n + RESERVED) * size
    ahead = ((last >> PAGE) + 1) << PAGE
    if (start + n * size) >> PAGE != last >> PAGE and ahead < start + capacity * size:
        add_shared32(ahead, 0, 0)


@kernel
def next_row(D, relation, own, shared, w):
    """Return the number of the next new row of this thread, which it may use or not."""
    if own[O_NEXT] == own[O_END]:
        own[O_NEXT] = add_shared(shared, T_ROWS, RESERVED)
        own[O_END] = own[O_NEXT] + RESERVED
        n, capacity = own[O_NEXT], D[relation, R_CAPACITY]
        touch_ahead(D[relation, R_ROWS], D[relation, R_ARITY] * width(w), n, capacity)
        for marks in (D[relation, R_COUNT], D[relation, R_BIRTH], D[relation, R_SUPPORT]):
            if marks != 0:
                touch_ahead(marks, 4, n, capacity)
    return own[O_NEXT]
