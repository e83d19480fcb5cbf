"""The memory of `words` in plain Python: kernels run on it while there is little to do, and with NUMBA_DISABLE_JIT=1.

Raw addresses forgive nothing. With NUMBA_DISABLE_JIT=1 every access is checked: one outside of a live block raises
AccessError, which no code handles. Blocks are registered by `storage.memory` in `blocks`.
"""

from __future__ import annotations

import bisect
import ctypes
import os
import struct
import threading
import time
from typing import Any

import numpy

CHECKING = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
"""Whether nothing is compiled and every access is checked."""

blocks: dict[int, int] = {}
"""The live blocks of memory: address -> size in bytes. Filled only when the compiler is switched off."""


_lock = threading.Lock()
_HALF, _ALL = 2**63, 2**64 - 1


class AccessError(Exception):
    """A kernel has used memory that is not, or no longer, its own."""


def _check(address: int, size: int) -> None:
    starts = sorted(blocks)
    i = bisect.bisect_right(starts, address) - 1
    if i < 0 or address + size > starts[i] + blocks[starts[i]]:
        raise AccessError(f"access to {size} bytes at {address:#x} outside of every block")


_BYTES = (ctypes.c_uint8 * 2**47).from_address(0)
_HALVES = (ctypes.c_int32 * 2**45).from_address(0)
_WORDS = (ctypes.c_int64 * 2**44).from_address(0)
"""All addresses of a process, as arrays: an item costs a quarter of an object made for its address."""


def load32(base: int, i: int) -> int:
    """Return the sign-extended 32-bit word `i` behind address `base`."""
    if CHECKING:
        _check(int(base) + 4 * int(i), 4)
    return _HALVES[base + 4 * i >> 2]


def store32(base: int, i: int, value: int) -> None:
    """Set the 32-bit word `i` behind address `base`."""
    if CHECKING:
        _check(int(base) + 4 * int(i), 4)
    _HALVES[base + 4 * i >> 2] = int(value)


def load64(base: int, i: int) -> int:
    """Return the 64-bit word `i` behind address `base`."""
    if CHECKING:
        _check(int(base) + 8 * int(i), 8)
    return _WORDS[base + 8 * i >> 3]


def store64(base: int, i: int, value: int) -> None:
    """Set the 64-bit word `i` behind address `base`."""
    if CHECKING:
        _check(int(base) + 8 * int(i), 8)
    _WORDS[base + 8 * i >> 3] = int(value)


def load_shared(base: int, i: int) -> int:
    """Return the 64-bit word `i` behind address `base`, which another thread may write at any time."""
    return load64(base, i)


def load_shared32(base: int, i: int) -> int:
    """Do the same with a word of 32 bits, sign-extended."""
    return load32(base, i)


def add_shared(base: int, i: int, value: int) -> int:
    """Add to the 64-bit word `i` behind `base`, which other threads change as well; return what it was."""
    with _lock:
        before = load64(base, i)
        store64(base, i, before + value)
        return before


def add_shared32(base: int, i: int, value: int) -> int:
    """Do the same with a word of 32 bits."""
    with _lock:
        before = load32(base, i)
        store32(base, i, before + value)
        return before


def fill_shared32(base: int, i: int, value: int) -> int:
    """Set the 32-bit word `i` behind `base` if it is 0, although other threads do so, too; return what it was. Others
    that see the value see everything that this thread has written before."""
    with _lock:
        before = load32(base, i)
        if before == 0:
            store32(base, i, value)
        return before


def load(base: int, i: int, w: Any) -> int:
    """Return the word `i` behind `base` in the word size of the tag `w`."""
    if CHECKING:
        _check(int(base) + w.itemsize * int(i), w.itemsize)
    return _HALVES[base + 4 * i >> 2] if w.itemsize == 4 else _WORDS[base + 8 * i >> 3]


def store(base: int, i: int, value: int, w: Any) -> None:
    """Set the word `i` behind `base` in the word size of the tag `w`."""
    (store32 if w.itemsize == 4 else store64)(base, i, value)


def load_byte(address: int) -> int:
    """Return the byte at an address, from 0 to 255."""
    if CHECKING:
        _check(int(address), 1)
    return _BYTES[address]


def load_bytes(address: int) -> int:
    """Return the eight bytes at an address, which may be odd, as a word; the first is the lowest."""
    if CHECKING:
        _check(int(address), 8)
    return int.from_bytes(ctypes.string_at(int(address), 8), "little", signed=True)


def copy_bytes(target: int, source: int, size: int) -> None:
    """Copy so many bytes from one address to another one."""
    if CHECKING and size:
        _check(int(source), int(size))
        _check(int(target), int(size))
    ctypes.memmove(int(target), int(source), int(size))


def first_bit(word: int) -> int:
    """Return the position of the lowest bit of a word that is set; there is one."""
    return (int(word) & -int(word)).bit_length() - 1


def width(w: Any) -> int:
    """Return the bytes per word."""
    return int(w.itemsize)


def prefetch(address: int) -> None:
    """Do nothing: there is no cache to warm."""


def clock() -> int:
    """Return the nanoseconds of the clock that goes on steadily, from some moment on."""
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def wrap(value: int) -> int:
    """Return `value` modulo 2**64, as a signed number."""
    return (int(value) + _HALF & _ALL) - _HALF


def as_float(bits: int) -> float:
    """Return the float with this bit pattern."""
    return float(struct.unpack("d", struct.pack("q", int(bits)))[0])


def as_bits(value: float) -> int:
    """Return the bit pattern of a float."""
    return int(struct.unpack("q", struct.pack("d", value))[0])


def raised(x: float, y: float) -> float:
    """Return `x` to the power of `y` as compiled code does: infinite or NaN, and no error or complex number."""
    with numpy.errstate(all="ignore"):
        return float(numpy.float64(x) ** numpy.float64(y))


def unsigned(operator: int, a: int, b: int) -> int:
    """Apply an operator to 64 bits taken as unsigned: 0 is a < b, 1 is a / b, 2 is a % b, 3 is a >> b."""
    a, b = int(a) % 2**64, int(b) % 2**64
    return wrap((lambda: a < b, lambda: a // b, lambda: a % b, lambda: a >> b)[operator]())
