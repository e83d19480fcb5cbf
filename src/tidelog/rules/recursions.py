"""Which relations of a program are recursive with which, and the values that they can have at most.

Both are worked out when a rule asks: those with an aggregate do. An aggregate has to be complete before the recursion
reads it, so its groups cannot come from the recursion itself. For

    q(x) :- p(x, m), m > count : { f(y), y < x }.        p(x, m) :- q(y), e(y, x, m).

the groups are taken from relations of a lower stratum that contain at least the same values:

    #values.p(x, m) :- #values.q(y), e(y, x, m).         #values.q(x) :- #values.p(x, m).

They have the *bounded* columns of the recursive relations, those whose values no rule computes from values of the same
recursion, except by counting up or down to a limit. Their rules are the recursive rules without aggregates, calls of
functors in Python, and columns that are not bounded. The values of all members stand for that of a `min`, `max` or
`any`. Groups too many do no harm: the rule reads only those that it has.

Facts asserted for a recursive relation are values of its columns. They belong into a relation of their own, `#facts.p`,
which `p(x, m) :- #facts.p(x, m)` and `#values.p(x, m) :- #facts.p(x, m)` read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import is_
from typing import TypeAlias

from tidelog.language.counters import counters_in
from tidelog.language.paths import readings
from tidelog.language.syntax import (
    Aggregate,
    Atom,
    Cast,
    Column,
    Comparison,
    Constant,
    Disjunction,
    Functor,
    Kind,
    Literal,
    Negation,
    Record,
    RecordType,
    RelationType,
    Rule,
    Term,
    Truth,
    Variable,
)
from tidelog.language.trees import has_path, rebuild, rebuild_term, variables, walk, whole
from tidelog.rules.core import RelationInfo
from tidelog.rules.graph import Graph, components
from tidelog.rules.grounding import evaluable, grounded_variables
from tidelog.rules.rewrite_state import RewriteState, local_kinds, result_kind

VALUES, FACTS = "#values.", "#facts."
"""How the names of relations begin that have the values of another one, and its facts."""

_FEW = 1 << 16
"""Values that relations of values may have although the recursion may not."""

Bounded = Mapping[str, tuple[int, ...]]
"""The bounded columns of recursive relations."""


@dataclass(frozen=True)
class ReachableValues:
    """The values that the relations of a recursion can have at most: the rules of the recursion, their bounded columns,
    and the rules and relations that derive the values of these columns."""

    own: tuple[Rule, ...]
    columns: Bounded
    rules: tuple[Rule, ...]
    relations: Mapping[str, RelationType]


def facts_of(name: str) -> str:
    """Return the relation of the facts that are asserted for a relation."""
    return f"{FACTS}{name}"


def reachable_values(names: Collection[str], own: Sequence[Rule], state: RewriteState) -> ReachableValues:
    """Return the values that the relations of a recursion can have at most; `own` are the rules that derive them."""
    relations = state.relations
    columns = _find_bounded_columns(names, own, state)
    rules: list[Rule] = []
    added: dict[str, RelationType] = {}
    for name, kept in columns.items():
        info = relations[name]
        if kept:
            shape = tuple(info.columns[i] for i in kept)
            added[f"{VALUES}{name}"] = RelationType(f"{VALUES}{name}", shape)
            added[facts_of(name)] = RelationType(facts_of(name), info.columns)
            rules += _of_facts(info, kept)
    for rule in own:
        weaker = relax(rule, columns, state)
        for i, head in enumerate(rule.heads):
            kept = columns.get(head.relation, ())
            if kept:
                made = Atom(f"{VALUES}{head.relation}", tuple(head.args[i] for i in kept), span=head.span)
                name = f"{VALUES}{head.relation}.{rule.name}.{i}"
                rules.append(replace(weaker, name=name, heads=(made,)))
    return ReachableValues(tuple(own), columns, tuple(rules), added)


def _of_facts(info: RelationType, kept: Iterable[int]) -> tuple[Rule, Rule]:
    """Return the rules that read the facts of a relation."""
    args = tuple(Variable(f"x{i}", span=info.span) for i in range(len(info.columns)))
    kinds = {arg.name: column.kind for arg, column in zip(args, info.columns, strict=True)}
    facts = (Atom(facts_of(info.name), args, span=info.span),)
    values = Atom(f"{VALUES}{info.name}", tuple(args[i] for i in kept), span=info.span)
    head = Atom(info.name, args, span=info.span)
    return (
        Rule(facts_of(info.name), (head,), facts, kinds, span=info.span),
        Rule(f"{VALUES}{info.name}", (values,), facts, kinds, span=info.span),
    )


# --- rules without the recursion -------------------------------------------------------------------------------------


def relax(rule: Rule, columns: Bounded, state: RewriteState) -> Rule:
    """Return a rule that holds at least where `rule` does, and reads values instead of the recursive relations
    `columns`, if it reads any of these."""
    if _is_independent(rule, columns):
        return rule
    relaxing = _Relaxing(columns, state, set(variables(whole(rule), aggregates=False)), {**rule.kinds})
    body = evaluable(tuple(relaxing.body(rule.body)))
    return replace(rule, body=body, kinds=relaxing.kinds, plan=())


@dataclass
class _Relaxing:
    """Relaxes the body of a rule with the variables `outside` of aggregates, and notes the `kinds` of new variables."""

    columns: Bounded
    state: RewriteState
    outside: set[str]
    kinds: dict[str, Kind]
    members_of: int = 0

    def body(self, body: Iterable[Literal]) -> Iterator[Literal]:
        for literal in body:
            match literal:
                case Disjunction(alternatives=alternatives):
                    weaker = tuple(tuple(self.body(each)) or (Truth(True),) for each in alternatives)
                    yield replace(literal, alternatives=weaker)
                case Comparison(op="=", left=Aggregate() as aggregate, right=value):
                    yield from self.members(aggregate, value)
                case Comparison(op="=", left=value, right=Aggregate() as aggregate):
                    yield from self.members(aggregate, value)
                case _ if _cannot_stay(literal):
                    pass  # a function is called for no other arguments than those of the program
                case _ if self.columns.keys().isdisjoint(_reads([literal])):
                    yield literal
                case Atom(relation=name, args=args, path=None) if self.columns[name]:
                    yield Atom(f"{VALUES}{name}", tuple(args[i] for i in self.columns[name]), span=literal.span)

    def members(self, aggregate: Aggregate, value: Term) -> Iterator[Literal]:
        """Yield literals that hold for each value of an aggregate that is the value of a member; none for others."""
        if aggregate.op not in ("min", "max", "any") or aggregate.target is None:
            return
        if has_path(aggregate.body):
            return
        self.members_of += 1
        number = self.members_of
        kinds = local_kinds(aggregate.body, self.state)

        def rename_local(term: Term) -> Term | None:
            if not isinstance(term, Variable) or term.name in self.outside:
                return None
            name = f"{term.name}#{number}"
            self.kinds[name] = kinds.get(term.name) or self.kinds[term.name]
            return replace(term, name=name)

        target = rebuild_term(aggregate.target, rename_local)
        yield from self.body(rebuild(literal, rename_local) for literal in aggregate.body)
        yield Comparison("=", value, target, kind=aggregate.kind or result_kind(aggregate), span=aggregate.span)


def _reads(body: Iterable[Literal]) -> Iterator[str]:
    for node in walk(body):
        if isinstance(node, Atom):
            yield from (each.relation for each in readings(node))


# --- bounded columns -------------------------------------------------------------------------------------------------


def _find_bounded_columns(names: Collection[str], own: Sequence[Rule], state: RewriteState) -> Bounded:
    """Return the bounded columns of recursive relations: the largest sets that all rules keep."""
    relations = state.relations
    columns: Bounded = {name: tuple(range(len(relations[name].columns))) for name in sorted(names)}
    while True:
        now: Bounded = columns
        for rule in own:
            values = _Values(rule, columns, state)
            for head in rule.heads:
                shape = relations[head.relation].columns
                kept = tuple(i for i in now.get(head.relation, ()) if values.has(head.args[i], shape[i]))
                now = {**now, head.relation: kept} if head.relation in names else now
        if now == columns:
            return columns
        columns = now


class _Values:
    """The variables of a rule whose values come unchanged from bounded columns (`plain`), and those that have finitely
    many values whatever the recursion holds (`steady`)."""

    def __init__(self, rule: Rule, columns: Bounded, state: RewriteState) -> None:
        self.independent = _is_independent(rule, columns)
        self.body = relax(rule, columns, state).body
        self.known = grounded_variables(self.body)
        outside = tuple(each for each in self.body if not any(name.startswith(VALUES) for name in _reads([each])))
        self.steady = grounded_variables(evaluable(outside))
        size = -1
        while len(self.steady) > size:
            size = len(self.steady)
            self.steady |= {name for name, value in _equations(self.body) if self._is_finite(value)}
        self.plain = grounded_variables([each for each in self.body if not _computes(each)], self.steady)

    def has(self, term: Term, column: Column) -> bool:
        """Return True if a head's `term` has bounded values."""
        if self.independent:
            return True
        if not self.known.issuperset(variables([term])) or _cannot_stay(term):
            return False
        return self._is_finite(term) or self._is_bounded(term) or (column.kind == "number" and self._counts(term))

    def _is_finite(self, term: Term) -> bool:
        """Return True if the term has finitely many values whatever the recursion holds."""
        match term:
            case Functor(name="%" | "band", args=(_, Constant(value=int(most)))) if 0 <= most <= _FEW:
                return True  # a rest, or some bits, of whatever there is
            case Functor(name="land" | "lor" | "lxor" | "lnot"):
                return True
            case Functor(args=parts) | Record(fields=tuple(parts)):
                return all(map(self._is_finite, parts))
            case Cast(term=inner):
                return self._is_finite(inner)
            case Variable(name=name):
                return name in self.steady
        return isinstance(term, Constant | Record)

    def _is_bounded(self, term: Term) -> bool:
        """Return True if the term is a value of a bounded column, or the least or the greatest of some."""
        match term:
            case Functor(name="min" | "max", args=parts):
                return all(self._is_finite(part) or self._is_bounded(part) for part in parts)
            case Cast(term=inner):
                return self._is_bounded(inner)
        return isinstance(term, Variable) and term.name in self.plain

    def _counts(self, term: Term) -> bool:
        """Return True if the term is a value, plus or minus a constant, up or down to a limit."""
        same = {term}
        for literal in self.body:
            match literal:
                case Comparison(op="=", left=left, right=right) if term in (left, right):
                    same |= {left, right}
        for step in same:
            match step:
                case Functor(name="+" | "-" as sign, args=(Variable(name=name) as start, Constant(value=int(by)))):
                    if name in self.plain and self._has_limit({*same, start}, up=(sign == "+") == (by > 0)):
                        return True
        return False

    def _has_limit(self, terms: Collection[Term], *, up: bool) -> bool:
        """Return True if the body compares one of the terms with a limit from outside of the recursion."""
        for literal in self.body:
            match literal:
                case Comparison(op="<" | "<=", left=left, right=right):
                    low, high = left, right
                case Comparison(op=">" | ">=", left=left, right=right):
                    low, high = right, left
                case _:
                    continue
            value, limit = (low, high) if up else (high, low)
            if value in terms and self.steady.issuperset(variables([limit])):
                return True
        return False


