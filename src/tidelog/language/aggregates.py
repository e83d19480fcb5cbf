"""The aggregates of the language as a table: the properties of each, except how an engine computes it.

Lexer, checker and rewrites read it, as do certificates (`sql`) and the cluster engine (`combined`). The computations
are in `semantics/aggregates.py` on Python values and in `maintain/aggregates.py` on words. `autoinc`, which no text
calls an aggregate, gives each group a number (`rules/counters.py`, `maintain/strategies/aggregates.py`). `own` stands
for those that a program declares, whose functions in Python are called in `semantics/user_aggregates.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

AggregateName: TypeAlias = Literal[
    "count", "sum", "min", "max", "mean", "median", "any", "collect", "argmin", "argmax", "autoinc", "own"
]


_INTEGERS = ("number", "unsigned")
_NUMERIC = frozenset((*_INTEGERS, "float"))
_ORDERED = _NUMERIC | {"symbol"}


@dataclass(frozen=True)
class AggregateForm:
    """An aggregate: `result` is the kind of its value, None for that of the target; `empty` its value for an empty
    group, None where it has none; `over` are the kinds that its target may have. One with `arguments` has two terms, of
    which the second, a number, ranks.

    `spellings` are its names in a text; those in `reserved` begin an aggregate wherever a parenthesis follows. A
    `selective` one is the value of a member, so that equal members need not be kept apart. `combined` aggregates the
    values of the parts of a group, for targets of the kinds in `combines`. `sql` has expressions of DuckDB by the kind
    of the target, where it has the aggregate with the same meaning.
    """

    name: AggregateName
    spellings: tuple[str, ...]
    result: str | None = None
    empty: int | None = None
    over: frozenset[str] = _NUMERIC
    arguments: bool = False
    reserved: tuple[str, ...] = ()
    selective: bool = False
    combined: AggregateName | None = None
    combines: tuple[str, ...] = ()
    sql: Mapping[str, str] = field(default_factory=dict)


def _extreme(name: AggregateName, function: str) -> AggregateForm:
    """Return an aggregate whose value is that of one member, which a `function` of DuckDB chooses among numbers."""
    sql = dict.fromkeys(_NUMERIC, f"{function}({{0}})")
    return AggregateForm(name, (name,), over=_ORDERED, selective=True, combined=name, combines=_INTEGERS, sql=sql)


AGGREGATES: Mapping[AggregateName, AggregateForm] = {
    form.name: form
    for form in (
        AggregateForm(
            "count",
            ("count",),
            result="number",
            empty=0,
            combined="sum",
            combines=("number",),
            sql={"number": "count(*)"},
        ),
        AggregateForm(
            "sum",
            ("sum",),
            empty=0,
            reserved=("sum",),
            combined="sum",
            combines=_INTEGERS,
            sql={"number": "wrap(sum({0}))", "unsigned": f"(sum({{0}}) % {2**64})::UBIGINT"},
        ),
        _extreme("min", "min"),
        _extreme("max", "max"),
        AggregateForm("mean", ("mean", "avg"), result="float", reserved=("mean",)),
        AggregateForm("median", ("median",), result="float"),
        _extreme("any", "min"),
        AggregateForm("collect", ("collect",), result="symbol", over=_ORDERED, selective=True),
        AggregateForm("argmin", ("argmin",), over=_ORDERED, arguments=True),
        AggregateForm("argmax", ("argmax",), over=_ORDERED, arguments=True),
        AggregateForm("autoinc", (), result="number"),
        AggregateForm("own", (), over=frozenset()),
    )
}
SPELLINGS: Mapping[str, AggregateForm] = {word: form for form in AGGREGATES.values() for word in form.spellings}
