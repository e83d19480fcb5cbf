"""The basis of a derivation, by the reasons of nodes, and the instance of a user's rule that it stands for.

Nodes run rules that `localize` has made: a rule of the user may be a chain of them, and reads auxiliary relations that
carry tuples from node to node, or have the values of aggregates. A reason is followed through auxiliary tuples, down to
those of the user's relations: that is the basis of a derivation.

The rule is solved over the few tuples of the basis, as the reference evaluators do. A negated tuple has to be among
those that the nodes say are absent, and an aggregate has the value that its node gives. So the instance is one that
`Proof.check` accepts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, TypeAlias

from tidelog.explain.instances import FlatRule, flat_rules
from tidelog.explain.steps import Condition, plain_condition, with_values
from tidelog.explain.walks import Automaton, automaton_of
from tidelog.functions.callables import GivenFunctions
from tidelog.language.aggregates import AGGREGATES
from tidelog.language.paths import steps
from tidelog.language.syntax import (
    Aggregate,
    Anonymous,
    Atom,
    CheckedProgram,
    Functor,
    Literal,
    Negation,
    Path,
    Record,
    Term,
    Value,
    Variable,
)
from tidelog.language.trees import outermost, rebuild, rebuild_atom, rebuild_term, variables, walk
from tidelog.network.inquiry import Asked, Inquiry
from tidelog.network.joins import ground
from tidelog.network.messages import NodeReason
from tidelog.network.program import LocalAggregate, LocalRule, LocatedProgram, LocatedTuple
from tidelog.network.values import shown_row
from tidelog.queries.bodies import GIVEN
from tidelog.reference.paths import WithPaths
from tidelog.reference.substitutions import RuleScope, combinations, solve
from tidelog.rules import core
from tidelog.rules.paths import PATH
from tidelog.semantics.values import Row, normal


def shown_fact(fact: LocatedTuple, program: LocatedProgram) -> tuple[str, Row]:
    """Return a tuple as the user sees it."""
    return fact[0], shown_row(fact[1], fact[0], program)


@dataclass(frozen=True)
class GroupValue:
    """The value of an aggregate, with its reason and its node."""

    rule: LocalAggregate
    reason: NodeReason
    node: str


@dataclass
class Basis:
    """The tuples of the user's relations that a derivation rests on, those along paths apart, those that are absent,
    each with the node that says so, and the values of aggregates. `gap` says what is missing, if anything."""

    tuples: dict[tuple[str, Row], Asked] = field(default_factory=dict)
    along: dict[tuple[str, Row], Asked] = field(default_factory=dict)
    absent: dict[LocatedTuple, str] = field(default_factory=dict)
    groups: list[GroupValue] = field(default_factory=list)
    gap: str | None = None


class Bases:
    """The reasons of an inquiry, and what derivations rest on."""

    def __init__(self, inquiry: Inquiry) -> None:
        self._inquiry = inquiry
        self._program = inquiry.program
        self._gaps: dict[Asked, str] = {}

    def source(self, asked: Asked) -> tuple[str, NodeReason | str | None]:
        """Return the node that asserts or derives a tuple and its reason; without one, the node that should have given
        it, and what is missing as text, None for a limit."""
        if asked in self._gaps:
            return asked[0], self._gaps[asked]
        inquiry = self._inquiry
        reason = inquiry.reasons.get(asked)
        if reason is not None and reason.sort == "heard" and asked not in inquiry.wrong:
            asked = reason.sources[0], asked[1]
            reason = inquiry.reasons.get(asked)
        node = asked[0]
        if reason is None:
            return node, f"node {node} has not answered" if inquiry.was_asked(asked) else None
        if asked in inquiry.wrong:
            return node, f"the reason that node {node} gives does not fit the rules"
        if reason.sort == "missing":
            return node, f"node {node} does not derive it any more"
        if reason.sort == "withheld":
            return node, f"the reason of node {node} is too large to send"
        if reason.rule and reason.rule not in self._program.rule_of:
            name = reason.rule.rsplit(".", 1)[0]
            return node, f"node {node} derives it by rule {name:.60} version {reason.version}, which is unknown here"
        return node, reason

    def of(self, node: str, reason: NodeReason) -> Basis:
        """Return what a derivation at a node rests on, through auxiliary tuples."""
        found = Basis()
        seen: set[Asked] = set()
        waiting = [(node, reason, False)]
        while waiting:
            node, reason, is_path = waiting.pop()
            found.absent.update(dict.fromkeys(reason.absent, node))
            for fact in reason.body:
                if not self._program.places[fact[0]].auxiliary:
                    (found.along if is_path else found.tuples)[shown_fact(fact, self._program)] = node, fact
                    continue
                if (node, fact) in seen:
                    continue
                seen.add((node, fact))
                source, inner = self.source((node, fact))
                if not isinstance(inner, NodeReason):
                    self._assume(source, fact, inner or "a limit was reached", found)
                elif inner.sort == "aggregated":
                    rule = self._program.rule_of[inner.rule]
                    assert isinstance(rule, LocalAggregate)
                    found.groups.append(GroupValue(rule, inner, source))
                elif inner.sort == "derived":
                    waiting.append((source, inner, is_path or fact[0].startswith(PATH)))
        return found

    def _assume(self, node: str, fact: LocatedTuple, gap: str, found: Basis) -> None:
        """Note what a node that gives no reason must have derived an auxiliary tuple from, as far as its values say:
        tuples that are then open."""
        waiting = [fact]
        while waiting:
            fact = waiting.pop()
            rules = [rule for rule in self._program.rules if rule.head.relation == fact[0]]
            if len(rules) != 1:
                found.gap = gap
                return
            (rule,) = rules
            bound = _head_bindings(rule, fact)
            for atom in (*rule.positive, *rule.negative):
                if not all(isinstance(arg, core.CoreConstant) or arg.name in bound for arg in atom.args):
                    found.gap = gap
                    continue
                needed = ground(atom, bound)
                if atom.negated:
                    found.absent[needed] = node
                elif self._program.places[atom.relation].auxiliary:
                    waiting.append(needed)
                else:
                    found.tuples[shown_fact(needed, self._program)] = node, needed
                    if (node, needed) not in self._inquiry.reasons:
                        self._gaps[node, needed] = gap


def _head_bindings(rule: LocalRule, fact: LocatedTuple) -> dict[str, Any]:
    """Return the values of the variables of a rule's head."""
    args = zip(rule.head.args, fact[1], strict=True)
    return {arg.name: value for arg, value in args if isinstance(arg, core.CoreVariable)}