def _cannot_stay(tree: Term | Literal) -> bool:
    """Return True for a part of a rule that rules of values cannot have."""
    parts = walk([tree])
    return any(isinstance(part, Aggregate) or (isinstance(part, Functor) and part.declared) for part in parts) or any(
        counters_in([tree])
    )


def _is_independent(rule: Rule, columns: Bounded) -> bool:
    """Return True if a rule has all of its tuples before the recursion begins, the same each time."""
    return columns.keys().isdisjoint(_reads(rule.body)) and not any(counters_in(whole(rule)))


def _equations(body: Iterable[Literal]) -> Iterator[tuple[str, Term]]:
    for literal in body:
        match literal:
            case Comparison(op="=", left=left, right=right):
                yield from (
                    (one.name, other) for one, other in ((left, right), (right, left)) if isinstance(one, Variable)
                )


def _computes(literal: Literal) -> bool:
    """Return True if a literal may make new values."""
    match literal:
        case Comparison(left=left, right=right):
            return any(isinstance(part, Functor | Record) for part in walk([left, right]))
        case Disjunction(alternatives=alternatives):
            return any(_computes(each) for alternative in alternatives for each in alternative)
        case Negation():
            return True
    return False


# --- the recursions of a program --------------------------------------------------------------------------------------


RuleText: TypeAlias = tuple[Rule, tuple[str, ...], Mapping[str, RelationType]]
"""A rule, the relations that it reads, and all relations that it knows."""


