"""Expressions of BIND and filters of a view of SPARQL, as terms and literals of rules.

An expression becomes variables, constants and calls of `computing.compute`. A condition holds in some alternatives,
each a list of literals. One about a variable without a value is an error in SPARQL and holds in none, nor does its
negation.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import product
from math import isfinite, prod
from typing import Any

from tidelog.rdf.sparql.bodies import MOST, Unsupported, ViewBody, ViewRules, operand_of
from tidelog.rdf.sparql.computing import COMPUTE
from tidelog.rdf.terms import NUMBERS, XSD

ZERO = f'"\\"0\\"^^<{XSD}integer>"'
TRUE, FALSE = (f'"\\"{value}\\"^^<{XSD}boolean>"' for value in ("true", "false"))
ASK = "ask with store.query, or write a rule"
_PARTS = {"Builtin_STR": "str", "Builtin_LANG": "lang", "Builtin_DATATYPE": "datatype"}
_FUNCTIONS = frozenset((
    "LCASE", "UCASE", "STRLEN", "ENCODE_FOR_URI", "STRSTARTS", "STRENDS", "CONTAINS", "STRBEFORE", "STRAFTER", "REGEX",
    "LANGMATCHES", "ABS", "CEIL", "FLOOR", "ROUND", "YEAR", "MONTH", "DAY", "HOURS", "MINUTES", "SECONDS", "TIMEZONE",
    "TZ", "ISNUMERIC",
))  # fmt: skip
"""Functions of one or two terms that give the same for the same terms."""
_ARGUMENTS = ("arg", "arg1", "arg2", "text", "pattern")
"""The names of arguments in rdflib's algebra."""


def expression_term(expression: Any, body: ViewBody) -> str | None:
    """Return an expression as a term of rules, None if a variable in it has no value. The empty text is an error. Raise
    Unsupported."""
    from rdflib import Literal, URIRef, Variable

    if isinstance(expression, Variable):
        return operand_of(expression) if str(expression) in body.variables else None
    if isinstance(expression, (URIRef, Literal)):
        return operand_of(expression)
    name = expression.name
    if name in ("AdditiveExpression", "MultiplicativeExpression"):
        value = expression_term(expression.expr, body)
        for op, other in zip(expression.op, expression.other, strict=True):
            value = call_term(op, value, expression_term(other, body))
        return value
    if name == "UnaryMinus":
        return call_term("-", ZERO, expression_term(expression.expr, body))
    if name in _PARTS:
        return call_term(_PARTS[name], expression_term(expression.arg, body))
    function = name.removeprefix("Builtin_")
    if function.upper() in _FUNCTIONS:
        sides = [expression_term(expression[key], body) for key in _ARGUMENTS if key in expression]
        arguments = ["?a", "?b"][: len(sides)]
        if (flags := dict.get(expression, "flags")) is not None:
            if not isinstance(flags, Literal) or not re.fullmatch("[a-z]*", flags):
                raise Unsupported("the flags of REGEX are not a constant", ASK)
            arguments.append(f"'{flags}'")
        return call_term(f"{function}({', '.join(arguments)})", *sides)
    raise Unsupported(f"the expression {function} is not supported", ASK)


def call_term(operation: str, *terms: str | None) -> str | None:
    """Return the call that computes an operation of one or two terms, None if one of them has no value."""
    if None in terms:
        return None
    return f'@{COMPUTE}("{operation}", {", ".join(map(str, (*terms, chr(34) * 2)[:2]))})'


# --- filters ---------------------------------------------------------------------------------------------------------


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


def alternatives(
    expression: Any, body: ViewBody, rules: ViewRules, exists: Exists, negated: bool = False
) -> Alternatives:
    """Return the alternatives in which a condition holds for a body, or its negation. Raise Unsupported."""
    from rdflib.term import Identifier

    if isinstance(expression, Identifier):
        return _condition("?a || false", [expression], body, negated)

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
            sides = [_operand(each, body) for each in (expression.arg1, expression.arg2)]
            return [(f"{sides[0]} {'!=' if negated else '='} {sides[1]}",)] if None not in sides else []
        case name if _sort(name) is not None:
            return _of_sort(_sort(name) or (), expression.arg, body, negated)
        case _:
            return _condition("?a || false", [expression], body, negated)


