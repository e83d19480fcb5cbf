"""Patterns: what `query` is asked, an atom whose variables stand for any value, of a relation or along a path."""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy
from numpy.typing import NDArray

from tidelog.errors import Problem, ProgramError, UsageError
from tidelog.language import check, read
from tidelog.language.declarations import resolve
from tidelog.language.paths import typed
from tidelog.language.syntax import (
    Anonymous,
    Atom,
    Attribute,
    CheckedProgram,
    Constant,
    Declaration,
    Kind,
    Literal,
    Program,
    Record,
    Rule,
    Term,
    Value,
    Variable,
)
from tidelog.rules import compile_program
from tidelog.rules.core import CoreProgram
from tidelog.rules.edges import body_of
from tidelog.storage.dictionary import Dictionary

QUERY = "#query"
"""The relation that a program for a path derives."""


@dataclass(frozen=True)
class Pattern:
    """An atom over `relation`: `constants` by column, and groups of columns that have to be equal. For a path,
    `program` is the one rule that derives the pairs that it connects, as QUERY, and `relation` the text of the path."""

    relation: str
    kinds: tuple[str, ...]
    constants: tuple[tuple[int, Value], ...]
    equal: tuple[tuple[int, int], ...]
    program: CheckedProgram | None = None

    def words(self, dictionary: Dictionary) -> dict[int, int]:
        """The words of the constants that the dictionary knows, by column."""
        found = {column: dictionary.find(value, self.kinds[column]) for column, value in self.constants}
        return {column: word for column, word in found.items() if word is not None}

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
    atom = _atom(text)
    declared = [Program(types=program.types, declarations=program.declarations) for program in programs]
    found = typed(atom.path, resolve(declared)[0], []) if atom.path is not None else None
    if found is None:
        # As the body of a rule the atom is checked like any other, against the declarations alone.
        query = Rule(QUERY, (Atom(QUERY, ()),), (atom,))
        checked = check(*declared, Program(declarations=(Declaration(QUERY, ()),), rules=(query,)))
        columns = checked.relations[atom.relation].columns
        return _pattern(checked.rules[0].body[0], tuple(column.kind for column in columns))
    ends = Variable("#x"), Variable("#y")
    query = Rule(QUERY, (Atom(QUERY, ends),), (replace(atom, args=ends), atom))
    declaration = Declaration(
        QUERY, tuple(Attribute(name, end.type) for name, end in zip("xy", found[1:], strict=True))
    )
    checked = check(*declared, Program(declarations=(declaration,), rules=(query,)))
    pairs, asked = checked.rules[0].body
    program = replace(checked, rules=(replace(checked.rules[0], body=(pairs,)),))
    return replace(_pattern(asked, (found[1].kind, found[2].kind)), program=program)


def _atom(text: str) -> Atom:
    """The atom that a text is; that of a path can only be read as the body of a rule."""
    text = text.strip().rstrip(".")
    try:
        rules = read(f"{text}.", name="<query>").rules
    except ProgramError as error:
        try:
            rules = read(f"query() :- {text}.", name="<query>").rules
        except ProgramError as other:
            raise (other if text.startswith(("<", "^")) else error) from None
        match [rule.body for rule in rules]:
            case [(Atom() as atom,)]:
                return atom
        raise error from None
    if len(rules) != 1 or rules[0].body or len(rules[0].heads) != 1:
        raise UsageError(
            Problem("E0607", f"a query is one atom, found {text!r}", hint='write for example db.query("edge(1, X)")')
        )
    return rules[0].heads[0]


def remaining(
    program: CheckedProgram, committed: CheckedProgram, kept: Container[str], others: Iterable[str] = ()
) -> tuple[CoreProgram, tuple[str, ...]]:
    """What has to be evaluated for QUERY, the pairs that the path of a pattern's `program` connects, and the relations
    that this reads. What the rules of the `committed` program derive of the same path is `kept`, like all its
    relations, and needs no evaluation; `others` give no nodes besides those that it derives.
    """
    derived = {head.relation for rule in committed.rules if rule.body for head in rule.heads}.union(others)
    domains = {
        domain: tuple(column for column in columns if column[0] not in derived)
        for domain, columns in program.domains.items()
    }
    core = compile_program(replace(program, domains=domains))
    nodes = tuple(node for node in core.nodes if any(name not in kept for name in node.relations))
    made = {name for node in nodes for name in node.relations}
    read = dict.fromkeys(name for node in nodes for rule in node.rules for name, _ in body_of(rule))
    return replace(core, nodes=nodes), tuple(name for name in read if name not in made and name in kept)


def _pattern(atom: Literal, kinds: tuple[Kind, ...]) -> Pattern:
    assert isinstance(atom, Atom)
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
