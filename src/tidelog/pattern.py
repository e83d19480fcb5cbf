"""Patterns: what `query` is asked, an atom whose variables stand for any value."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy
from numpy.typing import NDArray

from tidelog.errors import Problem, ProgramError, UsageError
from tidelog.language import check, read
from tidelog.language.syntax import (
    Anonymous,
    Atom,
    Constant,
    Declaration,
    Kind,
    Program,
    Record,
    Rule,
    Term,
    Value,
    Variable,
)
from tidelog.storage.dictionary import Dictionary


@dataclass(frozen=True)
class Pattern:
    """An atom over `relation`: `constants` by column, and groups of columns that have to be equal."""

    relation: str
    kinds: tuple[str, ...]
    constants: tuple[tuple[int, Value], ...]
    equal: tuple[tuple[int, int], ...]

    def select(self, words: NDArray[Any], dictionary: Dictionary) -> NDArray[Any]:
        """The rows of `words` that match."""
        keep = numpy.ones(len(words), bool)
        for column, value in self.constants:
            word = dictionary.find(value, self.kinds[column])
            if word is None:
                return words[:0]
            keep &= words[:, column] == word
        for a, b in self.equal:
            keep &= words[:, a] == words[:, b]
        return words[keep]


def matching(text: str, programs: Iterable[Program]) -> Pattern:
    """The pattern that `text`, an atom, stands for. Raises ProgramError or UsageError."""
    rules = read(text.strip().rstrip(".") + ".", name="<query>").rules
    if len(rules) != 1 or rules[0].body or len(rules[0].heads) != 1:
        raise UsageError(
            Problem("E0607", f"a query is one atom, found {text!r}", hint='write for example db.query("edge(1, X)")')
        )
    # As the body of a rule the atom is checked like any other, against the declarations alone.
    query = Rule("#query", (Atom("#query", ()),), rules[0].heads)
    declared = [Program(types=program.types, declarations=program.declarations) for program in programs]
    checked = check(*declared, Program(declarations=(Declaration("#query", ()),), rules=(query,)))
    atom = checked.rules[0].body[0]
    assert isinstance(atom, Atom)
    return _pattern(atom, tuple(column.kind for column in checked.relations[atom.relation].columns))


def _pattern(atom: Atom, kinds: tuple[Kind, ...]) -> Pattern:
    first: dict[str, int] = {}
    constants: list[tuple[int, Value]] = []
    equal: list[tuple[int, int]] = []
    for column, term in enumerate(atom.args):
        if isinstance(term, Variable):
            equal += [(first[term.name], column)] if term.name in first else []
            first.setdefault(term.name, column)
        elif not isinstance(term, Anonymous):
            constants.append((column, _value(term)))
    return Pattern(atom.relation, kinds, tuple(constants), tuple(equal))


def _value(term: Term) -> Value:
    """The value of a term made of constants. Raises ProgramError for any other."""
    if isinstance(term, Constant):
        return float(term.value) if term.kind == "float" else term.value
    if isinstance(term, Record):
        return None if term.fields is None else tuple(_value(part) for part in term.fields)
    message = "a query takes variables, _ and constants"
    raise ProgramError(Problem("E0607", message, term.span, hint="compute in a rule, and query its head"))
