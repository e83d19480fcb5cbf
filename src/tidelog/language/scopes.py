"""Scopes: the variable that each occurrence of a name belongs to.

A variable belongs to the rule when it occurs in it outside of aggregates. Else it is local to the outermost aggregate
in which it occurs directly (not only inside of a nested one), and two aggregates with the same name in them have two
variables.
"""

from __future__ import annotations

from dataclasses import dataclass

from tidelog.language.syntax import (
    Aggregate,
    Rule,
)
from tidelog.language.trees import parts, variables, whole


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
        """Return the scope of an aggregate that stands here."""
        direct = variables(parts(aggregate), aggregates=False)
        return Scope(frozenset(name for name in direct if self.owner(name) is None), self)


def scope_of(rule: Rule) -> Scope:
    """Return the scope of a rule: the variables outside of its aggregates."""
    return Scope(frozenset(variables(whole(rule), aggregates=False)))
