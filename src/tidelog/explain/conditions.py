"""The conditions of an instance of a rule: its literals other than tuples, with values for variables.

An aggregate also shows how many members its group has, and the first ones. A negation names the tuple that is absent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from heapq import nsmallest
from types import MappingProxyType
from typing import Any

from tidelog.errors import LimitError, wrong_argument
from tidelog.explain.instances import FlatRule
from tidelog.explain.search import ProofSearch
from tidelog.explain.steps import Condition
from tidelog.language.branches import Branch
from tidelog.language.syntax import Aggregate, Anonymous, Atom, Constant, Literal, Negation, Record, Term, Variable
from tidelog.language.trees import outermost, rebuild, walk
from tidelog.reference.selections import order_of
from tidelog.reference.substitutions import RuleScope, combinations

_LOOKS = 10_000
"""Members between two looks at limits."""


def check_members(most: object) -> None:
    """Raise UsageError (E0635) unless this is a number of members to show, or None for all."""
    if most is not None and not (isinstance(most, int) and most >= 0):
        raise wrong_argument("`members`", "a number, 0 or more, or None for all", most)


def conditions_of(
    flat: FlatRule, words: tuple[int, ...], bound: Mapping[str, Any], search: ProofSearch, most: int | None
) -> tuple[Condition, ...]:
    """Return the conditions of an instance, whose variables have these words and values, in the order written; of each
    aggregate at most so many members, None for all."""
    return tuple(condition_of(literal, flat, words, bound, search, most) for literal in flat.conditions)


def condition_of(
    literal: Literal,
    flat: FlatRule,
    words: tuple[int, ...],
    bound: Mapping[str, Any],
    search: ProofSearch,
    most: int | None,
) -> Condition:
    """Return a literal with values for the variables that are bound."""
    plain = plain_condition(literal, bound, flat.made)
    aggregate = next(outermost([literal]), None)
    if aggregate is None or plain.sort != "aggregate":
        return plain
    try:
        number, first = members(aggregate, flat, dict(zip(flat.variables, words, strict=True)), search, most)
    except LimitError:
        return plain
    return replace(plain, members=number, first=first)


def plain_condition(literal: Literal, bound: Mapping[str, Any], made: Mapping[str, str]) -> Condition:
    """Return a literal with values for variables, without members and witnesses. `made` has the names in the text of
    variables that rewrites have named."""
    text = str(with_values(literal, bound, made))
    if isinstance(literal, Negation):
        return Condition("negation", text, absent=_ground(literal.atom, bound))
    has_members = next(outermost([literal]), None) is not None
    return Condition("aggregate" if has_members else "comparison", text)


def with_witnesses(conditions: tuple[Condition, ...], flat: FlatRule, below: tuple[int, ...]) -> tuple[Condition, ...]:
    """Return conditions with the numbers of the steps of their witnesses; `below` has those of all premises."""
    found = witnesses_in(flat, below)
    return tuple(replace(each, witness=found[i]) if i in found else each for i, each in enumerate(conditions))


def witnesses_in(flat: FlatRule, below: tuple[int, ...]) -> dict[int, tuple[int, ...]]:
    """Return the steps of witnesses by the number of their condition, of the steps `below` of all premises."""
    found: dict[int, tuple[int, ...]] = {}
    start = len(flat.premises)
    for witness, premises in flat.witnesses:
        found[witness.condition] = below[start : start + len(premises)]
        start += len(premises)
    return found


def members(
    aggregate: Aggregate, flat: FlatRule, words: Mapping[str, int], search: ProofSearch, most: int | None
) -> tuple[int, tuple[str, ...]]:
    """Return the number of members of an aggregate's group, and the first ones as text, by their values. Raise
    LimitError."""
    derivations = search.derivations
    group = derivations.group(flat, aggregate)
    answers = group.answers(search.views, words, search.watch)
    if not group.atoms:
        return len(answers), ()
    kinds = [group.kinds[name] for name in group.shown]

    def rows() -> Iterator[tuple[Any, ...]]:
        for i, answer in enumerate(answers.tolist()):
            if i % _LOOKS == 0:
                search.watch.look()
            yield tuple(map(derivations.dictionary.decode, answer, kinds))

    first = sorted(rows(), key=order_of) if most is None else nsmallest(most, rows(), key=order_of)
    bindings = (dict(zip(group.shown, row, strict=True)) for row in first)
    return len(answers), tuple(", ".join(str(with_values(atom, bound)) for atom in group.atoms) for bound in bindings)


def _ground(atom: Atom, bound: Mapping[str, Any]) -> tuple[str, tuple[Any, ...]] | None:
    """Return the tuple that an atom is for some values; None for a path, and if a `_` leaves a value open."""
    if atom.path is not None or any(isinstance(node, Anonymous | Aggregate) for node in walk(atom.args)):
        return None
    rows = list(combinations(atom.args, dict(bound), RuleScope(frozenset(bound), {})))
    return (atom.relation, tuple(rows[0])) if len(rows) == 1 else None


def with_values(literal: Literal, bound: Mapping[str, Any], made: Mapping[str, str] = MappingProxyType({})) -> Literal:
    """Return a literal with values in the place of the variables that are bound, and `_` for those of a rewrite; others
    have the names of the text if these are `made`."""

    def change(term: Term) -> Term | None:
        if not isinstance(term, Variable):
            return None
        if term.name in bound:
            return term_of(bound[term.name])
        return Anonymous() if "#" in term.name else Variable(made.get(term.name, term.name))

    return rebuild(literal, change)


def term_of(value: Any) -> Term:
    """Return the term for a value."""
    if value is None:
        return Record(None)
    if isinstance(value, Branch):
        return Record(tuple(map(term_of, value)), branch=value._name)
    if isinstance(value, tuple):
        return Record(tuple(map(term_of, value)))
    return Constant(value)
