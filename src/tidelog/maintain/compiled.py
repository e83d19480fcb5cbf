"""Functions of numbers as loops that numba compiles."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any
from warnings import catch_warnings, simplefilter

from tidelog.functions.callables import GivenAggregate, GivenFunction
from tidelog.language.syntax import FunctorType
from tidelog.rules.core import OwnAggregate
from tidelog.semantics.user_functors import DTYPES

_LOOP = """
def loop({columns}, count):
    found = empty(count, dtype)
    for i in range(count):
        found[i] = function({args})
    return found
"""


def loop_of(declared: FunctorType, given: GivenFunction) -> Callable[..., Any] | None:
    """Return a compiled loop over arrays of arguments and their number, or None where the function cannot be compiled,
    or would give values of another type."""
    kinds = [column.kind for column in declared.parameters]
    if given.several or given.vectorized or not given.compiled or not kinds:
        return None
    if not {declared.result.kind, *kinds} <= DTYPES.keys():
        return None
    if declared.key not in given.made:
        given.made[declared.key] = None
        with suppress(Exception):  # numba has many errors for what it cannot compile
            given.made[declared.key] = _compile(given.function, kinds, declared.result.kind)
    return given.made[declared.key]  # type: ignore[no-any-return]


_FOLD = """
def fold({columns}, start, end):
    state = {first}
    for i in range(start, end):
        state = step(state, {args})
    return finish(state)
"""
_FOLDS = """
def folds({columns}, sizes, found):
    start = 0
    for group in range(len(sizes)):
        if sizes[group]:
            found[group] = fold({columns}, start, start + sizes[group])
        start += sizes[group]
"""


def fold_of(own: OwnAggregate) -> Callable[..., Any] | None:
    """Return a compiled loop over arrays of operands, sizes of groups and values, for an aggregate whose operands,
    states and values are numbers; None where its functions cannot be compiled, or would give values of another type."""
    kinds = [column.kind for column in own.operands]
    given = own.declared.given.aggregates.get(own.declared.name) if own.start is None else None
    if given is None or not given.compiled or not {own.declared.result.kind, *kinds} <= {"number", "float"}:
        return None
    key = own.declared.key
    if key not in given.made:
        given.made[key] = None
        with suppress(Exception), catch_warnings():
            simplefilter("ignore")
            given.made[key] = _compile_fold(given, kinds, own.declared.result.kind)
    return given.made[key]  # type: ignore[no-any-return]


def _compile_fold(given: GivenAggregate, kinds: list[str], result: str) -> Callable[..., Any] | None:
    import numba

    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        return None
    types = {"number": numba.int64, "float": numba.float64}
    names = [f"a{i}" for i in range(len(kinds))]
    parts = {
        "columns": ", ".join(names),
        "args": ", ".join(f"{name}[i]" for name in names),
        "first": "first()" if callable(given.init) else "first",
    }
    finish = given.finish or (lambda state: state)
    scope: dict[str, Any] = {"step": numba.njit(given.step), "finish": numba.njit(finish)}
    scope["first"] = numba.njit(given.init) if callable(given.init) else given.init
    exec(_FOLD.format(**parts), scope)  # see `_compile`
    fold = numba.njit(nogil=True)(scope["fold"])
    signature = (*(types[kind][::1] for kind in kinds), numba.int64, numba.int64)
    fold.compile(signature)
    made: Any = fold.overloads[signature]
    states = [kind for name, kind in made.type_annotation.typemap.items() if name.split(".")[0] == "state"]
    if made.signature.return_type != types[result] or not all(map(_is_plain, states)):
        return None
    scope["fold"] = fold
    exec(_FOLDS.format(**parts), scope)
    loop: Callable[..., Any] = numba.njit(nogil=True)(scope["folds"])
    return loop


def _is_plain(kind: Any) -> bool:
    """Return True for the numbers of numba, and for tuples of them."""
    import numba

    if isinstance(kind, numba.types.Tuple | numba.types.UniTuple):
        return all(_is_plain(each) for each in kind)
    return isinstance(kind, numba.types.Number | numba.types.Boolean)


def _compile(function: Callable[..., Any], kinds: list[str], result: str) -> Callable[..., Any] | None:
    import numba
    import numpy

    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        return None
    types = {"number": numba.int64, "unsigned": numba.uint64, "float": numba.float64}
    compiled = numba.njit(function)
    signature = tuple(types[kind] for kind in kinds)
    compiled.compile(signature)
    if compiled.overloads[signature].signature.return_type != types[result]:
        return None
    names = [f"a{i}" for i in range(len(kinds))]
    text = _LOOP.format(columns=", ".join(names), args=", ".join(f"{name}[i]" for name in names))
    scope = {"function": compiled, "empty": numpy.empty, "dtype": DTYPES[result]}
    exec(text, scope)  # numba compiles no loop over a number of arrays that it does not know
    loop: Callable[..., Any] = numba.njit(nogil=True)(scope["loop"])
    return loop
