"""Settings of all tests: Ctrl-C works, and the garbage collector is less eager."""

from __future__ import annotations

import gc
import signal


def pytest_configure() -> None:
    """To look for garbage as often as Python does takes a twentieth of the tests' time."""
    gc.set_threshold(20_000, 20, 20)


def pytest_runtest_setup() -> None:
    """Ctrl-C raises KeyboardInterrupt in each test: a job in the background of a shell starts with SIGINT ignored, and
    PySpark leaves a handler of its own behind."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