def _condition(condition: str, sides: list[Any], body: ViewBody, negated: bool) -> Alternatives:
    """Return the alternative in which pyoxigraph finds a condition of one or two expressions true, or false. An error
    is neither."""
    value = call_term(condition, *(expression_term(side, body) for side in sides))
    return [] if value is None else [(f"{value} = {FALSE if negated else TRUE}",)]


def _all(parts: list[Alternatives]) -> Alternatives:
    if prod(map(len, parts)) > MOST:
        raise Unsupported(f"a filter has more than {MOST} alternatives")
    return [tuple(each for part in choice for each in part) for choice in product(*parts)]


def _sort(name: str) -> tuple[str, ...] | None:
    return {key.lower(): value for key, value in _SORTS.items()}.get(name.lower())


def _of_sort(tests: tuple[str, ...], argument: Any, body: ViewBody, negated: bool) -> Alternatives:
    variable = _operand(argument, body)
    if variable is None:
        return []
    if not negated:
        return [tuple(test.format(variable) for test in tests)]
    return [(_negate_test(test).format(variable),) for test in tests]


def _negate_test(test: str) -> str:
    return test.replace(" != ", " = ") if " != " in test else test.replace(" = ", " != ")


def _relation(expression: Any, body: ViewBody, rules: ViewRules, negated: bool) -> Alternatives:
    one, op, others = expression.expr, expression.op, expression.other
    if op in ("IN", "NOT IN"):
        is_out = (op == "NOT IN") != negated
        parts = [_comparison(one, "=", each, body, rules, is_out) for each in others]
        return _all(parts) if is_out else [each for part in parts for each in part]
    return _comparison(one, op, others, body, rules, negated)


def _comparison(one: Any, op: str, other: Any, body: ViewBody, rules: ViewRules, negated: bool) -> Alternatives:
    """Return the alternatives of a comparison, or of its negation. Where terms decide it, and for numbers, it needs no
    function."""
    from rdflib import Literal, URIRef, Variable

    sides = [_fold_sign(one), _fold_sign(other)]
    left, right = sides if isinstance(sides[0], Variable) else sides[::-1]
    turned = op if left is sides[0] else _MIRRORED[op]
    turned = _OPPOSITE[turned] if negated else turned
    if isinstance(left, Variable) and isinstance(right, (Variable, URIRef, Literal)):
        known = _operand(left, body), _operand(right, body)
        if None in known:
            return []
        if isinstance(right, Literal):
            found = _with_literal(left, turned, right, body, rules)
            if found is not None:
                return [found]
        elif turned in ("=", "!=") and (isinstance(right, URIRef) or {str(left), str(right)} & body.resources):
            return [(f"{known[0]} {turned} {known[1]}",)]
    return _condition(f"?a {op} ?b", sides, body, negated)


def _fold_sign(value: Any) -> Any:
    """Return a number for one behind a minus, and anything else as it is."""
    from rdflib import Literal

    if getattr(value, "name", "") not in ("UnaryMinus", "UnaryPlus") or not isinstance(value.expr, Literal):
        return value
    if value.expr.datatype is None or str(value.expr.datatype) not in NUMBERS or value.expr.value is None:
        return value
    number = -value.expr.value if value.name == "UnaryMinus" else value.expr.value
    return Literal(number, datatype=value.expr.datatype)


def _with_literal(variable: Any, op: str, constant: Any, body: ViewBody, rules: ViewRules) -> tuple[str, ...] | None:
    """Return the condition of a comparison with a number, or a text for equality, by relations. None for others."""
    name, value = str(variable), constant.value
    if op == "=" and constant.datatype is None:
        return (f"v_{name} = {operand_of(constant)}",)
    is_number = constant.datatype is not None and str(constant.datatype) in NUMBERS
    is_long = isinstance(value, int) and value not in _WHOLE
    if not is_number or op == "!=" or value is None or is_long or not isfinite(value) or name not in body.atoms:
        return None
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
    return (rules.helper("number", [name], found),)


def _operand(value: Any, body: ViewBody) -> str | None:
    """Return a variable or constant as rules have it, None for a variable without a value."""
    from rdflib import Variable

    if isinstance(value, Variable) and str(value) not in body.variables:
        return None
    return operand_of(value)
