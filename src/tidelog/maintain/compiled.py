"""Functions of numbers as loops that numba compiles."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from tidelog.callables import GivenFunction
from tidelog.language.syntax import FunctorType
from tidelog.semantics.vectors import DTYPES

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
    if "loop" not in given.made:
        given.made["loop"] = None
        with suppress(Exception):  # numba has many errors for what it cannot compile
            given.made["loop"] = _compiled(given.function, kinds, declared.result.kind)
    return given.made["loop"]  # type: ignore[no-any-return]


def _compiled(function: Callable[..., Any], kinds: list[str], result: str) -> Callable[..., Any] | None:
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
