"""Blocks of memory that grow in place.

Large blocks are anonymous mappings: growing one moves page tables instead of bytes (mremap), new pages are zero, and
huge pages keep the cost of first touches down, which is a third of the time otherwise. Blocks for which there is no
`Room` are mappings of files. Small blocks, and all blocks where the system has no mremap, are NumPy arrays that are
copied. Other threads read a block by a `Lease`, under which it is copied when it grows.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import weakref
from typing import Any

import numpy
from numpy.typing import DTypeLike, NDArray

from tidelog.kernels import checked
from tidelog.storage.room import Room, SpillFile, check_room

_MAPPED = 1 << 17
_HUGE = 1 << 22
_PAGE = 1 << 12
_PROTECTION, _SHARED, _FIXED, _ANONYMOUS, _MAY_MOVE = 3, 0x01, 0x10, 0x22, 1
_MADV_NORMAL, _MADV_RANDOM, _MADV_WILLNEED, _MADV_HUGEPAGE = 0, 1, 3, 14
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_FAILED = ctypes.c_void_p(-1).value


def _system_calls() -> Any:
    """Return the C library with the types of the calls used here, or None on systems without mremap."""
    if not sys.platform.startswith("linux"):
        return None
    library = ctypes.CDLL(None, use_errno=True)
    pointer, size, number = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    library.mmap.restype = library.mremap.restype = pointer
    library.mmap.argtypes = [pointer, size, number, number, number, ctypes.c_long]
    library.mremap.argtypes = [pointer, size, size, number]
    library.munmap.argtypes = [pointer, size]
    library.madvise.argtypes = [pointer, size, number]
    return library


_LIBRARY = _system_calls()
_MOVING = threading.RLock()
"""Held while a block gets another address, and while a thread takes a lease of one."""
os.register_at_fork(before=_MOVING.acquire, after_in_parent=_MOVING.release, after_in_child=_MOVING.release)


def reuse_memory() -> None:
    """Let this process keep the memory that NumPy, Arrow and Python free, and use it again, instead of giving it back.

    For a process that ends soon: a fifth of the time of `tidelog run` would go into first touches of fresh pages. Does
    nothing on systems without mallopt (glibc has it).
    """
    if _LIBRARY is None or not hasattr(_LIBRARY, "mallopt"):
        return
    import pyarrow as pa

    _LIBRARY.mallopt(_M_TRIM_THRESHOLD, 2**31 - 1)
    _LIBRARY.mallopt(_M_MMAP_THRESHOLD, 2**30)
    pa.set_memory_pool(pa.system_memory_pool())


class _Memory:
    """Memory of `size` bytes at an address."""

    address: int
    size: int
    _bytes: tuple[int, int, Any] = 0, 0, None
    """The address and the size for which the last view was made, and the bytes as an object of ctypes, which takes
    longer to make than a view of it."""

    def view(self, dtype: DTypeLike, length: int) -> NDArray[Any]:
        """Return the first `length` items as an array over the memory itself: valid until a block grows, or as long as
        a lease."""
        if length == 0:
            return numpy.empty(0, dtype)
        address, size, whole = self._bytes
        if address != self.address or size != self.size:
            address, size = self.address, self.size
            whole = (ctypes.c_uint8 * size).from_address(address)
            self._bytes = address, size, whole
        return numpy.frombuffer(whole, dtype, length)


def address_of(array: NDArray[Any]) -> int:
    """Return the address of an array. `array.ctypes`, which says the same, takes ten times as long."""
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(array.data))
    except (TypeError, ValueError, BufferError):  # It is empty, for reading only, or has gaps.
        address: int = array.__array_interface__["data"][0]
        return address


class Block(_Memory):
    """Zero-filled memory of at least `size` bytes at `address`; `grow` keeps the contents and may move it. Without
    `huge` pages, a single access costs less, and random accesses cost more.

    All memory of relations, indexes, lists and journals is obtained here. A block that does not fit into its `room`
    lies in a file, if the room has a folder. Raises MemoryError when the system has no more memory, or less than
    requested, or no room on the disk, and then leaves the block as it was.
    """

    def __init__(self, size: int, huge: bool = True, room: Room | None = None) -> None:
        self.address = 0
        self._huge = huge
        self._room = room
        self._file: SpillFile | None = None
        self.size = 0
        self._array: NDArray[numpy.uint8] | None = None
        self._lease: weakref.ref[Lease] | None = None
        self.grow(size)

    def lease(self) -> Lease:
        """Return a lease of the memory as it is now, one for all who want it. Any thread may call this."""
        with _MOVING:
            lease = None if self._lease is None else self._lease()
            if lease is None:
                lease = Lease(self)
                self._lease = weakref.ref(lease)
            return lease

    def grow(self, size: int) -> None:
        """Make room for `size` bytes; the new part is zero."""
        if size <= self.size:
            return
        with _MOVING:
            lease = None if self._lease is None else self._lease()
            if lease is None:
                self._grow(size)
                return
        # The copy is made outside of the lock. Whoever takes a lease meanwhile gets this one.
        larger = Block(size, self._huge, self._room)
        ctypes.memmove(larger.address, self.address, self.size)
        with _MOVING:
            lease.keep(self._array)
            self.address, self.size, self._array, self._lease = larger.address, larger.size, larger._array, None
            self._file = larger._file
            larger.address, larger._array = 0, None

    def _grow(self, size: int) -> None:
        if checked.CHECKING:
            checked.blocks.pop(self.address, None)
        is_mapped = self._array is None and self.address != 0  # It may have been cleared down to a small size.
        if is_mapped or (_LIBRARY is not None and size >= _MAPPED):
            self._map(size, is_mapped)
        else:
            self._copy(size)
        if checked.CHECKING:
            checked.blocks[self.address] = self.size

    def _copy(self, size: int) -> None:
        array = numpy.zeros(max(size, 64), numpy.uint8)
        if self._array is not None:
            array[: self.size] = self._array
        self._array, self.address, self.size = array, address_of(array), len(array)

    def _map(self, size: int, is_mapped: bool) -> None:
        page = 1 << 21 if size >= _HUGE else _PAGE
        size = (size + page - 1) // page * page
        spills = self._room is not None and self._room.folder is not None
        if self._file is not None or (self._room is not None and spills and not self._room.has(size - self.size)):
            self._map_file(size)
            return
        if not spills:
            check_room(size - self.size)
        if is_mapped:
            address = _LIBRARY.mremap(self.address, self.size, size, _MAY_MOVE)
        else:
            address = _LIBRARY.mmap(None, size, _PROTECTION, _ANONYMOUS, -1, 0)
        if address in (None, _FAILED):
            raise MemoryError(f"the system has no {size} bytes of memory left")
        if self._array is not None:
            ctypes.memmove(address, address_of(self._array), self.size)
            self._array = None
        self.address, self.size = address, size
        if size >= _HUGE and self._huge:
            _LIBRARY.madvise(address, size, _MADV_HUGEPAGE)

    def _map_file(self, size: int) -> None:
        """Lie in a file of `size` bytes from now on."""
        file = self._file
        if file is not None:
            file.reserve(size)
            address = _LIBRARY.mremap(self.address, self.size, size, _MAY_MOVE)
        else:
            file = self._new_file(size)
            address = _LIBRARY.mmap(None, size, _PROTECTION, _SHARED, file.number, 0)
        if address in (None, _FAILED):
            raise MemoryError(f"the system has no {size} bytes of addresses left")
        if self._file is None:
            _release(self.address, self.size, self._array)
        self.address, self.size, self._array, self._file = address, size, None, file

    def _new_file(self, size: int) -> SpillFile:
        """Return a file of `size` bytes with the contents."""
        assert self._room is not None
        file = self._room.file(size)
        if self.size:
            file.write(self.address, self.size)
        return file

    @property
    def in_file(self) -> bool:
        """True if the block lies in a file."""
        return self._file is not None

    def spill(self) -> None:
        """Move a mapped block into a file. It keeps its address, so that whoever reads it meanwhile does not notice."""
        if self._file is None and self._array is None and self.address and self._room is not None:
            file = self._new_file(self.size)
            address = _LIBRARY.mmap(self.address, self.size, _PROTECTION, _SHARED | _FIXED, file.number, 0)
            if address in (None, _FAILED):
                raise MemoryError(f"the system cannot map {self.size} bytes of a file")
            self._file = file

    def fetch(self, start: int, end: int) -> None:
        """Let the system read bytes `start` to `end` of a block in a file, and do not wait for them."""
        if self._file is not None:
            first = start // _PAGE * _PAGE
            _LIBRARY.madvise(self.address + first, min(end, self.size) - first, _MADV_WILLNEED)

    def read_ahead(self, *, ahead: bool) -> None:
        """Let the system read more of a file than it is asked for, or not."""
        if self._file is not None:
            _LIBRARY.madvise(self.address, self.size, _MADV_NORMAL if ahead else _MADV_RANDOM)

    def clear(self, size: int) -> None:
        """Make the block zero and release memory, and a file, beyond `size` bytes, without allocating any. There is no
        lease."""
        if self._array is None and size < self.size:
            kept = max(1, -(-size // _PAGE)) * _PAGE
            if kept < self.size:
                _LIBRARY.munmap(self.address + kept, self.size - kept)
                self.size = kept
                if checked.CHECKING:
                    checked.blocks[self.address] = kept
            if self._file is not None:
                flags = _ANONYMOUS | _FIXED
                if _LIBRARY.mmap(self.address, self.size, _PROTECTION, flags, -1, 0) == self.address:
                    self._file = None
        ctypes.memset(self.address, 0, self.size)

    def __del__(self) -> None:
        _release(self.address, self.size, self._array)


class Lease(_Memory):
    """The memory of a block at the `address` that it had: it stays there, with the words of then and those that were
    written since, until this object goes."""

    def __init__(self, block: Block) -> None:
        self.address, self.size = block.address, block.size
        self._block: Block | None = block
        self._array: NDArray[numpy.uint8] | None = None

    def keep(self, array: NDArray[numpy.uint8] | None) -> None:
        """Take the memory over from its block, which has other memory from now on: that of an array, or mapped."""
        self._array, self._block = array, None

    def __del__(self) -> None:
        if self._block is None:
            _release(self.address, self.size, self._array)


def _release(address: int, size: int, array: NDArray[numpy.uint8] | None) -> None:
    """Give memory back, which is that of an array or mapped."""
    if checked.CHECKING:
        checked.blocks.pop(address, None)
    if array is None and address:
        _LIBRARY.munmap(address, size)


class Stop:
    """A signal for kernels that look at its `address` to return early, at once or after some looks."""

    def __init__(self) -> None:
        self._words = (ctypes.c_int64 * 2)(2**62, 0)
        self.address = ctypes.addressof(self._words)
        if checked.CHECKING:
            checked.blocks[self.address] = ctypes.sizeof(self._words)

    @property
    def looks(self) -> int:
        """The number of times that kernels have looked."""
        return self._words[1]

    @property
    def is_given(self) -> bool:
        """True if kernels were asked to stop, now or before."""
        return self._words[1] >= self._words[0]

    def give(self, looks: int = 0) -> None:
        """Let kernels stop once they have looked so many times in all."""
        self._words[0] = looks

    def __del__(self) -> None:
        if checked.CHECKING:
            checked.blocks.pop(self.address, None)


class Pinned:
    """An array that kernels find by its address, alive and where it is as long as this is. An array may be pinned while
    one that begins there is."""

    def __init__(self, array: NDArray[Any]) -> None:
        self._array = array
        self.address = address_of(array)
        if checked.CHECKING:
            self._before = checked.blocks.get(self.address)
            checked.blocks[self.address] = max(array.nbytes, self._before or 0)

    def __del__(self) -> None:
        if checked.CHECKING:
            checked.blocks.pop(self.address, None)
            if self._before is not None:
                checked.blocks[self.address] = self._before
