"""The conditions of an instance of a rule: its literals other than tuples, with values for variables.

An aggregate also shows how many members its group has, and the first ones: the substitutions of its body for the values
around it, which are asked for like instances of rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy

from tidelog.explain.instances import FlatRule, Question
from tidelog.explain.search import ProofSearch
from tidelog.explain.steps import Condition
from tidelog.language.branches import Branch
from tidelog.language.syntax import (
    Aggregate,
    Anonymous,
    Atom,
    Column,
    Constant,
    Kind,
    Literal,
    Negation,
    Record,
    Term,
    Variable,
)
from tidelog.language.trees import outermost, rebuild, variables
from tidelog.queries.bodies import GIVEN

MOST_MEMBERS = 3
"""Members of a group that are shown."""


def conditions_of(flat: FlatRule, words: tuple[int, ...], search: ProofSearch) -> tuple[Condition, ...]:
    """Return the conditions of an instance, whose variables have these words, in the order written."""
    bound = dict(zip(flat.variables, words, strict=True))
    return tuple(condition_of(literal, flat, bound, search) for literal in flat.conditions)


def condition_of(literal: Literal, flat: FlatRule, words: Mapping[str, int], search: ProofSearch) -> Condition:
    """Return a literal with values for the variables that are bound."""
    decode = search.derivations.dictionary.decode
    text = str(with_values(literal, {name: decode(word, flat.kinds[name]) for name, word in words.items()}))
    if isinstance(literal, Negation):
        return Condition("negation", text)
    aggregate = next(outermost([literal]), None)
    if aggregate is None:
        return Condition("comparison", text)
    return Condition("aggregate", text, *members(aggregate, flat, words, search))


def members(
    aggregate: Aggregate, flat: FlatRule, words: Mapping[str, int], search: ProofSearch
) -> tuple[int, tuple[str, ...]]:
    """Return the number of members of an aggregate's group, and the first ones as text, by their values."""
    derivations, kinds = search.derivations, dict(flat.kinds)
    body = tuple(_named(literal, i, kinds, search) for i, literal in enumerate(aggregate.body))
    shown = variables(body, aggregates=False)
    given = [name for name in variables([aggregate]) if name in words]
    columns = tuple(Column(name, kinds[name], kinds[name]) for name in given)
    asked = (Atom(GIVEN, tuple(map(Variable, given))), *body)
    question = Question(asked, shown, columns, kinds, derivations.checked, flat.read)
    row = numpy.array([words[name] for name in given], numpy.int64).reshape(1, -1)
    answers = question.answers(search.views, row, search.watch)
    decode = derivations.dictionary.decode
    found = [
        {name: decode(word, kinds[name]) for name, word in zip(shown, answer, strict=True)}
        for answer in answers[:1_000].tolist()
    ]
    atoms = [literal for literal in body if isinstance(literal, Atom)]
    texts = sorted(", ".join(str(with_values(atom, bound)) for atom in atoms) for bound in found)
    return len(answers), tuple(texts[:MOST_MEMBERS]) if atoms else ()


def _named(literal: Literal, number: int, kinds: dict[str, Kind], search: ProofSearch) -> Literal:
    """Return a literal with a variable for each `_` among the arguments of a tuple, which takes part in members."""
    if not isinstance(literal, Atom) or literal.path is not None:
        return literal
    args: list[Term] = []
    for i, (term, kind) in enumerate(zip(literal.args, search.derivations.kinds(literal.relation), strict=True)):
        variable = Variable(f"#member{number}_{i}")
        if isinstance(term, Anonymous):
            kinds[variable.name] = kind
        args.append(variable if isinstance(term, Anonymous) else term)
    return replace(literal, args=tuple(args))


def with_values(literal: Literal, bound: Mapping[str, Any]) -> Literal:
    """Return a literal with values in the place of the variables that are bound, and `_` for those of a rewrite."""

    def change(term: Term) -> Term | None:
        if isinstance(term, Variable):
            return term_of(bound[term.name]) if term.name in bound else Anonymous() if "#" in term.name else None
        return None

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
