"""Work that makes many small objects, all of which stay: to look for garbage among them meanwhile would take longer."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def pause_collection() -> Iterator[None]:
    """Put off the search for cyclic garbage until the end of the block, or of the decorated function."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@contextmanager
def old_at_once() -> Iterator[None]:
    """`pause_collection`, for work that makes hundreds of thousands of objects at a time. They count as old afterwards,
    so that the next two searches do not look at each of them. Not for work that is done again and again: garbage
    among old objects stays longer."""
    with pause_collection():
        yield
        if not gc.get_freeze_count():  # The application may have frozen some of its own.
            gc.freeze()
            gc.unfreeze()


@contextmanager
def freeze_present() -> Iterator[None]:
    """Let no search for garbage inside the block look at the objects that are there when it begins."""
    if gc.get_freeze_count():  # The application may have frozen some of its own.
        yield
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


@contextmanager
def rarely_collected() -> Iterator[None]:
    """Search a hundredth as often for cyclic garbage inside the block: for a process that ends soon, because most
    objects of its start stay."""
    first, *others = gc.get_threshold()
    gc.set_threshold(100 * first, *others)
    try:
        yield
    finally:
        gc.set_threshold(first, *others)