# --- the instance of a rule ------------------------------------------------------------------------------------------

LONGEST_WALK = 1_000
"""Tuples among which a walk along a path is looked for."""

NOTHING = RuleScope(frozenset(), {})
"""Without variables and relations."""

_Facts: TypeAlias = Mapping[tuple[str, Row], Asked]
_Groups: TypeAlias = Mapping[Aggregate, GroupValue | None]
_Place: TypeAlias = tuple[Value, int]
"""A node of a walk, and the state of its automaton."""


@dataclass(frozen=True)
class PathWalk:
    """A walk along the path `relation`, with its tuples."""

    relation: str
    ends: Row
    automaton: Automaton
    edges: tuple[Asked, ...]


@dataclass(frozen=True)
class DerivingInstance:
    """An instance of a rule of the user, and the tuples and walks that are its premises."""

    flat: FlatRule
    values: Mapping[str, Any]
    premises: tuple[Asked | PathWalk, ...]
    conditions: tuple[Condition, ...]

    @property
    def needed_tuples(self) -> Iterator[Asked]:
        """Yield the tuples that have to be explained."""
        for premise in self.premises:
            yield from premise.edges if isinstance(premise, PathWalk) else (premise,)


class UserRules:
    """The rules of a user, which `program` has for nodes, with the functions for their functors."""

    def __init__(self, checked: CheckedProgram, program: LocatedProgram, given: GivenFunctions) -> None:
        self._checked = checked
        self._program = program
        self._given = given
        self._flat = flat_rules(checked, witnesses=False)

    def of(self, name: str, relation: str, values: Row, basis: Basis) -> DerivingInstance | None:
        """Return an instance of a rule that derives a tuple from a basis, or None without one. Raise UsageError if a
        functor in Python has no function, or no result."""
        if len(basis.along) <= LONGEST_WALK:
            for flat in self._flat.get(relation, ()):
                if flat.rule.name == name:
                    for found in self._instances(_with_functions(flat, self._given), values, basis):
                        return found
        return None

    def _instances(self, flat: FlatRule, values: Row, basis: Basis) -> Iterator[DerivingInstance]:
        tables: dict[str, set[Row]] = {name: set() for name in self._checked.relations}
        for relation, row in basis.tuples:
            tables[relation].add(row)
        tables |= {**self._pairs(flat, basis), GIVEN: {values}}
        aggregates = list(dict.fromkeys(outermost(flat.body)))
        goals = tuple(
            rebuild(literal, lambda term: _value_variable(term, aggregates))
            for literal in flat.body
            if not isinstance(literal, Negation)
        )
        names = frozenset([*flat.variables, *map(_value_name, range(len(aggregates)))])
        for chosen in product(*(_values_of(each, basis) for each in aggregates)):
            given = {_value_name(i): value for i, (value, _) in enumerate(chosen)}
            groups = {each: group for each, (_, group) in zip(aggregates, chosen, strict=True)}
            for bound in solve(goals, given, RuleScope(names, tables)):
                found = self._complete_instance(flat, bound, basis, groups)
                if found is not None:
                    yield found

    def _pairs(self, flat: FlatRule, basis: Basis) -> dict[str, set[Row]]:
        """Return the pairs that the paths of a rule connect."""
        paths = [premise.relation for premise in flat.premises if premise.atom.path is not None]
        if not paths:
            return {}
        tables: dict[str, set[Row]] = {name: set() for name in self._checked.relations}
        for relation, row in (*basis.tuples, *basis.along):
            tables[relation].add(row)
        along = WithPaths(tables, self._checked)
        return {name: along[name] for name in paths}

    def _complete_instance(
        self, flat: FlatRule, bound: Mapping[str, Any], basis: Basis, groups: _Groups
    ) -> DerivingInstance | None:
        """Return the instance with these values; None if no node says that its negated tuples are absent, or no walk
        leads along one of its paths."""
        values = {name: bound[name] for name in flat.variables}
        conditions = []
        for literal in flat.conditions:
            node = None
            if isinstance(literal, Negation):
                node = self._absent_at(literal, bound, basis, [*groups])
                if node is None:
                    return None
            conditions.append(self._condition(literal, flat, values, node, groups))
        premises: list[Asked | PathWalk] = []
        for premise in flat.premises:
            row = premise.row(values)
            path = premise.atom.path
            found = (
                basis.tuples[premise.relation, row]
                if path is None
                else _walk_along(premise.relation, path, row, {**basis.tuples, **basis.along})
            )
            if found is None:
                return None
            premises.append(found)
        return DerivingInstance(flat, values, tuple(premises), tuple(conditions))

    # --- conditions --------------------------------------------------------------------------------------------------

    def _condition(
        self, literal: Literal, flat: FlatRule, values: Mapping[str, Any], node: str | None, groups: _Groups
    ) -> Condition:
        plain = plain_condition(literal, values, flat.made)
        aggregate = next(outermost([literal]), None)
        if plain.sort != "aggregate" or aggregate is None:
            return replace(plain, node=node)
        group = groups[aggregate]
        if group is None:
            return replace(plain, members=0)
        first = tuple(
            f"{self._member(aggregate, row, group.rule, values)} (node {source})"
            for (_, row), source in zip(group.reason.body, group.reason.sources, strict=True)
        )
        return replace(plain, members=group.reason.members, first=first, node=group.node)

    def _member(self, aggregate: Aggregate, row: Row, rule: LocalAggregate, values: Mapping[str, Any]) -> str:
        """Return a member of a group as text: the tuples of the aggregate's body, with the values that are known."""
        names = [column.name for column in self._program.places[rule.inner].columns]
        own = aggregate.target.fields if aggregate.called and isinstance(aggregate.target, Record) else None
        for i, operand in enumerate(own or (aggregate.target,)):
            if isinstance(operand, Variable):
                names[rule.groups + i] = operand.name
        shown = shown_fact((rule.inner, row), self._program)[1]
        bound = {**values, **dict(zip(names, shown, strict=True))}
        atoms = [literal for literal in aggregate.body if isinstance(literal, Atom)]
        return ", ".join(str(with_values(atom, bound)) for atom in atoms)

    def _absent_at(
        self, negation: Negation, bound: Mapping[str, Any], basis: Basis, aggregates: list[Aggregate]
    ) -> str | None:
        """Return the node that says that no tuple matches a negated atom; None if none does."""
        atom = rebuild_atom(negation.atom, lambda term: _value_variable(term, aggregates))
        matches = self._is_tuple_of
        if atom.path is not None:
            matches = self._is_along
        elif any(isinstance(part, Anonymous) for part in walk(atom.args)):
            matches = self._stands_for
        return next((node for fact, node in basis.absent.items() if matches(fact, atom, bound)), None)

    def _is_tuple_of(self, fact: LocatedTuple, atom: Atom, bound: Mapping[str, Any]) -> bool:
        if fact[0] != atom.relation:
            return False
        row = shown_fact(fact, self._program)[1]
        return row in combinations(atom.args, dict(bound), RuleScope(frozenset(bound), {}))

    def _stands_for(self, fact: LocatedTuple, atom: Atom, bound: Mapping[str, Any]) -> bool:
        """Return True if an auxiliary tuple has the values of an atom with `_`, whose relation it is derived from."""
        if self._read_by(fact[0]) != {atom.relation}:
            return False
        if any(isinstance(part, Functor) for part in walk(atom.args)):
            return True
        return shown_fact(fact, self._program)[1] == tuple(bound[name] for name in variables([atom]))

    def _is_along(self, fact: LocatedTuple, atom: Atom, bound: Mapping[str, Any]) -> bool:
        """Return True if a tuple is derived from the relations of a path, and others that have its nodes."""
        assert atom.path is not None
        return self._read_by(fact[0]) >= {step.relation for step in steps(atom.path)}

    def _read_by(self, relation: str) -> set[str]:
        """Return the user's relations from which an auxiliary relation is derived; any other one is its own."""
        places = self._program.places
        found: set[str] = set()
        seen, waiting = {relation}, [relation]
        while waiting:
            name = waiting.pop()
            if not places[name].auxiliary:
                found.add(name)
                continue
            rules = (rule for rule in self._program.rules if rule.head.relation == name)
            fresh = {atom.relation for rule in rules for atom in rule.positive} - seen
            seen |= fresh
            waiting += fresh
        return found


