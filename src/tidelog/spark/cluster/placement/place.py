"""Place a core program: make the program that every partition runs, and the exports between partitions.

Hyper-nodes are placed in order, each in the cheapest of these ways (`_Placer.place`):

    everywhere    a closure whose edges fit everywhere, and what shows it: kept natively, written down nowhere
    split         each rule at a site of its own; a recursive one stays within a partition where one choice of columns
                  serves all its rules, such as the linear closures of Section 3 of the paper on PSN
    gathered      a recursion for which there is no such choice, over inputs that fit one partition; one that makes new
                  symbols or records, or reads selected tuples only
    exchanged     any other recursion: partitions send each other what they derive until nobody has anything to say
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product
from math import prod

from tidelog.language.aggregates import AGGREGATES
from tidelog.language.syntax import Column
from tidelog.rules.closures import with_closures, with_folds
from tidelog.rules.core import (
    AggregateRule,
    AnyRule,
    CoreAtom,
    CoreConstant,
    CoreLiteral,
    CoreProgram,
    CoreRule,
    CoreValue,
    CoreVariable,
    HyperNode,
    RelationInfo,
    head_of,
    map_values,
)
from tidelog.rules.graph import hyper_nodes
from tidelog.spark.cluster.placement.buckets import FIRST, MINE, NO_SKEW, PARTITIONS, Skew, own_word_literals
from tidelog.spark.cluster.placement.plan import (
    NEVER,
    ClusterPlan,
    Export,
    Placement,
    copy_name,
    facts_name,
    home_name,
    joining_rules,
    levels,
)
from tidelog.spark.cluster.placement.rewrites import (
    ends_of,
    gathered_node,
    read_ends,
    recursions_that_select,
    split_join,
)
from tidelog.spark.cluster.placement.sites import (
    PLAIN,
    Evenly,
    PlacedRule,
    PlacementStatistics,
    Resident,
    calls_functions,
    crosses,
    looks_into_values,
    makes_values,
    placed_rule,
)
from tidelog.storage.dictionary import Dictionary

_CHOICES = 512
"""So many choices of columns are looked at for a hyper-node."""
_GROWTH = 10.0
"""A relation that nobody has derived yet is taken to be so many times as large as all facts."""
EVERYWHERE = 20_000_000
"""A closure of so many edges is everywhere, whatever memory partitions have."""
PAIRS = ", its pairs written"
"""The way of a closure ends so if partitions do not have the memory for its edges."""


@dataclass(frozen=True)
class PlacementLimits:
    """Rows up to which facts are everywhere (`replicate`), the edges of a closure are (`closures`), and a recursion is
    gathered in one partition (`gather`); and those that a word has at least to be spread over partitions (`skew`).

    If `closures` is None, the limit is as many edges as fit into the bytes that a partition may have (`memory`), and
    `EVERYWHERE` at least."""

    replicate: int = 1_000_000
    closures: int | None = None
    gather: int = 4_000_000
    skew: int = 100_000
    memory: int = 0

    def needs_memory(self, rows: int) -> bool:
        """Return True if the memory of a partition may matter where there are so many rows in all."""
        return self.closures is None and _GROWTH * rows > EVERYWHERE

    def edges(self, partitions: int) -> float:
        """Return the most edges of a closure that is to be everywhere; two edges count as one node more."""
        if self.closures is not None:
            return self.closures
        return max(EVERYWHERE, self.memory / memory_of_closure(1, 0.5, partitions))


def memory_of_closure(edges: float, nodes: float, partitions: int) -> float:
    """Return the bytes of rows and indexes that a closure takes in each partition if it is everywhere, by constants
    that were measured for the least members of components (docs/explanation/cluster.md): every partition has all edges
    and the components of all nodes, and its share of facts and results."""
    return 48 * edges + 281 * nodes + (21 * edges + 105 * nodes) / partitions


def edges_of_closures(core: CoreProgram, sizes: Mapping[str, int]) -> dict[str, int]:
    """Return the number of edges of each closure of a program whose relations have these sizes."""
    return {
        node.relations[0]: sum(sizes.get(name, 0) for name in node.reads if name not in node.relations)
        for node in core.nodes
        if node.closure is not None
    }


def written_closures(plan: ClusterPlan) -> set[str]:
    """Return the closures whose pairs are written because partitions do not have the memory for their edges."""
    return {name for relations, way in plan.nodes if way.endswith(PAIRS) for name in relations}


def place_program(
    core: CoreProgram,
    facts: Mapping[str, Placement],
    sizes: Mapping[str, int],
    partitions: int,
    limits: PlacementLimits,
    dictionary: Dictionary,
    before: ClusterPlan | None = None,
    skew: Skew = NO_SKEW,
) -> ClusterPlan:
    """Return the plan for a core program whose asserted facts are at these places (everywhere, where not said), when
    relations have the `sizes` and skewed keys known so far; homes of the plan `before` are kept where that costs
    nothing."""
    placer = _Placer(core, facts, sizes, partitions, limits, dictionary, before, skew)
    for node in core.nodes:
        placer.place(node)
    return placer.plan()


class _Placer:
    def __init__(
        self,
        core: CoreProgram,
        facts: Mapping[str, Placement],
        sizes: Mapping[str, int],
        partitions: int,
        limits: PlacementLimits,
        dictionary: Dictionary,
        before: ClusterPlan | None,
        skew: Skew,
    ) -> None:
        self.core = core
        self.infos = dict(core.relations)
        """The relations of the program and those that `split_join` adds."""
        self.facts = {name: facts.get(name, "all") for name in core.relations}
        self.derived = {name for node in core.nodes for name in node.relations}
        self.homes: dict[str, Placement] = {
            name: place for name, place in self.facts.items() if name not in self.derived
        }
        self.partitions = partitions
        self.limits = limits
        self.dictionary = dictionary
        self.before = before
        self.sizes = sizes
        self.skew = skew
        self.presumed: dict[str, float] = {}
        """The presumed numbers of rows of relations that nobody has derived yet."""
        self.shares = {name: dict(shares) for name, shares in skew.shares.items()}
        self.known = PlacementStatistics(
            partitions, self.size, lambda name, column: self.shares.get(name, {}).get(column, 0.0)
        )
        self.wide = limits.replicate + 1
        self.unknown = _GROWTH * (1 + sum(sizes.get(name, 0) for name in self.homes))
        aggregates = [rule for node in core.nodes for rule in node.rules if isinstance(rule, AggregateRule)]
        self.inner = {rule.inner: rule for rule in aggregates}
        self.outer = {rule.outer: rule for rule in aggregates}
        self.closures = {node.relations[0]: node.members.closure for node in core.nodes if node.members is not None}
        """The closures whose pairs relations of members have, see `folds`."""
        self.selecting = {part.relations for node in recursions_that_select(core) for part in node.whole}
        """The hyper-nodes of recursions that read selected tuples only."""
        self.unwritten: set[str] = set()
        """Closures that every partition has, whose pairs are written nowhere."""
        self.relations: dict[str, RelationInfo] = {
            PARTITIONS: RelationInfo(PARTITIONS, (Column("count", "number", "number"),), True),
            MINE: RelationInfo(MINE, (Column("number", "number", "number"),), True),
            FIRST: RelationInfo(FIRST, (), True),
        }
        self.rules: list[AnyRule] = []
        self.single: list[AnyRule] = []
        """The rules that only the first partition evaluates."""
        self.exports: dict[Export, None] = {}
        self.ways: list[tuple[tuple[str, ...], str]] = []

    # --- homes -----------------------------------------------------------------------------------------------------

    def size(self, name: str) -> float:
        """Return the number of rows of a relation, or a guess."""
        if name in self.infos and not self.infos[name].columns:
            return 1.0
        unknown = self.presumed.get(name, self.unknown) if name in self.derived else 0.0
        return self.sizes.get(name, unknown) + 1.0

    def place(self, node: HyperNode) -> None:
        """Give the relations of a hyper-node their homes, and partitions its rules."""
        rules = [self.read_nodes_of_closures(rule) for rule in node.rules if isinstance(rule, CoreRule)]
        inputs = {name: None for rule in node.rules for name, _ in rule.reads if name not in node.relations}
        needed = sum(self.size(name) for name in inputs)
        way, alone = "split", False
        if len(rules) < len(node.rules):
            self.aggregate(node)
            return
        alike = not any(makes_values(rule) or calls_functions(rule) for rule in rules)
        if node.closure is not None and alike and needed <= self.most_edges(node):
            self.place_everywhere(node)
            return
        if node.mirrors is not None and self.homes[node.mirrors] == "all":
            self.place_everywhere(node)
            return
        made = node.recursive and any(map(makes_values, rules))
        if made or self.in_first(node) or node.relations in self.selecting:
            way, alone = "gathered", True
        else:
            self.presume_sizes(node, rules)
            node, rules, broken = self.choose_homes(node, rules)
            if broken:
                way = "gathered" if needed <= self.limits.gather else "exchanged"
                alone = way == "gathered"
        if alone:
            self.homes |= dict.fromkeys(node.relations, "one")
        found = [placed_rule(rule, self.homes, self.known, node.relations, alone) for rule in rules]
        if any(isinstance(at.site, (Evenly, Resident)) for at in found):
            way += ", skewed keys spread"
        if node.closure is not None and alike and self.limits.closures is None:
            way += PAIRS
        self.ways.append((node.relations, way))
        for at in found:
            self.emit(at)
        self.facts_of(node.relations)

    def most_edges(self, node: HyperNode) -> float:
        """Return the most edges of a closure that is to be everywhere: twice the limit if it is there already."""
        there = self.before is not None and all(
            self.before.homes.get(name) == "all" and self.sizes.get(name) for name in node.relations
        )
        return self.limits.edges(self.partitions) * (2 if there else 1)

    def place_everywhere(self, node: HyperNode) -> None:
        """Place a closure, or one that shows another, in every partition."""
        self.homes |= dict.fromkeys(node.relations, "all")
        self.unwritten.update(node.relations)
        self.ways.append((node.relations, "everywhere"))
        self.emit_everywhere([rule for rule in node.rules if isinstance(rule, CoreRule)])

    def in_first(self, node: HyperNode) -> bool:
        """Return True for the members of a group that the first partition folds."""
        shape = node.members
        return shape is not None and self.homes[shape.closure] == "all" and self.homes[shape.outer] == "one"

    def read_nodes_of_closures(self, rule: CoreRule) -> CoreRule:
        """Return a rule that reads the nodes of closures that are everywhere where it does not need their pairs."""
        narrow, ends = read_ends(rule, self.unwritten)
        for name, (closure, column) in ends.items():
            if name not in self.homes:
                self.infos[name], narrowing = ends_of(name, self.infos[closure], column)
                self.derived.add(name)
                self.homes[name] = "all"
                self.emit_everywhere([narrowing])
        return narrow

    def presume_sizes(self, node: HyperNode, rules: list[CoreRule]) -> None:
        """Presume sizes and skewed keys of unknown relations: no more rows than atoms that have all variables of a
        head, and the skewed keys of an atom that binds a column."""
        bounds: dict[str, float] = {}
        for rule in rules:
            head = rule.head
            if head.relation in self.sizes:
                continue
            positive = [each for each in rule.body if isinstance(each, CoreAtom) and not each.negated]
            atoms = [atom for atom in positive if atom.relation not in node.relations]
            needed = {arg for arg in head.args if isinstance(arg, CoreVariable)}
            rows = min((self.size(atom.relation) for atom in atoms if needed <= set(atom.args)), default=self.unknown)
            bounds[head.relation] = bounds.get(head.relation, 0.0) + rows
            for column, arg in enumerate(head.args if len(head.args) > 1 else ()):
                bound = [(atom.relation, i) for atom in atoms for i, other in enumerate(atom.args) if other == arg]
                share = max((self.known.share(*place) for place in bound), default=0.0)
                if share and isinstance(arg, CoreVariable):
                    shares = self.shares.setdefault(head.relation, {})
                    shares[column] = max(share, shares.get(column, 0.0))
        self.presumed |= {name: min(rows, self.unknown) for name, rows in bounds.items()}

    def choose_homes(self, node: HyperNode, rules: list[CoreRule]) -> tuple[HyperNode, list[CoreRule], int]:
        """Choose homes, and take rules apart that would have a large relation copied everywhere; the hyper-node with
        what that adds, its rules, and how many of them do not stay within a partition."""
        while True:
            broken = self.choose(node, rules)
            found = next(filter(None, (self.split_wide_rule(rule, node.relations) for rule in rules)), None)
            if found is None:
                return node, rules, broken
            whole, (info, join, rest) = found
            self.infos[info.name] = info
            self.derived.add(info.name)
            rules = [rest if rule is whole else rule for rule in rules]
            if any(name in node.relations for name, _ in join.reads):
                rules.append(join)
                node = replace(node, relations=(*node.relations, info.name))
            else:
                self.place(HyperNode((info.name,), (join,), False))

    def split_wide_rule(
        self, rule: CoreRule, within: tuple[str, ...]
    ) -> tuple[CoreRule, tuple[RelationInfo, CoreRule, CoreRule]] | None:
        """Return a rule with its two halves, if it has to be taken apart."""
        at = placed_rule(rule, self.homes, self.known, within)
        wide = any(
            place == "all" and self.homes[literal.relation] != "all" and self.size(literal.relation) > self.wide
            for literal, place in zip(rule.body, at.copies, strict=True)
            if isinstance(literal, CoreAtom)
        )
        name = f"#join.{rule.name}"
        while name in self.infos:
            name += "'"
        halves = split_join(rule, name) if wide else None
        return (rule, halves) if halves is not None else None

    def choose(self, node: HyperNode, rules: list[CoreRule]) -> int:
        """Choose the cheapest homes; returns the number of recursive rules that do not stay within a partition."""
        candidates = [self.candidates(name) for name in node.relations]
        if prod(map(len, candidates)) > _CHOICES:
            candidates = [[min(each, key=lambda place: place == "rows")] for each in candidates]
        best: tuple[tuple[int, float], dict[str, Placement]] | None = None
        for places in product(*candidates):
            homes = self.homes | dict(zip(node.relations, places, strict=True))
            found = [placed_rule(rule, homes, self.known, node.relations) for rule in rules]
            broken = sum(crosses(each, homes, node.relations) for each in found)
            kept = sum(
                self.before is not None and self.before.homes.get(name) == homes[name] for name in node.relations
            )
            uneven = sum(self.known.uneven(name, homes[name]) for name in node.relations)
            price = broken, sum(each.price for each in found) + uneven - 0.1 * kept
            if best is None or price < best[0]:
                best = price, homes
        assert best is not None
        self.homes = best[1]
        return best[0][0] if node.recursive else 0

    def candidates(self, name: str) -> list[Placement]:
        arity = len(self.infos[name].columns)
        rule = self.outer.get(name) or self.inner.get(name)
        if rule is not None and (name in self.outer or not self.in_two_steps(rule)):
            return [_place_of_groups(rule)]
        return [*(["rows"] if self.shares.get(name) and arity > 1 else []), *range(arity)] or ["one"]

    def aggregate(self, node: HyperNode) -> None:
        """Place an aggregate: its groups by their first column, or all of it in the first partition. Where groups are
        many rows, partitions aggregate their shares of these first."""
        (rule,) = node.rules
        assert isinstance(rule, AggregateRule)
        place = "one" if node.relations in self.selecting else _place_of_groups(rule)
        self.homes[rule.head] = place
        self.presumed[rule.head] = self.size(rule.outer)
        rule = replace(rule, head=self.copy(rule.head, place), outer=self.copy(rule.outer, place))
        if self.homes[rule.inner] not in (place, "all") and self.in_two_steps(rule):
            rule = self.second_step(rule, node.relations[0], place)
            self.ways.append((node.relations, "in two steps"))
        else:
            rule = replace(rule, inner=self.copy(rule.inner, place))
            self.ways.append((node.relations, "split" if place == 0 else "gathered"))
        self.rules.append(rule)
        if place == "one":
            self.single.append(self.rules[-1])
        self.facts_of(node.relations)

    def in_two_steps(self, rule: AggregateRule) -> bool:
        """Return True if an aggregate of aggregates is the same, and there is reason to do it so."""
        if self.homes.get(self.closures.get(rule.inner, "")) == "all":
            return False  # Partitions fold the components of the closure.
        combines = rule.kind in AGGREGATES[rule.op].combines
        many = self.known.share(rule.inner, 0) if rule.groups else self.size(rule.inner) > self.limits.skew
        return combines and self.partitions > 1 and bool(many)

    def second_step(self, rule: AggregateRule, head: str, place: Placement) -> AggregateRule:
        """Return the rule for partial aggregates: partitions aggregate their share of groups, and send the results."""
        inner = self.copy(rule.inner, self.homes[rule.inner])
        info, columns = self.infos[head], self.infos[rule.inner].columns
        asked, part, parts = (f"{head}@{name}" for name in ("asked", "part", "parts"))
        self.declare(asked, RelationInfo(asked, info.columns[: rule.groups], True))
        self.declare(part, info)
        self.declare(parts, info, signed=True)
        row = tuple(CoreVariable(f"#{i}", column.kind) for i, column in enumerate(columns))
        self.rules.append(CoreRule(asked, "", CoreAtom(asked, row[: rule.groups]), (CoreAtom(inner, row),)))
        self.rules.append(replace(rule, head=part, inner=inner, outer=asked))
        self.exports[Export(part, parts, 0, place, signed=True)] = None
        combined = AGGREGATES[rule.op].combined
        assert combined is not None
        return replace(rule, op=combined, inner=parts)

    # --- rules -----------------------------------------------------------------------------------------------------

    def copy(self, name: str, place: Placement) -> str:
        """Return the copy of a relation at a place, and add the export that feeds it if it is no home."""
        home = self.homes[name]
        own = facts_name(name) if name not in self.derived else home_name(name, home)
        self.declare(own, self.infos[name])
        if home in (place, "all"):
            return own
        copy = copy_name(name, place)
        self.declare(copy, self.infos[name])
        self.exports[Export(own, copy, home, place)] = None
        return copy

    def declare(self, name: str, info: RelationInfo, signed: bool = False) -> None:
        columns = (*info.columns, Column("sender", "number", "number")) if signed else info.columns
        self.relations[name] = RelationInfo(name, columns, info.auxiliary)

    def facts_of(self, relations: tuple[str, ...]) -> None:
        """Export facts that are asserted for derived relations to where these live."""
        for name in relations:
            if not self.infos[name].auxiliary or name in self.core.candidates.values():
                facts = facts_name(name)
                self.declare(facts, self.infos[name])
                home = self.homes[name]
                self.exports[Export(facts, self.copy(name, home), self.facts[name], home)] = None

    def emit_everywhere(self, rules: list[CoreRule]) -> None:
        """Add rules that every partition evaluates over all rows."""
        for rule in rules:
            copies: tuple[Placement | None, ...] = tuple(
                "all" if isinstance(each, CoreAtom) else None for each in rule.body
            )
            self.emit(PlacedRule(rule, "all", copies, False, 0.0))
        self.facts_of(tuple(dict.fromkeys(map(head_of, rules))))

    def emit(self, at: PlacedRule) -> None:
        """Add the rule of the partitions' program for a rule at its site."""
        rule, head = at.rule, at.rule.head
        home = self.homes[head.relation]
        body: list[CoreLiteral] = []
        anchored = False
        for literal, place in zip(rule.body, at.copies, strict=True):
            if isinstance(literal, CoreAtom):
                assert place is not None
                anchored |= not literal.negated and self.homes[literal.relation] != "all" and place != "all"
                literal = replace(literal, relation=self.copy(literal.relation, place))
            body.append(map_values(literal, self.word))
        if at.site == "all":
            if home == "one":
                body.append(CoreAtom(FIRST, ()))
            elif isinstance(home, int):
                body += own_word_literals(self.word(head.args[home]))
        elif isinstance(at.site, CoreVariable) and not anchored:
            body += own_word_literals(at.site)
        own = self.copy(head.relation, home)
        info = self.infos[head.relation]
        target = own
        if at.exchanged:
            target, arrived = f"{head.relation}@out", f"{head.relation}@in"
            self.declare(target, info)
            if arrived not in self.relations:
                self.declare(arrived, info, signed=True)
                columns = tuple(CoreVariable(f"#{i}", column.kind) for i, column in enumerate(info.columns))
                sender = CoreVariable("#sender", "number")
                self.rules.append(
                    CoreRule(arrived, "", CoreAtom(own, columns), (CoreAtom(arrived, (*columns, sender)),))
                )
            self.exports[Export(target, arrived, 0, home, signed=True)] = None
        args = tuple(self.word(arg) for arg in head.args)
        self.rules.append(replace(rule, head=CoreAtom(target, args), body=tuple(body)))
        if at.site == "one":
            self.single.append(self.rules[-1])

    def word(self, value: CoreValue) -> CoreValue:
        """Return a value without symbols: partitions may have no dictionary."""
        if isinstance(value, CoreConstant) and value.kind == "symbol":
            return CoreConstant(self.dictionary.encode(value.value, "symbol"), "number")
        return value

    # --- the plan --------------------------------------------------------------------------------------------------

    def plan(self) -> ClusterPlan:
        """Return the plan, once all hyper-nodes are placed."""
        views = {name: self.copy(name, home) for name, home in self.homes.items()}
        for name in self.core.relations:
            self.declare(facts_name(name), self.infos[name])
        exports, cycles = levels(self.relations, self.rules, tuple(self.exports))
        if cycles:
            self.declare(NEVER, RelationInfo(NEVER, (), True))
            self.rules += [rule for cycle in cycles for rule in joining_rules(cycle.relations, self.relations)]
        return ClusterPlan(
            self.program(self.rules),
            self.program([rule for rule in self.rules if rule not in self.single]),
            exports,
            cycles,
            self.homes,
            views,
            self.facts,
            any(map(needs_dictionary, self.rules)),
            tuple(self.ways),
            self.skew.keys,
            frozenset((name, column) for name, shares in self.shares.items() for column in shares),
            self.skew.limit,
        )

    def program(self, rules: list[AnyRule]) -> CoreProgram:
        relations = dict(self.relations)
        nodes = with_folds(with_closures(hyper_nodes(rules, relations), relations))
        own = {name: home_name(name, "one") for name, home in self.homes.items() if home == "one"}
        dropping = tuple(gathered_node(node, own, nodes) for node in recursions_that_select(self.core))
        dropping = tuple(node for node in dropping if node.whole)
        return CoreProgram(relations, self.core.records, nodes, functors=self.core.functors, dropping=dropping)


def needs_dictionary(rule: AnyRule) -> bool:
    """Return True if a rule looks into symbols or records; an aggregate does when it compares symbols, and one in
    Python for its operands."""
    if isinstance(rule, AggregateRule) and rule.own is not None:
        return not {*(column.kind for column in rule.own.operands), rule.own.declared.result.kind} <= PLAIN
    if isinstance(rule, AggregateRule):
        return rule.kind == "symbol" or rule.op == "collect"
    return looks_into_values(rule)


def _place_of_groups(rule: AggregateRule) -> Placement:
    """Return where the groups of an aggregate live; one that makes symbols or records runs in the first partition."""
    makes_values = rule.op == "collect" if rule.own is None else rule.own.declared.result.kind not in PLAIN
    return 0 if rule.groups and not makes_values else "one"
