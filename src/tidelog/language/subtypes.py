"""Flow between types of one kind, as in Soufflé: a value of a subtype may go where its base type is expected. A value
of the base type or of another subtype may not.

The type of a variable is the type that all positive body atoms with it agree on, along equalities between variables.
What is computed, and constants, fit every type of their kind. `as(term, type)` changes the type. Alternatives of a
disjunction are judged apart, for they become rules of their own.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from tidelog.common.source import Span
from tidelog.errors import Problem
from tidelog.language.declarations import Scheme
from tidelog.language.grounding import Scope, scope_of
from tidelog.language.paths import type_path
from tidelog.language.problems import note
from tidelog.language.syntax import (
    Aggregate,
    Atom,
    Cast,
    Column,
    Comparison,
    Disjunction,
    Literal,
    Negation,
    Record,
    Rule,
    Term,
    Variable,
)
from tidelog.language.trees import outermost


def subtype_problems(rule: Rule, scheme: Scheme) -> list[Problem]:
    """Return the type problems of a rule whose kinds fit."""
    if not scheme.types:
        return []
    flow = _Flow(scheme)
    scope = scope_of(rule)
    flow.body(rule.body, scope)
    for head in rule.heads:
        flow.sink(head, scope)
    return flow.problems()


Alternatives: TypeAlias = tuple[tuple[int, int], ...]
"""The alternatives that a literal stands in: the disjunction and the number of the alternative, from outside in."""


@dataclass(frozen=True)
class _Place:
    """A place where a variable stands under a declared type."""

    name: str
    span: Span | None
    type: str
    text: str
    declared: Span | None
    path: Alternatives


@dataclass
class _Flow:
    scheme: Scheme
    path: Alternatives = ()
    parents: dict[tuple[Scope, str], tuple[Scope, str]] = field(default_factory=dict)
    sources: dict[tuple[Scope, str], list[_Place]] = field(default_factory=dict)
    sinks: dict[tuple[Scope, str], list[_Place]] = field(default_factory=dict)
    casts: list[Problem] = field(default_factory=list)

    def body(self, literals: Iterable[Literal], scope: Scope) -> None:
        for literal in literals:
            match literal:
                case Atom():
                    self._atom(literal, scope, self.sources)
                case Negation():
                    for term in literal.atom.args:  # a tuple of another type is not in the relation, no more
                        self._aggregates_in(term, scope)
                case Comparison():
                    self._comparison(literal, scope)
                case Disjunction():
                    outside = self.path
                    for number, alternative in enumerate(literal.alternatives):
                        self.path = (*outside, (id(literal), number))
                        self.body(alternative, scope)
                    self.path = outside
                case _:
                    pass

    def sink(self, atom: Atom, scope: Scope) -> None:
        self._atom(atom, scope, self.sinks)

    def _atom(self, atom: Atom, scope: Scope, into: dict[tuple[Scope, str], list[_Place]]) -> None:
        if atom.path is not None:
            found = type_path(atom.path, self.scheme, [])
            assert found is not None
            columns = [(Column(end.column, end.kind, end.type), end.step.relation) for end in found[1:]]
        else:
            columns = [(column, atom.relation) for column in self.scheme.relations[atom.relation].columns]
        for term, (column, relation) in zip(atom.args, columns, strict=True):
            self._place(term, column, relation, "column", scope, into)

    def _place(
        self,
        term: Term,
        column: Column,
        owner: str,
        sort: str,
        scope: Scope,
        into: dict[tuple[Scope, str], list[_Place]],
    ) -> None:
        match term:
            case Variable():
                declared = self.scheme.places.get((owner, column.name))
                text = f"{sort} `{column.name}` of `{owner}` has the type `{column.type}`"
                place = _Place(term.name, term.span, column.type, text, declared, self.path)
                into.setdefault(self._root(self._key(term.name, scope)), []).append(place)
            case Record(fields=tuple(parts)):
                # A field narrows what it is given, in a head too, as in Soufflé.
                type_ = self.scheme.records.get(term.kind or "")
                columns = type_.parts(term.branch) if type_ else ()
                owner = f"${term.branch}" if term.branch is not None else term.kind or ""
                for part, inner in zip(parts, columns, strict=False):
                    self._place(part, inner, owner, "field", scope, self.sources)
            case Cast(type=type_) if into is self.sinks and not self.scheme.flows(type_, column.type):
                self.casts.append(self._cast_too_wide(term, column, owner))
                self._aggregates_in(term, scope)
            case _:
                self._aggregates_in(term, scope)

    def _comparison(self, literal: Comparison, scope: Scope) -> None:
        match literal:
            case Comparison("=", Variable(left), Variable(right)) if not self.path:
                one, two = self._root(self._key(left, scope)), self._root(self._key(right, scope))
                if one != two:
                    self.parents[one] = two
                    for places in (self.sources, self.sinks):
                        places.setdefault(two, []).extend(places.pop(one, []))
            case Comparison("=", Variable(name), Cast(type=type_) as cast) | Comparison(
                "=", Cast(type=type_) as cast, Variable(name)
            ):
                text = f"`{cast}` has the type `{type_}`"
                place = _Place(name, cast.span, type_, text, None, self.path)
                self.sources.setdefault(self._root(self._key(name, scope)), []).append(place)
                self._aggregates_in(cast, scope)
            case _:
                self._aggregates_in(literal.left, scope)
                self._aggregates_in(literal.right, scope)

    def _aggregates_in(self, term: Term, scope: Scope) -> None:
        for aggregate in outermost([term]):
            self._aggregate(aggregate, scope.inside(aggregate))

    def _aggregate(self, aggregate: Aggregate, scope: Scope) -> None:
        self.body(aggregate.body, scope)
        if aggregate.target is not None:
            self._aggregates_in(aggregate.target, scope)

    def _key(self, name: str, scope: Scope) -> tuple[Scope, str]:
        return scope.owner(name) or scope, name

    def _root(self, key: tuple[Scope, str]) -> tuple[Scope, str]:
        while key in self.parents:
            key = self.parents[key]
        return key

    # --- judging -----------------------------------------------------------------------------------------------------

    def problems(self) -> list[Problem]:
        found = list(self.casts)
        for key, sources in self.sources.items():
            sinks = self.sinks.get(key, [])
            paths = {place.path for place in (*sources, *sinks)}
            for leaf in sorted(paths, key=len):
                if any(len(path) > len(leaf) and path[: len(leaf)] == leaf for path in paths):
                    continue
                problem = self._judge(
                    [p for p in sources if _applies(p, leaf)], [p for p in sinks if _applies(p, leaf)]
                )
                if problem is not None:
                    found.append(problem)
                    break
        return found

    def _judge(self, sources: list[_Place], sinks: list[_Place]) -> Problem | None:
        """Return the problem of a variable that takes its values from `sources` and passes them to `sinks`, if any."""
        if not sources:
            return None
        narrow = next((p for p in sources if all(self.scheme.flows(p.type, q.type) for q in sources)), None)
        if narrow is None:
            return None if self.scheme.has_common_subtype([p.type for p in sources]) else self._no_common_type(sources)
        wide = next((sink for sink in sinks if not self.scheme.flows(narrow.type, sink.type)), None)
        return None if wide is None else self._too_wide(narrow, wide)

    def _no_common_type(self, places: list[_Place]) -> Problem:
        pairs = ((p, q) for i, q in enumerate(places) for p in places[:i])
        first, other = next((pair for pair in pairs if not self._have_common_type(*pair)), (places[0], places[-1]))
        message = f"variable `{first.name}` cannot have both types: {first.text}, but {other.text}"
        lacking = f"both a `{first.type}` and a `{other.type}`"
        if self._have_common_type(first, other):
            message = f"variable `{first.name}` cannot have all its types: {first.text}, and {other.text}"
            lacking = f"all of {', '.join(f'`{name}`' for name in dict.fromkeys(p.type for p in places))}"
        hint = f"write `as({other.name}, {first.type})` to change the type; no type is {lacking}"
        return Problem("E0211", message, other.span, _notes(first, other), hint)

    def _have_common_type(self, one: _Place, other: _Place) -> bool:
        """Return True if there is a type that belongs to the types of both places."""
        return bool(self.scheme.has_common_subtype([one.type, other.type]))

    def _cast_too_wide(self, cast: Cast, column: Column, relation: str) -> Problem:
        text = f"column `{column.name}` of `{relation}` has the type `{column.type}`"
        declared = self.scheme.places.get((relation, column.name))
        hint = f"write `as({cast.term}, {column.type})` if this `{cast.type}` is a `{column.type}`"
        message = f"`{cast}` is too wide here: it has the type `{cast.type}`, but {text}"
        return Problem("E0212", message, cast.span, note(declared, f"{text}, declared here"), hint)

    def _too_wide(self, source: _Place, sink: _Place) -> Problem:
        message = f"variable `{sink.name}` is too wide here: {source.text}, but {sink.text}"
        hint = f"write `as({sink.name}, {sink.type})` if this `{source.type}` is a `{sink.type}`"
        return Problem("E0212", message, sink.span, _notes(source, sink), hint)


def _applies(place: _Place, leaf: Alternatives) -> bool:
    return place.path == leaf[: len(place.path)]


def _notes(first: _Place, second: _Place) -> tuple[tuple[Span, str], ...]:
    notes = [(first.span, first.text)] if first.span != second.span else []
    notes += [(place.declared, f"{place.text}, declared here") for place in (first, second)]
    return tuple((span, text) for span, text in notes if span is not None)
