"""Memory that runs out where a test wants it to.

    with Budget(7) as budget:      # the seventh request for memory fails
        attempt()
    budget.failed                  # whether there were so many

Memory is asked for in two ways. Blocks (`storage.memory`) hold relations, indexes, lists and journals; NumPy arrays
hold everything else. The first are counted in `Block.grow`, the others by an allocator that NumPy is given, so that the
product needs no seams for it. Blocks always move when they grow, and what they leave is unmapped: who still has an
address of theirs crashes at once.
"""

from __future__ import annotations

import ctypes
from types import TracebackType
from typing import Any

import numpy
import pytest
from numpy._core import multiarray

from tidelog.storage import memory
from tidelog.storage.memory import Block

SMALL = 2048
"""Bytes. Where memory stays used up, requests below are granted: from what an epoch has reserved."""

_MALLOC = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
_CALLOC = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)
_REALLOC = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)


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


def _function(name: str, result: Any, *arguments: Any) -> Any:
    function = getattr(ctypes.pythonapi, name)
    function.restype, function.argtypes = result, arguments
    return function


_new_capsule = _function("PyCapsule_New", ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
_in_capsule = _function("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
_table = ctypes.cast(_in_capsule(multiarray._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))
_set_handler = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(_table[304])
_get_handler = ctypes.PYFUNCTYPE(ctypes.py_object)(_table[305])
_NAME = b"mem_handler"
_usual = _Handler.from_address(_in_capsule(_get_handler(), _NAME))
# NumPy's own functions give the lock of the interpreter away themselves.
_usual_malloc = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)(_usual.malloc)
_usual_calloc = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)(_usual.calloc)
_usual_realloc = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)(_usual.realloc)

_current: list[Budget] = []


def _granted(size: int) -> bool:
    return not _current or _current[-1].ask(size)


@_MALLOC
def _malloc(context: int | None, size: int) -> int | None:
    return _usual_malloc(context, size) if _granted(size) else None


@_CALLOC
def _calloc(context: int | None, count: int, size: int) -> int | None:
    return _usual_calloc(context, count, size) if _granted(count * size) else None


@_REALLOC
def _realloc(context: int | None, address: int | None, size: int) -> int | None:
    return _usual_realloc(context, address, size) if _granted(size) else None


def _pointer(function: Any) -> int | None:
    return ctypes.cast(function, ctypes.c_void_p).value


# What an array gives back goes to NumPy's own function, also when this module is gone.
_handler = _Handler(b"tests", 1, _usual.context, _pointer(_malloc), _pointer(_calloc), _pointer(_realloc), _usual.free)
_capsule = _new_capsule(ctypes.addressof(_handler), _NAME, None)


class Budget:
    """Inside of the block, the `last`-th request for memory fails, and with `for_good` all larger ones behind it.

    `asked` is the number of requests, `failed` whether one has failed. With `arrays` False only blocks count.
    """

    def __init__(self, last: int, *, for_good: bool = False, arrays: bool = True) -> None:
        self.last = last
        self.asked = 0
        self.failed = False
        self._for_good = for_good
        self._arrays = arrays

    def ask(self, size: int) -> bool:
        """Whether there is memory of so many bytes."""
        if self.failed:
            return not self._for_good or size <= SMALL
        self.asked += 1
        self.failed = self.asked == self.last
        return not self.failed

    def begin(self) -> None:
        """From now on, count."""
        _current.append(self)
        if self._arrays:
            self._before = _set_handler(_capsule)
        self._patch = pytest.MonkeyPatch()
        grow = Block.grow

        def grow_within(block: Block, size: int) -> None:
            if size > block.size and not self.ask(size):
                raise MemoryError(f"a budget of the test, request {self.last}")
            grow(block, size)

        self._patch.setattr(Block, "grow", grow_within)

    def end(self) -> None:
        """Let there be as much memory as before; nothing where it has not begun."""
        if self in _current:
            self._patch.undo()
            if self._arrays:
                _set_handler(self._before)
            _current.remove(self)

    def __enter__(self) -> Budget:
        self.begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()


class _Moving:
    """The system calls of blocks, with an mremap that never leaves a block where it is."""

    def __init__(self, library: Any) -> None:
        self._library = library

    def __getattr__(self, name: str) -> Any:
        return getattr(self._library, name)

    def mremap(self, address: int, size: int, wanted: int, _: int) -> Any:
        moved = self._library.mmap(None, wanted, memory._PROTECTION, memory._FLAGS, -1, 0)
        ctypes.memmove(moved, address, min(size, wanted))
        self._library.munmap(address, size)
        return moved


def small_blocks(patch: pytest.MonkeyPatch) -> None:
    """Let blocks of a few kilobytes be mapped, as only large ones are otherwise, and move whenever they grow."""
    patch.setattr(memory, "_MAPPED", 1 << 12)
    if memory._LIBRARY is not None:
        patch.setattr(memory, "_LIBRARY", _Moving(memory._LIBRARY))


def arrays_are_counted() -> bool:
    """Whether the budget sees what NumPy asks for."""
    with Budget(1) as budget:
        try:
            numpy.empty(1_000_000)
        except MemoryError:
            return budget.failed
    return False
