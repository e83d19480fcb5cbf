"""Functors in Python and in libraries: one call, with its errors, and the values that fit the declared type.

A function may return None for no value; NaN counts as no value. A generator gives several values; equal ones count
once.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Sequence
from typing import Any

from tidelog.errors import Problem, UsageError, surrogate_in
from tidelog.functions.callables import GivenAggregate, GivenFunction, GivenFunctions
from tidelog.language.syntax import Column, FunctorType
from tidelog.semantics.calls import PASSED, CallSite, call_text, place, raised, within
from tidelog.semantics.values import LARGEST, LARGEST_UNSIGNED, SMALLEST, Scalar, proper_float
from tidelog.semantics.vectors import call

_RANGES = {"number": (SMALLEST, LARGEST), "unsigned": (0, LARGEST_UNSIGNED)}


def function_of(declared: FunctorType) -> GivenFunction:
    """Return the function for a functor. Raise UsageError (E0645) where none was given, (E0646) if it has stated other
    types."""
    given = function_for(declared)
    if given is None:
        raise _missing(declared)
    check_signature(declared, given)
    return given


def function_for(declared: FunctorType) -> GivenFunction | None:
    """Return the function for a functor, in Python or else in a library, or None where none was given."""
    given = declared.given.functions.get(declared.name)
    if given is not None or declared.aggregate or _needs_tables(declared) is not None:
        return given
    return declared.given.of_library(declared.key)


def close_libraries(given: GivenFunctions, functors: Iterable[FunctorType]) -> None:
    """Keep the functions of libraries for functors that rules call. Programs that come later find no others, and none
    for other types: a function of C trusts its callers. Nor does a functor that is only declared get one, because a
    client may have declared it, in an earlier process."""
    for declared in functors:
        function_for(declared)
    given.libraries.clear()


def _needs_tables(declared: FunctorType) -> str | None:
    """Return why only Soufflé can call the function of a functor in a library, None if tidelog can."""
    if declared.stateful:
        return "is stateful"
    return None if {"number", "unsigned", "float", "symbol"}.issuperset(declared.key[1:]) else "has records"


def _missing(declared: FunctorType) -> UsageError:
    name, libraries, reason = declared.name, declared.given.libraries, _needs_tables(declared)
    message = f"the functor `{name}` has no function"
    hint = f'give it with `db.functor("{name}", function)`, or mark it with `@tidelog.functor` in a file for '
    hint += "`tidelog run --functors FILE.py`"
    if reason is not None and any(name in each for each in libraries):
        message = f"the functor `{name}` {reason}: only Soufflé can call its function in a library"
        hint = f"write it in Python, with tuples for records; {hint}"
    elif libraries:
        message += f", neither in Python nor in the library {', '.join(f'`{each.name}`' for each in libraries)}"
        hint = f'define it there as `extern "C"`; or {hint}'
    else:
        hint += ", or pass its library with `-l NAME`"
    return UsageError(Problem("E0645", message, declared.span, hint=hint))


def check_signature(declared: FunctorType, given: GivenFunction | GivenAggregate) -> None:
    """Raise UsageError (E0646) if a function has stated other types than those that its functor is declared with."""
    if given.signature is not None and _plain(given.signature) != _plain(str(declared)):
        name = declared.name
        message = f"{given.place} is a function for `{given.signature}`, but `{name}` is declared as `{declared}`"
        raise UsageError(Problem("E0646", message, declared.span, hint="state the same types in both"))


def _plain(signature: str) -> str:
    return "".join(signature.split())


def values_of(declared: FunctorType, args: Sequence[Scalar], site: CallSite | None = None) -> tuple[Scalar, ...]:
    """Return the values for some arguments. Raise UsageError (E0647) where the function raises, (E0648) where it
    returns what does not fit. `site` is for messages."""
    given = function_of(declared)
    if given.vectorized:
        return (*filter(lambda value: value is not None, called_on_rows(declared, given, [args], site)),)
    try:
        result = given.function(*args)
        results = list(result) if given.several else [result]
    except PASSED:
        raise
    except BaseException as error:
        raise raised(declared, args, error, site) from error
    found = (fitting(value, declared, args, site) for value in results)
    return tuple(dict.fromkeys(value for value in found if value is not None))


def called_on_rows(
    declared: FunctorType, given: GivenFunction, rows: Sequence[Sequence[Scalar]], site: CallSite | None = None
) -> list[Scalar]:
    """Return the value for each row of arguments, None for no value, by one call of a vectorized function."""
    columns = [list(column) for column in zip(*rows, strict=True)] or [[]]
    found = call(declared, given, columns, len(rows), site)
    return [fitting(value, declared, row, site) for value, row in zip(found, rows, strict=True)]


def fitting(value: Any, declared: FunctorType, args: Sequence[Scalar], site: CallSite | None = None) -> Scalar:
    """Return a result as a value of the declared type, None for no value. Raise UsageError (E0648) where it
    does not fit."""
    if value is None:
        return None
    found = fitted(value, declared.result)
    if found is WRONG:
        message = f"{within(site)}{call_text(declared, args)} returned {misfit_text(value, declared)}"
        hint = "return a value of the declared type, or None; yield several values"
        raise UsageError(Problem("E0648", message, place(declared, site), hint=hint))
    return found


def misfit_text(value: Any, declared: FunctorType) -> str:
    """Return a value that does not fit, with the type that it should have."""
    wanted = f"{'an' if declared.result.type[0] in 'aeiou' else 'a'} {declared.result.type}"
    shown = repr(value) if len(repr(value)) <= 80 else f"{repr(value)[:79]}…"
    return f"{shown}, expected {wanted}"


WRONG = object()
"""In the place of a value that does not fit."""


def fitted(value: Any, result: Column) -> Any:
    """Return a result that is not None as a value of a type, None for NaN, `WRONG` where it does not fit."""
    match result.kind:
        case "number" | "unsigned":
            try:
                number = operator.index(value)
            except TypeError:
                return WRONG
            low, high = _RANGES[result.kind]
            return number if low <= number <= high else WRONG
        case "float":
            if isinstance(value, str) or not hasattr(value, "__float__"):
                return WRONG
            try:
                fraction = float(value)
            except (TypeError, ValueError, OverflowError):
                return WRONG
            return None if math.isnan(fraction) else proper_float(fraction)
        case "symbol":
            return str(value) if isinstance(value, str) and surrogate_in(value) is None else WRONG
    return tuple(value) if isinstance(value, list) else value if isinstance(value, tuple) else WRONG
