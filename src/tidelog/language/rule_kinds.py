"""Slots: the kinds that variables and terms of a rule may have, as far as they are known. A rule with the kinds of its
slots.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count

from tidelog.common.source import Span
from tidelog.language.declarations import BROKEN
from tidelog.language.grounding import Scope
from tidelog.language.syntax import (
    Aggregate,
    Anonymous,
    Atom,
    Cast,
    Comparison,
    Constant,
    Disjunction,
    Functor,
    FunctorType,
    Kind,
    Literal,
    Negation,
    Path,
    Record,
    Rule,
    Term,
    Truth,
    Variable,
)


@dataclass(frozen=True)
class Reason:
    """Why a slot has its kind: a clause without the kind ("column `x` of `a`"), its place, and a declaration if any."""

    text: str
    span: Span | None
    declared: Span | None = None
    literal: bool = False


@dataclass(eq=False)
class Slot:
    """The kind of a term, the kinds that are allowed where none is known, and why."""

    kind: Kind | None = None
    allowed: frozenset[Kind] | None = None
    reason: Reason | None = None
    parent: Slot | None = None

    def root(self) -> Slot:
        """Return the slot that stands for this one and all that were merged with it."""
        slot = self
        while slot.parent is not None:
            if slot.parent.parent is not None:
                slot.parent = slot.parent.parent
            slot = slot.parent
        return slot


@dataclass
class RuleKinds:
    """The same tree with kinds. A variable that is local to an aggregate is renamed when its name has another kind
    elsewhere, since a rule has one kind for each name."""

    slots: Mapping[int, Slot]
    """The slots of terms by their identity."""
    variables: Mapping[tuple[Scope, str], Slot]
    operands: Mapping[int, Slot]
    """The slots that the operands of a functor share, by its identity."""
    scopes: Mapping[int, Scope]
    paths: Mapping[int, Path]
    functors: Mapping[str, FunctorType]
    kinds: dict[str, Kind] = field(default_factory=dict, init=False)
    renamed: dict[tuple[Scope, str], str] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        taken = {name for _, name in self.variables}
        for (owner, name), slot in self.variables.items():
            kind = slot.root().kind or BROKEN
            if self.kinds.setdefault(name, kind) != kind:
                fresh = next(f"{name}_{i}" for i in count(2) if f"{name}_{i}" not in taken)
                taken.add(fresh)
                self.kinds[fresh] = kind
                self.renamed[owner, name] = fresh

    def rule(self, rule: Rule, scope: Scope) -> Rule:
        heads = tuple(self._atom(head, scope) for head in rule.heads)
        body = self._body(rule.body, scope)
        return Rule(rule.name, heads, body, self.kinds, rule.subsumes, span=rule.span)

    def _body(self, body: tuple[Literal, ...], scope: Scope) -> tuple[Literal, ...]:
        return tuple(self._literal(literal, scope) for literal in body)

    def _literal(self, literal: Literal, scope: Scope) -> Literal:
        match literal:
            case Atom():
                return self._atom(literal, scope)
            case Negation():
                return Negation(self._atom(literal.atom, scope), span=literal.span)
            case Comparison(op, left, right):
                kind = self._kind(left)
                return Comparison(op, self._term(left, scope), self._term(right, scope), kind, span=literal.span)
            case Disjunction():
                return Disjunction(tuple(self._body(a, scope) for a in literal.alternatives), span=literal.span)
            case Truth():
                return literal

    def _atom(self, atom: Atom, scope: Scope) -> Atom:
        args = tuple(self._term(term, scope) for term in atom.args)
        return Atom(atom.relation, args, atom.location, self.paths.get(id(atom)), atom.selects, span=atom.span)

    def _kind(self, term: Term) -> Kind:
        return self.slots[id(term)].root().kind or BROKEN

    def _term(self, term: Term, scope: Scope) -> Term:
        match term:
            case Variable():
                owner = scope.owner(term.name) if self.renamed else None
                fresh = None if owner is None else self.renamed.get((owner, term.name))
                return term if fresh is None else Variable(fresh, span=term.span)
            case Anonymous():
                return term
            case Constant():
                own = self._kind(term)
                return Constant(float(term.value) if own == "float" else term.value, own, span=term.span)
            case Functor(name="cat", args=()):
                return Constant("", "symbol", span=term.span)
            case Functor(name="cat" | "min" | "max", args=(only,)):
                return self._term(only, scope)
            case Functor():
                args = tuple(self._term(part, scope) for part in term.args)
                shared = self.operands.get(id(term))
                if shared is not None:
                    kind = shared.root().kind
                else:
                    kind = self._kind(term.args[0]) if term.args else "number"
                declared = self.functors.get(term.name[1:]) if term.name.startswith("@") else None
                name = "cat" if (term.name, kind) == ("+", "symbol") else term.name
                return Functor(name, args, kind, self._kind(term), declared, span=term.span)
            case Record(fields=parts):
                fields = None if parts is None else tuple(self._term(part, scope) for part in parts)
                return Record(fields, self._kind(term), term.branch, span=term.span)
            case Cast():
                return Cast(self._term(term.term, scope), term.type, self._kind(term), span=term.span)
            case Aggregate():
                inside = self.scopes[id(term)]
                target = None if term.target is None else self._term(term.target, inside)
                over = None if term.target is None else self._kind(term.target)
                if isinstance(term.target, Record) and term.target.fields:  # the value, and what ranks it
                    over = self._kind(term.target.fields[0])
                body, start = self._body(term.body, inside), term.start and self._term(term.start, scope)
                return Aggregate(
                    term.op,
                    target,
                    body,
                    over,
                    self._kind(term),
                    term.called,
                    start,
                    self.functors.get(term.called),
                    span=term.span,
                )
