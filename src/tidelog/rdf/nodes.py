"""Terms that paths lead to themselves: as in SPARQL, those of the graph with its inferences, and constants at an end.

A path that may have no steps leads from a constant to itself, whether or not the graph has it. `with_constants` writes
that into bodies: `:knows*(:zed, x)` becomes `(:knows*(:zed, x) ; x = :zed)`. The nodes of the graph come from relations
that `data` fills: for queries one of all nodes, for rules those of `Names.given`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from itertools import count

from tidelog.language.paths import steps
from tidelog.language.syntax import (
    Aggregate,
    Alternation,
    Anonymous,
    Atom,
    Comparison,
    Constant,
    Disjunction,
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
from tidelog.language.trees import atoms, rebuild, rebuild_atom, rebuild_term
from tidelog.rdf.names import COLON


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

    def counted(self, literal: Literal) -> Literal:
        """Return a literal of an aggregate, which ranges over the ends of a path that are called `_`, too."""
        if isinstance(literal, Disjunction):
            return replace(literal, alternatives=tuple(tuple(map(self.counted, each)) for each in literal.alternatives))
        if not isinstance(literal, Atom) or not self._is_own(literal):
            return literal
        ends = (Variable(f"end{COLON}{number}") for number in self._ends)
        return replace(literal, args=tuple(next(ends) if isinstance(arg, Anonymous) else arg for arg in literal.args))

    def term(self, term: Term) -> Term | None:
        """Return an aggregate with its body rewritten, None for any other term."""
        if not isinstance(term, Aggregate):
            return None
        target = None if term.target is None else rebuild_term(term.target, self.term)
        return replace(term, target=target, body=self.body(map(self.counted, term.body)))

    def _literals(self, literal: Literal) -> Iterator[Literal]:
        match literal:
            case Atom() if self._is_own(literal):
                yield Disjunction(((literal,), (self._same(literal, "="),)), span=literal.span)
            case Negation(atom=atom) if self._is_own(atom):
                yield literal
                yield self._same(atom, "!=")
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

    def _same(self, atom: Atom, op: str) -> Comparison:
        """Return the comparison of the ends of a path; `_` is the same as anything."""
        one, other = atom.args
        left, right = (other, one) if isinstance(one, Anonymous) else (one, other)
        return Comparison(op, left if isinstance(right, Anonymous) else right, left, span=atom.span)
