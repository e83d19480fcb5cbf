"""Proofs that are checked step by step, without an engine.

Each step is taken by itself. The premises of a rule have to be the tuples that its atoms need, with the values that the
step gives to variables; its comparisons and functors are computed by `semantics/`, as the reference evaluators do. A
walk has to follow its path, or rules of its relation, from edge to edge. Steps come after their premises, so that no
tuple supports itself.

That a tuple is *absent*, or that an aggregate has *all* members, no proof shows. These conditions are looked up where
the views are given, and are listed as taken for granted otherwise.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from tidelog.errors import Problem, ProofRejected
from tidelog.explain.instances import Premise
from tidelog.explain.steps import BoundRule, Condition, ProofStep, Walk
from tidelog.explain.walks import ASSERTED, Automaton
from tidelog.language.inlining import INLINE
from tidelog.language.syntax import Atom, CheckedProgram, Literal, Negation, Rule, Value
from tidelog.language.trees import outermost, variables
from tidelog.reference.paths import WithPaths
from tidelog.reference.substitutions import RuleScope, name_wildcards, solve
from tidelog.semantics.values import Row, normal

Tables: TypeAlias = Mapping[str, Collection[Row]]


@dataclass(frozen=True)
class Checked:
    """The result of a check that accepts: the conditions that were taken for `granted`."""

    granted: tuple[Condition, ...]


def check_steps(steps: Sequence[ProofStep], tables: Tables | None = None) -> Checked:
    """Check the steps of a proof one by one, and with the `tables` of all relations, and of paths, also that tuples are
    absent and aggregates complete. Raise ProofRejected (E0820)."""
    granted: list[Condition] = []
    for number, step in enumerate(steps):
        if any(premise >= number for premise in step.premises):
            raise rejected(step, "it comes before one of its premises")
        below = [steps[premise] for premise in step.premises]
        if step.height != (1 + max((each.height for each in below), default=0) if step.sort in ("rule", "walk") else 0):
            raise rejected(step, "its height is not one more than that of its premises")
        match step.sort:
            case "rule":
                granted += _check_rule(step, below, tables)
            case "walk":
                _check_walk(step, below)
            case "fact":
                if tables is not None and not step.is_candidate and step.values not in tables[step.relation]:
                    raise rejected(step, "the fact is not there")
            case "open":
                pass
    return Checked(tuple(granted))


class Explained(Protocol):
    """A database as a check needs it."""

    @property
    def program(self) -> CheckedProgram: ...
    def local(self, name: str) -> Collection[Row]: ...


def tables_of(database: Explained) -> Tables:
    """Return the views of a database as sets of tuples, and the pairs of the paths of its program."""
    relations = database.program.relations
    tables = {
        name: set() if INLINE in each.qualifiers else set(database.local(name)) for name, each in relations.items()
    }
    return WithPaths(tables, database.program)


def rejected(step: ProofStep, reason: str) -> ProofRejected:
    """Return the error for a step."""
    return ProofRejected(Problem("E0820", f"the proof does not show {step.tuple_text}: {reason}", step.span))


def _check_rule(step: ProofStep, below: list[ProofStep], tables: Tables | None) -> Iterator[Condition]:
    """Check a step by a rule; yield the conditions that are taken for granted."""
    instance = step.instance
    if not isinstance(instance, BoundRule) or instance.flat.rule.name != step.rule:
        raise rejected(step, "it has no instance of its rule")
    flat = instance.flat
    if step.relation != flat.head.relation or step.values != _row(flat.head, instance):
        raise rejected(step, f"rule {step.rule} derives another tuple with these values")
    if len(below) != len(flat.premises):
        raise rejected(step, f"rule {step.rule} needs {len(flat.premises)} tuples, found {len(below)}")
    for premise, found in zip(flat.premises, below, strict=True):
        if (found.relation, found.values) != (premise.relation, _row(premise, instance)):
            raise rejected(step, f"rule {step.rule} needs another tuple than {found.tuple_text}")
    for literal in flat.body:
        needs_tables = isinstance(literal, Negation) or any(True for _ in outermost([literal]))
        if isinstance(literal, Atom) or (needs_tables and tables is None):
            continue
        if not _holds(literal, instance, tables or {}):
            raise rejected(step, f"`{literal}` does not hold for the values of the step")
    if tables is None:
        yield from (each for each in step.conditions if each.sort != "comparison")


def _check_walk(step: ProofStep, below: list[ProofStep]) -> None:
    """Check a step by a walk: its premises are edges of the automaton, one behind the other."""
    walk = step.instance
    if not isinstance(walk, Walk) or walk.relation != step.relation or len(step.values) != 2:
        raise rejected(step, "it has no walk")
    start, end = step.values
    states = {(start, state) for state in _as_well(walk.automaton, 0)}
    for edge in below:
        states = set(_after(walk.automaton, states, edge))
    if not any(node == end and state in walk.automaton.ends for node, state in states):
        raise rejected(step, "its premises are no walk from the first value to the second")


def _after(automaton: Automaton, states: set[tuple[Value, int]], step: ProofStep) -> Iterator[tuple[Value, int]]:
    """Yield the nodes and states after one more edge."""
    for edge in automaton.edges:
        if edge.relation.removeprefix(ASSERTED) != step.relation or (
            edge.relation.startswith(ASSERTED) and step.sort != "fact"
        ):
            continue
        source, target = step.values[0], step.values[-1]
        if edge.form == "backward":
            source, target = target, source
        if (source, edge.source) in states:
            yield from ((target, state) for state in _as_well(automaton, edge.target))


def _as_well(automaton: Automaton, state: int) -> frozenset[int]:
    return automaton.silent.get(state, frozenset()) | {state}


def _holds(literal: Literal, instance: BoundRule, tables: Tables) -> bool:
    """Return True if a literal holds for the values of an instance."""
    flat, bound = instance.flat, dict(instance.values)
    names = frozenset(variables([literal], aggregates=False)) | frozenset(flat.variables)
    (named,) = name_wildcards(Rule(flat.rule.name, (), (literal,))).body
    return next(solve((named,), bound, RuleScope(names, tables)), None) is not None


def _row(premise: Premise, instance: BoundRule) -> tuple[Value, ...]:
    """Return the tuple of an atom for the values of an instance."""
    values = tuple(instance.values.values())
    return tuple(
        values[source] if isinstance(source, int) else normal(source.value, kind)
        for source, kind in zip(premise.arguments, premise.kinds, strict=True)
    )
