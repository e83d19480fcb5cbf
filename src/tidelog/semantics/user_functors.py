"""Functors in Python and in libraries: calls on single values and on arrays, with their errors, and the values that fit
the declared type.

A function may return None for no value; NaN counts as no value. A generator gives several values; equal ones count
once.
"""

from __future__ import annotations

import math
import operator
import traceback
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy
from numpy.typing import NDArray

from tidelog.common.source import Span
from tidelog.errors import LimitError, Problem, UsageError, surrogate_in
from tidelog.functions.callables import GivenAggregate, GivenFunction, GivenFunctions
from tidelog.functions.importing import UnfitError
from tidelog.language.syntax import Column, FunctorType
from tidelog.semantics.values import LARGEST, LARGEST_UNSIGNED, SMALLEST, Scalar, proper_float

# --- messages about calls ---------------------------------------------------------------------------------------------


PASSED = (MemoryError, KeyboardInterrupt, LimitError)
"""Exceptions out of a call that are no errors of the function: the system has no memory, Ctrl-C, and a limit that is
looked at between the values of a generator. All others are, also SystemExit: a functor does not end the process."""


@dataclass(frozen=True)
class CallSite:
    """The rule that calls a functor, by its name, and its place."""

    rule: str = ""
    span: Span | None = None


def call_error(
    declared: FunctorType, args: Sequence[Scalar], error: BaseException, site: CallSite | None
) -> UsageError:
    """Return the error (E0647) for one that a function has raised, or (E0648) for a value that does not fit."""
    if isinstance(error, UnfitError):
        message = f"{within(site)}{call_text(declared, args)} {error}"
        return UsageError(Problem("E0648", message, place(declared, site), hint=error.hint))
    message = f"{within(site)}{call_text(declared, args)} raised {error_text(error)}"
    hint = "mend the function, or let it return None where there is no value; nothing has changed"
    return UsageError(Problem("E0647", message, place(declared, site), hint=hint))


def impure(declared: FunctorType, site: CallSite) -> UsageError:
    """Return the error (E0643) for a function that gave a value, and later another one for the same arguments."""
    message = f"{within(site)}`@{declared.name}` is not pure: its value for a derivation that goes is another one now"
    hint = "let it return the same value for the same arguments, or leave `remember=False` out; nothing has changed"
    return UsageError(Problem("E0643", message, place(declared, site), hint=hint))


def error_text(error: BaseException) -> str:
    """Return the type and the text of an error, and where it was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f", in {Path(frames[-1].filename).name}, line {frames[-1].lineno}" if frames else ""
    text = str(error)
    return f"{type(error).__name__}{': ' if text else ''}{text}{where}"


def place(declared: FunctorType, site: CallSite | None) -> Span | None:
    """Return the place of a rule. Without one, return the place of the functor's declaration."""
    return site.span if site is not None and site.span is not None else declared.span


def within(site: CallSite | None) -> str:
    """Return the name of a rule as messages begin with it."""
    return f"in rule {site.rule}, " if site is not None and site.rule else ""


def call_text(declared: FunctorType, args: Sequence[Scalar]) -> str:
    """Return a call as a message shows it."""
    return f"`@{declared.name}({values_text(args)})`"


def values_text(values: Sequence[Scalar]) -> str:
    """Return values as a message shows them."""
    shown = ", ".join(f'"{each}"' if isinstance(each, str) else str(each) for each in values)
    return shown if len(shown) <= 200 else shown[:199] + "…"


# --- calls with one array for each parameter --------------------------------------------------------------------------


DTYPES: dict[str, Any] = {"number": numpy.int64, "unsigned": numpy.uint64, "float": numpy.float64}


def call(
    declared: FunctorType, given: GivenFunction, columns: Sequence[Any], count: int, site: CallSite | None = None
) -> Any:
    """Return the result of a function for columns of `count` values each: an array, or a list with None for no value.
    Raise UsageError (E0647) where it raises, (E0648) where it does not return one value for each row."""
    arrays = [
        _array(column, parameter.kind, arrow=given.vectorized == "arrow")
        for column, parameter in zip(columns, declared.parameters, strict=False)
    ]
    try:
        result = given.function(*arrays)
    except PASSED:
        raise
    except BaseException as error:
        raise call_error(declared, [f"{count} rows"], error, site) from error
    if hasattr(result, "to_pylist"):
        result = result.to_pylist() if result.null_count or declared.result.kind not in DTYPES else result.to_numpy()
    if isinstance(result, (numpy.ndarray, list, tuple)) and len(numpy.shape(result)) == 1 and len(result) == count:
        return result
    found = f"an array of shape {numpy.shape(result)}" if isinstance(result, numpy.ndarray) else type(result).__name__
    message = (
        f"{within(site)}`@{declared.name}` returned {found} for {count} rows, expected an array with a value for each"
    )
    hint = "return a NumPy or Arrow array as long as those passed, or a list with None where there is no value"
    raise UsageError(Problem("E0648", message, place(declared, site), hint=hint))


def _array(column: Any, kind: str, *, arrow: bool) -> Any:
    array: NDArray[Any]
    if kind in DTYPES:
        array = numpy.asarray(column, DTYPES[kind])
    else:
        array = numpy.empty(len(column), object)
        array[:] = column
    if arrow:
        import pyarrow as pa

        return pa.array(array)
    return array


# --- the functions of functors ----------------------------------------------------------------------------------------


_RANGES = {"number": (SMALLEST, LARGEST), "unsigned": (0, LARGEST_UNSIGNED)}


def function_of(declared: FunctorType) -> GivenFunction:
    """Return the function for a functor. Raise UsageError (E0645) where none was given, (E0646) if it has stated other
    types."""
    given = function_for(declared)
    if given is None:
        raise _missing_function_error(declared)
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


def _missing_function_error(declared: FunctorType) -> UsageError:
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
        return (*filter(lambda value: value is not None, call_on_rows(declared, given, [args], site)),)
    try:
        result = given.function(*args)
        results = list(result) if given.several else [result]
    except PASSED:
        raise
    except BaseException as error:
        raise call_error(declared, args, error, site) from error
    found = (fit_result(value, declared, args, site) for value in results)
    return tuple(dict.fromkeys(value for value in found if value is not None))


def call_on_rows(
    declared: FunctorType, given: GivenFunction, rows: Sequence[Sequence[Scalar]], site: CallSite | None = None
) -> list[Scalar]:
    """Return the value for each row of arguments, None for no value, by one call of a vectorized function."""
    columns = [list(column) for column in zip(*rows, strict=True)] or [[]]
    found = call(declared, given, columns, len(rows), site)
    return [fit_result(value, declared, row, site) for value, row in zip(found, rows, strict=True)]


def fit_result(value: Any, declared: FunctorType, args: Sequence[Scalar], site: CallSite | None = None) -> Scalar:
    """Return a result as a value of the declared type, None for no value. Raise UsageError (E0648) where it
    does not fit."""
    if value is None:
        return None
    found = fit(value, declared.result)
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


def fit(value: Any, result: Column) -> Any:
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
