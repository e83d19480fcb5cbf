"""The syntax tree of a rule text, with words replaced by the relations of properties and classes, and by terms.

    foaf:knows(x, y)                 the relation of the property
    foaf:Person(x)                   that of the class, and so rdf:type(x, foaf:Person)
    rdf:type(x, c)                   everything with its classes
    ex:age(x, 5), ex:name(x, "Ann")  as in Turtle, numbers and texts are literals
    xsd:integer(v, n)                n is the number of the literal v, if that is of this datatype

`prefixes` makes the words, `rules` the rules that fill the relation of all types.

Some terms are what paths lead from and to: as in SPARQL, those of the graph with its inferences, and constants at an
end. A path that may have no steps leads from a constant to itself, whether or not the graph has it.
`rule_with_constants` writes that into bodies: `:knows*(:zed, x)` becomes `(:knows*(:zed, x) ; x = :zed)`. The nodes of
the graph come from relations that `data` fills: for queries one of all nodes, for rules those of
`Names.asserted_relation`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from itertools import count
from typing import Any

from tidelog.common.source import SourceText
from tidelog.language.paths import steps
from tidelog.language.printer import path_name
from tidelog.language.syntax import (
    Alternation,
    Anonymous,
    Atom,
    Comparison,
    Constant,
    Disjunction,
    Functor,
    Inverse,
    Literal,
    Negation,
    Path,
    Repeat,
    Rule,
    Sequence,
    Step,
    Term,
    Variable,
)
from tidelog.language.trees import atoms, in_aggregates, rebuild, rebuild_atom
from tidelog.rdf.names import COLON, REST, TRIPLE, Names
from tidelog.rdf.terms import NUMBERS, TYPE, XSD, literal

_SPELLINGS = {
    "integer": re.compile(r"[+-]?\d+"),
    "decimal": re.compile(r"[+-]?\d*\.\d+"),
    "double": re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)[eE][+-]?\d+"),
}
_CHARACTERS = {f"{XSD}decimal": "[-+.0-9]*", f"{XSD}double": "[-+.0-9eE]*", f"{XSD}float": "[-+.0-9eE]*"}
"""Patterns of finite numbers by datatype. The functors that read numbers also take `inf`, `0x10` and the like."""


class Naming:
    """Replaces words with relations and constants. `symbols` has the terms of the words; `own_triples` says that TRIPLE
    is a relation of the program, unrelated to RDF."""

    def __init__(self, symbols: Mapping[str, str], names: Names, own_triples: bool) -> None:
        self._symbols = symbols
        self._names = names
        self._own_triples = own_triples

    def rename(self, node: Any) -> Any:
        """Return the same node of a syntax tree, in the names of the database."""
        match node:
            case tuple():
                parts = [self.rename(part) for part in node]
                return tuple(one for part in parts for one in (part.alternatives[0] if _is_group(part) else (part,)))
            case Rule(heads=heads):
                return replace(node, heads=tuple(self._atom(head, REST) for head in heads), body=self.rename(node.body))
            case Negation(atom=Atom(path=None) as atom):
                return self._number(atom, negated=True) or replace(node, atom=self.rename(atom))
            case Atom(path=None):
                return self._number(node) or self._atom(node, TYPE)
            case Atom(path=path):
                named = self.rename(path)
                args = self._terms(node.args) if named != path else self.rename(node.args)
                return replace(node, relation=path_name(named), args=args, path=named)
            case Step(relation=relation) if relation in self._symbols:
                return replace(node, relation=self._names.property(self._symbols[relation]))
            case Variable(name=name) if name in self._symbols:
                return Constant(self._symbols[name], "symbol", span=node.span)
        return rebuilt(node, self.rename)

    def _atom(self, atom: Atom, types: str) -> Atom:
        """Return an atom; `types` is the property for types that a variable stands for."""
        iri = self._symbols.get(atom.relation)
        if iri is None:
            is_triple = atom.relation == TRIPLE and not self._own_triples
            return replace(atom, args=self._terms(atom.args) if is_triple else self.rename(atom.args))
        args = self._terms(atom.args)
        if iri == TYPE and len(args) == 2 and isinstance(args[1], Constant):
            iri, args = str(args[1].value), args[:1]
        elif iri == TYPE:
            iri = types
        relation = self._names.class_(iri) if len(args) == 1 else self._names.property(iri)
        return replace(atom, relation=relation, args=args)

    def _terms(self, args: Iterable[Term]) -> tuple[Term, ...]:
        """Return the arguments of an atom of RDF: constants are literals."""
        return tuple(_literal(arg) if isinstance(arg, Constant) else self.rename(arg) for arg in args)

    def _number(self, atom: Atom, negated: bool = False) -> Literal | None:
        """Return the literals that replace `xsd:integer(v, n)` or its negation, and so for the other datatypes of
        NUMBERS. Return None for any other atom. A number that does not fit the type of the language has no value."""
        datatype = self._symbols.get(atom.relation)
        if datatype not in NUMBERS or len(atom.args) != 2:
            return None
        value, number = map(self.rename, atom.args)
        end = f'"^^<{datatype}>'
        before = Functor("-", (Functor("strlen", (value,)), Constant(len(end))))
        found = Comparison("=", Functor("substr", (value, before, Constant(len(end)))), Constant(end, "symbol"))
        digits = Functor("substr", (value, Constant(1), Functor("-", (before, Constant(1)))))
        pattern = Constant(_CHARACTERS.get(datatype, "[-+0-9]*"), "symbol")
        spelled = Comparison("match", pattern, digits)
        read = Functor(NUMBERS[datatype], (digits,))
        same = Comparison("=", read if isinstance(number, Anonymous) else number, read)
        if not negated:
            return Disjunction(((found, spelled, same),), span=atom.span)
        others = (replace(found, op="!="),), (found, replace(spelled, op="!match")), (replace(same, op="!="),)
        return Disjunction(others[: 2 if isinstance(number, Anonymous) else 3], span=atom.span)


def _is_group(node: Any) -> bool:
    """Return True if a node is a plain conjunction."""
    return isinstance(node, Disjunction) and len(node.alternatives) == 1


def _literal(constant: Constant) -> Constant:
    """Return a text or number as a literal of Turtle, in the rule's spelling if Turtle has it as well."""
    span = constant.span
    written = "" if span is None else span.text.replace(" ", "")
    if not isinstance(constant.value, str):
        for datatype, spelling in _SPELLINGS.items():
            if spelling.fullmatch(written):
                return Constant(literal(written, XSD + datatype), "symbol", span=span)
    return Constant(literal(constant.value), "symbol", span=span)


