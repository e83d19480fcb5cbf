"""A rule in steps: in each of them the rows of several tables meet in the partition that one variable's word says.

    t(x, z) :- p(x, y), q(y, z), r(z), !s(x).

meets p and q by y, the result with r by z, and that with s by x. Each step is a rule of its own, over the tables
`#0`, `#1`, …; one of them has what the steps before have found. A literal is computed in the first step that binds its
arguments. Tables without a shared variable meet by all rows of one of them, everywhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log

from tidelog.certificate.folder import kinds_of
from tidelog.errors import InternalError, Problem
from tidelog.language.syntax import Kind
from tidelog.rules.core import (
    AggregateRule,
    AnyRule,
    CoreAtom,
    CoreConstant,
    CoreLiteral,
    CoreRule,
    CoreValue,
    CoreVariable,
    RelationInfo,
    variables_of,
)

FOUND = ""
"""The source of a table with what the steps before have found."""
HEAD = "#head"
"""The relation that a step derives."""


@dataclass(frozen=True)
class StepTable:
    """A table of a step: the rows of the relation `source`, whose columns have these kinds, each in the partition that
    the words in the columns `key` say: in the first one without columns, everywhere for None."""

    table: str
    source: str
    kinds: tuple[Kind, ...]
    key: tuple[int, ...] | None


@dataclass(frozen=True)
class RuleStep:
    """A part of a rule, itself a rule over tables. `older` are the tables whose births the youngest of a rule instance
    is of; `kinds` are those of the head's columns."""

    rule: AnyRule
    inputs: tuple[StepTable, ...]
    older: tuple[str, ...]
    kinds: tuple[Kind, ...]

    @property
    def needed_tables(self) -> tuple[str, ...]:
        """The tables without whose rows the step finds nothing."""
        if isinstance(self.rule, AggregateRule):
            return (self.rule.outer,)
        atoms = [literal for literal in self.rule.body if isinstance(literal, CoreAtom)]
        return tuple(atom.relation for atom in atoms if not atom.negated)


def steps_of(
    rule: AnyRule, relations: Mapping[str, RelationInfo], strata: Mapping[str, int], sizes: Callable[[str], int]
) -> list[RuleStep]:
    """Return the steps of a rule over relations of these sizes."""
    if isinstance(rule, AggregateRule):
        key = tuple(range(rule.groups))
        read = enumerate((rule.inner, rule.outer))
        tables = tuple(StepTable(f"#{i}", name, kinds_of(relations[name]), key) for i, name in read)
        own = replace(rule, head=HEAD, inner="#0", outer="#1")
        return [RuleStep(own, tables, (), kinds_of(relations[rule.head]))]
    return list(_Steps(rule, relations, strata, sizes).all())


