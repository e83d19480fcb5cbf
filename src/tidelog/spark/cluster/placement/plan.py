"""The plan that every partition has: the program that it runs, and where it sends the rows that relations gain and
lose.

`place.place_program` makes a `ClusterPlan` of a core program. The embedded engine of each partition runs `program`,
whose relations are the copies that the partition holds: `name@facts` the asserted facts, `name@home.0` what rules
derive here, or what they derived elsewhere and column 0 puts here, `name@0` a copy by column 0, `name@all` a copy of
all rows, `name@one` a copy of all rows in the first partition. `exports` feed the copies that no rule derives; each is
released after everything that could still change what it says (`levels`).

Where single words have a large share of the rows (`skewed_keys`), the copy of one relation that a rule reads is
`name@spread.0`, and those of the others are `name@follow.0`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from tidelog.rules.core import (
    AnyRule,
    CoreAtom,
    CoreConstant,
    CoreProgram,
    CoreRule,
    CoreVariable,
    RelationInfo,
    head_of,
)
from tidelog.rules.graph import components


@dataclass(frozen=True)
class Spread:
    """Rows are where the word in a column says; those with a skewed key there where all their words together say."""

    column: int

    def __str__(self) -> str:
        return f"spread.{self.column}"


@dataclass(frozen=True)
class Follow:
    """Rows are where the word in a column says; those with a skewed key there are everywhere, so that they meet what is
    `Spread` by the same words."""

    column: int

    def __str__(self) -> str:
        return f"follow.{self.column}"


Placement: TypeAlias = int | Literal["all", "one", "rows"] | Spread | Follow
"""Where the rows of a relation are: where the word in a column says, everywhere, in the first partition, or where all
words of the row together say."""


ExportRoute: TypeAlias = tuple[str, str, Placement, Placement, int, tuple[int, ...]]
"""Source, target, their places, the columns of the target, and the skewed keys where these matter."""


LEVELS = 3
"""The levels of exports for each depth of the graph of relations: what goes in a cycle, what comes in a cycle, and what
leaves it."""


@dataclass(frozen=True)
class Export:
    """The rows of `source`, which are at `origin`, go to `target`, which is at `place`; with `signed` the number of the
    sender is added as a last column, so that rows with several senders go when the last one takes them back.

    Exports are released in the order of their `level`. Those in a `cycle` feed, in the end, their own source: their
    level is that of the rows which go, and those which come are released one level above.
    """

    source: str
    target: str
    origin: Placement
    place: Placement
    signed: bool = False
    level: int = 0
    cycle: int | None = None

    @property
    def levels(self) -> tuple[int, int]:
        """Return the levels of rows that go, and of those that come."""
        return self.level, self.level + (self.cycle is not None)


@dataclass(frozen=True)
class Cycle:
    """Relations that feed each other through exports: `level` of these, the relations, and what they read besides."""

    level: int
    relations: frozenset[str]
    reads: Mapping[str, bool]
    """A relation read -> whether it is read negatively, too."""
    rules: frozenset[object]


@dataclass(frozen=True)
class ClusterPlan:
    """`program` is what the first partition runs, `others` the same without the rules that are evaluated there only.
    `homes` says where the rows of each relation of the user's program are, `views` under which name, `facts` where
    the asserted facts of each are; `nodes` says in which way each hyper-node is computed."""

    program: CoreProgram
    others: CoreProgram
    exports: tuple[Export, ...]
    cycles: tuple[Cycle, ...]
    homes: Mapping[str, Placement]
    views: Mapping[str, str]
    facts: Mapping[str, Placement]
    dictionary: bool
    """True if rules look into symbols or records, so that every partition needs them."""
    nodes: tuple[tuple[tuple[str, ...], str], ...]
    skewed_keys: tuple[int, ...] = ()
    skewed_columns: frozenset[tuple[str, int]] = frozenset()
    """Relations and columns in which skewed keys are known or presumed."""
    skew: int = 0
    """The rows that a word has at least to be a skewed key."""

    def routes(self) -> dict[Export, ExportRoute]:
        """Return for each export what another plan must have as well for the export to go on there where it is."""
        relations = self.program.relations
        return {
            each: (
                each.source,
                each.target,
                each.origin,
                each.place,
                len(relations[each.target].columns),
                self.skewed_keys if isinstance(each.place, (Spread, Follow)) else (),
            )
            for each in self.exports
        }


def moved_relations(before: ClusterPlan, plan: ClusterPlan) -> frozenset[str]:
    """Return the relations of which rows live elsewhere than before, those aside that have been everywhere under this
    name."""
    return frozenset(
        name
        for name, view in before.views.items()
        if name in plan.views and (view != plan.views[name] or before.homes[name] not in ("all", plan.homes[name]))
    )


def home_name(relation: str, place: Placement) -> str:
    """Return the name of a derived relation where it is at home."""
    return f"{relation}@home.{place}"


def copy_name(relation: str, place: Placement) -> str:
    """Return the name of the copy of a relation at a place."""
    return f"{relation}@{place}"


def relation_of(name: str) -> str:
    """Return the user's relation that a copy is of."""
    return name.partition("@")[0]


