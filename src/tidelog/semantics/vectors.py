"""Calls of vectorized functions, with one array for each parameter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy
from numpy.typing import NDArray

from tidelog.errors import Problem, UsageError
from tidelog.functions.callables import GivenFunction
from tidelog.language.syntax import FunctorType
from tidelog.semantics.calls import PASSED, CallSite, place, raised, within

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
        raise raised(declared, [f"{count} rows"], error, site) from error
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
