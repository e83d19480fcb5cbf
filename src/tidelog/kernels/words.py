"""Memory by address: words of 32 or 64 bits, prefetching, hashing.

Loads and stores go through intrinsics rather than arrays, because array indexing adds wrap-around code, a new
compilation per array type, and unboxing at each call. A word of 32 bits is sign-extended when loaded; all arithmetic is
int64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from tidelog.kernels import checked
from tidelog.kernels.cache import cached, use_cache

use_cache()


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function when it is first called, or load what was compiled before."""
    compiled: Callable[..., Any] = numba.njit(nogil=True)(function)
    return compiled if numba.config.DISABLE_JIT else cached(compiled)  # type: ignore[attr-defined]


_INT = types.int64
_INT_IR = ir.IntType(64)


def _load_ir(builder: Any, address: Any, index: Any, bits: int) -> Any:
    word = ir.IntType(bits)
    value = builder.load(builder.gep(builder.inttoptr(address, word.as_pointer()), [index]))
    value.align = bits // 8
    return builder.sext(value, _INT_IR) if bits < 64 else value


def _store_ir(builder: Any, address: Any, index: Any, value: Any, bits: int) -> None:
    word = ir.IntType(bits)
    pointer = builder.gep(builder.inttoptr(address, word.as_pointer()), [index])
    builder.store(builder.trunc(value, word) if bits < 64 else value, pointer).align = bits // 8


def _fixed(bits: int) -> tuple[Any, Any]:
    @intrinsic
    def load(context, base, i):  # type: ignore[no-untyped-def]
        return _INT(_INT, _INT), lambda _, builder, sig, args: _load_ir(builder, args[0], args[1], bits)

    @intrinsic
    def store(context, base, i, value):  # type: ignore[no-untyped-def]
        def generate(ctx, builder, sig, args):  # type: ignore[no-untyped-def]
            _store_ir(builder, args[0], args[1], args[2], bits)
            return ctx.get_dummy_value()

        return types.void(_INT, _INT, _INT), generate

    return load, store


@intrinsic
def _load(context, base, i, w):  # type: ignore[no-untyped-def]
    return _INT(_INT, _INT, w), lambda _, builder, sig, args: _load_ir(builder, args[0], args[1], w.bitwidth)


@intrinsic
def _store(context, base, i, value, w):  # type: ignore[no-untyped-def]
    def generate(ctx, builder, sig, args):  # type: ignore[no-untyped-def]
        _store_ir(builder, args[0], args[1], args[2], w.bitwidth)
        return ctx.get_dummy_value()

    return types.void(_INT, _INT, _INT, w), generate


@intrinsic
def _load_shared(context, base, i):  # type: ignore[no-untyped-def]
    """Load a word that another thread may write at any time; the compiler cannot cache it."""

    def generate(ctx, builder, sig, args):  # type: ignore[no-untyped-def]
        address = builder.gep(builder.inttoptr(args[0], _INT_IR.as_pointer()), [args[1]])
        return builder.load_atomic(address, "monotonic", 8)

    return _INT(_INT, _INT), generate


@intrinsic
def _width(context, w):  # type: ignore[no-untyped-def]
    return _INT(w), lambda _, builder, sig, args: _INT_IR(w.bitwidth // 8)


@intrinsic
def _prefetch(context, address):  # type: ignore[no-untyped-def]
    def generate(ctx, builder, sig, args):  # type: ignore[no-untyped-def]
        byte, flag = ir.IntType(8).as_pointer(), ir.IntType(32)
        signature = ir.FunctionType(ir.VoidType(), [byte, flag, flag, flag])
        function = builder.module.declare_intrinsic("llvm.prefetch", [byte], signature)
        builder.call(function, [builder.inttoptr(args[0], byte), flag(0), flag(3), flag(1)])
        return ctx.get_dummy_value()

    return types.void(_INT), generate


@intrinsic
def _wrap(context, value):  # type: ignore[no-untyped-def]
    return _INT(_INT), lambda _, builder, sig, args: args[0]


@intrinsic
def _as_float(context, bits):  # type: ignore[no-untyped-def]
    return types.float64(_INT), lambda _, builder, sig, args: builder.bitcast(args[0], ir.DoubleType())


@intrinsic
def _as_bits(context, value):  # type: ignore[no-untyped-def]
    return _INT(types.float64), lambda _, builder, sig, args: builder.bitcast(args[0], _INT_IR)


@intrinsic
def _unsigned(context, operator, a, b):  # type: ignore[no-untyped-def]
    """Apply an operator to int64 taken as unsigned: 0 is a < b, 1 is a / b, 2 is a % b, 3 is a >> b."""

    def generate(ctx, builder, sig, args):  # type: ignore[no-untyped-def]
        operation = operator.literal_value
        _, a, b = args
        if operation == 0:
            return builder.zext(builder.icmp_unsigned("<", a, b), _INT_IR)
        return (builder.udiv, builder.urem, builder.lshr)[operation - 1](a, b)

    if not isinstance(operator, types.IntegerLiteral):
        return None
    return _INT(operator, _INT, _INT), generate


@kernel
def _raised(x, y):  # type: ignore[no-untyped-def]
    """Return `x` to the power of `y`."""
    return x**y


load32: Any = checked.load32
store32: Any = checked.store32
load64: Any = checked.load64
store64: Any = checked.store64
load_shared: Any = checked.load64
load: Any = checked.load
store: Any = checked.store
width: Any = checked.width
prefetch: Any = checked.prefetch
wrap: Any = checked.wrap
as_float: Any = checked.as_float
as_bits: Any = checked.as_bits
raised: Any = checked.raised
unsigned: Any = checked.unsigned

if not numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
    load32, store32 = _fixed(32)
    load64, store64 = _fixed(64)
    load_shared = _load_shared
    load, store, width, prefetch, wrap = _load, _store, _width, _prefetch, _wrap
    as_float, as_bits, unsigned = _as_float, _as_bits, _unsigned
    raised = _raised

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
def stopped(stop):  # type: ignore[no-untyped-def]
    """Look whether a kernel is to stop; if so, every later look gives the same answer."""
    looks = load64(stop, LOOKS) + 1
    store64(stop, LOOKS, looks)
    return looks > load_shared(stop, STOP_AFTER)