def is_shown(relation: str) -> bool:
    """Return True for a relation of the user's program, False for one that rewrites of its rules have added."""
    return not relation.startswith("#")


def facts_name(relation: str) -> str:
    """Return the name of the asserted facts of a relation."""
    return f"{relation}@facts"


NEVER = "#never"
"""The relation without columns that never holds."""


def levels(
    relations: Iterable[str], rules: Sequence[AnyRule], exports: Sequence[Export]
) -> tuple[tuple[Export, ...], tuple[Cycle, ...]]:
    """Return the exports with their levels, and the cycles: an export is released once nothing can come any more that
    would change what it says, and a cycle is at rest before others see what it has come to. Within a cycle, what goes
    is released at the cycle's level, and what comes one level above."""
    leads: dict[str, dict[str, bool]] = {name: {} for name in relations}
    for rule in rules:
        for name, _ in rule.reads:
            leads[name].setdefault(head_of(rule), False)
    for export in exports:
        leads[export.source][export.target] = True
    groups = [frozenset(group) for group in components(leads)]
    group_of = {name: group for group in groups for name in group}
    cyclic = {group for group in groups if any(leads[a].get(b) for a in group for b in group)}
    depth: dict[frozenset[str], int] = dict.fromkeys(groups, 0)
    for group in reversed(groups):
        for name in group:
            for target, sent in leads[name].items():
                if group_of[target] is not group:
                    further = depth[group] + (sent or group in cyclic)
                    depth[group_of[target]] = max(depth[group_of[target]], further)
    ordered = sorted(cyclic, key=lambda group: (depth[group], sorted(group)))
    number = {group: index for index, group in enumerate(ordered)}
    found = []
    for export in exports:
        group = group_of[export.source]
        internal = group is group_of[export.target]
        cycle = number[group] if internal else None
        found.append(replace(export, level=LEVELS * depth[group] + (0 if internal else LEVELS - 1), cycle=cycle))
    cycles = []
    for group in ordered:
        own = [rule for rule in rules if head_of(rule) in group]
        reads: dict[str, bool] = {}
        for rule in own:
            for name, negated in rule.reads:
                if name not in group:
                    reads[name] = reads.get(name, False) or negated
        cycles.append(Cycle(LEVELS * depth[group], group, reads, frozenset(own)))
    return tuple(found), tuple(cycles)


def joins(cycle: Collection[str]) -> list[str]:
    """Return the names of the rules of `joining_rules`."""
    return [f"{NEVER} {name}" for name in cycle]


def joining_rules(cycle: Collection[str], relations: Mapping[str, RelationInfo]) -> Iterator[CoreRule]:
    """Yield rules that derive nothing, by which the relations of a cycle feed each other within a partition as well.
    Its engine evaluates them as one hyper-node then, so that each tuple is younger than those that it follows from."""
    names = sorted(cycle)
    for name, target in zip(names, [*names[1:], names[0]], strict=True):
        args = tuple(CoreVariable(f"x{i}", column.kind) for i, column in enumerate(relations[name].columns))
        zeros = tuple(
            CoreConstant(0.0, "float") if column.kind == "float" else CoreConstant(0, "number")
            for column in relations[target].columns
        )
        rule = f"{NEVER} {target}"
        yield CoreRule(rule, rule, CoreAtom(target, zeros), (CoreAtom(name, args), CoreAtom(NEVER, ())))
