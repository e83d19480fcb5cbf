"""Order exports: each is released after everything that could still change what they say, see `plan.Export`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from tidelog.rules.components import components
from tidelog.rules.core import CoreAtom, CoreConstant, CoreRule, CoreVariable, RelationInfo
from tidelog.rules.edges import AnyRule, body_of, head_of
from tidelog.spark.cluster.placement.plan import LEVELS, Cycle, Export

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
        for name, _ in body_of(rule):
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
            for name, negated in body_of(rule):
                if name not in group:
                    reads[name] = reads.get(name, False) or negated
        cycles.append(Cycle(LEVELS * depth[group], group, reads, frozenset(own)))
    return tuple(found), tuple(cycles)


def joins(cycle: Collection[str]) -> list[str]:
    """Return the names of the rules of `joining`."""
    return [f"{NEVER} {name}" for name in cycle]


def joining(cycle: Collection[str], relations: Mapping[str, RelationInfo]) -> Iterator[CoreRule]:
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
