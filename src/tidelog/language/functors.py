"""The built-in operators and functions: how many operands, of which kinds, and the kind of the value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tidelog.language.syntax import Kind

NUMERIC: frozenset[Kind] = frozenset(("number", "unsigned", "float"))
INTEGRAL: frozenset[Kind] = frozenset(("number", "unsigned"))
ORDERED: frozenset[Kind] = NUMERIC | {"symbol"}
TESTS: frozenset[str] = frozenset(("match", "contains", "starts_with", "ends_with"))
"""Comparisons of symbols that are written as calls, without their negations."""
SAME = "*"
"""Stands for the kind that all operands marked so share."""


@dataclass(frozen=True)
class Signature:
    """The operands of a functor: `parameters` are kinds or SAME, for `least` to `most` operands; the last parameter
    repeats for the rest. `over` are the kinds that SAME may be; None: any.
    """

    parameters: tuple[Kind, ...]
    result: Kind
    over: frozenset[Kind] | None = None
    least: int = 0
    most: int = 0

    def parameter(self, position: int) -> Kind:
        return self.parameters[min(position, len(self.parameters) - 1)]


_MANY = 1_000_000


def _signature(
    parameters: str, result: str, over: frozenset[Kind] | None, least: int | None = None, most: int | None = None
) -> Signature:
    kinds = tuple(parameters.split())
    least, most = (len(kinds) if given is None else given for given in (least, most))
    return Signature(kinds, result, over, least, most)


SIGNATURES: Mapping[str, Signature] = {
    "+": _signature("* *", SAME, ORDERED),  # of symbols it is cat
    **{name: _signature("* *", SAME, NUMERIC) for name in ("-", "*", "/", "^")},
    "%": _signature("* *", SAME, INTEGRAL),
    "neg": _signature("*", SAME, frozenset(("number", "float"))),
    **{name: _signature("* *", SAME, INTEGRAL) for name in ("band", "bor", "bxor", "bshl", "bshr", "bshru")},
    **{name: _signature("* *", SAME, INTEGRAL) for name in ("land", "lor", "lxor")},
    **{name: _signature("*", SAME, INTEGRAL) for name in ("bnot", "lnot")},
    **{name: _signature("* *", SAME, ORDERED, 1, _MANY) for name in ("min", "max")},
    "range": _signature("* *", SAME, NUMERIC, most=3),
    "cat": _signature("symbol symbol", "symbol", None, 0, _MANY),
    "strlen": _signature("symbol", "number", None),
    "substr": _signature("symbol number number", "symbol", None),
    "ord": _signature("*", "number", None),
    "codepoint": _signature("symbol", "number", None),
    "to_number": _signature("*", "number", ORDERED),
    "to_string": _signature("*", "symbol", ORDERED),
    "to_float": _signature("*", "float", ORDERED),
    "to_unsigned": _signature("*", "unsigned", ORDERED),
    "lower": _signature("symbol", "symbol", None),
    "upper": _signature("symbol", "symbol", None),
    "trim": _signature("symbol", "symbol", None),
    "replace": _signature("symbol symbol symbol", "symbol", None),
    "index_of": _signature("symbol symbol", "number", None),
    "positions": _signature("symbol symbol", "number", None),
    "split": _signature("symbol symbol number", "symbol", None, least=2),
    "groups": _signature("symbol symbol number", "symbol", None, least=2),
    "itof": _signature("number", "float", None),
    "ftoi": _signature("float", "number", None),
    "utof": _signature("unsigned", "float", None),
    "ftou": _signature("float", "unsigned", None),
    "itou": _signature("number", "unsigned", None),
    "utoi": _signature("unsigned", "number", None),
}


def several(name: str, arguments: int) -> bool:
    """Return True if a functor with so many arguments may have more than one value."""
    return name in ("range", "positions") or (name in ("split", "groups") and arguments == 2)


def conversion(have: frozenset[Kind], want: frozenset[Kind]) -> str | None:
    """Return how to make a text of a number, or a number of a text."""
    text, other = frozenset(("symbol",)), NUMERIC
    if (have <= other and want == text) or (have == text and want <= other):
        return "convert with `to_string(…)`, or with `to_number(…)` and its like"
    return None
