"""Work that makes many small objects, all of which stay: to look for garbage among them meanwhile would take longer."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Put off the search for cyclic garbage until the end of the block, or of the decorated function."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
