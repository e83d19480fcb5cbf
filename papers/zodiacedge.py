"""Algorithms 1 to 4 of *ZodiacEdge: a Datalog Engine With Incremental Rule Set Maintenance* (Xu and Curé, 2023).

The rules are the nodes of the rule dependency graph (RDG, Section 2.1): r1 leads to r2 when the head predicate of r1
is in the body of r2, negatively when it is negated there or aggregated. Its strongly connected components are the
hyper-nodes, and the edges between those make the hyper rules dependency graph (HRDG, Section 4.2). A predicate can be
derived in several hyper-nodes: each keeps what its own rules derive (`idb`, the paper's DataStore), and reads the facts
of the program and what the hyper-nodes before it derive (`edb`, the paper's DataStoreBag: a union that is not stored).

Numbers in comments are the lines of the algorithms, ends of blocks not counted, as in the paper's text. Where that
leaves a choice:

- The data-incremental algorithm is DRed (`dred.Stratum`), one hyper-node at a time. The paper's own, an optimised form
  of backward/forward, is beyond its scope (Section 5); the published code gives wrong results when facts are deleted.
- Lines 3 to 7 of Algorithm 2 give new rules the edges that leave them; those that lead to them are needed as well.
- Line 8 of Algorithm 3 walks over DIHN, which is empty there; it has to be the dirty hyper-nodes DHN.
- An update of facts has as impacted hyper-nodes those that read a changed predicate; Algorithm 4 orders them as well.
- Hyper-nodes in DIHN reason anew when rules were deleted, successors of dirty ones too, as Algorithm 3 says; those that
  follow them in the plan are updated with the difference of what they read, and not touched if there is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from papers.dred import Stratum
from papers.joins import ALWAYS, AnyRule, Visits, aggregated, all_given, edited, with_premise
from tidelog.errors import Problem, ProgramError, UsageError
from tidelog.rules.core import AggregateRule, CoreProgram, CoreRule, RelationInfo, head_of
from tidelog.rules.cycles import check_strata
from tidelog.rules.graph import components
from tidelog.semantics.values import Row

Facts = Mapping[str, Iterable[Row]]
Edge = tuple[str, str]

NO_RULES: Mapping[str, AnyRule] = {}


@dataclass(eq=False)
class HyperNode:
    """A component of the RDG by the names of its rules, with the reasoner of those rules, whose `derived` is hn.IDB."""

    rules: frozenset[str]
    reasoner: Stratum

    @property
    def idb(self) -> dict[str, set[Row]]:
        return self.reasoner.derived


class RuleGraph:
    """The RDG: rules by name, positive edges Ep and negative edges En."""

    def __init__(self, rules: Mapping[str, AnyRule]) -> None:
        self.rules = dict(rules)
        self.positive: set[Edge] = set()
        self.negative: set[Edge] = set()
        readers: dict[str, list[tuple[str, bool]]] = {}
        for name, rule in rules.items():
            for relation, negative in dict.fromkeys(rule.reads):
                readers.setdefault(relation, []).append((name, negative))
        for name, rule in rules.items():
            for reader, negative in readers.get(head_of(rule), ()):
                (self.negative if negative else self.positive).add((name, reader))

    def components(self, names: Iterable[str]) -> list[frozenset[str]]:
        """Return the strongly connected components of the part of the graph between the rules `names`."""
        successors: dict[str, list[str]] = {name: [] for name in names}
        for first, second in sorted(self.positive | self.negative):
            if first in successors and second in successors:
                successors[first].append(second)
        return [frozenset(group) for group in components(successors)]

    def check(self, relations: Mapping[str, RelationInfo]) -> None:
        """Raise ProgramError if HEp ∪ HEn is not a DAG (Section 4.2): if a component has a negative edge inside."""
        reads: dict[str, list[str]] = {}
        for rule in self.rules.values():
            reads.setdefault(head_of(rule), []).extend(name for name, _ in rule.reads)
        check_strata(components(reads), list(self.rules.values()), relations)


class ZodiacEdge:
    """The views of a set of rules that changes, and of facts that change.

    `impacted` and `plan` are DIHN and the execution plan of the last update, hyper-nodes as sets of names of rules;
    `visited` is how many derivations were looked at since the beginning.
    """

    def __init__(self, core: CoreProgram, facts: Facts) -> None:
        """Run Algorithm 1."""
        self.core = core
        self._visits = Visits()
        self.facts = all_given(core, facts)
        self.graph = RuleGraph({rule.name: rule for node in core.nodes for rule in node.rules})  # 1
        self.graph.check(core.relations)
        self.nodes = [self._fresh(group) for group in self.graph.components(self.graph.rules)]  # 2
        self.impacted: list[frozenset[str]] = []
        self.plan: list[frozenset[str]] = []
        nothing: dict[str, set[Row]] = {}
        for node in self._execution_plan(self.nodes):  # 3, 4, 6
            self._reason(node, nothing, self.edb(node))  # 7, 8, and 9: a hyper-node keeps what it derives

    # --- what can be seen

    @property
    def visited(self) -> int:
        return self._visits.total

    @property
    def hyper_nodes(self) -> set[frozenset[str]]:
        return {node.rules for node in self.nodes}

    @property
    def views(self) -> dict[str, set[Row]]:
        """Return program.EDB with program.IDB."""
        return union([self.facts, *(node.idb for node in self.nodes)])

    def successors(self, node: HyperNode) -> list[HyperNode]:
        """Return the hyper-nodes that an edge of HEp or HEn leads to from `node`."""
        edges = self.graph.positive | self.graph.negative
        after = {second for first, second in edges if first in node.rules} - node.rules
        return [other for other in self.nodes if other.rules & after]

    def edb(self, node: HyperNode) -> dict[str, set[Row]]:
        """Return hn.EDB: program.EDB and the IDBs of the hyper-nodes that lead to `node` (Algorithm 1, line 7)."""
        edges = self.graph.positive | self.graph.negative
        before = {first for first, second in edges if second in node.rules} - node.rules
        return union([self.facts, *(other.idb for other in self.nodes if other.rules & before)])

    # --- updates

    def epoch(self, insert: Facts, delete: Facts) -> None:
        """Delete the facts `delete` and insert `insert`; facts in both are inserted."""
        old, before = self.facts, self._inputs()
        self.facts = edited(self.core, old, insert, delete)
        changed = {name for name, rows in self.facts.items() if rows != old[name]}
        rules = {name for name, rule in self.graph.rules.items() if changed & {read for read, _ in rule.reads}}
        self._run([node for node in self.nodes if node.rules & rules], before)

    def add_rules(self, rules: Iterable[AnyRule], relations: Mapping[str, RelationInfo] | None = None) -> None:
        """Run Algorithm 2; the rules bring `relations` along.

        Raises ProgramError, and changes nothing, if the program would not be stratified; that each rule is safe in
        itself is checked before there are core rules.
        """
        new = {rule.name: rule for rule in rules}
        present = sorted(new.keys() & self.graph.rules.keys())
        if present:
            raise ProgramError(Problem("E0221", f"a rule of this name is there already: {', '.join(present)}"))
        graph = RuleGraph(self.graph.rules | new)
        core = replace(self.core, relations={**self.core.relations, **(relations or {})})
        graph.check(core.relations)
        before = self._inputs()
        self.core = core
        self.facts = {name: self.facts.get(name, set()) for name in (*core.relations, ALWAYS)}
        self.graph = graph  # 2
        impacted: list[HyperNode] = []  # 1
        single = [HyperNode(frozenset([name]), Stratum([], self._visits)) for name in new]  # 3 to 7
        owner = {name: node for node in [*self.nodes, *single] for name in node.rules}
        nodes = []
        for group in graph.components(graph.rules):  # 8, 9
            inner = list(dict.fromkeys(owner[name] for name in sorted(group)))
            if len(inner) > 1:  # 10
                node = self._merged(inner)  # 11
                before[node] = union([self.facts, *(other.idb for other in self.nodes if other not in inner)])
                impacted.append(node)  # 12
            else:
                (node,) = inner  # 14
                before.setdefault(node, {})
                if group & new.keys():  # 15
                    impacted.append(node)  # 16
            nodes.append(node)
        self.nodes = nodes  # 18
        self._run(impacted, before, added=new)  # 17: the EDB is worked out when the plan comes to the node

    def remove_rules(self, names: Iterable[str]) -> None:
        """Run Algorithm 3."""
        removed = set(names)
        absent = sorted(removed - self.graph.rules.keys())
        if absent:
            raise UsageError(Problem("E0603", f"no such rule: {', '.join(absent)}"))
        before = self._inputs()
        dirty = [node for node in self.nodes if node.rules & removed]  # 4 to 7
        following = {node: self.successors(node) for node in dirty}
        self.graph = RuleGraph({name: rule for name, rule in self.graph.rules.items() if name not in removed})  # 2
        nodes = [node for node in self.nodes if node not in dirty]  # 3
        impacted: dict[HyperNode, None] = {}  # 1
        for node in dirty:  # 8
            impacted.update(dict.fromkeys(following[node]))  # 9
            # 10 to 12: a hyper-node without rules goes with all that it derived; 14 to 18: the others are split
            for group in self.graph.components(sorted(node.rules - removed)):
                part = self._fresh(group)
                nodes.append(part)
                impacted[part] = None
        self.nodes = nodes  # 19
        self._run([node for node in impacted if node in nodes], before, anew=True)  # 12, 13: dirty ones are gone

    def _run(
        self,
        impacted: list[HyperNode],
        before: dict[HyperNode, dict[str, set[Row]]],
        added: Mapping[str, AnyRule] = NO_RULES,
        anew: bool = False,
    ) -> None:
        """Section 4.4.3: reason along the execution plan; `before` is what each hyper-node read at its last
        reasoning."""
        plan = self._execution_plan(impacted)
        self.impacted, self.plan = [node.rules for node in impacted], [node.rules for node in plan]
        for node in plan:
            inputs = self.edb(node)
            if anew and node in impacted:
                node.reasoner = Stratum(node.reasoner.rules, self._visits)
                self._reason(node, {}, inputs)
            else:
                self._reason(node, before[node], inputs)
                fresh = plain(added[name] for name in sorted(node.rules & added.keys()))
                if fresh:
                    node.reasoner.extend(fresh, inputs)

    def _reason(self, node: HyperNode, old: dict[str, set[Row]], new: dict[str, set[Row]]) -> None:
        """Update hn.IDB from one EDB to another; recompute all tuples of an aggregate if that changed."""
        own = [self.graph.rules[name] for name in node.rules]
        if any(isinstance(rule, AggregateRule) for rule in own):
            read = {name for rule in own for name, _ in rule.reads}
            if not old or any(old.get(name, set()) != new.get(name, set()) for name in read):
                node.reasoner.derived = {head_of(rule): set() for rule in own}
                for relation, row in self._visits(aggregated(own, new)):
                    node.idb[relation].add(row)
        else:
            node.reasoner.update(old, new)

    # --- the HRDG

    def _fresh(self, group: frozenset[str]) -> HyperNode:
        return HyperNode(group, Stratum(plain(self.graph.rules[name] for name in sorted(group)), self._visits))

    def _merged(self, inner: list[HyperNode]) -> HyperNode:
        """Return one hyper-node for several, with their evaluated rules and derived tuples."""
        node = HyperNode(
            frozenset(name for each in inner for name in each.rules),
            Stratum([rule for each in inner for rule in each.reasoner.rules], self._visits),
        )
        node.reasoner.derived = union([each.idb for each in inner])
        return node

    def _inputs(self) -> dict[HyperNode, dict[str, set[Row]]]:
        return {node: self.edb(node) for node in self.nodes}

    def _execution_plan(self, impacted: Iterable[HyperNode]) -> list[HyperNode]:
        """Run Algorithm 4: return the hyper-nodes reachable from `impacted`, each behind those that lead to it."""
        plan: list[HyperNode] = []  # 8
        visited: set[HyperNode] = set()  # 7

        def depth_first_search(node: HyperNode) -> None:  # 1
            visited.add(node)  # 2
            for successor in self.successors(node):  # 3
                if successor not in visited:  # 4
                    depth_first_search(successor)  # 5
            plan.append(node)  # 6

        for node in impacted:  # 9
            if node not in visited:  # 10
                depth_first_search(node)  # 11
        return plan[::-1]  # 12, 13


def plain(rules: Iterable[AnyRule]) -> list[CoreRule]:
    return [with_premise(rule) for rule in rules if isinstance(rule, CoreRule)]


def union(stores: Iterable[Mapping[str, set[Row]]]) -> dict[str, set[Row]]:
    found: dict[str, set[Row]] = {}
    for store in stores:
        for name, rows in store.items():
            found.setdefault(name, set()).update(rows)
    return found