class _Steps:
    """The steps of a rule in the making: the literals that wait, and the variables that are bound."""

    def __init__(
        self,
        rule: CoreRule,
        relations: Mapping[str, RelationInfo],
        strata: Mapping[str, int],
        sizes: Callable[[str], int],
    ) -> None:
        self.rule = rule
        self.sizes = sizes
        self.relations = relations
        self.strata = strata
        atoms = [literal for literal in rule.body if isinstance(literal, CoreAtom)]
        self.atoms = [atom for atom in atoms if not atom.negated]
        self.negated = [atom for atom in atoms if atom.negated]
        self.computed = [literal for literal in rule.body if not isinstance(literal, CoreAtom)]
        self.bound: dict[str, CoreVariable] = {}
        self.found: tuple[CoreVariable, ...] | None = None
        """The columns of the table with what has been found; None before the first step."""

    def all(self) -> Iterator[RuleStep]:
        """Yield the steps."""
        while self.found is None or self.atoms or self.computed or self.negated:
            yield self.next()

    def next(self) -> RuleStep:
        """Return the next step."""
        waiting = self.atoms or self.negated
        variable = self.meeting_variable(waiting)
        if variable is not None:
            taken = [atom for atom in waiting if variable in _names(atom)]
        else:
            taken = waiting if self.found is None else waiting[:1]
        self.atoms = [atom for atom in self.atoms if atom not in taken]
        self.negated = [atom for atom in self.negated if atom not in taken]
        for atom in taken:
            if not atom.negated:
                self.bind(atom.args)
        computed = self.take_computable()
        if variable is not None and not self.atoms and not self.computed:
            last = [atom for atom in self.negated if variable in _names(atom)]
            self.negated = [atom for atom in self.negated if atom not in last]
            taken = [*taken, *last]
        return self.step(variable, taken, computed)

    def meeting_variable(self, atoms: Collection[CoreAtom]) -> str | None:
        """Return the variable by which the next tables meet, one that has been found if there are any: that of the
        smallest relations on average, and of many of them. A rule that begins with negated atoms has none: its values
        are computed in one place."""
        known = None if self.found is None else {variable.name for variable in self.found}
        sizes: dict[str, list[float]] = {}
        for atom in atoms if known is not None else [atom for atom in atoms if not atom.negated]:
            for name in _names(atom) if known is None else _names(atom) & known:
                sizes.setdefault(name, []).append(log(1 + self.sizes(atom.relation)))
        shared = {name: found for name, found in sizes.items() if len(found) > 1}
        sizes = shared if known is None and shared else sizes
        later = Counter(name for atom in self.negated for name in _names(atom))

        def cost(name: str) -> tuple[float, int, int, str]:
            return sum(sizes[name]) / len(sizes[name]), -len(sizes[name]), -later[name], name

        return min(sizes, key=cost, default=None)

    def bind(self, given: Iterable[CoreValue]) -> None:
        self.bound |= {value.name: value for value in given if isinstance(value, CoreVariable)}

    def take_computable(self) -> list[CoreLiteral]:
        """Return the literals that can be computed by now."""
        taken: list[CoreLiteral] = []
        while ready := [literal for literal in self.computed if self.are_bound(literal.needs)]:
            for literal in ready:
                self.bind(literal.values)
            self.computed = [literal for literal in self.computed if literal not in ready]
            taken += ready
        if self.computed and not self.atoms:
            raise InternalError(Problem("E0901", f"no literal can be evaluated of {self.rule}", self.rule.span))
        return taken

    def are_bound(self, given: Iterable[CoreValue]) -> bool:
        """Return True if values are bound."""
        return all(isinstance(value, CoreConstant) or value.name in self.bound for value in given)

    def step(self, variable: str | None, atoms: Sequence[CoreAtom], computed: Sequence[CoreLiteral]) -> RuleStep:
        """Return the step in which these atoms meet, and what was found before, by a variable."""
        inputs: list[StepTable] = []
        older: list[str] = []
        body: list[CoreLiteral] = []
        for number, atom in enumerate(atoms):
            table = f"#{number}"
            everywhere = variable is None and bool(self.found)
            key = None if everywhere else _key(atom.args, variable)
            inputs.append(StepTable(table, atom.relation, kinds_of(self.relations[atom.relation]), key))
            body.append(replace(atom, relation=table))
            if not atom.negated and self.strata[atom.relation] == self.strata[self.rule.head.relation]:
                older.append(table)
        if self.found is not None:
            table = f"#{len(atoms)}"
            key = _key(self.found, variable) if variable is not None else tuple(range(len(self.found)))
            inputs.append(StepTable(table, FOUND, tuple(each.kind for each in self.found), key))
            body.append(CoreAtom(table, self.found))
            older.append(table)
        self.found = self.needed_variables()
        args: tuple[CoreValue, ...] = self.found
        kinds = tuple(each.kind for each in self.found)
        if not (self.atoms or self.computed or self.negated):
            args, kinds = self.rule.head.args, kinds_of(self.relations[self.rule.head.relation])
        rule = replace(self.rule, head=CoreAtom(HEAD, args), body=(*body, *computed))
        return RuleStep(rule, tuple(inputs), tuple(older), kinds)

    def needed_variables(self) -> tuple[CoreVariable, ...]:
        """Return the variables bound so far that the head or a waiting literal has."""
        names = {
            name for literal in (self.rule.head, *self.atoms, *self.computed, *self.negated) for name in _names(literal)
        }
        return tuple(variable for name, variable in self.bound.items() if name in names)


def _names(literal: CoreLiteral) -> set[str]:
    return {variable.name for variable in variables_of(literal)}


def _key(args: Sequence[CoreValue], variable: str | None) -> tuple[int, ...]:
    """Return the first column of a variable, and no column for None."""
    return tuple(i for i, arg in enumerate(args) if isinstance(arg, CoreVariable) and arg.name == variable)[:1]
