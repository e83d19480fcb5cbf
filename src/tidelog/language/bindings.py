"""Bindings: the variables that the literals of a body give values to (`grounding` has the rules)."""

from __future__ import annotations

from tidelog.language.scopes import Scope
from tidelog.language.syntax import (
    Aggregate,
    Anonymous,
    Atom,
    Cast,
    Comparison,
    Disjunction,
    Functor,
    Literal,
    Record,
    Term,
    Variable,
)
from tidelog.language.trees import variables


class Bindings:
    """Answers for the bodies of one rule, each kept: otherwise each pass would visit nested disjunctions again and
    again."""

    def __init__(self) -> None:
        self._answers: dict[tuple[int, frozenset[str]], frozenset[str]] = {}
        self._names: dict[int, frozenset[str]] = {}

    def grounded(self, body: tuple[Literal, ...], given: frozenset[str], scope: Scope) -> frozenset[str]:
        """Return the variables that have values in `body` if those of `given` have. In the scope of an aggregate,
        return only its own."""
        relevant = given & self._names_of(body)
        key = (id(body), relevant)
        if key not in self._answers:
            self._answers[key] = self._find(body, relevant, scope)
        return given | self._answers[key]

    def _names_of(self, body: tuple[Literal, ...]) -> frozenset[str]:
        """Return all names of variables that occur in a body, also inside aggregates."""
        if id(body) not in self._names:
            self._names[id(body)] = frozenset(variables(body))
        return self._names[id(body)]

    def _find(self, body: tuple[Literal, ...], given: frozenset[str], scope: Scope) -> frozenset[str]:
        found = set(given)
        waiting: list[Comparison | Disjunction] = []
        for literal in body:
            match literal:
                case Atom():
                    for term in literal.args:
                        _bind(term, found, scope)
                case Comparison(op="=") | Disjunction():
                    waiting.append(literal)
                case _:
                    pass
        before = -1
        while waiting and before != len(found):
            before = len(found)
            # each pass goes the other way, so that chains of equations need few passes in either order
            waiting = [literal for literal in reversed(waiting) if not self._use(literal, found, scope)]
        return frozenset(found)

    def _use(self, literal: Comparison | Disjunction, found: set[str], scope: Scope) -> bool:
        """Add to `found` the variables that the literal now grounds; whether it has nothing more to give."""
        if isinstance(literal, Disjunction):
            now = frozenset(found)
            found |= frozenset.intersection(*(self.grounded(a, now, scope) for a in literal.alternatives))
            return False
        right, left = _known(literal.right, found, scope), _known(literal.left, found, scope)
        if right:
            _solve(literal.left, found, scope)
        if left:
            _solve(literal.right, found, scope)
        return right or left


def _solve(term: Term, found: set[str], scope: Scope) -> None:
    """Ground the variables of one side of an equation whose other side has values: those of a pattern, and operands of
    `cat`, unless another operand lacks a value."""
    _bind(term, found, scope)
    if isinstance(term, Functor) and term.name == "cat":
        operands = [arg for arg in term.args if isinstance(arg, Variable)]
        if all(isinstance(arg, Variable) or _known(arg, found, scope) for arg in term.args):
            for operand in operands:
                _bind(operand, found, scope)


def _bind(term: Term, found: set[str], scope: Scope) -> None:
    """Ground the variables of a pattern; those of an outer scope are not grounded from inside of an aggregate."""
    match term:
        case Variable():
            if scope.outer is None or term.name in scope.names:
                found.add(term.name)
        case Record(fields=tuple(parts)):
            for part in parts:
                _bind(part, found, scope)
        case _:
            pass


def _known(term: Term, found: set[str], scope: Scope) -> bool:
    """Return True if all of `term` has a value once the variables `found` have."""
    match term:
        case Variable():
            return term.name in found
        case Anonymous():
            return False
        case Functor(args=parts) | Record(fields=tuple(parts)):
            return all(_known(part, found, scope) for part in parts)
        case Cast():
            return _known(term.term, found, scope)
        case Aggregate():
            return all(name in found for name in variables([term]) if scope.owner(name) is not None)
        case _:
            return True
