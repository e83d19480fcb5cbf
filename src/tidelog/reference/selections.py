"""Relations that select, by definition: all tuples of a relation, and those of them that it shows.

`recursions` says which relations read each other's candidates, `select_rows` takes the shown ones out of candidates. A
choice is made while its candidates come: `choose_rows` takes those of one round that are free.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from tidelog.language.selections import Selection, selections_of
from tidelog.language.syntax import Atom, CheckedProgram
from tidelog.language.trees import variables, whole
from tidelog.reference.substitutions import RuleScope, combinations, name_wildcards, solve
from tidelog.rules.graph import components
from tidelog.semantics.values import Row

Domains: TypeAlias = tuple[tuple[int, ...], ...]
"""Columns, of which no two shown tuples have the same values."""


def selections(checked: CheckedProgram) -> dict[str, Selection]:
    """Return the selections of a program, by relation."""
    return selections_of(checked.relations, checked.rules, checked.subsumptions)


def recursions(reads: Mapping[str, Iterable[str]]) -> dict[str, int]:
    """Return a number for each relation, the same for relations that depend on each other; `reads` has the relations
    that the rules of each relation read."""
    groups = components({name: list(dict.fromkeys(names)) for name, names in reads.items()})
    return {name: number for number, group in enumerate(groups) for name in group}


def select_rows(selection: Selection, candidates: set[Row], tables: Mapping[str, set[Row]]) -> set[Row]:
    """Return the candidates that a relation shows; conditions of subsumption rules read `tables`, which have the
    candidates of the relation."""
    if selection.form == "dominance":
        return _undominated_rows(selection, candidates, tables)
    groups: dict[Row, set[Row]] = {}
    for row in candidates:
        groups.setdefault(tuple(row[i] for i in selection.keys), set()).add(row)
    if selection.form == "best":
        return {min(group, key=lambda row: _costs(selection, row)) for group in groups.values()}
    return {row for group in groups.values() for row in group if not any(_beats(selection, x, row) for x in group)}


def _costs(selection: Selection, row: Row) -> tuple[Any, ...]:
    """Return the values to select by, the smallest being the best."""
    values: list[Any] = [row[i] for i, _ in selection.orders]
    return tuple(v if op == "min" else -v for v, (_, op) in zip(values, selection.orders, strict=True))


def _beats(selection: Selection, one: Row, other: Row) -> bool:
    pairs = zip(_costs(selection, one), _costs(selection, other), strict=True)
    return one != other and all(better <= worse for better, worse in pairs)


def _undominated_rows(selection: Selection, candidates: set[Row], tables: Mapping[str, set[Row]]) -> set[Row]:
    pairs: set[tuple[Row, Row]] = set()
    for rule in selection.rules:
        named = name_wildcards(replace(rule, heads=(), body=(*rule.heads, *rule.body)))
        worse, better, *_ = named.body
        assert isinstance(worse, Atom)
        assert isinstance(better, Atom)
        scope = RuleScope(frozenset(variables(whole(named), aggregates=False)), tables)
        for found in solve(named.body, {}, scope):
            rows = (combinations(atom.args, found, scope) for atom in (worse, better))
            pairs |= {(one, other) for ones, others in [map(list, rows)] for one in ones for other in others}
    return candidates - {one for one, other in pairs if (other, one) not in pairs}


# --- choices ---------------------------------------------------------------------------------------------------------


def choose_rows(domains: Domains, candidates: Iterable[Row], shown: Collection[Row]) -> list[Row]:
    """Return the candidates that are free, each after the lesser ones: no tuple that is shown agrees with one of them
    in all columns of a domain."""
    keys = {key for row in shown for key in _keys(domains, row)}
    found = []
    for row in sorted(candidates, key=order_of):
        own = _keys(domains, row)
        if keys.isdisjoint(own):
            keys.update(own)
            found.append(row)
    return found


def _keys(domains: Domains, row: Row) -> list[tuple[int, Row]]:
    """Return the keys of a tuple, each with the number of its domain."""
    return [(number, tuple(row[i] for i in domain)) for number, domain in enumerate(domains)]


def order_of(value: object) -> Any:
    """Return a value by which tuples are in order: nil before other records, these by their fields, values with
    branches by their texts."""
    if value is None:
        return ()
    if isinstance(value, tuple):
        return _text(value) if hasattr(value, "_fields") else (0, *map(order_of, value))
    return value


def _text(value: object) -> str:
    """Return a value with branches as it is written."""
    if not isinstance(value, tuple):
        return str(value)
    parts = ", ".join(map(_text, value))
    return f"${type(value).__name__}({parts})" if value else f"${type(value).__name__}"
