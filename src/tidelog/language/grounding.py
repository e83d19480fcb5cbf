"""Grounding: every variable of a rule gets its values from a finite source.

Arguments of positive atoms ground variables, also inside of record patterns; `x = term` grounds x once all of the term
is grounded, in both directions. Of all functors only `cat` is solved for its operands. A disjunction grounds the
variables that all of its alternatives ground. Inside of an aggregate, variables that belong to an outer scope must be
grounded there, all others inside.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from tidelog.common.source import Span
from tidelog.errors import Problem
from tidelog.language.bindings import Bindings
from tidelog.language.scopes import Scope, scope_of
from tidelog.language.syntax import (
    Aggregate,
    Anonymous,
    Atom,
    Cast,
    Comparison,
    Disjunction,
    Functor,
    Literal,
    Negation,
    Record,
    Rule,
    Term,
    Truth,
    Variable,
)
from tidelog.language.trees import walk

_MANY = 50
_HEAD, _NEGATION, _COMPARISON, _FUNCTOR, _OUTSIDE, _SOME = (
    "head",
    "negation",
    "comparison",
    "functor",
    "outside",
    "some",
)


def grounding_problems(rule: Rule) -> list[Problem]:
    """Return one problem for each variable that is not grounded, and for each `_` in the place of a value."""
    return _Grounding(rule).problems()


@dataclass(frozen=True)
class _Use:
    """An occurrence of a variable: where, why it does not ground the variable, and whether it needs to be grounded."""

    sort: str
    span: Span | None
    reason: str
    needs: bool = True


@dataclass
class _Grounding:
    rule: Rule
    bindings: Bindings = field(default_factory=Bindings)
    uses: dict[tuple[Scope, str], list[_Use]] = field(default_factory=dict)
    wanting: dict[tuple[Scope, str], str] = field(default_factory=dict)
    anonymous: list[Problem] = field(default_factory=list)

    def problems(self) -> list[Problem]:
        scope = scope_of(self.rule)
        grounded = self.bindings.grounded(self.rule.body, frozenset(), scope)
        self._conjunction(self.rule.body, grounded, scope)
        for head in self.rule.heads:
            for term in head.args:
                self._needed(term, grounded, scope, _HEAD, "a head does not ground it", in_head=True)
        return [*self.anonymous, *(self._problem(key) for key in self._causes(scope))]

    def _causes(self, scope: Scope) -> list[tuple[Scope, str]]:
        """Return the variables that would stay ungrounded if all others were grounded; the rest follow from them."""
        if len(self.wanting) > _MANY:
            return list(self.wanting)
        left = dict(self.wanting)
        for key in sorted(self.wanting, key=lambda key: any(use.sort == _HEAD for use in self.uses[key])):
            name = key[1]
            others = frozenset(other for other in left.values() if other != name)
            if key[0] is scope and name in self.bindings.grounded(self.rule.body, others, scope):
                del left[key]
        return list(left)

    # --- walking -----------------------------------------------------------------------------------------------------

    def _conjunction(self, body: Iterable[Literal], grounded: frozenset[str], scope: Scope) -> None:
        """Note the uses of all variables of `body`, of which `grounded` have values."""
        for literal in body:
            match literal:
                case Atom():
                    for term in literal.args:
                        self._pattern(term, grounded, scope)
                case Negation():
                    for term in literal.atom.args:
                        self._pattern(term, grounded, scope, negated=True)
                case Comparison():
                    self._comparison(literal, grounded, scope)
                case Disjunction():
                    for alternative in literal.alternatives:
                        inner = self.bindings.grounded(alternative, grounded, scope)
                        self._conjunction(alternative, inner, scope)
                case Truth():
                    pass

    def _pattern(self, term: Term, grounded: frozenset[str], scope: Scope, negated: bool = False) -> None:
        """Note the variables in an argument of an atom, which grounds them unless it is negated."""
        match term:
            case Variable() if negated:
                self._needed(term, grounded, scope, _NEGATION, "a negated atom does not ground it")
            case Variable():
                reason = "this grounds it in one alternative only"
                self._use(term, grounded, scope, _Use(_SOME, term.span, reason, needs=False))
            case Record(fields=tuple(parts)):
                for part in parts:
                    self._pattern(part, grounded, scope, negated)
            case Anonymous():
                pass
            case _:
                self._needed(term, grounded, scope, _FUNCTOR, _inside_of(term))

    def _comparison(self, literal: Comparison, grounded: frozenset[str], scope: Scope) -> None:
        op = literal.op
        reason = f"`{op}` only compares" if op != "=" else "the other side of `=` is not grounded"
        for term in (literal.left, literal.right):
            if op == "=" and isinstance(term, Record):
                self._record_side(term, grounded, scope, reason)
            elif op == "!=" and isinstance(term, Record) and any(isinstance(n, Anonymous) for n in walk([term])):
                hint = f"derive the values with `{term}` in a relation of their own, and negate that"
                self.anonymous.append(Problem("E0219", "`_` cannot be used in `!=`", term.span, hint=hint))
            else:
                self._needed(term, grounded, scope, _COMPARISON, reason)

    def _record_side(self, term: Term, grounded: frozenset[str], scope: Scope, reason: str) -> None:
        match term:
            case Record(fields=tuple(parts)):
                for part in parts:
                    self._record_side(part, grounded, scope, reason)
            case Anonymous():
                pass
            case _:
                self._needed(term, grounded, scope, _COMPARISON, reason)

    def _needed(
        self, term: Term, grounded: frozenset[str], scope: Scope, sort: str, reason: str, in_head: bool = False
    ) -> None:
        """Require a value for all of `term`."""
        match term:
            case Variable():
                self._use(term, grounded, scope, _Use(sort, term.span, reason))
            case Anonymous():
                where = "in a head" if in_head else "as an operand"
                hint = "write a variable that a positive atom grounds; `_` stands for any value"
                self.anonymous.append(Problem("E0219", f"`_` cannot be used {where}", term.span, hint=hint))
            case Functor(args=parts):
                for part in parts:
                    self._needed(
                        part, grounded, scope, sort if in_head else _FUNCTOR, reason if in_head else _inside_of(term)
                    )
            case Record(fields=tuple(parts)):
                for part in parts:
                    self._needed(part, grounded, scope, sort, reason, in_head)
            case Cast():
                self._needed(term.term, grounded, scope, sort, reason, in_head)
            case Aggregate():
                self._aggregate(term, grounded, scope)
            case _:
                pass

    def _aggregate(self, aggregate: Aggregate, grounded: frozenset[str], scope: Scope) -> None:
        inside = scope.inside(aggregate)
        given = frozenset(name for name in grounded if scope.owner(name) is not None)
        inner = self.bindings.grounded(aggregate.body, given, inside)
        self._conjunction(aggregate.body, inner, inside)
        if aggregate.target is not None:
            self._needed(aggregate.target, inner, inside, _FUNCTOR, f"the value of `{aggregate.op}` does not ground it")

    def _use(self, variable: Variable, grounded: frozenset[str], scope: Scope, use: _Use) -> None:
        owner = scope.owner(variable.name) or scope
        key = (owner, variable.name)
        if owner is not scope:
            reason = "the aggregate takes its value from outside, because it also occurs there"
            use = _Use(_OUTSIDE, use.span, reason, use.needs or variable.name not in grounded)
        self.uses.setdefault(key, []).append(use)
        if use.needs and variable.name not in grounded:
            self.wanting.setdefault(key, variable.name)

    # --- reporting ---------------------------------------------------------------------------------------------------

    def _problem(self, key: tuple[Scope, str]) -> Problem:
        name = self.wanting[key]
        uses = self.uses[key]
        sorts = {use.sort for use in uses}
        rule = f"the rule `{self.rule.name}`" if self.rule.name else "this rule"
        hint = f"use `{name}` in a positive atom of the body, or give it a value with `{name} = …`"
        if _OUTSIDE in sorts and _SOME not in sorts:
            code, message = "E0218", f"variable `{name}` of {rule} is grounded only inside an aggregate"
            hint = f"ground `{name}` outside the aggregate too, or rename it inside"
        elif _HEAD in sorts:
            code, message = "E0215", f"variable `{name}` in the head of {rule} is not grounded"
        elif _NEGATION in sorts:
            code, message = "E0216", f"variable `{name}` of a negated atom of {rule} is not grounded"
            hint = f"use `{name}` in a positive atom of the body, or write `_` if any value will do"
        else:
            code, message = "E0217", f"variable `{name}` of {rule} is not grounded"
        first = uses[-1] if _HEAD in sorts else uses[0]
        others = [use for use in uses if use is not first]
        notes = [(use.span, use.reason) for use in others if use.span is not None]
        message = f"{message}: {first.reason}"
        return Problem(code, message, first.span, tuple(notes), hint)


def _inside_of(term: Term) -> str:
    match term:
        case Functor(name="neg"):
            return "`-` is not solved for its operand"
        case Functor():
            return f"`{term.name}` is not solved for its operands"
        case Cast():
            return "`as` is not solved for its operand"
        case _:
            return "it needs a value here"
