"""Filters of a view of SPARQL as literals of rules.

A condition holds in some alternatives, each a list of literals. One about a variable without a value is an error in
SPARQL and holds in none, nor does its negation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from math import isfinite, prod
from typing import Any

from tidelog.rdf.datatypes import NUMBERS
from tidelog.rdf.sparql.bodies import MOST, Unsupported, ViewBody, ViewRules
from tidelog.rdf.sparql.paths import operand_of
from tidelog.rdf.terms import XSD, shown_term

Alternatives = list[tuple[str, ...]]
Exists = Callable[[Any, ViewBody, ViewRules], str]
_OPPOSITE = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_MIRRORED = {"=": "=", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
_INFINITE = {"<": ("-INF",), "<=": ("-INF",), ">": ("INF", "+INF"), ">=": ("INF", "+INF")}
"""The spellings of what is less, or greater, than all other numbers."""
_WHOLE = range(-(2**63), 2**63)
"""The numbers of rules, and of integers in SPARQL."""
_FLOATS = (f"{XSD}double", f"{XSD}float")
_SORTS = {
    "Builtin_isIRI": ('substr({0}, 0, 1) != "\\""', 'substr({0}, 0, 2) != "_:"'),
    "Builtin_isURI": ('substr({0}, 0, 1) != "\\""', 'substr({0}, 0, 2) != "_:"'),
    "Builtin_isBLANK": ('substr({0}, 0, 2) = "_:"',),
    "Builtin_isLITERAL": ('substr({0}, 0, 1) = "\\""',),
}
_ASK = "ask with store.query, or write a rule"


def alternatives(
    expression: Any, body: ViewBody, rules: ViewRules, exists: Exists, negated: bool = False
) -> Alternatives:
    """Return the alternatives in which a condition holds for a body, or its negation. Raise Unsupported."""
    from rdflib.term import Identifier

    if isinstance(expression, Identifier):
        raise Unsupported(f"the effective boolean value of {shown_term(expression)} is not supported", _ASK)

    def again(part: Any, is_negated: bool) -> Alternatives:
        return alternatives(part, body, rules, exists, is_negated)

    match expression.name:
        case "UnaryNot":
            return again(expression.expr, not negated)
        case "ConditionalAndExpression" | "ConditionalOrExpression":
            parts = [again(part, negated) for part in (expression.expr, *expression.other)]
            holds_all = (expression.name == "ConditionalAndExpression") != negated
            return _all(parts) if holds_all else [each for part in parts for each in part]
        case "RelationalExpression":
            return _relation(expression, body, rules, negated)
        case "Builtin_EXISTS" | "Builtin_NOTEXISTS":
            is_missing = (expression.name == "Builtin_NOTEXISTS") != negated
            return [(f"{'!' if is_missing else ''}{exists(expression.graph, body, rules)}",)]
        case "Builtin_BOUND":
            return [()] if (str(expression.arg) in body.variables) != negated else []
        case "Builtin_sameTerm":
            sides = [_known(each, body) for each in (expression.arg1, expression.arg2)]
            return [(f"{sides[0]} {'!=' if negated else '='} {sides[1]}",)] if None not in sides else []
        case name if _sort(name) is not None:
            return _of_sort(_sort(name) or (), expression.arg, body, negated)
        case other:
            raise Unsupported(f"the filter {_shown(other)} is not supported", _ASK)


def _all(parts: list[Alternatives]) -> Alternatives:
    if prod(map(len, parts)) > MOST:
        raise Unsupported(f"a filter has more than {MOST} alternatives")
    return [tuple(each for part in choice for each in part) for choice in product(*parts)]


def _sort(name: str) -> tuple[str, ...] | None:
    return {key.lower(): value for key, value in _SORTS.items()}.get(name.lower())


def _of_sort(tests: tuple[str, ...], argument: Any, body: ViewBody, negated: bool) -> Alternatives:
    variable = _known(argument, body)
    if variable is None:
        return []
    if not negated:
        return [tuple(test.format(variable) for test in tests)]
    return [(_turned(test).format(variable),) for test in tests]


def _turned(test: str) -> str:
    return test.replace(" != ", " = ") if " != " in test else test.replace(" = ", " != ")


def _relation(expression: Any, body: ViewBody, rules: ViewRules, negated: bool) -> Alternatives:
    if expression.op in ("IN", "NOT IN"):
        is_in = (expression.op == "IN") != negated
        parts = [
            list(_compared(expression.expr, "=" if is_in else "!=", each, body, rules)) for each in expression.other
        ]
        return [each for part in parts for each in part] if is_in else _all(parts)
    op = _OPPOSITE[expression.op] if negated else expression.op
    return list(_compared(expression.expr, op, expression.other, body, rules))


def _compared(one: Any, op: str, other: Any, body: ViewBody, rules: ViewRules) -> Iterator[tuple[str, ...]]:
    """Yield the alternatives of a comparison."""
    from rdflib import Literal, URIRef, Variable

    one, other = _signed(one), _signed(other)
    if not isinstance(one, Variable):
        one, op, other = other, _MIRRORED[op], one
    if not isinstance(one, Variable) or not isinstance(other, (Variable, URIRef, Literal)):
        hint = "give the other value a name by BIND, and compare that; or ask with store.query"
        raise Unsupported("a filter compares variables with variables or constants only", hint)
    left, right = _known(one, body), _known(other, body)
    if left is None or right is None:
        return
    if isinstance(other, Literal):
        yield from _with_literal(one, op, other, body, rules)
    elif op not in ("=", "!="):
        raise Unsupported(f"?{one} {op} … compares values of two variables", _ASK)
    elif isinstance(other, URIRef) or {str(one), str(other)} & body.resources:
        yield (f"{left} {op} {right}",)
    else:
        hint = f"write sameTerm(?{one}, ?{other}), or !sameTerm(?{one}, ?{other})"
        raise Unsupported(f"?{one} {op} ?{other} compares values of literals", hint)


def _signed(value: Any) -> Any:
    """Return a number for one behind a minus, and anything else as it is."""
    from rdflib import Literal

    if getattr(value, "name", "") not in ("UnaryMinus", "UnaryPlus") or not isinstance(value.expr, Literal):
        return value
    if value.expr.datatype is None or str(value.expr.datatype) not in NUMBERS or value.expr.value is None:
        return value
    number = -value.expr.value if value.name == "UnaryMinus" else value.expr.value
    return Literal(number, datatype=value.expr.datatype)


def _with_literal(variable: Any, op: str, constant: Any, body: ViewBody, rules: ViewRules) -> Iterator[tuple[str, ...]]:
    """Yield the alternatives of a comparison with a literal: a number, or a text for equality."""
    name = str(variable)
    if constant.datatype is not None and str(constant.datatype) in NUMBERS:
        value = constant.value
        if op == "!=":
            hint = f"write ?{name} < {constant} || ?{name} > {constant}"
            raise Unsupported(f"?{name} != {constant} is true of all that is no number", hint)
        is_long = isinstance(value, int) and value not in _WHOLE
        if value is None or is_long or not isfinite(value) or name not in body.atoms:
            raise Unsupported(f"?{name} {op} {constant} is not supported", _ASK)
        is_whole = float(value).is_integer() and int(value) in _WHOLE
        source = ViewBody((body.atoms[name],), frozenset([name]))
        found = []
        for datatype, functor in NUMBERS.items():
            number = repr(float(value)) if functor == "to_float" or not is_whole else str(int(value))
            if functor == "to_number" and not is_whole:
                condition = f"<{datatype}>(v_{name}, n), to_float(to_string(n)) {op} {number}"
            else:
                condition = f"<{datatype}>(v_{name}, n), n {op} {number}"
            found.append(source.with_literals([condition]))
        for datatype, spelled in product(_FLOATS, _INFINITE.get(op, ())):  # Rules have no infinite numbers.
            found.append(source.with_literals([f'v_{name} = "\\"{spelled}\\"^^<{datatype}>"']))
        yield (rules.helper("number", [name], found),)
    elif op == "=" and constant.datatype is None:
        yield (f"v_{name} = {operand_of(constant)}",)
    else:
        raise Unsupported(f"?{name} {op} {shown_term(constant)} compares values of a datatype", _ASK)


def _known(value: Any, body: ViewBody) -> str | None:
    """Return a variable or constant as rules have it, None for a variable without a value."""
    from rdflib import Variable

    if isinstance(value, Variable) and str(value) not in body.variables:
        return None
    return operand_of(value)


def _shown(name: str) -> str:
    return name.removeprefix("Builtin_").upper() if name.startswith("Builtin_") else name
