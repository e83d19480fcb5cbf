"""Patterns: an atom whose variables stand for any value, of a relation or along a path. The simplest queries.

The parameters of queries are values of Python, each of the type that its place in the query asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

import numpy
from numpy.typing import NDArray

from tidelog.common.arrays import Words
from tidelog.errors import Problem, UsageError
from tidelog.io.values import complaint
from tidelog.language import check
from tidelog.language.declarations import resolve
from tidelog.language.paths import type_path
from tidelog.language.plain_statements import constant_value
from tidelog.language.syntax import (
    Anonymous,
    Atom,
    Attribute,
    CheckedProgram,
    Column,
    Declaration,
    Kind,
    Literal,
    Program,
    Rule,
    Value,
    Variable,
)
from tidelog.language.trees import is_constant
from tidelog.rules import compile_program
from tidelog.rules.core import CoreAtom, CoreProgram, CoreRule, HyperNode
from tidelog.rules.graph import hyper_nodes
from tidelog.rules.paths import normal_form
from tidelog.rules.searches import SEARCH, Search
from tidelog.storage.dictionary import Dictionary

QUERY = "#query"
"""The relation that a program for a path derives."""


@dataclass(frozen=True)
class Pattern:
    """An atom over `relation`: `constants` by column, and groups of columns that have to be equal.

    For a path, `program` is the one rule that derives the pairs that it connects, as QUERY, and `relation` the text of
    the path.
    """

    relation: str
    kinds: tuple[str, ...]
    constants: tuple[tuple[int, Value], ...]
    equal: tuple[tuple[int, int], ...]
    program: CheckedProgram | None = None

    def words(self, dictionary: Dictionary) -> dict[int, int]:
        """Return the words of the constants that the dictionary knows, by column."""
        found = {column: dictionary.find(value, self.kinds[column]) for column, value in self.constants}
        return {column: word for column, word in found.items() if word is not None}

    def select(self, words: NDArray[Any], dictionary: Dictionary) -> NDArray[Any]:
        """Return the rows of `words` that match."""
        keep = numpy.ones(len(words), bool)
        for column, value in self.constants:
            word = dictionary.find(value, self.kinds[column])
            if word is None:
                return words[:0]
            keep &= words[:, column] == word
        for a, b in self.equal:
            keep &= words[:, a] == words[:, b]
        return words[keep]


def atom_of(literals: tuple[Literal, ...]) -> Atom | None:
    """Return the atom that a query consists of, if it is one atom over variables, `_` and constants."""
    match literals:
        case (Atom() as atom,) if all(
            isinstance(term, Variable | Anonymous) or is_constant(term) for term in atom.args
        ):
            return atom
    return None


def pattern_of(atom: Atom, programs: Iterable[Program]) -> Pattern:
    """Return the pattern of an atom, see `atom_of`. Raise ProgramError."""
    declared = [Program(types=program.types, declarations=program.declarations) for program in programs]
    found = type_path(atom.path, resolve(declared)[0], []) if atom.path is not None else None
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


@dataclass(frozen=True)
class PathEvaluation:
    """A program that evaluates QUERY, the pairs that the path of a pattern connects.

    `reads` has the relations of the database that it reads. Of those with columns there, it reads only the rows that
    have the word of the pattern's constant in one of these columns. `facts` are the other facts of the program.
    """

    core: CoreProgram
    reads: Mapping[str, frozenset[int]]
    facts: Mapping[str, Words]

    def needed_rows(self, name: str, near: Callable[[dict[int, int]], Words]) -> Words:
        """Return the rows of a relation that are read: those that `near` finds for constants."""
        if not self.reads[name]:
            return near({})
        parts = []
        for column in sorted(self.reads[name]):
            for word in self.facts[SEARCH][:, 0].tolist():
                rows = near({column: word})
                parts.append(rows[rows[:, column] == word])
        return numpy.concatenate(parts) if parts else near({})[:0]


def with_nodes(program: CheckedProgram, committed: CheckedProgram, others: Iterable[str]) -> CheckedProgram:
    """Return the program of a query with the columns whose values are nodes of its paths: not those of relations that
    the `committed` program derives, nor of `others`."""
    if not program.domains:
        return program
    derived = {head.relation for rule in committed.rules if rule.body for head in rule.heads}.union(others)
    domains = {
        domain: tuple(column for column in columns if column[0] not in derived)
        for domain, columns in program.domains.items()
    }
    return replace(program, domains=domains)


def path_evaluation(
    pattern: Pattern,
    dictionary: Dictionary,
    committed: CheckedProgram,
    kept: Container[str],
    others: Iterable[str] = (),
) -> PathEvaluation:
    """Return the evaluation of a pattern along a path. The `committed` program's results for the same path are `kept`,
    like all its relations, and need no evaluation; `others` give no nodes besides those that it derives."""
    assert pattern.program is not None
    program = with_nodes(pattern.program, committed, others)
    core = compile_program(program)
    if pattern.constants:
        return _search_from_constant(pattern, program, core, dictionary, kept)
    nodes = tuple(node for node in core.nodes if any(name not in kept for name in node.relations))
    return PathEvaluation(replace(core, nodes=nodes), dict.fromkeys(_kept_reads(nodes, kept), frozenset()), {})


def _search_from_constant(
    pattern: Pattern, program: CheckedProgram, core: CoreProgram, dictionary: Dictionary, kept: Container[str]
) -> PathEvaluation:
    """Return the evaluation of a pattern with a constant, which begins there."""
    (atom,) = program.rules[0].body
    assert isinstance(atom, Atom)
    assert atom.path is not None
    column, value = pattern.constants[0]
    search = Search(core.relations, kept, program.domains, pattern.kinds[column])
    search.pairs(QUERY, search.ends(normal_form(atom.path), backward=column == 1), backward=column == 1)
    relations = {**core.relations, **search.made}
    nodes = hyper_nodes(search.rules, relations)
    word = dictionary.find(value, pattern.kinds[column])
    start = numpy.array([] if word is None else [[word]], numpy.int64).reshape(-1, 1)
    reads = {name: _start_columns(name, search.rules) for name in _kept_reads(nodes, kept)}
    return PathEvaluation(CoreProgram(relations, core.records, nodes), reads, {SEARCH: start})


def _start_columns(name: str, rules: Iterable[CoreRule]) -> frozenset[int]:
    """Return the columns in which rules read a relation where the search begins; none if one reads it elsewhere."""
    columns = set()
    for begin, atom in (rule.body for rule in rules if len(rule.body) == 2):
        assert isinstance(begin, CoreAtom)
        assert isinstance(atom, CoreAtom)
        if atom.relation == name:
            if begin.relation != SEARCH:
                return frozenset()
            columns.add(atom.args.index(begin.args[0]))
    return frozenset(columns)


def _kept_reads(nodes: Iterable[HyperNode], kept: Container[str]) -> list[str]:
    """Return the kept relations that hyper-nodes read."""
    made = {name for node in nodes for name in node.relations}
    read = dict.fromkeys(name for node in nodes for rule in node.rules for name, _ in rule.reads)
    return [name for name in read if name not in made and name in kept]


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
            constants.append((column, constant_value(term)))
    return Pattern(atom.relation, kinds, tuple(constants), tuple(equal))


def encode_parameters(values: Mapping[str, object], columns: Iterable[Column], dictionary: Dictionary) -> Words:
    """Return the values of the parameters as one row of words. Raise DataError (E0401 to E0404) for a value that its
    parameter cannot have; the dictionary may have grown then."""
    row = [dictionary.encode(checked_value(values[c.name], c, dictionary), c.kind) for c in columns]
    return numpy.array([row], numpy.int64)


def checked_value(value: object, parameter: Column, dictionary: Dictionary) -> Value:
    """Return the value of a parameter. Raise DataError (E0401 to E0404) if it cannot have it."""
    found = complaint(value, parameter.kind, dictionary, parameter.type)
    if found is not None:
        raise found.at(f"parameter `{parameter.name}`")
    return value  # type: ignore[return-value]  # it has no complaint


def check_names(names: Iterable[str], variables: Collection[str]) -> None:
    """Raise UsageError (E0612) if a parameter is no variable of the query."""
    for name in names:
        if name not in variables:
            near = get_close_matches(name, variables, 1)
            hint = f"did you mean {near[0]}?" if near else f"use `{name}` as a variable, or leave its value out"
            raise UsageError(Problem("E0612", f"the query has no variable `{name}`, which has a value", hint=hint))