# --- rules -----------------------------------------------------------------------------------------------------------


def _value_name(number: int) -> str:
    """Return the variable that stands for the value of an aggregate."""
    return f"#aggregate{number}"


def _value_variable(term: Term, aggregates: Sequence[Aggregate]) -> Term | None:
    return Variable(_value_name(aggregates.index(term))) if isinstance(term, Aggregate) else None


def _values_of(aggregate: Aggregate, basis: Basis) -> list[tuple[Value, GroupValue | None]]:
    """Return the values that an aggregate may have: the one that its node gives, or that of an empty group."""
    given: list[tuple[Value, GroupValue | None]] = [
        (each.reason.fact[1][-1], each) for each in basis.groups if each.rule.span == aggregate.span
    ]
    if given:
        return given
    empty = AGGREGATES[aggregate.op].empty
    if empty is not None:
        return [(normal(empty, aggregate.result or "number"), None)]
    starts = () if aggregate.start is None else combinations([aggregate.start], {}, NOTHING)
    return [(value, None) for (value,) in starts]


def _with_functions(flat: FlatRule, given: GivenFunctions) -> FlatRule:
    """Return a rule that calls these functions."""

    def change(term: Term) -> Term | None:
        if isinstance(term, Functor) and term.declared is not None:
            args = tuple(rebuild_term(arg, change) for arg in term.args)
            return replace(term, args=args, declared=replace(term.declared, given=given))
        if isinstance(term, Aggregate):
            target = None if term.target is None else rebuild_term(term.target, change)
            declared = None if term.declared is None else replace(term.declared, given=given)
            body = tuple(rebuild(literal, change) for literal in term.body)
            return replace(term, target=target, declared=declared, body=body)
        return None

    if not any(isinstance(part, Functor | Aggregate) and part.declared is not None for part in walk(flat.body)):
        return flat
    conditions, body = (tuple(rebuild(each, change) for each in part) for part in (flat.conditions, flat.body))
    return replace(flat, conditions=conditions, body=body)


# --- walks -----------------------------------------------------------------------------------------------------------


def _walk_along(relation: str, path: Path, ends: Row, facts: _Facts) -> PathWalk | None:
    """Return a shortest walk along a path among these tuples, or None without one."""
    automaton = automaton_of(path)
    start, end = ends
    rows: dict[str, list[Row]] = defaultdict(list)
    for name, row in sorted(facts, key=repr):
        rows[name].append(row)
    level: dict[_Place, tuple[Asked, ...]] = {(start, state): () for state in automaton.states_of(0)}
    seen = set(level)
    while level:
        for (node, state), edges in level.items():
            if node == end and state in automaton.ends:
                return PathWalk(relation, ends, automaton, edges)
        reached: dict[_Place, tuple[Asked, ...]] = {}
        for edge in automaton.edges:
            for row in rows[edge.relation]:
                source, target = (row[1], row[0]) if edge.form == "backward" else (row[0], row[1])
                if (source, edge.source) in level:
                    walked = (*level[source, edge.source], facts[edge.relation, row])
                    for state in automaton.states_of(edge.target):
                        if (target, state) not in seen:
                            seen.add((target, state))
                            reached[target, state] = walked
        level = reached
    return None
