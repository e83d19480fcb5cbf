"""The cache of compiled kernels: a folder per user, per state of the kernels' sources and per version of numba.

The time stamp of a folder is the time when a process last began to use it. The process that makes a new folder removes
those that no process has used for long. A cache that cannot be written or read costs time and nothing else:
`KernelCache` warns once per process, and the kernels are compiled for this process alone.

To compile all kernels takes a minute or two, one of them some seconds. Inside of `between_kernels` a function is called
before each, which may raise.
"""

from __future__ import annotations

import hashlib
import os
import pathlib
import shutil
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numba
import numpy
from numba.core.caching import FunctionCache

from tidelog.errors import KernelCacheWarning

LONG = 30 * 24 * 3600.0
"""Seconds."""


_warned: list[str] = []
"""The warnings of this process: one, or none."""


def use_cache() -> None:
    """Point numba to the folder, unless NUMBA_CACHE_DIR names one; if it cannot be written, to a temporary one."""
    if "NUMBA_CACHE_DIR" not in os.environ:
        numba.config.CACHE_DIR = _folder()  # type: ignore[attr-defined]  # numba fills its config at run time


def _folder() -> str:
    sources = sorted(pathlib.Path(__file__).parent.glob("*.py"))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources))
    digest.update(f"{numba.__version__} {numpy.__version__}".encode())
    base = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    folder = base / "tidelog" / f"kernels-{digest.hexdigest()[:16]}"
    try:
        is_new = not folder.exists()
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        _warn(str(folder), error)
        with suppress(OSError):
            return tempfile.mkdtemp(prefix="tidelog-kernels-")
        return str(folder)
    if is_new:
        remove_unused(folder.parent)
    return str(folder)


def cached(kernel: Any) -> Any:
    """Return a kernel of numba that the cache keeps, where that is possible."""
    try:
        kernel._cache = KernelCache(kernel.py_func)  # type: ignore[no-untyped-call]  # numba has no types
    except (OSError, RuntimeError) as error:  # numba's word for a folder that it cannot use
        _warn(str(numba.config.CACHE_DIR), error)  # type: ignore[attr-defined]  # numba fills its config at run time
    return kernel


_compiling = threading.local()


@contextmanager
def between_kernels(look: Callable[[], object]) -> Iterator[None]:
    """Call `look` inside the block, in this thread, before each kernel that has to be compiled. An exception of `look`
    ends the call of a kernel that needs that one; the next call compiles the missing kernels."""
    before = getattr(_compiling, "look", None)
    _compiling.look = look
    try:
        yield
    finally:
        _compiling.look = before


class KernelCache(FunctionCache):
    """The cache of one kernel. Faults of the disk make it a cache that holds nothing."""

    def load_overload(self, signature: Any, context: Any) -> Any:
        """Return the code compiled before, or None, which makes numba compile it next."""
        found = self._tried(super().load_overload, signature, context)
        look = getattr(_compiling, "look", None)
        if found is None and look is not None:
            look()
        return found

    def save_overload(self, signature: Any, data: Any) -> None:
        """Keep the compiled code."""
        self._tried(super().save_overload, signature, data)

    def _tried(self, action: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return action(*arguments)
        except Exception as error:  # A damaged file fails in as many ways as pickles can.
            _warn(self.cache_path, error)
            return None


def _warn(folder: str, error: Exception) -> None:
    """Warn once per process that the cache keeps no kernels, with the place, the reason and the remedy."""
    if not _warned:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        message = (
            f"tidelog cannot keep its compiled kernels in {folder}: {reason}. Each process compiles them anew, which"
            " takes about 100 seconds. Make room there, allow tidelog to write there, or set NUMBA_CACHE_DIR to"
            " another folder"
        )
        _warned.append(message)
        warnings.warn(message, KernelCacheWarning, stacklevel=2)


def remove_unused(base: pathlib.Path) -> None:
    """Remove the folders in `base` that no process has begun to use for long. What cannot be removed stays.

    Several processes may do so at once. One that has run for longer does not miss its folder: numba makes it again.
    """
    with suppress(OSError):
        for folder in base.glob("kernels-*"):
            if time.time() - folder.lstat().st_mtime > LONG:
                shutil.rmtree(folder, ignore_errors=True)
