"""The process of the command line: how it begins and ends."""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NoReturn


def run_process() -> NoReturn:
    """Run the command line of this process and end it with the exit code, without tearing the interpreter down.

    A thread of Arrow may still hold memory of Python when the command is done. Where it gives that back while the
    interpreter goes, the process aborts (apache/arrow#34314). Nor does a search for garbage delay the end.
    """
    _open_streams()
    with _one_thread_of_numpy():
        from tidelog.cli.entry import main
    status = main()
    threading._shutdown()  # type: ignore[attr-defined]  # waits for the threads that are no daemons
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(status)


def _open_streams() -> None:
    """Open the streams that this process was started without, on nothing: the next files would be taken for them."""
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, os.O_RDWR)
            os.dup2(opened, number)
            if opened != number:
                os.close(opened)
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))


@contextmanager
def _one_thread_of_numpy() -> Iterator[None]:
    """Import numpy inside the block without threads for linear algebra, which nothing here needs: they would wait for
    work in a loop, for longer than a small program takes."""
    name = "OPENBLAS_NUM_THREADS"
    if name in os.environ:
        yield
        return
    os.environ[name] = "1"
    try:
        yield
    finally:
        del os.environ[name]  # Processes that this one begins are as ever.
