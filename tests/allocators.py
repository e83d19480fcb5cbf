"""The allocators of NumPy, of compiled kernels and of Arrow, with somebody who is asked before each request.

    with asked(lambda size: size < 1_000):
        numpy.empty(1_000)      # MemoryError

Each of the three calls C functions by pointers that it keeps; here are others, put in their places inside of the block.
So the product needs no seams for this. NumPy has an interface for that everywhere. The pointers of numba's runtime, and
those of Arrow's pool, which are C++'s, can be found on Linux, with the calling convention of x86-64.
"""

from __future__ import annotations

import ctypes
import platform
import struct
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow
from numba.core.registry import cpu_target
from numba.core.runtime import _nrt_python, rtsys  # type: ignore[attr-defined]  # no interface, only found
from numpy._core import multiarray

ON_LINUX = sys.platform.startswith("linux") and platform.machine() == "x86_64"

_ask: list[Callable[[int], bool]] = []
_TOO_MUCH = 1 << 62
"""Bytes. An allocator that is asked for so many refuses in its own way."""


def _granted(size: int) -> bool:
    return not _ask or _ask[-1](size)


def _pointer(function: Any) -> int:
    address = ctypes.cast(function, ctypes.c_void_p).value
    assert address is not None
    return address


def _function(name: str, result: Any, *arguments: Any) -> Any:
    function = getattr(ctypes.pythonapi, name)
    function.restype, function.argtypes = result, arguments
    return function


# --- NumPy -----------------------------------------------------------------------------------------------------------

_VOID, _SIZE = ctypes.c_void_p, ctypes.c_size_t
_MALLOC = ctypes.CFUNCTYPE(_VOID, _VOID, _SIZE)
_CALLOC = ctypes.CFUNCTYPE(_VOID, _VOID, _SIZE, _SIZE)
_REALLOC = ctypes.CFUNCTYPE(_VOID, _VOID, _VOID, _SIZE)


class _Handler(ctypes.Structure):
    """NumPy's PyDataMem_Handler."""

    _fields_ = (
        ("name", ctypes.c_char * 127),
        ("version", ctypes.c_uint8),
        ("context", ctypes.c_void_p),
        ("malloc", ctypes.c_void_p),
        ("calloc", ctypes.c_void_p),
        ("realloc", ctypes.c_void_p),
        ("free", ctypes.c_void_p),
    )


