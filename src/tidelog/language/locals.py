"""`separate`: new names for the variables of an aggregate that share a name with another variable around it.

As in Soufflé, a name inside of an aggregate means the variable outside where that one is grounded without the
aggregate's value, and where the name does not occur in the aggregate's target expression: the variables of a target are
always its own. So in `R(x, m) :- A(x), m = max x : { A(x) }` there are two variables `x`, and the checked rule says
`m = max x_1 : { A(x_1) }`. What later stages read then needs one rule only (see scopes): the same name, the same
variable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from itertools import count

from tidelog.errors import Problem
from tidelog.language.bindings import Bindings
from tidelog.language.scopes import Scope
from tidelog.language.syntax import Aggregate, Anonymous, Constant, Literal, Rule, Term, Variable
from tidelog.language.trees import outermost, parts, rebuild, rebuild_atom, rebuild_term, variables, whole

_ROOT = Scope(frozenset())


def separate(rule: Rule) -> tuple[Rule, dict[str, str]]:
    """Return the rule with new names for such variables, and for each new name the one in the text."""
    nodes = whole(rule)
    if not any(True for _ in outermost(nodes)):
        return rule, {}
    separation = _Separation({*variables(nodes)})
    place = _Place((rule.body,), frozenset(variables(nodes, aggregates=False)))
    heads = tuple(rebuild_atom(head, lambda term: separation.aggregate(term, place)) for head in rule.heads)
    return replace(rule, heads=heads, body=separation.body(rule.body, place)), separation.written


def as_written(problems: Iterable[Problem], written: dict[str, str]) -> list[Problem]:
    """Return the problems of a rule with the names of its text."""

    def text(shown: str) -> str:
        for new, old in written.items():
            shown = shown.replace(f"`{new}`", f"`{old}`").replace(f"`{new} =", f"`{old} =")
        return shown

    return [
        replace(
            problem,
            message=text(problem.message),
            notes=tuple((span, text(label)) for span, label in problem.notes),
            hint=problem.hint and text(problem.hint),
        )
        for problem in problems
    ]


@dataclass(eq=False)
class _Place:
    """The place of an aggregate: the bodies around it, from outside in, and the names of their variables."""

    bodies: tuple[tuple[Literal, ...], ...]
    names: frozenset[str]
    _answers: dict[bool, frozenset[str]] = field(default_factory=dict)

    def grounded(self, values: bool) -> frozenset[str]:
        """Return the names that are grounded where each aggregate has a value, or where none has."""
        if values not in self._answers:
            self._answers[values] = self._find(lambda _: values)
        return self._answers[values]

    def grounded_without(self, aggregate: Aggregate) -> frozenset[str]:
        """Return the names that are grounded where all aggregates but one have values."""
        return self._find(lambda term: term is not aggregate)

    def _find(self, has_value: Callable[[Aggregate], bool]) -> frozenset[str]:
        def change(term: Term) -> Term | None:
            if not isinstance(term, Aggregate):
                return None
            return Constant(0) if has_value(term) else Anonymous()

        found: frozenset[str] = frozenset()
        for body in self.bodies:
            known = tuple([rebuild(literal, change) for literal in body])
            found = Bindings().grounded(known, found, _ROOT)
        return found


class _Separation:
    def __init__(self, taken: set[str]) -> None:
        self._taken = taken
        self.written: dict[str, str] = {}

    def body(self, body: tuple[Literal, ...], place: _Place) -> tuple[Literal, ...]:
        """Return a body at `place` with its aggregates changed."""
        return tuple([rebuild(literal, lambda term: self.aggregate(term, place)) for literal in body])

    def aggregate(self, term: Term, place: _Place) -> Term | None:
        """Return an aggregate with new names for its own variables; None for other terms."""
        if not isinstance(term, Aggregate):
            return None
        own = self._own(term, place)
        if own:
            term = _renamed(term, {name: self._fresh(name) for name in sorted(own)})
        inside = _Place((*place.bodies, term.body), place.names.union(variables(parts(term), aggregates=False)))
        target = term.target and rebuild_term(term.target, lambda part: self.aggregate(part, inside))
        return replace(term, target=target, body=self.body(term.body, inside))

    def _own(self, aggregate: Aggregate, place: _Place) -> set[str]:
        """Return the names in an aggregate that also occur around it, but are other variables there."""
        shared = {*variables([aggregate])} & place.names & place.grounded(values=True)
        own = shared.intersection(variables([aggregate.target] if aggregate.target is not None else ()))
        if shared - own - place.grounded(values=False):
            own |= shared - place.grounded_without(aggregate)
        return own

    def _fresh(self, name: str) -> str:
        new = next(new for new in (f"{name}_{number}" for number in count(1)) if new not in self._taken)
        self._taken.add(new)
        self.written[new] = name
        return new


def _renamed(aggregate: Aggregate, names: dict[str, str]) -> Aggregate:
    def change(term: Term) -> Term | None:
        return replace(term, name=names[term.name]) if isinstance(term, Variable) and term.name in names else None

    target = aggregate.target and rebuild_term(aggregate.target, change)
    return replace(aggregate, target=target, body=tuple([rebuild(literal, change) for literal in aggregate.body]))