class Recursions:
    """The recursions of a program, and the values that their relations can have at most (`reached`), which few rules
    ask for.

    `last` are those of a program before, and `graph` its rule graph. Rules added since that read what stands before
    their heads leave them as they are.
    """

    def __init__(
        self,
        rules: Sequence[Rule] = (),
        reads: Sequence[tuple[str, ...]] = (),
        last: Recursions | None = None,
        graph: Graph | None = None,
    ) -> None:
        self._rules, self._reads = rules, reads
        self.reached: dict[frozenset[str], ReachableValues] = {}
        self._before = last.reached if last is not None else {}
        if last is not None and graph is not None and "_recursions" in vars(last) and last._lead_to(self, graph):
            self._recursions = last._recursions

    def of(self, rule: Rule) -> frozenset[str]:
        """Return the relations that are recursive with the heads of a rule."""
        return frozenset[str]().union(*(self._recursions.get(head.relation, ()) for head in rule.heads))

    def values_of(
        self, rule: Rule, relations: Mapping[str, RelationType], records: Mapping[str, RecordType]
    ) -> ReachableValues:
        """Return the values that the relations recursive with the heads of a rule can have at most."""
        names = self.of(rule)
        if names not in self.reached:
            own = [each for each in self._rules if any(head.relation in names for head in each.heads)]
            before = self._before.get(names)
            same = before is not None and len(before.own) == len(own) and all(map(is_, before.own, own))
            if before is None or not same:
                before = reachable_values(names, own, RewriteState(VALUES, relations, records))
            self.reached[names] = before
        return self.reached[names]

    def of_values(self, relations: Mapping[str, RelationType]) -> Iterator[RuleText]:
        """Yield the rules that derive such values, for the rules that have asked before, with the relations that they
        know."""
        for values in self.reached.values():
            types = {**relations, **values.relations}
            yield from ((rule, reads_of(rule), types) for rule in values.rules)

    @property
    def auxiliary_relations(self) -> Mapping[str, RelationInfo]:
        """The relations of such values, and those of facts."""
        types = (type_ for values in self.reached.values() for type_ in values.relations.values())
        return {type_.name: RelationInfo(type_.name, type_.columns, auxiliary=True) for type_ in types}

    @property
    def facts(self) -> Mapping[str, str]:
        """The relations in which facts of others belong."""
        return {
            name: facts_of(name) for values in self.reached.values() for name, kept in values.columns.items() if kept
        }

    @cached_property
    def _recursions(self) -> Mapping[str, frozenset[str]]:
        return _recursive_with(self._rules, self._reads)

    def _lead_to(self, later: Recursions, graph: Graph) -> bool:
        """Return True if the rules that `later` has besides close no cycle."""
        known = len(self._rules)
        if len(later._rules) < known or not all(map(is_, later._rules, self._rules)):
            return False
        for rule, names in zip(later._rules[known:], later._reads[known:], strict=True):
            for head in rule.heads:
                place = graph.places.get(head.relation)
                if place is None and head.relation in (graph.relations_read | {*names}):
                    return False
                own = self._recursions.get(head.relation, ())
                if place is not None and any(graph.places.get(name, -1) >= place and name not in own for name in names):
                    return False
        return True


def reads_of(rule: Rule) -> tuple[str, ...]:
    """Return the relations in the body of a rule, except inside aggregates."""
    atoms = [node for node in walk(rule.body, aggregates=False) if isinstance(node, Atom)]
    names = [each.relation for atom in atoms for each in readings(atom)]
    return tuple(dict.fromkeys(names))


def _recursive_with(rules: Iterable[Rule], read: Iterable[tuple[str, ...]]) -> dict[str, frozenset[str]]:
    """Return for each relation those that it depends on and that depend on it, itself included if it does; `read` are
    the relations that the rules read."""
    reads: dict[str, dict[str, None]] = {}
    for rule, names in zip(rules, read, strict=True):
        for head in rule.heads:
            reads.setdefault(head.relation, {}).update(dict.fromkeys(names))
    recursive: dict[str, frozenset[str]] = {}
    for component in components(reads):
        if len(component) > 1 or component[0] in reads.get(component[0], {}):
            recursive |= dict.fromkeys(component, frozenset(component))
    return recursive
