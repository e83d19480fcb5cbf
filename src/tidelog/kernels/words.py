"""Memory by address: words of 32 or 64 bits, prefetching, hashing.

Loads and stores go through functions rather than arrays, because array indexing adds wrap-around code, a new
compilation per array type, and unboxing at each call. `native` has what they compile to. A word of 32 bits is
sign-extended when loaded; all arithmetic is int64.
"""

from __future__ import annotations

from typing import Any

from tidelog.kernels import calling, checked

kernel = calling.kernel

load32: Any = checked.load32
store32: Any = checked.store32
load64: Any = checked.load64
store64: Any = checked.store64
load_shared: Any = checked.load_shared
load_shared32: Any = checked.load_shared32
add_shared: Any = checked.add_shared
add_shared32: Any = checked.add_shared32
fill_shared32: Any = checked.fill_shared32
load: Any = checked.load
store: Any = checked.store
load_byte: Any = checked.load_byte
load_bytes: Any = checked.load_bytes
copy_bytes: Any = checked.copy_bytes
first_bit: Any = checked.first_bit
width: Any = checked.width
prefetch: Any = checked.prefetch
clock: Any = checked.clock
wrap: Any = checked.wrap
as_float: Any = checked.as_float
as_bits: Any = checked.as_bits
raised: Any = checked.raised
unsigned: Any = checked.unsigned

STOP_AFTER, LOOKS = range(2)
"""Words at the address `stop`, where long kernels look: after how many looks they stop, and how many there were."""
LOW = 0xFFFFFFFF
HIGH = -4294967296


@kernel
def mix(h):  # type: ignore[no-untyped-def]
    """Scramble 64 bits; the upper 32 become the hash bits of a slot (multipliers of splitmix64)."""
    h = wrap(h * -7046029254386353131)
    h ^= (h >> 32) & LOW
    h = wrap(h * -4658895280553007687)
    return h ^ ((h >> 29) & 0x7FFFFFFFF)


@kernel
def hash_row(rows, i, k, w):  # type: ignore[no-untyped-def]
    """Return the hash of row `i` of row-major `rows` with `k` columns."""
    h = 0
    for j in range(k):
        h = mix(h ^ load(rows, i * k + j, w))
    return h


@kernel
def row_at(rows, i, k, w):  # type: ignore[no-untyped-def]
    """Return the address of row `i` of row-major `rows` with `k` columns."""
    return rows + i * k * width(w)


@kernel
def stopped(stop):  # type: ignore[no-untyped-def]
    """Look whether a kernel is to stop; if so, every later look gives the same answer."""
    looks = load64(stop, LOOKS) + 1
    store64(stop, LOOKS, looks)
    return looks > load_shared(stop, STOP_AFTER)
