"""What all tests share: Ctrl-C works, and the collector of garbage is less eager."""

from __future__ import annotations

import gc
import signal


def pytest_configure() -> None:
    """A job in the background of a shell starts with SIGINT ignored; tests that press Ctrl-C would wait for ever.

    To look for garbage as often as Python does takes a twentieth of the tests' time.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    gc.set_threshold(20_000, 20, 20)