_new_capsule = _function("PyCapsule_New", ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
_in_capsule = _function("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
_table = ctypes.cast(_in_capsule(multiarray._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))
_set_handler = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(_table[304])
_get_handler = ctypes.PYFUNCTYPE(ctypes.py_object)(_table[305])
_NAME = b"mem_handler"
_usual = _Handler.from_address(_in_capsule(_get_handler(), _NAME))
# NumPy's own functions give the lock of the interpreter away themselves.
_usual_malloc = ctypes.PYFUNCTYPE(_VOID, _VOID, _SIZE)(_usual.malloc)
_usual_calloc = ctypes.PYFUNCTYPE(_VOID, _VOID, _SIZE, _SIZE)(_usual.calloc)
_usual_realloc = ctypes.PYFUNCTYPE(_VOID, _VOID, _VOID, _SIZE)(_usual.realloc)


@_MALLOC
def _malloc(context: int | None, size: int) -> int | None:
    return _usual_malloc(context, size) if _granted(size) else None


@_CALLOC
def _calloc(context: int | None, count: int, size: int) -> int | None:
    return _usual_calloc(context, count, size) if _granted(count * size) else None


@_REALLOC
def _realloc(context: int | None, address: int | None, size: int) -> int | None:
    return _usual_realloc(context, address, size) if _granted(size) else None


# What an array gives back goes to NumPy's own function, also when this module is gone.
_handler = _Handler(b"tests", 1, _usual.context, _pointer(_malloc), _pointer(_calloc), _pointer(_realloc), _usual.free)
_capsule = _new_capsule(ctypes.addressof(_handler), _NAME, None)


@contextmanager
def _numpy_asks() -> Iterator[None]:
    before = _set_handler(_capsule)
    try:
        yield
    finally:
        _set_handler(before)


# --- kernels ---------------------------------------------------------------------------------------------------------

_ARGUMENT = 64
"""Bytes. Requests up to this are granted: a kernel has one for each array that it is given."""
_raw_malloc = _function("PyMem_RawMalloc", _VOID, _SIZE)
_raw_realloc = _function("PyMem_RawRealloc", _VOID, _VOID, _SIZE)


@ctypes.CFUNCTYPE(_VOID, _SIZE)
def _kernel_malloc(size: int) -> int | None:
    return _raw_malloc(size) if size <= _ARGUMENT or _granted(size) else None


@ctypes.CFUNCTYPE(_VOID, _VOID, _SIZE)
def _kernel_realloc(address: int | None, size: int) -> int | None:
    return _raw_realloc(address, size) if _granted(size) else None


@cache
def _kernel_pointers() -> Any:
    """Where numba's runtime has its pointers to malloc, realloc and free, one behind the other."""
    rtsys.initialize(cpu_target.target_context)
    wanted = struct.pack("3Q", *map(_pointer, (_raw_malloc, _raw_realloc, ctypes.pythonapi.PyMem_RawFree)))
    for line in Path("/proc/self/maps").read_text().splitlines():
        places, access, _, _, _, *path = line.split(maxsplit=5)
        if path and Path(path[0]).name == Path(_nrt_python.__file__).name and access.startswith("rw"):
            first, last = (int(place, 16) for place in places.split("-"))
            at = ctypes.string_at(first, last - first).find(wanted)
            if at >= 0:
                return (ctypes.c_uint64 * 3).from_address(first + at)
    raise LookupError("numba's runtime keeps its allocator elsewhere")


@contextmanager
def _kernels_ask() -> Iterator[None]:
    pointers = _kernel_pointers()
    before = pointers[:]
    pointers[:2] = [_pointer(_kernel_malloc), _pointer(_kernel_realloc)]
    try:
        yield
    finally:
        pointers[:] = before


# --- Arrow -----------------------------------------------------------------------------------------------------------

# Functions that return a C++ object get the place of the result before `this`.
_ALLOCATE = ctypes.CFUNCTYPE(_VOID, _VOID, _VOID, ctypes.c_int64, ctypes.c_int64, _VOID)
_REALLOCATE = ctypes.CFUNCTYPE(_VOID, _VOID, _VOID, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, _VOID)


_EXPORTED = 1_024
"""Bytes. Requests up to this are granted: Arrow ends the process where a schema is exported and these are missing."""


class _Pool:
    """Arrow's default pool of memory, with a table of virtual functions of our own."""

    _BEFORE, _ALLOCATE, _REALLOCATE, _ALL = 2, 4, 5, 16

    def __init__(self) -> None:
        self._python = pyarrow.default_memory_pool()  # It ends with a pointer to the C++ object, which begins with one.
        pool = ctypes.c_uint64.from_address(id(self._python) + type(self._python).__basicsize__ - 8).value
        self._table = ctypes.c_uint64.from_address(pool)
        self._before = self._table.value
        usual = (ctypes.c_uint64 * self._ALL).from_address(self._before - 8 * self._BEFORE)
        allocate, reallocate = _ALLOCATE(usual[self._ALLOCATE]), _REALLOCATE(usual[self._REALLOCATE])

        @_ALLOCATE
        def ours(result: int, this: int, size: int, alignment: int, target: int) -> int:
            return allocate(result, this, size if size <= _EXPORTED or _granted(size) else _TOO_MUCH, alignment, target)  # type: ignore[no-any-return]

        @_REALLOCATE
        def ours_again(result: int, this: int, old: int, new: int, alignment: int, target: int) -> int:
            size = new if new <= max(old, _EXPORTED) or _granted(new) else _TOO_MUCH
            return reallocate(result, this, old, size, alignment, target)  # type: ignore[no-any-return]

        self._kept = ours, ours_again
        self._ours = (ctypes.c_uint64 * self._ALL)(*usual)
        self._ours[self._ALLOCATE], self._ours[self._REALLOCATE] = _pointer(ours), _pointer(ours_again)

    @contextmanager
    def asks(self) -> Iterator[None]:
        self._table.value = ctypes.addressof(self._ours) + 8 * self._BEFORE
        try:
            yield
        finally:
            self._table.value = self._before


@cache
def _pool(name: str) -> _Pool:
    """Return the pool that is Arrow's default one now; its `name` tells it from others: commands choose another one."""
    return _Pool()


# --- all of them -----------------------------------------------------------------------------------------------------


ALLOCATORS: dict[str, Callable[[], AbstractContextManager[None]]] = {"NumPy": _numpy_asks}
if ON_LINUX:
    ALLOCATORS |= {"kernels": _kernels_ask, "Arrow": lambda: _pool(pyarrow.default_memory_pool().backend_name).asks()}


@contextmanager
def asked(ask: Callable[[int], bool], allocators: Iterable[str] = tuple(ALLOCATORS)) -> Iterator[None]:
    """Inside, a request for memory to one of the `allocators` fails where `ask`, given its size in bytes, is False."""
    with ExitStack() as stack:
        _ask.append(ask)
        stack.callback(_ask.pop)
        for name in allocators:
            stack.enter_context(ALLOCATORS[name]())
        yield
