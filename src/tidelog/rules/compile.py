"""From a checked program to the core program: the rewrites in their order, then the rule graph.

Each rewrite takes one rule and returns the rules that replace it. Auxiliary rules that it needs besides are left in
the state, and go through all rewrites in turn. Projections come last, when it is known which relations are closures;
the rule graph without them is that of the program as it is written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, compress, repeat
from operator import is_
from typing import Any, TypeAlias

from tidelog.common.collecting import pause_collection
from tidelog.common.differing import difference_if_appended
from tidelog.common.looking import Look, ignore_limits
from tidelog.errors import ProgramError
from tidelog.language.selections import Selection, selections_of
from tidelog.language.syntax import (
    Aggregate,
    CheckedProgram,
    FunctorType,
    RecordType,
    RelationType,
    Rule,
)
from tidelog.language.trees import has_path, walk, whole
from tidelog.rules import core
from tidelog.rules.aggregates import aggregates, arguments
from tidelog.rules.anonymous import anonymous, negations
from tidelog.rules.closures import BASE, Known, recognise, with_closures, with_folds
from tidelog.rules.core import AnyRule
from tidelog.rules.counters import counters
from tidelog.rules.demand import on_demand
from tidelog.rules.disjunctions import disjunctions, heads
from tidelog.rules.graph import Graph, Nodes, graph_of, hyper_nodes
from tidelog.rules.growth import check_growth
from tidelog.rules.nesting import casts, nesting
from tidelog.rules.paths import paths
from tidelog.rules.projections import Projected, with_projections
from tidelog.rules.recursions import Bounded, Recursions, reads_of
from tidelog.rules.rewrite_state import RewriteState
from tidelog.rules.selections import (
    candidates_of,
    conditions,
    dropping_orders,
    recursions_of,
    with_dropping,
    with_selections,
)
from tidelog.rules.text_pieces import text_pieces
from tidelog.rules.translation import equalities, is_flat, translation

Rewrite: TypeAlias = Callable[[Rule, RewriteState], tuple[Rule, ...]]
Columns: TypeAlias = tuple[tuple[str, int], ...]
"""Relations and positions in them."""

REWRITES: tuple[Rewrite, ...] = (
    casts,
    paths,
    disjunctions,
    arguments,
    counters,
    aggregates,
    text_pieces,
    anonymous,
    heads,
    negations,
    nesting,
)


def compile_program(
    checked: CheckedProgram, *, as_written: bool = False, look: Look = ignore_limits
) -> core.CoreProgram:
    """Return the core program of a checked one, without projections if `as_written`. Raise ProgramError for negation
    (E0301) or aggregation (E0302, E0303) through recursion, and for paths with `*` over unbounded values (E0305). Call
    `look` for each rule; it may raise."""
    return Compiler(as_written=as_written).compile(checked, look)


@dataclass(frozen=True)
class _Compiled:
    """A user's rule, the context of its rewriting in the rest of the program, and the result."""

    rule: Rule
    context: _Context
    rules: tuple[core.CoreRule | core.AggregateRule, ...]
    auxiliary: Mapping[str, core.RelationInfo]
    shared: Mapping[str, core.RelationInfo]
    reads: tuple[str, ...]


_Context: TypeAlias = tuple[frozenset[str] | None, frozenset[str] | None, Mapping[str, Columns] | None, Bounded | None]
"""For a rule with an aggregate the relations recursive with its heads; for one with a path the shared relations that
were there before it, and the columns of nodes; for one whose groups come through the recursion the bounded columns of
its relations. None where that makes no difference."""
_ANYWHERE: _Context = None, None, None, None


@dataclass(frozen=True)
class _Prefix:
    """The rules of a program in their order, the relations that each reads, and what all of them together have come to.
    `reaching` are those that depend on recursions; `settled` is True if none depends on more."""

    texts: tuple[Rule, ...] = ()
    reads: Sequence[tuple[str, ...]] = ()
    rules: Sequence[core.CoreRule | core.AggregateRule] = ()
    auxiliary: Mapping[str, core.RelationInfo] = field(default_factory=dict)
    shared: Mapping[str, core.RelationInfo] = field(default_factory=dict)
    reaching: tuple[_Compiled, ...] = ()
    settled: bool = True

    def trim_to(self, rules: tuple[Rule, ...], known: Mapping[int, _Compiled]) -> tuple[_Prefix, Sequence[Rule]]:
        """Return the part of it for the rules with which `rules` begin, if these are all those that are left, and the
        rules that have gone. That is nothing of it where others stand between them, or where the rest depends on those
        that have gone, of which `known` has the results."""
        removed, added = difference_if_appended(self.texts, rules)
        if not removed:
            return self, removed
        if len(removed) == len(self.texts):
            return _Prefix(), removed
        results = [known[id(rule)] for rule in removed]
        if any(each.context != _ANYWHERE or each.auxiliary or each.shared for each in results):
            return _Prefix(), self.texts
        end = len(rules) - len(added)
        lost = set(map(id, chain(removed, *(each.rules for each in results))))
        reads = [*compress(self.reads, [id(rule) not in lost for rule in self.texts])]
        left = [rule for rule in self.rules if id(rule) not in lost]
        return replace(self, texts=rules[:end], reads=reads, rules=left), removed

    def holds(self, recursions: Recursions) -> bool:
        """Return True if a program that begins with these rules need not look at them one by one."""
        return self.settled and all(each.context[0] == recursions.of(each.rule) for each in self.reaching)


