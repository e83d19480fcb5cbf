"""The cache of compiled kernels: `KernelCache` keeps the code of one kernel in the folder of `places`, and finds what
the package brings.

A cache that cannot be written or read costs time and nothing else: `KernelCache` warns once per process, and the
kernels are compiled for this process alone. A folder that has all kernels that a process needs never has to be written.

To compile all kernels takes about a minute, one of them some seconds. Each is kept as soon as it is compiled.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from pathlib import Path
from platform import machine
from typing import Any

from llvmlite.binding import get_host_cpu_features
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.runtime.nrt import rtsys

from tidelog.errors import KernelCacheWarning
from tidelog.kernels.compiling import before_compiling, loading
from tidelog.kernels.places import folder_in_package, folder_of_kernels, use_folder

_warned: list[str] = []
"""The warnings of this process: one, or none."""

_used: set[Path] = set()
"""The folders that this process uses."""


def cached(dispatcher: Any) -> Any:
    """Return a dispatcher of numba that keeps what it compiles."""
    folder = folder_of_kernels()
    if folder not in _used:
        _used.add(folder)
        use_folder(folder)
    dispatcher._cache = KernelCache(dispatcher.py_func)
    dispatcher.compile = functools.partial(loading, dispatcher.compile)
    return dispatcher


class _Locator:
    """The folder of kernels, whose name says of which sources they are: time stamps and paths of these do not
    matter, so that a folder can be copied with or without them."""

    def __init__(self, line: int) -> None:
        self._path = str(folder_of_kernels())
        self._line = line

    def get_cache_path(self) -> str:
        """Return the folder."""
        return self._path

    def ensure_cache_path(self) -> None:
        """Make the folder, which may have been removed as unused. OSError."""
        Path(self._path).mkdir(parents=True, exist_ok=True)

    def get_source_stamp(self) -> int:
        """Return the same for all states of the source."""
        return 0

    def get_disambiguator(self) -> str:
        """Return the line where a kernel begins, which tells it from others of its name."""
        return str(self._line)

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> _Locator:
        """Return the locator of a kernel."""
        return cls(py_func.__code__.co_firstlineno)


class _LocatorInPackage(_Locator):
    """The folder that the package brings."""

    def get_cache_path(self) -> str:
        """Return the folder."""
        return str(folder_in_package())


class _Implementation(CompileResultCacheImpl):
    _locator_classes = [_Locator]  # type: ignore[list-item]  # noqa: RUF012  # numba means any class


class _ImplementationInPackage(CompileResultCacheImpl):
    _locator_classes = [_LocatorInPackage]  # type: ignore[list-item]  # noqa: RUF012  # the same


_LEVEL = "x86-64-v3"
_INSTRUCTIONS = ("avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "popcnt")
"""Instructions that every processor of that level has, and that older ones lack."""


@functools.cache
def _runs_code_of_package() -> bool:
    """Return True if the package brings code, and this processor runs it."""
    features = get_host_cpu_features() if folder_in_package().is_dir() and machine() == "x86_64" else {}
    return all(features.get(each, False) for each in _INSTRUCTIONS)


class _CacheInPackage(FunctionCache):
    """The code of one kernel that the package brings, compiled for processors of a level."""

    _impl_class = _ImplementationInPackage

    def _index_key(self, signature: Any, codegen: Any) -> Any:
        of, (triple, *_), hashes = super()._index_key(signature, codegen)  # type: ignore[no-untyped-call]  # numba has no types
        return of, (triple, _LEVEL, ""), hashes


class KernelCache(FunctionCache):
    """The cache of one kernel. Faults of the disk make it a cache that holds nothing."""

    _impl_class = _Implementation

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]  # numba has no types
        self._in_package = _CacheInPackage(function) if _runs_code_of_package() else None  # type: ignore[no-untyped-call]  # the same

    def load_overload(self, signature: Any, context: Any) -> Any:
        """Return the code compiled before, or None, which makes numba compile it next."""
        found = self._tried(self._load, signature, context)
        if found is None:
            before_compiling()
        return found

    def save_overload(self, signature: Any, data: Any) -> None:
        """Keep the compiled code."""
        self._tried(super().save_overload, signature, data)

    def _load(self, signature: Any, context: Any) -> Any:
        rtsys.initialize(context)
        for cache in filter(None, (self, self._in_package)):
            found = cache._load_overload(signature, context)  # type: ignore[no-untyped-call]  # numba has no types
            if found is not None:
                return found
        return None

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
            " takes about 100 seconds. Make room there, allow tidelog to write there, or set TIDELOG_CACHE_DIR to"
            " another folder"
        )
        _warned.append(message)
        warnings.warn(message, KernelCacheWarning, stacklevel=2)
