"""Expressions of BIND and FILTER as terms of rules: variables, constants, and calls of `computing.compute`."""

from __future__ import annotations

import re
from typing import Any

from tidelog.rdf.sparql.bodies import Unsupported, ViewBody
from tidelog.rdf.sparql.computing import COMPUTE
from tidelog.rdf.sparql.paths import operand_of
from tidelog.rdf.terms import XSD

ZERO = f'"\\"0\\"^^<{XSD}integer>"'
TRUE, FALSE = (f'"\\"{value}\\"^^<{XSD}boolean>"' for value in ("true", "false"))
ASK = "ask with store.query, or write a rule"
_SORTS = {"Builtin_STR": "str", "Builtin_LANG": "lang", "Builtin_DATATYPE": "datatype"}
_FUNCTIONS = frozenset((
    "LCASE", "UCASE", "STRLEN", "ENCODE_FOR_URI", "STRSTARTS", "STRENDS", "CONTAINS", "STRBEFORE", "STRAFTER", "REGEX",
    "LANGMATCHES", "ABS", "CEIL", "FLOOR", "ROUND", "YEAR", "MONTH", "DAY", "HOURS", "MINUTES", "SECONDS", "TIMEZONE",
    "TZ", "ISNUMERIC",
))  # fmt: skip
"""Functions of one or two terms that give the same for the same terms."""
_ARGUMENTS = ("arg", "arg1", "arg2", "text", "pattern")
"""The names of arguments in rdflib's algebra."""


def computed(expression: Any, body: ViewBody) -> str | None:
    """Return an expression as a term of rules, None if a variable in it has no value. The empty text is an error. Raise
    Unsupported."""
    from rdflib import Literal, URIRef, Variable

    if isinstance(expression, Variable):
        return operand_of(expression) if str(expression) in body.variables else None
    if isinstance(expression, (URIRef, Literal)):
        return operand_of(expression)
    name = expression.name
    if name in ("AdditiveExpression", "MultiplicativeExpression"):
        value = computed(expression.expr, body)
        for op, other in zip(expression.op, expression.other, strict=True):
            value = called(op, value, computed(other, body))
        return value
    if name == "UnaryMinus":
        return called("-", ZERO, computed(expression.expr, body))
    if name in _SORTS:
        return called(_SORTS[name], computed(expression.arg, body))
    function = name.removeprefix("Builtin_")
    if function.upper() in _FUNCTIONS:
        sides = [computed(expression[key], body) for key in _ARGUMENTS if key in expression]
        arguments = ["?a", "?b"][: len(sides)]
        if (flags := dict.get(expression, "flags")) is not None:
            if not isinstance(flags, Literal) or not re.fullmatch("[a-z]*", flags):
                raise Unsupported("the flags of REGEX are not a constant", ASK)
            arguments.append(f"'{flags}'")
        return called(f"{function}({', '.join(arguments)})", *sides)
    raise Unsupported(f"the expression {function} is not supported", ASK)


def called(operation: str, *terms: str | None) -> str | None:
    """Return the call that computes an operation of one or two terms, None if one of them has no value."""
    if None in terms:
        return None
    return f'@{COMPUTE}("{operation}", {", ".join(map(str, (*terms, chr(34) * 2)[:2]))})'
