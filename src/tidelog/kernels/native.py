"""Compiling kernels by numba, and the instructions in place of the functions of `words`.

This is the only module of kernels that loads numba, which takes as long as a small program.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import infer_global, make_intrinsic_template
from numba.extending import overload

from tidelog.kernels import checked
from tidelog.kernels.cache import MachineCode
from tidelog.kernels.compiling import before_compiling


def dispatcher(function: Callable[..., Any]) -> Any:
    """Return numba's dispatcher of a kernel, which says when it compiles."""
    made: Any = numba.njit(nogil=True)(function)
    compile_for = made.compile

    def compile_and_say(signature: Any) -> Any:
        if signature not in made.overloads:
            before_compiling()
        return compile_for(signature)

    made.compile = compile_and_say
    return made


def compiled(function: Callable[..., Any], kernel: Any, kinds: tuple[str, ...]) -> MachineCode:
    """Compile the kernel of a function for arguments of these kinds, with a look at its arrays at the beginning."""
    names = list(inspect.signature(function).parameters)
    looks = [f"contiguous({name}, {name!r})" for name, kind in zip(names, kinds, strict=True) if " " in kind]
    scope = {"kernel": kernel, "contiguous": _contiguous}
    exec("\n    ".join([f"def entry({', '.join(names)}):", *looks, f"return kernel({', '.join(names)})"]), scope)
    entry: Any = numba.njit(nogil=True)(scope["entry"])
    signature = tuple(map(_type_of, kinds))
    entry.compile(signature)
    result = entry.overloads[signature]
    _, _, (file, _) = result.library.serialize_using_object_code()
    environments = [result.environment, *result._find_referenced_environments()]
    constants = {each.env_name: tuple(each.consts) for each in environments}
    return MachineCode(kinds, result.fndesc.llvm_cpython_wrapper_name, constants, file)


@numba.njit
def _contiguous(array, name):  # type: ignore[no-untyped-def]
    """Raise ValueError for an array that is not as machine code expects it: its rows one behind the other."""
    size = array.itemsize
    for d in range(array.ndim - 1, -1, -1):
        if array.shape[d] != 1 and array.size and array.strides[d] != size:
            raise ValueError("a kernel got an array whose rows do not lie one behind the other", name)
        size *= array.shape[d]


def _type_of(kind: str) -> Any:
    name, _, dimensions = kind.partition(" ")
    type = getattr(types, name)
    return types.Array(type, int(dimensions), "C") if dimensions else type


def kernel_type(dispatcher: Any) -> Any:
    """Return the type by which numba knows a kernel that another kernel calls."""
    return types.Dispatcher(dispatcher)


def _becomes(function: Callable[..., Any]) -> Callable[[Callable[..., Any]], None]:
    """Let the decorated definition of an intrinsic say what calls of a function of `checked` compile to."""

    def register(definition: Callable[..., Any]) -> None:
        template = make_intrinsic_template(function, definition, function.__name__)  # type: ignore[no-untyped-call]  # numba has no types
        infer_global(function, types.Function(template))  # type: ignore[no-untyped-call]  # the same

    return register


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


def _fixed(bits: int, load_word: Callable[..., Any], store_word: Callable[..., Any]) -> None:
    @_becomes(load_word)
    def load(context, base, i):  # type: ignore[no-untyped-def]
        return _INT(_INT, _INT), lambda _, builder, sig, args: _load_ir(builder, args[0], args[1], bits)

    @_becomes(store_word)
    def store(context, base, i, value):  # type: ignore[no-untyped-def]
        def generate(ctx, builder, sig, args):  # type: ignore[no-untyped-def]
            _store_ir(builder, args[0], args[1], args[2], bits)
            return ctx.get_dummy_value()

        return types.void(_INT, _INT, _INT), generate


_fixed(32, checked.load32, checked.store32)
_fixed(64, checked.load64, checked.store64)


@_becomes(checked.load)
def _load(context, base, i, w):  # type: ignore[no-untyped-def]
    return _INT(_INT, _INT, w), lambda _, builder, sig, args: _load_ir(builder, args[0], args[1], w.bitwidth)


@_becomes(checked.store)
def _store(context, base, i, value, w):  # type: ignore[no-untyped-def]
    def generate(ctx, builder, sig, args):  # type: ignore[no-untyped-def]
        _store_ir(builder, args[0], args[1], args[2], w.bitwidth)
        return ctx.get_dummy_value()

    return types.void(_INT, _INT, _INT, w), generate


