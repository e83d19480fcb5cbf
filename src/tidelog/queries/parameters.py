"""Parameters of queries: values of Python, each of the type that its place in the query asks for."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches

import numpy

from tidelog.common.arrays import Words
from tidelog.errors import Problem, UsageError
from tidelog.io.values import complaint
from tidelog.language.syntax import Column, Value
from tidelog.storage.dictionary import Dictionary


def encoded(values: Mapping[str, object], columns: Iterable[Column], dictionary: Dictionary) -> Words:
    """Return the values of the parameters as one row of words. Raise DataError (E0401 to E0404) for a value that its
    parameter cannot have; the dictionary may have grown then."""
    row = [dictionary.encode(checked_value(values[c.name], c, dictionary), c.kind) for c in columns]
    return numpy.array([row], numpy.int64)


def checked_value(value: object, parameter: Column, dictionary: Dictionary) -> Value:
    """Return the value of a parameter. Raise DataError (E0401 to E0404) if it cannot have it."""
    found = complaint(value, parameter.kind, dictionary, parameter.type)
    if found is not None:
        raise found.at(f"parameter `{parameter.name}`")
    return value  # type: ignore[return-value]  # it has no complaint


def check_names(names: Iterable[str], variables: Collection[str]) -> None:
    """Raise UsageError (E0612) if a parameter is no variable of the query."""
    for name in names:
        if name not in variables:
            near = get_close_matches(name, variables, 1)
            hint = f"did you mean {near[0]}?" if near else f"use `{name}` as a variable, or leave its value out"
            raise UsageError(Problem("E0612", f"the query has no variable `{name}`, which has a value", hint=hint))
