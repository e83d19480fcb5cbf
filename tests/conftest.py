"""What all tests share: Ctrl-C works, and the collector of garbage is less eager."""

from __future__ import annotations

import gc
import signal


def pytest_configure() -> None:
    """A job in the background of a shell starts with SIGINT ignored; tests that press Ctrl-C would wait for ever."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish() -> None:
    """What has been imported and collected stays until the end. To look through it all again and again, for garbage
    that goes with its last reference anyway, takes a twentieth of the tests' time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
