"""Functions in Python for views in SPARQL: arithmetic over terms, and the aggregates SUM, AVG, MIN and MAX.

They take and return symbols; the empty text stands for no value, which in SPARQL is an error or an unbound variable.
Numbers come out as pyoxigraph spells them. Sums are exact until their end, so that their order does not matter.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias

import numpy

from tidelog.functions.callables import aggregate, functor
from tidelog.rdf.formats import load
from tidelog.rdf.literals import parts, value_of
from tidelog.rdf.names import COLON
from tidelog.rdf.sparql.evaluation import symbol_of
from tidelog.rdf.sparql.mirror import parse_quads
from tidelog.rdf.terms import OWL, XSD, is_iri, literal, ntriples

COMPUTE = f"sparql{COLON}compute"
"""The functor: an operation and two terms."""
AGGREGATES = {name: f"sparql{COLON}{name.lower()}" for name in ("Sum", "Avg", "Min", "Max")}
_FOLD = "symbol -> symbol"
"""Aggregates: a term of each member, and a term."""
_NAMES = ("integer", "decimal", "float", "double")
_DIGITS = 10**18
"""A decimal has so many parts, as in pyoxigraph."""
_INTEGER, _DECIMAL, _FLOAT, _DOUBLE = range(4)

Number: TypeAlias = tuple[int, Any]
"""The place of a datatype in _NAMES, and a Fraction, or a float for the last two."""
Sums: TypeAlias = tuple[int, tuple[int, ...], Fraction, tuple[int, ...]]
"""How many members are no numbers, how many there are of each datatype, their sum, and the numbers of INF, -INF and NaN
among them."""
Extreme: TypeAlias = tuple[bool, str | None]
"""True if all members have values, and the least or the greatest."""


@functor("symbol, symbol, symbol -> symbol", name=COMPUTE)
def compute(op: str, one: str, other: str) -> str:
    """Return the value of an operation: + - * / of two numbers, str, lang or datatype of one term, or an expression of
    ?a and ?b in SPARQL."""
    if op in ("str", "lang", "datatype"):
        return _part(op, one)
    if "?" in op:
        return _value_of(op, {"a": one, "b": other} if "?b" in op else {"a": one})
    left, right = number(one), number(other)
    if left is None or right is None:
        return ""
    rank = max(left[0], right[0])
    if rank > _DECIMAL:
        return _compute_float(rank, op, left[1], right[1])
    a, b = left[1], right[1]
    if op == "/":
        return number_literal(_DECIMAL, a / b) if b else ""
    return number_literal(rank, a + b if op == "+" else a - b if op == "-" else a * b)


def _value_of(expression: str, symbols: Mapping[str, str]) -> str:
    """Return the value that pyoxigraph gives an expression of some terms. They are read from triples: of constants it
    compares some as terms, and not as values."""
    store = load().Store()
    lines = (f"<x:s> <x:{name}> {ntriples(symbol)} .\n" for name, symbol in symbols.items() if symbol)
    store.extend(parse_quads("".join(lines).encode()))
    pattern = " ; ".join(f"<x:{name}> ?{name}" for name in symbols)
    found = next(store.query(f"SELECT ({expression} AS ?value) {{ <x:s> {pattern} }}"), None)
    return "" if found is None else symbol_of(found["value"])


def _part(op: str, term: str) -> str:
    if not term or term.startswith(("_:", "<<(")):
        return ""
    if is_iri(term):
        return literal(term) if op == "str" else ""
    text, language, datatype = parts(term)
    return datatype if op == "datatype" else literal(text if op == "str" else language)


def _compute_float(rank: int, op: str, one: Any, other: Any) -> str:
    kind = numpy.float32 if rank == _FLOAT else numpy.float64
    a, b = kind(float(one)), kind(float(other))
    with numpy.errstate(all="ignore"):
        return number_literal(rank, a + b if op == "+" else a - b if op == "-" else a * b if op == "*" else a / b)


def number(term: str) -> Number | None:
    """Return the number of a literal, None for other terms."""
    value = value_of(term) if term else None
    if value is None or value[0] not in ("real", "float", "double"):
        return None
    if value[0] != "real":
        return _NAMES.index(value[0]), float(str(value[1]).partition("(")[2].rstrip(")") or str(value[1]))
    datatype = parts(term)[2]
    if datatype == f"{OWL}rational":
        return None
    return _DECIMAL if datatype == f"{XSD}decimal" else _INTEGER, value[1]


def number_literal(rank: int, value: Any) -> str:
    """Return the literal of a number, the empty text if it has too many digits."""
    if rank == _INTEGER:
        text = str(int(value)) if -(2**63) <= value < 2**63 else ""
    elif rank == _DECIMAL:
        text = _decimal(value)
    else:
        text = _float(numpy.float32(value) if rank == _FLOAT else numpy.float64(value))
    return text and f'"{text}"^^<{XSD}{_NAMES[rank]}>'


def _decimal(value: Fraction) -> str:
    scaled = abs(value.numerator) * _DIGITS // value.denominator
    if scaled >= 2**127:
        return ""
    whole, rest = divmod(scaled, _DIGITS)
    sign = "-" if value < 0 and scaled else ""
    return f"{sign}{whole}.{rest:018d}".rstrip("0").rstrip(".")


def _float(value: Any) -> str:
    if not numpy.isfinite(value):
        return "NaN" if numpy.isnan(value) else "INF" if value > 0 else "-INF"
    text = format(Decimal(str(value)), "f")
    return text.removesuffix(".0") if "." in text else text


# --- SUM and AVG -----------------------------------------------------------------------------------------------------

NO_SUMS: Sums = (0, (0, 0, 0, 0), Fraction(0), (0, 0, 0))


def without_member(sums: Sums, term: str) -> Sums:
    return _with_member(sums, term, -1)


def _with_member(sums: Sums, term: str, by: int) -> Sums:
    bad, ranks, total_, specials = sums
    found = number(term)
    if found is None:
        return bad + by, ranks, total_, specials
    rank, value = found
    ranks = tuple(count + by * (i == rank) for i, count in enumerate(ranks))
    if rank > _DECIMAL and not numpy.isfinite(value):
        which = 2 if numpy.isnan(value) else 0 if value > 0 else 1
        return bad, ranks, total_, tuple(count + by * (i == which) for i, count in enumerate(specials))
    return bad, ranks, total_ + by * Fraction(value), specials


def total(sums: Sums) -> str:
    return _quotient(sums, 1, _INTEGER)


def mean(sums: Sums) -> str:
    """Return AVG."""
    return _quotient(sums, sum(sums[1]), _DECIMAL)


@aggregate(_FOLD, name=AGGREGATES["Sum"], init=NO_SUMS, inverse=without_member, finish=total, compiled=False)
def add(sums: Sums, term: str) -> Sums:
    """Return the state of SUM with one more member."""
    return _with_member(sums, term, 1)


@aggregate(_FOLD, name=AGGREGATES["Avg"], init=NO_SUMS, inverse=without_member, finish=mean, compiled=False)
def add_to_mean(sums: Sums, term: str) -> Sums:
    """Return the state of AVG with one more member."""
    return _with_member(sums, term, 1)


def _quotient(sums: Sums, count: int, lowest: int) -> str:
    """Return the sum, divided by a count, as a number of the lowest datatype or one above."""
    bad, ranks, value, (above, below, nan) = sums
    if bad or not any(ranks):
        return ""
    rank = max(lowest, *(i for i, members in enumerate(ranks) if members))
    if nan or (above and below):
        return number_literal(rank, float("nan"))
    if above or below:
        return number_literal(rank, float("inf" if above else "-inf"))
    found = value / count
    return number_literal(rank, found if rank <= _DECIMAL else float(found))


# --- MIN and MAX -----------------------------------------------------------------------------------------------------


NO_EXTREME: Extreme = (True, None)


def least_of(one: Extreme, other: Extreme) -> Extreme:
    """Return the state of MIN over two groups together."""
    return one[0] and other[0], min((each for each in (one[1], other[1]) if each is not None), key=order, default=None)


def greatest_of(one: Extreme, other: Extreme) -> Extreme:
    """Return the state of MAX over two groups together."""
    return one[0] and other[0], max((each for each in (one[1], other[1]) if each is not None), key=order, default=None)


def extreme(state: Extreme) -> str:
    """Return MIN or MAX."""
    return state[1] or "" if state[0] else ""


@aggregate(_FOLD, name=AGGREGATES["Min"], init=NO_EXTREME, merge=least_of, finish=extreme, compiled=False)
def least(state: Extreme, term: str) -> Extreme:
    """Return the state of MIN with one more member."""
    return least_of(state, (bool(term), term))


@aggregate(_FOLD, name=AGGREGATES["Max"], init=NO_EXTREME, merge=greatest_of, finish=extreme, compiled=False)
def greatest(state: Extreme, term: str) -> Extreme:
    """Return the state of MAX with one more member."""
    return greatest_of(state, (bool(term), term))


def order(term: str) -> tuple[Any, ...]:
    """Return the place of a term in the order of SPARQL: blank nodes, IRIs, numbers, other literals by their texts."""
    if not term.startswith('"'):
        return (0 if term.startswith("_:") else 1), term
    found = number(term)
    if found is not None and found[1] == found[1]:
        return 2, found[1], term
    return 3, *parts(term)


FUNCTIONS = (compute, add, add_to_mean, least, greatest)
"""The functions that the rules of views may call."""
