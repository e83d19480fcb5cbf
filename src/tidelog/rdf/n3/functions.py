"""Functions in Python for built-ins of N3. They take symbols; None is no value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tidelog.functions.callables import functor
from tidelog.rdf.names import COLON
from tidelog.rdf.shapes.patterns import compiled, why_wrong
from tidelog.rdf.shapes.testing import compared, text_of
from tidelog.rdf.sparql.computing import compute, number
from tidelog.rdf.terms import XSD, is_iri, literal

VALUE, TEST = f"n3{COLON}value", f"n3{COLON}test"
_ZERO = f'"0"^^<{XSD}integer>'
_ORDERS = {
    "greaterThan": ">",
    "lessThan": "<",
    "notGreaterThan": "<=",
    "notLessThan": ">=",
    "equalTo": "=",
    "notEqualTo": "<>",
}
_TEXTS: dict[str, Callable[[str, str], Any]] = {
    "contains": lambda one, other: other in one,
    "containsIgnoringCase": lambda one, other: other.casefold() in one.casefold(),
    "startsWith": str.startswith,
    "endsWith": str.endswith,
    "equalIgnoringCase": lambda one, other: one.casefold() == other.casefold(),
    "notEqualIgnoringCase": lambda one, other: one.casefold() != other.casefold(),
    "greaterThan": lambda one, other: one > other,
    "lessThan": lambda one, other: one < other,
    "notGreaterThan": lambda one, other: one <= other,
    "notLessThan": lambda one, other: one >= other,
    "matches": lambda one, other: not why_wrong(other, "") and compiled(other, "").search(one),
    "notMatches": lambda one, other: not why_wrong(other, "") and not compiled(other, "").search(one),
}
_NUMBERS = {"sum": "+", "difference": "-", "product": "*", "quotient": "/"}

TESTS = {f"math:{name}" for name in _ORDERS} | {f"string:{name}" for name in _TEXTS}
"""Built-ins that are true or false, of a subject and an object."""
OPERATIONS = {"math:sum": 2, "math:product": 2, "math:difference": 2, "math:quotient": 2, "math:negation": 1,
              "math:absoluteValue": 1, "string:concatenation": 2, "string:length": 1, "string:upperCase": 1,
              "string:lowerCase": 1, "log:uri": 1}  # fmt: skip
"""Built-ins that compute their object, with the number of their operands."""
FOLDED = ("math:sum", "math:product", "string:concatenation")
"""The functions that take lists of two operands or more."""


@functor("symbol, symbol, symbol -> number", name=TEST, remember=False)
def test(name: str, one: str, other: str) -> int:
    """Return 1 if a test holds for two terms, 0 if not."""
    sort, _, which = name.partition(":")
    if sort == "math":
        if number(one) is None or number(other) is None:
            return 0
        order = compared(one, other)
        return int(order is not None and order in _ORDERS[which])
    left, right = text_of(one), text_of(other)
    return int(left is not None and right is not None and bool(_TEXTS[which](left, right)))


@functor("symbol, symbol, symbol -> symbol", name=VALUE, remember=False)
def value(name: str, one: str, other: str) -> str | None:
    """Return the value of an operation on one or two terms, None without one."""
    sort, _, which = name.partition(":")
    if which in _NUMBERS:
        return compute(_NUMBERS[which], one, other) or None
    if which == "negation":
        return compute("-", _ZERO, one) or None
    if which == "absoluteValue":
        found = number(one)
        if found is None:
            return None
        return one if found[1] >= 0 else compute("-", _ZERO, one) or None
    if sort == "log":
        return literal(one) if is_iri(one) else None
    left, right = text_of(one), text_of(other) if other else ""
    if left is None or right is None:
        return None
    if which == "length":
        return literal(len(left))
    return literal(left + right if which == "concatenation" else left.upper() if which == "upperCase" else left.lower())


FUNCTIONS = (value, test)
"""The functions that rules of N3 may call."""