def rebuilt(node: Any, change: Any) -> Any:
    if isinstance(node, tuple):
        return tuple(map(change, node))
    if not is_dataclass(node) or isinstance(node, (type, SourceText)):
        return node
    values = {field.name: getattr(node, field.name) for field in fields(node)}
    return replace(node, **{name: change(value) for name, value in values.items()})


def reads(rules: Iterable[Rule], relation: str) -> bool:
    """Return True if some rule has an atom of a relation in its body."""
    read = (atom for rule in rules for atom in atoms(rule.body))
    return any(relation in (atom.relation, *(step.relation for step in steps(atom.path))) for atom in read)


def derives(rules: Iterable[Rule], relation: str) -> bool:
    """Return True if some rule or fact has a head of a relation."""
    return any(head.relation == relation for rule in rules for head in rule.heads)


# --- paths that lead to themselves -----------------------------------------------------------------------------------


def of_graph(path: Path) -> bool:
    """Return True if a path goes along properties, or along relations beside a view in SPARQL."""
    return any(COLON in step.relation for step in steps(path))


def may_be_empty(path: Path) -> bool:
    """Return True if a path leads every node to itself."""
    match path:
        case Step():
            return False
        case Inverse(path=inner):
            return may_be_empty(inner)
        case Repeat(path=inner, op=op):
            return op != "+" or may_be_empty(inner)
        case Sequence(parts=parts):
            return all(map(may_be_empty, parts))
        case Alternation(parts=parts):
            return any(map(may_be_empty, parts))


def constant_ends(body: Iterable[Literal]) -> set[str]:
    """Return the terms at the ends of the paths of a body."""
    found = (arg for atom in atoms(body) if atom.path is not None for arg in atom.args)
    return {arg.value for arg in found if isinstance(arg, Constant) and isinstance(arg.value, str)}


def rule_with_constants(rule: Rule) -> Rule:
    """Return a rule whose paths lead each constant at an end to itself."""
    changing = _Changing(frozenset())
    heads = tuple(rebuild_atom(head, changing.term) for head in rule.heads)
    return replace(rule, heads=heads, body=changing.body(rule.body))


def body_with_constants(body: tuple[Literal, ...], parameters: Collection[str]) -> tuple[Literal, ...]:
    """Return the body of a query whose paths lead each constant or parameter at an end to itself."""
    return _Changing(frozenset(parameters)).body(body)


class _Changing:
    """Rewrites the bodies of a rule; variables called like `given` ones stand for constants."""

    def __init__(self, given: frozenset[str]) -> None:
        self._given = given
        self._ends = count(1)

    def body(self, body: Iterable[Literal]) -> tuple[Literal, ...]:
        return tuple(part for literal in body for part in self._literals(literal))

    def name_anonymous_ends(self, literal: Literal) -> Literal:
        """Return a literal of an aggregate, which ranges over the ends of a path that are called `_`, too."""
        if isinstance(literal, Disjunction):
            return replace(
                literal, alternatives=tuple(tuple(map(self.name_anonymous_ends, each)) for each in literal.alternatives)
            )
        if not isinstance(literal, Atom) or not self._is_own(literal):
            return literal
        ends = (Variable(f"end{COLON}{number}") for number in self._ends)
        return replace(literal, args=tuple(next(ends) if isinstance(arg, Anonymous) else arg for arg in literal.args))

    def term(self, term: Term) -> Term | None:
        """Return an aggregate with its body rewritten, None for any other term."""
        return in_aggregates(lambda body: self.body(map(self.name_anonymous_ends, body)))(term)

    def _literals(self, literal: Literal) -> Iterator[Literal]:
        match literal:
            case Atom() if self._is_own(literal):
                yield Disjunction(((literal,), (self._end_comparison(literal, "="),)), span=literal.span)
            case Negation(atom=atom) if self._is_own(atom):
                yield literal
                yield self._end_comparison(atom, "!=")
            case Disjunction(alternatives=alternatives):
                yield replace(literal, alternatives=tuple(map(self.body, alternatives)))
            case _:
                yield rebuild(literal, self.term)

    def _is_own(self, atom: Atom) -> bool:
        return (
            atom.path is not None
            and len(atom.args) == 2
            and any(map(self._is_constant, atom.args))
            and may_be_empty(atom.path)
            and of_graph(atom.path)
        )

    def _is_constant(self, term: Term) -> bool:
        return isinstance(term, Constant) or (isinstance(term, Variable) and term.name in self._given)

    def _end_comparison(self, atom: Atom, op: str) -> Comparison:
        """Return the comparison of the ends of a path; `_` is the same as anything."""
        one, other = atom.args
        left, right = (other, one) if isinstance(one, Anonymous) else (one, other)
        return Comparison(op, left if isinstance(right, Anonymous) else right, left, span=atom.span)
