"""Proofs that are checked step by step, without an engine.

Each step is taken by itself. The premises of a rule have to be the tuples that its atoms need, with the values that the
step gives to variables; its comparisons and functors are computed by `semantics/`, as the reference evaluators do. A
walk has to follow its path, or the edges of its relation, from one end to the other. Steps come after their premises,
so that no tuple supports itself.

That a tuple is *absent*, or that an aggregate has *all* members, no proof shows. These conditions are looked up where
the views are given, and are listed as taken for granted otherwise. So are open tuples, which a proof has not explained.
With the views comes the program: the rules of the proof then have to be rules of it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Literal as OneOf
from typing import Protocol, TypeAlias, runtime_checkable

from tidelog.errors import Problem, ProofRejected
from tidelog.explain.instances import FlatRule, Premise, flat_rules
from tidelog.explain.steps import (
    BoundRule,
    Condition,
    OwnCheck,
    ProofStep,
    Walk,
    plain_condition,
    with_values,
    witnesses_in,
)
from tidelog.explain.walks import ASSERTED, automaton_of
from tidelog.language.inlining import INLINE
from tidelog.language.syntax import Atom, CheckedProgram, Kind, Literal, Negation, RecordType, Rule, Value
from tidelog.language.trees import outermost, variables, whole
from tidelog.reference.paths import WithPaths
from tidelog.reference.substitutions import RuleScope, bound_by, combinations, name_wildcards, solve
from tidelog.semantics.values import Row
from tidelog.storage.record_text import row_text

Pair = tuple[Value, ...]


def is_derived(relation: str, pair: Pair, edges: Sequence[tuple[str, Pair]], rules: Iterable[FlatRule]) -> bool:
    """Return True if rules derive a pair of a relation from edges, tuples of relations with one value or two, that make
    a walk."""
    named = [name_wildcards(Rule(flat.rule.name, (flat.head.atom,), flat.body[1:])) for flat in rules]
    start, end = pair
    for fixed, ordered in ((start, edges), (end, edges[::-1])):
        known: set[Pair] = set()
        node = fixed
        for name, values in ordered:
            other = values[-1] if values[0] == node else values[0]
            tables: dict[str, set[Pair]] = defaultdict(set, {name: {values}})
            tables[relation] |= {each for each in known if {*each} <= {fixed, node}}
            known |= _derived_pairs(relation, tables, named)
            node = other
        if pair in known:
            return True
    return False


def _derived_pairs(relation: str, tables: dict[str, set[Pair]], rules: Sequence[Rule]) -> set[Pair]:
    """Return all pairs that rules derive, one from the other."""
    size = -1
    while len(tables[relation]) > size:
        size = len(tables[relation])
        for rule in rules:
            scope = RuleScope(frozenset(variables(whole(rule), aggregates=False)), tables)
            rows = [
                row for found in solve(rule.body, {}, scope) for row in combinations(rule.heads[0].args, found, scope)
            ]
            tables[relation] |= {tuple(row) for row in rows}
    return tables[relation]


Tables: TypeAlias = Mapping[str, Collection[Row]]


@dataclass(frozen=True)
class OpenTuple:
    """A tuple that a proof has not explained. If it was `looked_up`, the views of the database have it."""

    relation: str
    values: Row
    looked_up: bool
    sort: OneOf["open"] = "open"

    @property
    def text(self) -> str:
        return row_text(self.relation, self.values)


@dataclass(frozen=True)
class Checked:
    """The result of a check that accepts: the conditions and the open tuples that were taken for `granted`, and all
    tuples that the proof leaves `open`, looked up or not."""

    granted: tuple[Condition | OpenTuple, ...]
    open: tuple[OpenTuple, ...] = ()


class Explained(Protocol):
    """A database as a check needs it."""

    @property
    def program(self) -> CheckedProgram: ...
    def local(self, name: str) -> Collection[Row]: ...


@runtime_checkable
class Asserting(Protocol):
    """A database that says which tuples are asserted facts."""

    def asserted(self, name: str) -> Collection[Row]: ...


class ViewTables:
    """The views of a database as sets of tuples, the pairs of the paths of its program, and its rules."""

    def __init__(self, database: Explained) -> None:
        self.program = database.program
        self.relations = self.program.relations
        shown = [name for name, each in self.relations.items() if INLINE not in each.qualifiers]
        tables: dict[str, set[Row]] = {name: set() for name in self.relations}
        tables |= {name: set(database.local(name)) for name in shown}
        self.tables = WithPaths(tables, self.program)
        self._database = database
        self._asserted: dict[str, Collection[Row]] = {}

    @cached_property
    def rules(self) -> dict[str, tuple[FlatRule, ...]]:
        """The flat rules of the program, by the relation of their head."""
        return flat_rules(self.program)

    @cached_property
    def texts(self) -> dict[str, str]:
        return {rule.name: str(rule) for rule in self.program.texts if rule.name is not None}

    @cached_property
    def _rule_shapes(self) -> set[tuple[object, ...]]:
        both = self.rules, flat_rules(self.program, witnesses=False)
        return {_shape(flat) for rules in both for each in rules.values() for flat in each}

    def has(self, flat: FlatRule) -> bool:
        """Return True if a rule is one of the program; a node may have it under another name."""
        return _shape(flat) in self._rule_shapes

    def knows(self, name: str) -> bool:
        return name in self.tables.tables

    def shows(self, name: str, values: Row) -> bool:
        return values in self.tables[name] and self._fits(name, values)

    def _fits(self, name: str, values: Row) -> bool:
        """Return True if values have the types of Python of the columns of a relation: True is not the number 1."""
        columns = self.relations[name].columns if name in self.relations else ()
        return fits(values, [column.kind for column in columns], self.program.records)

    def is_fact(self, name: str, values: Row) -> bool:
        """Return True if a tuple is an asserted fact, as far as the database says so."""
        if not isinstance(self._database, Asserting):
            return self.shows(name, values)
        if name not in self._asserted:
            self._asserted[name] = set(self._database.asserted(name))
        return values in self._asserted[name] and self._fits(name, values)


_TYPES = {"number": int, "unsigned": int, "float": float, "symbol": str}


def fits(values: Row, kinds: Sequence[Kind], records: Mapping[str, RecordType] = MappingProxyType({})) -> bool:
    """Return True if values have the types of Python that values of some kinds have, in records as well."""
    for value, kind in zip(values, kinds, strict=False):
        parts = records[kind].fields if kind in records and not records[kind].branches else ()
        if kind in _TYPES and type(value) is not _TYPES[kind]:
            return False
        if isinstance(value, tuple) and not fits(value, [part.kind for part in parts], records):
            return False
    return True


def _same(one: object, other: object) -> bool:
    """Return True if two values are equal, and none in them is a number of another type."""
    return one == other and _types(one) == _types(other)


def _types(value: object) -> object:
    """Return the types of the parts of a value; one value of a branch may have classes of two databases."""
    return tuple(map(_types, value)) if isinstance(value, tuple) else type(value)


def _shape(flat: FlatRule) -> tuple[object, ...]:
    """Return the parts of a rule that say what it derives."""
    return (
        flat.head,
        flat.needed_premises,
        flat.conditions,
        flat.literals,
        flat.variables,
        flat.rule.heads,
        flat.rule.body,
    )


def check_steps(steps: Sequence[ProofStep], views: ViewTables | None = None) -> Checked:
    """Check the steps of a proof one by one, and with the `views` of a database also that its facts and rules are
    theirs, tuples absent and aggregates complete. Raise ProofRejected (E0820), also for a proof that shows nothing."""
    if not steps:
        raise ProofRejected(Problem("E0820", "a proof without steps shows no tuple"))
    granted: list[Condition | OpenTuple] = []
    open_: list[OpenTuple] = []
    for number, step in enumerate(steps):
        if any(not 0 <= premise < number for premise in step.premises):
            raise step_rejection(step, "it comes before one of its premises")
        below = [steps[premise] for premise in step.premises]
        if step.height != max((each.height for each in below), default=0) + (step.sort in ("rule", "walk")):
            raise step_rejection(step, "its height is not one more than that of its premises")
        if step.sort in ("fact", "open") and (below or step.conditions or step.rule is not None):
            raise step_rejection(step, "it needs nothing, but names premises")
        if views is not None:
            _check_shown(step, views)
        if isinstance(step.instance, OwnCheck):
            reason = step.instance.wrong(step, below)
            if reason:
                raise step_rejection(step, reason)
            continue
        match step.sort:
            case "rule":
                granted += _check_rule(step, below, views)
            case "walk":
                _check_walk(step, below, views)
            case "fact":
                if views is not None and not views.is_fact(step.relation, step.values):
                    raise step_rejection(step, "the fact is not there")
            case "open":
                if views is None and number == len(steps) - 1:
                    raise step_rejection(step, "it leaves the tuple open, and no database was given to look it up")
                looked_up = views is not None and not _is_along(step, views)
                open_.append(OpenTuple(step.relation, step.values, looked_up))
                granted += () if looked_up else open_[-1:]
            case _:
                raise step_rejection(step, f"`{step.sort}` is no reason")
    return Checked(tuple(granted), tuple(open_))


def _check_shown(step: ProofStep, views: ViewTables) -> None:
    """Check that a relation has a tuple, or, of a candidate, that it shows another one."""
    if _is_along(step, views):
        return
    if not views.knows(step.relation):
        raise step_rejection(step, "the program has no such relation")
    if step.is_candidate == views.shows(step.relation, step.values):
        raise step_rejection(step, "its relation shows it" if step.is_candidate else "its relation does not have it")
    if step.better is not None and (not step.is_candidate or step.better == step.values):
        raise step_rejection(step, "no other tuple is preferred")


def _is_along(step: ProofStep, views: ViewTables) -> bool:
    """Return True for a pair of a path, which has no relation to look it up in."""
    return step.relation in views.tables.paths and step.sort in ("walk", "open") and not step.is_candidate


def step_rejection(step: ProofStep, reason: str) -> ProofRejected:
    return ProofRejected(Problem("E0820", f"the proof does not show {step.tuple_text}: {reason}", step.span))


def _check_rule(step: ProofStep, below: list[ProofStep], views: ViewTables | None) -> Iterator[Condition]:
    """Check a step by a rule; yield the conditions that are taken for granted."""
    instance = step.instance
    if not isinstance(instance, BoundRule) or instance.flat.rule.name != step.rule:
        raise step_rejection(step, "it has no instance of its rule")
    flat = instance.flat
    if views is not None and not (views.has(flat) and step.text == views.texts.get(step.rule or "", str(flat.rule))):
        raise step_rejection(step, f"the program has another rule {step.rule}, or none")
    shown, bound = (tuple(sorted(each.items())) for each in (step.variables, instance.source_values))
    if tuple(instance.values) != flat.variables or not _same(shown, bound):
        raise step_rejection(step, f"it names other variables than rule {step.rule}")
    if not _is_row(step, flat.head, instance):
        raise step_rejection(step, f"rule {step.rule} derives another tuple with these values")
    if len(below) != len(flat.needed_premises):
        raise step_rejection(step, f"rule {step.rule} needs {len(flat.needed_premises)} tuples, found {len(below)}")
    for premise, found in zip(flat.needed_premises, below, strict=True):
        if not _is_row(found, premise, instance):
            raise step_rejection(step, f"rule {step.rule} needs another tuple than {found.tuple_text}")
    tables = {} if views is None else views.tables
    for literal in flat.literals:
        needs_tables = isinstance(literal, Negation) or any(True for _ in outermost([literal]))
        if isinstance(literal, Atom) or (needs_tables and views is None):
            continue
        if next(_solutions(literal, instance, tables), None) is None:
            raise step_rejection(step, f"`{literal}` does not hold for the values of the step")
    _check_conditions(step, instance, tables if views is not None else None)
    if views is None:
        yield from (each for each in step.conditions if each.sort != "comparison")


def _check_conditions(step: ProofStep, instance: BoundRule, tables: Tables | None) -> None:
    """Check that a step shows the conditions of its rule, with its values, and members of groups."""
    flat = instance.flat
    expected = witnesses_in(flat, step.premises)
    if len(step.conditions) != len(flat.conditions):
        raise step_rejection(
            step, f"rule {step.rule} has {len(flat.conditions)} conditions, found {len(step.conditions)}"
        )
    for i, (literal, shown) in enumerate(zip(flat.conditions, step.conditions, strict=True)):
        plain = instance.words(plain_condition(literal, instance.values, flat.made))
        if replace(shown, members=None, first=(), node=None) != replace(plain, witness=expected.get(i, ())):
            raise step_rejection(step, f"`{shown.text}` is not what rule {step.rule} asks for")
        if shown.members is None:
            continue
        if shown.sort != "aggregate" or len(shown.first) > shown.members:
            raise step_rejection(step, f"`{shown.text}` has other members")
        if tables is not None and shown.node is None:
            texts = _members(literal, instance, tables)
            if sum(texts.values()) != shown.members or Counter(shown.first) - texts - Counter([""]):
                raise step_rejection(step, f"`{shown.text}` has other members")


def _members(literal: Literal, instance: BoundRule, tables: Tables) -> Counter[str]:
    """Return the members of the first aggregate of a literal, as texts of their tuples."""
    (named,) = name_wildcards(Rule(None, (), (literal,))).body
    aggregate = next(outermost([named]))
    scope = _scope(named, instance, tables)
    inner = scope.inside(aggregate)
    given = {name: instance.values[name] for name in scope.needs(aggregate)}
    names = sorted(bound_by(aggregate.body))
    found = {tuple(each[name] for name in names): each for each in solve(aggregate.body, given, inner)}
    atoms = [each for each in aggregate.body if isinstance(each, Atom)]
    texts = [", ".join(str(with_values(atom, bound)) for atom in atoms) for bound in found.values()]
    return Counter(instance.words(Condition("aggregate", "", first=tuple(texts))).first)


def _check_walk(step: ProofStep, below: list[ProofStep], views: ViewTables | None) -> None:
    """Check a step by a walk: its premises are edges of the automaton, one behind the other; with the rules of a
    program also that these derive the pair."""
    walk = step.instance
    if not isinstance(walk, Walk) or walk.relation != step.relation or len(step.values) != 2:
        raise step_rejection(step, "it has no walk")
    start, end = step.values
    states = {(start, state) for state in walk.automaton.states_of(0)}
    for edge in below:
        states = set(_next_places(walk, states, edge))
    if not any(_same(node, end) and state in walk.automaton.ends for node, state in states):
        raise step_rejection(step, "its premises are no walk from the first value to the second")
    if views is None:
        return
    if step.relation in views.relations:
        rules = views.rules.get(step.relation, ())
        if not is_derived(step.relation, step.values, [(each.relation, each.values) for each in below], rules):
            raise step_rejection(step, "no rules of its relation derive it from its premises")
    elif step.relation not in views.tables.paths or walk.automaton != automaton_of(views.tables.paths[step.relation]):
        raise step_rejection(step, "the program has no such path")


def _next_places(walk: Walk, states: set[tuple[Value, int]], step: ProofStep) -> Iterator[tuple[Value, int]]:
    """Yield the nodes and states after one more edge."""
    automaton = walk.automaton
    for edge in automaton.edges if step.values else ():  # A forged premise may have none.
        source, target = step.values[0], step.values[-1]
        row = (source,) if edge.form == "loop" else (source, target)
        found = walk.row(edge.relation.removeprefix(ASSERTED), row)
        if not _same(found, (step.relation, step.values)) or (
            edge.relation.startswith(ASSERTED) and step.sort != "fact"
        ):
            continue
        if edge.form == "backward":
            source, target = target, source
        if any(_same(node, source) and state == edge.source for node, state in states):
            yield from ((target, state) for state in automaton.states_of(edge.target))


def _solutions(literal: Literal, instance: BoundRule, tables: Tables) -> Iterator[Mapping[str, Value]]:
    """Yield the ways in which a literal holds for the values of an instance."""
    (named,) = name_wildcards(Rule(None, (), (literal,))).body
    return solve((named,), dict(instance.values), _scope(named, instance, tables))


def _scope(literal: Literal, instance: BoundRule, tables: Tables) -> RuleScope:
    names = frozenset(variables([literal], aggregates=False)) | frozenset(instance.flat.variables)
    return RuleScope(names, tables)


def _is_row(step: ProofStep, premise: Premise, instance: BoundRule) -> bool:
    row = premise.row(instance.values)
    return fits(row, premise.kinds) and _same((step.relation, step.values), instance.row(premise.relation, row))
