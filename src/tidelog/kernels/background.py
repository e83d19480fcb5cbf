"""Kernels that another process compiles, while Python runs them in this one.

The other process gets one request after the other by its standard input, a kernel and the kinds of its arguments,
and ends once there are no more. What it compiles goes to the folder of `places`, where `calling` finds it.
It may live some twenty seconds longer than the process that has asked, whose successor needs the same kernels.
"""

from __future__ import annotations

import importlib
import logging
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from tidelog.kernels.places import folder_of_kernels, use_folder

LOGGER = logging.getLogger("tidelog.kernels")


class BackgroundCompiler:
    """The other process, begun by the first request. If it cannot begin, or ends, requests do nothing."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    def request(self, function: Callable[..., Any], kinds: tuple[str, ...]) -> None:
        """Let the kernel of a function be compiled for arguments of these kinds, if there is a place for it."""
        folder = folder_of_kernels()
        use_folder(folder)
        if not os.access(folder, os.W_OK):
            return
        text = pickle.dumps((function.__module__, function.__name__, kinds))
        with self._lock, suppress(OSError):
            if self._process is None:
                self._process = self._begin()
            assert self._process.stdin is not None
            self._process.stdin.write(text)
            self._process.stdin.flush()

    def _begin(self) -> subprocess.Popen[bytes]:
        LOGGER.warning(
            "tidelog compiles its kernels in the background, some 20 s once on a machine; Python runs them until then;"
            " `tidelog warm` compiles all"
        )
        return subprocess.Popen(
            [sys.executable, "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is not meant for it.
        )


def compile_requested() -> None:
    """Compile what is requested by standard input."""
    with suppress(EOFError):
        while True:
            module, name, kinds = pickle.load(sys.stdin.buffer)
            getattr(importlib.import_module(module), name).ready(kinds)


if __name__ == "__main__":
    compile_requested()
