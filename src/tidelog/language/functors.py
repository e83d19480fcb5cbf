"""The built-in operators and functions: how many operands, of which kinds, and the kind of the value; how strongly
operators bind, as in Soufflé; and casts.

A symbol is a number inside of an engine, and so is a record. These numbers differ from run to run, and no cast shows
them: Soufflé warns there, tidelog rejects the cast.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tidelog.language.syntax import Cast, Kind, RecordType

NUMERIC: frozenset[Kind] = frozenset(("number", "unsigned", "float"))
INTEGRAL: frozenset[Kind] = frozenset(("number", "unsigned"))
ORDERED: frozenset[Kind] = NUMERIC | {"symbol"}
TESTS: frozenset[str] = frozenset(("match", "contains", "starts_with", "ends_with"))
"""Comparisons of symbols that are written as calls, without their negations."""
COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
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


# --- precedence -------------------------------------------------------------------------------------------------------


_GROUPS = "lor | lxor | land | bor | bxor | band | bshl bshr bshru | + - | * / %"
LEVELS: dict[str, int] = {name: level for level, group in enumerate(_GROUPS.split("|")) for name in group.split()}
SIGN = len(_GROUPS.split("|"))
"""Unary minus, bnot, lnot."""
POWER = LEVELS["^"] = SIGN + 1
PRIMARY = POWER + 1
"""The level of terms that need no parentheses anywhere."""


def binds_tighter(level: int, waiting: int) -> bool:
    """Return True if an operator takes the operand before it from one that waits on its left; `^` groups to the
    right."""
    return level > waiting or level == waiting == POWER


# --- casts ------------------------------------------------------------------------------------------------------------


def same_layout(one: Kind, other: Kind, records: Mapping[str, RecordType]) -> bool:
    """Return True for record types without branches that have as many fields, each of the same kind or of equal layout
    again. Types that contain themselves have none."""
    return _have_same_layout(one, other, records, frozenset())


def _have_same_layout(one: Kind, other: Kind, records: Mapping[str, RecordType], around: frozenset[Kind]) -> bool:
    if one == other:
        return True
    first, second = records.get(one), records.get(other)
    if first is None or second is None or first.branches or second.branches or around & {one, other}:
        return False
    pairs = zip(first.fields, second.fields, strict=False)
    inside = around | {one, other}
    return len(first.fields) == len(second.fields) and all(
        _have_same_layout(a.kind, b.kind, records, inside) for a, b in pairs
    )


def cast_hint(cast: Cast, source: Kind, target: Kind, records: Mapping[str, RecordType]) -> str:
    """Return what to write instead of a cast without a meaning."""
    if source in NUMERIC and target == "symbol":
        return f"write `to_string({cast.term})` for its digits; the number of a symbol differs from run to run"
    if source == "symbol" and target in NUMERIC:
        return f"write `to_{target}({cast.term})` for the number in it, `codepoint({cast.term})` for its first letter"
    if source in records and target in NUMERIC:
        return f"write `ord({cast.term})` for a number of the value; the one inside differs from run to run"
    if source in records and target in records and not records[source].branches and not records[target].branches:
        return "take the record apart, and build one of the other type: their fields differ, or contain the types again"
    if target in records:
        form = "`$Branch(…)`" if records[target].branches else "`[…]`"
        return f"build a value of the type by {form}"
    return "take the value apart, and convert what is in it"