@dataclass(frozen=True)
class CompilerState:
    """State kept from the last program: its rules by their identity, which live as long as their entries; the core
    rules likewise; the hyper-nodes before and after projections, closures among them; the marked ones; for programs
    that select the hyper-nodes before that, and the rules of candidates; the types of relations and what the core
    program has of them. A pickle has the same without identities, which differ after loading."""

    rules: Mapping[int, _Compiled] = field(default_factory=dict)
    projected: Projected = field(default_factory=Projected)
    written: Graph = field(default_factory=Graph)
    final: Graph = field(default_factory=Graph)
    closures: Known = field(default_factory=dict)
    recursions: Recursions = field(default_factory=Recursions)
    plain: Graph = field(default_factory=Graph)
    selecting: Mapping[int, tuple[AnyRule, frozenset[str], AnyRule]] = field(default_factory=dict)
    nodes: Nodes = field(default_factory=dict)
    prefix: _Prefix = field(default_factory=_Prefix)
    dropping: Nodes = field(default_factory=dict)
    types: Mapping[str, RelationType] | None = None
    infos: Mapping[str, core.RelationInfo] = field(default_factory=dict)

    def __getstate__(self) -> dict[str, Any]:
        maps = {"rules": self.rules, "closures": self.closures, "selecting": self.selecting}
        return {**vars(self), **{name: [*each.values()] for name, each in maps.items()}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        rules = {id(each.rule): each for each in state["rules"]}
        closures = {id(each.node): each for each in state["closures"]}
        selecting = {id(each[0]): each for each in state["selecting"]}
        vars(self).update({**state, "rules": rules, "closures": closures, "selecting": selecting})


class Compiler:
    """Compiles the programs of a `Checker` one after another. It does not rewrite rules again that the last one had as
    well, as the same objects. Hyper-nodes that have not changed stay the same objects."""

    def __init__(self, *, as_written: bool = False) -> None:
        self._as_written = as_written
        self._last = CompilerState()
        """All of it is replaced at once, whatever interrupts a compilation."""

    @property
    def state(self) -> CompilerState:
        """The state between two compilations, for a `Compiler` that resumes after the same program."""
        return self._last

    def resume(self, state: CompilerState) -> None:
        """Go on from the state of another `Compiler`."""
        self._last = state

    @pause_collection()
    def compile(self, checked: CheckedProgram, look: Look = ignore_limits) -> core.CoreProgram:
        """Return the core program of a checked one, see `compile_program`."""
        check_growth(checked)
        last = self._last
        known = last.rules
        compiled: dict[int, _Compiled] = {}
        infos = last.infos
        if checked.relations is not last.types:
            infos = {name: core.RelationInfo(name, each.columns) for name, each in checked.relations.items()}
        relations = {**infos}
        prefix, removed = last.prefix.trim_to(checked.rules, known)
        added = checked.rules[len(prefix.texts) :]
        reads = [*prefix.reads, *(each.reads if (each := known.get(id(rule))) else reads_of(rule) for rule in added)]
        recursions = Recursions(checked.rules, reads, last.recursions, last.plain if last.plain.rules else last.written)
        if prefix.holds(recursions):
            compiled.update(known)
            for rule in removed:
                del compiled[id(rule)]
        else:
            prefix = _Prefix()
        rules = [*prefix.rules]
        auxiliary, shared = {**prefix.auxiliary}, {**prefix.shared}
        nodes = _nodes(checked)
        selections = selections_of(checked.relations, checked.rules, checked.subsumptions)
        first = len(prefix.texts)
        texts = zip(checked.rules[first:], reads[first:], repeat(checked.relations))
        for rule, names, types in chain(texts, recursions.of_values(checked.relations)):
            each = known.get(id(rule))
            if each is None or (
                each.context != _ANYWHERE and not _is_valid(each, recursions, shared, nodes, types, checked.records)
            ):
                look()
                each = _compile_rule(rule, names, types, checked.records, recursions, shared, nodes)
            compiled[id(rule)] = each
            rules += each.rules
            if each.auxiliary:
                auxiliary.update(each.auxiliary)
            if each.shared:
                shared.update(each.shared)
        fresh = [each for rule in checked.rules[first:] if (each := compiled[id(rule)]).context != _ANYWHERE]
        settled = prefix.settled and not recursions.reached and all(each.context[1:] == _ANYWHERE[1:] for each in fresh)
        reaching = (*prefix.reaching, *fresh)
        prefix = _Prefix(checked.rules, reads, tuple(rules), auxiliary, {**shared}, reaching, settled)
        relations.update(auxiliary)
        relations.update(recursions.auxiliary_relations)
        relations.update(shared)
        plain = Graph()
        selecting: dict[int, tuple[AnyRule, frozenset[str], AnyRule]] = {}
        joined = frozenset[str]()
        if selections:
            plain = graph_of(rules, relations, last.plain)
            own, joined = recursions_of(plain.nodes, selections)
            rules, selecting = with_selections(rules, own, selections, relations, last.selecting)
            rules += _conditions(selections, checked, own, relations, shared, nodes)
        written = graph_of(rules, relations, last.written)
        closures = recognise(written.nodes, last.closures)
        found = with_closures(written.nodes, relations, closures)
        final = Graph()
        projected = Projected()
        if not self._as_written:
            rules, found = _with_demand(rules, found, checked, relations, selections.keys())
            chosen = frozenset(name for name, selection in selections.items() if selection.form == "choice")
            orders = dropping_orders(found, selections, relations, joined)
            projected = with_projections(rules, found, chosen, orders, last.projected, look)
            if projected.added:
                bases = [node.relations[0] for node in found if node.relations[0].startswith(BASE)]
                relations = {**relations, **projected.added}
                for name in bases:
                    del relations[name]
                final = graph_of(projected.projected, relations, last.final)
                closures |= recognise(final.nodes, last.closures)
                found = with_closures(final.nodes, relations, closures)
        found = tuple([_reuse_node(last.nodes.get(node.relations), node) for node in with_folds(found)])
        kept = written, final, closures, recursions, plain, selecting, {node.relations: node for node in found}, prefix
        self._last = CompilerState(compiled, projected, *kept)
        candidates = {**{name: candidates_of(name) for name in selections}, **recursions.facts}
        dropping, obstacles = with_dropping(found, selections, relations, joined)
        dropping = tuple([_reuse_node(last.dropping.get(node.relations), node) for node in dropping])
        dropped = {node.relations: node for node in dropping}
        self._last = replace(self._last, dropping=dropped, types=checked.relations, infos=infos)
        facts, functors = checked.facts, _called_functors(checked, found)
        return core.CoreProgram(
            relations, checked.records, found, facts, candidates, functors, dropping=dropping, obstacles=obstacles
        )


def _called_functors(checked: CheckedProgram, nodes: Iterable[core.HyperNode]) -> dict[str, FunctorType]:
    """Return the functors and aggregates in Python that rules call."""
    if not checked.functors:
        return {}
    rules = [rule for node in nodes for rule in node.rules]
    calls = (
        literal.declared
        for rule in rules
        if isinstance(rule, core.CoreRule)
        for literal in rule.body
        if isinstance(literal, core.Computation)
    )
    folds = (rule.own.declared for rule in rules if isinstance(rule, core.AggregateRule) and rule.own is not None)
    return {each.name: each for each in (*calls, *folds) if each is not None}


def _with_demand(
    rules: list[AnyRule],
    nodes: tuple[core.HyperNode, ...],
    checked: CheckedProgram,
    relations: dict[str, core.RelationInfo],
    selecting: Collection[str],
) -> tuple[list[AnyRule], tuple[core.HyperNode, ...]]:
    """Return the rules and hyper-nodes with the relations that become relations on demand; `relations` gets those of
    demand. Return the rules unchanged where demand would lead negation through recursion. Relations that are
    `selecting` stay whole."""
    shown = {each.relation for each in checked.directives if each.name in ("output", "printsize", "limitsize")}
    magic = (name for name, relation in checked.relations.items() if "magic" in relation.qualifiers)
    wanted = frozenset(magic).difference(shown, selecting)
    if not wanted:
        return rules, nodes
    made, added = on_demand(rules, wanted, relations)
    together = {**{name: info for name, info in relations.items() if not name.startswith(BASE)}, **added}
    try:
        found = with_closures(hyper_nodes(made, together), together)
    except ProgramError:
        return rules, nodes
    relations.clear()
    relations.update(together)
    return made, found


def _conditions(
    selections: Mapping[str, Selection],
    checked: CheckedProgram,
    own: Mapping[str, frozenset[str]],
    relations: dict[str, core.RelationInfo],
    shared: Mapping[str, core.RelationInfo],
    nodes: Mapping[str, Columns],
) -> Iterator[AnyRule]:
    """Yield the rules for the conditions of subsumption rules in a program with the recursions `own` and `shared`
    relations; `relations` gets the relations that they add."""
    rules, added = conditions(selections, checked.relations, own)
    together = dict(shared)
    known = {**checked.relations, **added}
    for rule in rules:
        state = RewriteState(rule.name or "", known, checked.records, shared=together, nodes=nodes)
        yield from _with_unique_names(_core_rules(rule, state))
        yield from state.aggregates
        relations.update(state.auxiliary)
    relations.update(together)


def _compile_rule(
    rule: Rule,
    reads: tuple[str, ...],
    types: Mapping[str, RelationType],
    records: Mapping[str, RecordType],
    recursions: Recursions,
    shared: Mapping[str, core.RelationInfo],
    nodes: Mapping[str, Columns],
) -> _Compiled:
    """Return the core rules of a rule in a program in which the rules before it have `shared` relations."""
    if is_flat(rule):
        flat = RewriteState(rule.name or "", types, records)
        return _Compiled(rule, _ANYWHERE, tuple(_core_rules(rule, flat)), {}, {}, reads)
    aggregate = any(isinstance(part, Aggregate) for part in walk(whole(rule)))
    reach = recursions.of(rule) if aggregate else frozenset[str]()
    asked: list[Bounded] = []

    def find_bounded_columns() -> Bounded:
        values = recursions.values_of(rule, types, records)
        state.relations = {**types, **values.relations}
        asked.append(values.columns)
        return values.columns

    state = RewriteState(
        rule.name or "", types, records, reach, shared=dict(shared), nodes=nodes, bounded=find_bounded_columns
    )
    rules = _with_unique_names(_core_rules(rule, state))
    added = {name: info for name, info in state.shared.items() if name not in shared}
    context = _context(rule, reach if aggregate else None, shared, nodes, asked[0] if asked else None)
    return _Compiled(rule, context, (*rules, *state.aggregates), state.auxiliary, added, reads)


def _context(
    rule: Rule,
    reach: frozenset[str] | None,
    shared: Mapping[str, core.RelationInfo],
    nodes: Mapping[str, Columns],
    bounded: Bounded | None,
) -> _Context:
    """Return the context that the rewrite of a rule depends on."""
    path = has_path(whole(rule))
    return reach, frozenset(shared) if path else None, nodes if path else None, bounded


def _is_valid(
    known: _Compiled,
    recursions: Recursions,
    shared: Mapping[str, core.RelationInfo],
    nodes: Mapping[str, Columns],
    types: Mapping[str, RelationType],
    records: Mapping[str, RecordType],
) -> bool:
    """Return True if the cached rewrite of a rule is still valid."""
    reach, names, columns, bounded = known.context
    if reach is not None and reach != recursions.of(known.rule):
        return False
    if bounded is not None and bounded != recursions.values_of(known.rule, types, records).columns:
        return False
    return (names is None or names == shared.keys()) and (columns is None or columns == nodes)


def _reuse_node(old: core.HyperNode | None, new: core.HyperNode) -> core.HyperNode:
    """Return the old hyper-node if the new one consists of the same rules."""
    if old is new:
        return new
    if old is None or len(old.rules) != len(new.rules) or not all(map(is_, old.rules, new.rules)):
        return new
    return old if old == new else new


def _core_rules(rule: Rule, state: RewriteState) -> Iterator[core.CoreRule]:
    """Return the core rules of a user's rule and of everything that it needs."""
    state.pending.append(rule)
    while state.pending:
        rules: tuple[Rule, ...] = (state.pending.pop(0),)
        for rewrite in () if is_flat(rules[0]) else REWRITES:
            rules = tuple([rewritten for each in rules for rewritten in rewrite(each, state)])
        for each in rules:
            solved = equalities(translation(each, state))
            if solved is not None:
                yield solved


def _with_unique_names(rules: Iterable[core.CoreRule]) -> list[core.CoreRule]:
    """Return the rules with numbers behind the names that several of them have."""
    rules = list(rules)
    total = Counter(rule.name for rule in rules)
    seen: Counter[str] = Counter()
    named = []
    for rule in rules:
        seen[rule.name] += 1
        named.append(replace(rule, name=f"{rule.name}#{seen[rule.name]}") if total[rule.name] > 1 else rule)
    return named


def _nodes(checked: CheckedProgram) -> dict[str, Columns]:
    """Return for each domain of a path the columns whose values are its nodes: those of relations that no rule
    derives."""
    if not checked.domains:
        return {}
    derived = {head.relation for rule in checked.rules if rule.body for head in rule.heads}
    return {
        domain: tuple(column for column in columns if column[0] not in derived)
        for domain, columns in checked.domains.items()
    }