def _loading(bits: int, load_word: Callable[..., Any]) -> None:
    @_becomes(load_word)
    def load(context, base, i):  # type: ignore[no-untyped-def]
        """Load a word that another thread may write at any time; the compiler cannot cache it."""

        def generate(ctx, builder, sig, args):  # type: ignore[no-untyped-def]
            address = builder.gep(builder.inttoptr(args[0], ir.IntType(bits).as_pointer()), [args[1]])
            word = builder.load_atomic(address, "acquire", bits // 8)
            return builder.sext(word, _INT_IR) if bits < 64 else word

        return _INT(_INT, _INT), generate


_loading(64, checked.load_shared)
_loading(32, checked.load_shared32)


def _adding(bits: int, add_word: Callable[..., Any]) -> None:
    @_becomes(add_word)
    def add(context, base, i, value):  # type: ignore[no-untyped-def]
        def generate(ctx, builder, sig, args):  # type: ignore[no-untyped-def]
            word = ir.IntType(bits)
            address = builder.gep(builder.inttoptr(args[0], word.as_pointer()), [args[1]])
            more = builder.trunc(args[2], word) if bits < 64 else args[2]
            before = builder.atomic_rmw("add", address, more, "monotonic")
            return builder.sext(before, _INT_IR) if bits < 64 else before

        return _INT(_INT, _INT, _INT), generate


_adding(64, checked.add_shared)
_adding(32, checked.add_shared32)


@_becomes(checked.fill_shared32)
def _fill_shared32(context, base, i, value):  # type: ignore[no-untyped-def]
    def generate(ctx, builder, sig, args):  # type: ignore[no-untyped-def]
        word = ir.IntType(32)
        address = builder.gep(builder.inttoptr(args[0], word.as_pointer()), [args[1]])
        before = builder.cmpxchg(address, word(0), builder.trunc(args[2], word), "acq_rel", "acquire")
        return builder.sext(builder.extract_value(before, 0), _INT_IR)

    return _INT(_INT, _INT, _INT), generate


@_becomes(checked.load_byte)
def _load_byte(context, address):  # type: ignore[no-untyped-def]
    def generate(ctx, builder, sig, args):  # type: ignore[no-untyped-def]
        byte = ir.IntType(8)
        return builder.zext(builder.load(builder.inttoptr(args[0], byte.as_pointer())), _INT_IR)

    return _INT(_INT), generate


@_becomes(checked.load_bytes)
def _load_bytes(context, address):  # type: ignore[no-untyped-def]
    def generate(ctx, builder, sig, args):  # type: ignore[no-untyped-def]
        value = builder.load(builder.inttoptr(args[0], _INT_IR.as_pointer()))
        value.align = 1
        return value

    return _INT(_INT), generate


@_becomes(checked.copy_bytes)
def _copy_bytes(context, target, source, size):  # type: ignore[no-untyped-def]
    def generate(ctx, builder, sig, args):  # type: ignore[no-untyped-def]
        byte, flag = ir.IntType(8).as_pointer(), ir.IntType(1)
        signature = ir.FunctionType(ir.VoidType(), [byte, byte, _INT_IR, flag])
        function = builder.module.declare_intrinsic("llvm.memcpy", [byte, byte, _INT_IR], signature)
        ends = [builder.inttoptr(address, byte) for address in args[:2]]
        builder.call(function, [*ends, args[2], flag(0)])
        return ctx.get_dummy_value()

    return types.void(_INT, _INT, _INT), generate


@_becomes(checked.first_bit)
def _first_bit(context, word):  # type: ignore[no-untyped-def]
    return _INT(_INT), lambda _, builder, sig, args: builder.cttz(args[0], ir.IntType(1)(1))


@_becomes(checked.width)
def _width(context, w):  # type: ignore[no-untyped-def]
    return _INT(w), lambda _, builder, sig, args: _INT_IR(w.bitwidth // 8)


@_becomes(checked.prefetch)
def _prefetch(context, address):  # type: ignore[no-untyped-def]
    def generate(ctx, builder, sig, args):  # type: ignore[no-untyped-def]
        byte, flag = ir.IntType(8).as_pointer(), ir.IntType(32)
        signature = ir.FunctionType(ir.VoidType(), [byte, flag, flag, flag])
        function = builder.module.declare_intrinsic("llvm.prefetch", [byte], signature)
        builder.call(function, [builder.inttoptr(args[0], byte), flag(0), flag(3), flag(1)])
        return ctx.get_dummy_value()

    return types.void(_INT), generate


@_becomes(checked.clock)
def _clock(context):  # type: ignore[no-untyped-def]
    """Call the C library: counters of cycles are forbidden to programs on some processors."""

    def generate(ctx, builder, sig, args):  # type: ignore[no-untyped-def]
        number, pair = ir.IntType(32), ir.ArrayType(_INT_IR, 2)
        signature = ir.FunctionType(number, [number, pair.as_pointer()])
        function = cgutils.get_or_insert_function(builder.module, signature, "clock_gettime")  # type: ignore[no-untyped-call]  # numba has no types
        now = cgutils.alloca_once(builder, pair)  # type: ignore[no-untyped-call]  # the same
        builder.call(function, [number(time.CLOCK_MONOTONIC), now])
        seconds, rest = (builder.extract_value(builder.load(now), part) for part in (0, 1))
        return builder.add(builder.mul(seconds, _INT_IR(1_000_000_000)), rest)

    return _INT(), generate


@_becomes(checked.wrap)
def _wrap(context, value):  # type: ignore[no-untyped-def]
    return _INT(_INT), lambda _, builder, sig, args: args[0]


@_becomes(checked.as_float)
def _as_float(context, bits):  # type: ignore[no-untyped-def]
    return types.float64(_INT), lambda _, builder, sig, args: builder.bitcast(args[0], ir.DoubleType())


@_becomes(checked.as_bits)
def _as_bits(context, value):  # type: ignore[no-untyped-def]
    return _INT(types.float64), lambda _, builder, sig, args: builder.bitcast(args[0], _INT_IR)


@_becomes(checked.unsigned)
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


@overload(checked.raised)
def _raised(x, y):  # type: ignore[no-untyped-def]
    return lambda x, y: x**y
