"""Grounding: every variable of a rule gets its values from a finite source.

Arguments of positive atoms ground variables, also inside of record patterns; `x = term` grounds x once all of the term
is grounded, in both directions. Of all functors only `cat` is solved for its operands. A disjunction grounds the
variables that all of its alternatives ground. Inside of an aggregate, variables that belong to an outer scope must be
grounded there, all others inside.

Scopes say which variable each occurrence of a name belongs to. A variable belongs to the rule when it occurs in it
outside of aggregates. Else it is local to the outermost aggregate in which it occurs directly (not only inside of a
nested one), and two aggregates with the same name in them have two variables.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from tidelog.common.source import Span
from tidelog.errors import Problem
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
from tidelog.language.trees import has_anonymous, parts, variables, whole

# --- scopes -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Scope:
    """The names that belong to a rule or to an aggregate; `outer` is the scope around it."""

    names: frozenset[str]
    outer: Scope | None = None

    def owner(self, name: str) -> Scope | None:
        """Return the scope that `name` belongs to when it is used here."""
        scope: Scope | None = self
        while scope is not None and name not in scope.names:
            scope = scope.outer
        return scope

    def inside(self, aggregate: Aggregate) -> Scope:
        direct = variables(parts(aggregate), aggregates=False)
        return Scope(frozenset(name for name in direct if self.owner(name) is None), self)


def scope_of(rule: Rule) -> Scope:
    """Return the scope of a rule: the variables outside of its aggregates."""
    return Scope(frozenset(variables(whole(rule), aggregates=False)))


# --- the variables that literals give values to -----------------------------------------------------------------------


class Bindings:
    """Answers for the bodies of one rule, each kept: otherwise each pass would visit nested disjunctions again and
    again."""

    def __init__(self) -> None:
        self._answers: dict[tuple[int, frozenset[str]], frozenset[str]] = {}
        self._names: dict[int, frozenset[str]] = {}

    def find_grounded(self, body: tuple[Literal, ...], given: frozenset[str], scope: Scope) -> frozenset[str]:
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
            found |= frozenset.intersection(*(self.find_grounded(a, now, scope) for a in literal.alternatives))
            return False
        right, left = _has_value(literal.right, found, scope), _has_value(literal.left, found, scope)
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
        if all(isinstance(arg, Variable) or _has_value(arg, found, scope) for arg in term.args):
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


def _has_value(term: Term, found: set[str], scope: Scope) -> bool:
    """Return True if all of `term` has a value once the variables `found` have."""
    match term:
        case Variable():
            return term.name in found
        case Anonymous():
            return False
        case Functor(args=parts) | Record(fields=tuple(parts)):
            return all(_has_value(part, found, scope) for part in parts)
        case Cast():
            return _has_value(term.term, found, scope)
        case Aggregate():
            return all(name in found for name in variables([term]) if scope.owner(name) is not None)
        case _:
            return True


# --- problems ---------------------------------------------------------------------------------------------------------


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
        grounded = self.bindings.find_grounded(self.rule.body, frozenset(), scope)
        self._conjunction(self.rule.body, grounded, scope)
        for head in self.rule.heads:
            for term in head.args:
                self._require(term, grounded, scope, _HEAD, "a head does not ground it", in_head=True)
        return [*self.anonymous, *(self._problem(key) for key in self._causes(scope))]

    def _causes(self, scope: Scope) -> list[tuple[Scope, str]]:
        """Return the variables that would stay ungrounded if all others were grounded; the rest follow from them."""
        if len(self.wanting) > _MANY:
            return list(self.wanting)
        left = dict(self.wanting)
        for key in sorted(self.wanting, key=lambda key: any(use.sort == _HEAD for use in self.uses[key])):
            name = key[1]
            others = frozenset(other for other in left.values() if other != name)
            if key[0] is scope and name in self.bindings.find_grounded(self.rule.body, others, scope):
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
                        inner = self.bindings.find_grounded(alternative, grounded, scope)
                        self._conjunction(alternative, inner, scope)
                case Truth():
                    pass

    def _pattern(self, term: Term, grounded: frozenset[str], scope: Scope, negated: bool = False) -> None:
        """Note the variables in an argument of an atom, which grounds them unless it is negated."""
        match term:
            case Variable() if negated:
                self._require(term, grounded, scope, _NEGATION, "a negated atom does not ground it")
            case Variable():
                reason = "this grounds it in one alternative only"
                self._use(term, grounded, scope, _Use(_SOME, term.span, reason, needs=False))
            case Record(fields=tuple(parts)):
                for part in parts:
                    self._pattern(part, grounded, scope, negated)
            case Anonymous():
                pass
            case _:
                self._require(term, grounded, scope, _FUNCTOR, _inside_of(term))

    def _comparison(self, literal: Comparison, grounded: frozenset[str], scope: Scope) -> None:
        op = literal.op
        reason = f"`{op}` only compares" if op != "=" else "the other side of `=` is not grounded"
        for term in (literal.left, literal.right):
            if op == "!=" and isinstance(term, Record) and has_anonymous([term]):
                hint = f"derive the values with `{term}` in a relation of their own, and negate that"
                self.anonymous.append(Problem("E0219", "`_` cannot be used in `!=`", term.span, hint=hint))
            else:
                wildcards = op == "=" and isinstance(term, Record)
                self._require(term, grounded, scope, _COMPARISON, reason, wildcards=wildcards)

    def _require(
        self,
        term: Term,
        grounded: frozenset[str],
        scope: Scope,
        sort: str,
        reason: str,
        *,
        in_head: bool = False,
        wildcards: bool = False,
    ) -> None:
        """Require a value for all of `term`, except for `_` in records if they may stand for `wildcards`."""
        match term:
            case Anonymous() if wildcards:
                pass
            case Variable():
                self._use(term, grounded, scope, _Use(sort, term.span, reason))
            case Anonymous():
                where = "in a head" if in_head else "as an operand"
                hint = "write a variable that a positive atom grounds; `_` stands for any value"
                self.anonymous.append(Problem("E0219", f"`_` cannot be used {where}", term.span, hint=hint))
            case Functor(args=parts):
                for part in parts:
                    self._require(
                        part, grounded, scope, sort if in_head else _FUNCTOR, reason if in_head else _inside_of(term)
                    )
            case Record(fields=tuple(parts)):
                for part in parts:
                    self._require(part, grounded, scope, sort, reason, in_head=in_head, wildcards=wildcards)
            case Cast():
                self._require(term.term, grounded, scope, sort, reason, in_head=in_head)
            case Aggregate():
                self._aggregate(term, grounded, scope)
            case _:
                pass

    def _aggregate(self, aggregate: Aggregate, grounded: frozenset[str], scope: Scope) -> None:
        inside = scope.inside(aggregate)
        given = frozenset(name for name in grounded if scope.owner(name) is not None)
        inner = self.bindings.find_grounded(aggregate.body, given, inside)
        self._conjunction(aggregate.body, inner, inside)
        if aggregate.target is not None:
            self._require(
                aggregate.target, inner, inside, _FUNCTOR, f"the value of `{aggregate.op}` does not ground it"
            )

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
