"""Equations that take a text to pieces: `cat(a, ".", n) = t` where the rest of the body does not bind `a` and `n`.

cat(a, ".", n) = t  ->  #v1 = positions(t, "."), a = substr(t, 0, #v1), n = substr(t, #v1 + strlen("."), strlen(t))

Each way to split the text is a solution. The pieces are taken from left to right: a known one has to stand at the
beginning, an unknown one ends where the next known one occurs, or anywhere if that is unknown too; the last one is the
rest.
"""

from __future__ import annotations

from dataclasses import replace

from tidelog.language.syntax import Comparison, Constant, Functor, Literal, Rule, Term, Variable
from tidelog.language.trees import variables
from tidelog.rules.grounding import grounded_variables
from tidelog.rules.rewrite_state import RewriteState

_ZERO = Constant(0, "number")


def text_pieces(rule: Rule, state: RewriteState) -> tuple[Rule, ...]:
    """Return the rule with the pieces of texts in place of equations that are solved for operands of `cat`."""
    if not any(_sides(literal) for literal in rule.body):
        return (rule,)
    body: list[Literal] = []
    for number, literal in enumerate(rule.body):
        sides = _sides(literal)
        bound = grounded_variables([*rule.body[:number], *rule.body[number + 1 :]]) if sides else set[str]()
        solved = next(
            (
                side
                for side in sides
                if not bound.issuperset(variables([side[0]])) and bound.issuperset(variables(side[1:]))
            ),
            None,
        )
        body += [literal] if solved is None else _Pieces(state, bound).split_call(*solved)
    return (replace(rule, body=tuple(body)),)


def _sides(literal: Literal) -> list[tuple[Functor, Term]]:
    """Return the sides of an equation that are calls of `cat`, each with the other side."""
    match literal:
        case Comparison(op="=", left=left, right=right):
            pairs = ((left, right), (right, left))
            return [(side, other) for side, other in pairs if isinstance(side, Functor) and side.name == "cat"]
    return []


class _Pieces:
    """The literals that take one text to pieces; `bound` are the variables that have values."""

    def __init__(self, state: RewriteState, bound: set[str]) -> None:
        self.state = state
        self.bound = set(bound)
        self.literals: list[Literal] = []

    def split_call(self, call: Functor, text: Term) -> list[Literal]:
        """Return the literals that give the unknown operands of a call their values."""
        rest = self.name_term(text)
        waiting = [*call.args]
        while waiting:
            part = waiting.pop(0)
            if not waiting:
                self.equate(part, rest)
            elif self.is_known(part):
                self.literals.append(Comparison("starts_with", rest, part, kind="symbol"))
                rest = self.name_term(_part(rest, _length(part), _length(rest)))
            else:
                rest = self.take_unknown(part, rest, waiting)
        return self.literals

    def take_unknown(self, part: Term, rest: Term, waiting: list[Term]) -> Term:
        """Give an unknown operand its values, and take the known one behind it, if any, from those that wait. Return
        the rest of the text."""
        following = waiting[0]
        if self.is_known(following):
            place: Term = self.state.variable("v", "number")
            found = Functor("positions", (rest, following), "symbol", "number")
            behind: Term = Functor("+", (place, _length(following)), "number", "number")
            del waiting[0]
        else:
            place = behind = self.state.variable("v", "number")
            end = Functor("+", (_length(rest), Constant(1, "number")), "number", "number")
            found = Functor("range", (_ZERO, end), "number", "number")
        self.literals.append(Comparison("=", place, found, kind="number"))
        self.equate(part, _part(rest, _ZERO, place))
        self.bound.update(variables([part]))
        left = self.name_term(_part(rest, behind, _length(rest)))
        if not waiting:
            self.equate(left, Constant("", "symbol"))
        return left

    def is_known(self, term: Term) -> bool:
        return self.bound.issuperset(variables([term]))

    def name_term(self, term: Term) -> Term:
        """Return a variable or constant with the value of a term."""
        if isinstance(term, Variable | Constant):
            return term
        variable = self.state.variable("v", "symbol")
        self.equate(variable, term)
        return variable

    def equate(self, one: Term, other: Term) -> None:
        self.literals.append(Comparison("=", one, other, kind="symbol"))


def _part(text: Term, start: Term, length: Term) -> Term:
    return Functor("substr", (text, start, length), "symbol", "symbol")


def _length(text: Term) -> Term:
    return Functor("strlen", (text,), "symbol", "number")
