"""The plans by which updates follow changes, kept from epoch to epoch, and what they see.

The states in which the atoms of a plan see their relations make it meet each derivation exactly once
(`_sight_of_losses`, `_sight_of_gains`). Source: Algorithm 3 and Section 4.1 of the elastic paper, with births instead
of iteration numbers as in docs/theory.md.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import is_
from typing import TypeAlias

from tidelog.common.arrays import Words
from tidelog.kernels import layout
from tidelog.kernels.layout import AFTER, AT_START, BEFORE, EVER, GONE, KEPT, NEW, NOW, UP_TO, WITH
from tidelog.maintain.assemble import Sight
from tidelog.maintain.machine import Inputs, Interpreter, Job
from tidelog.maintain.statistics import LiveStatistics
from tidelog.rules.core import AggregateRule, CoreAtom, CoreRule, HyperNode
from tidelog.rules.plans import Plan, needs_large_index, plan_changes, plan_scan
from tidelog.storage.changes import RelationGroup, outgrows
from tidelog.storage.closed_relation import ClosedRelation
from tidelog.storage.stored import StoredRelation

_OUTGROWN = 8
_SCANS = 30
"""So often a large relation is scanned for changes of another one before it gets an index for them, which costs about
as much."""
_LATE = 100
"""More rules than so many that have come are not told apart from the others."""
_COMING = 100
"""So many rules more than twice as many as there are may come before the plans are made anew."""
Listed: TypeAlias = tuple[str, int]
"""A relation, and one of its lists of changes, OUT or IN."""


@dataclass
class Maintained:
    """The state of a hyper-node from epoch to epoch: its interpreter, and the sizes for which its plans were made.

    Each rule has plans for those lists of relations in `planned`, OUT or IN, that have been needed so far. The rules
    that read a relation, its `readers`, all have them for its lists in `settled`, except perhaps for the `late` ones,
    which have come since, by their identity. Kernels ask for plans when a list of the hyper-node's own relations gets
    its first rows: of many mutually recursive rules, a change concerns few. `dormant` rules, by their identity, have no
    plans, because a relation that they read has no rows. It has never been in IN, so that its first rows ask for them.
    Changes of the relations `scanned` need a large index, which may never be used again: their plans scan instead, so
    many times, before the index is made; after that they are `indexed`.
    """

    machine: Interpreter
    indexed: frozenset[str]
    stored: dict[str, StoredRelation] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    rules: tuple[CoreRule | AggregateRule, ...] = ()
    readers: dict[str, dict[int, CoreRule]] = field(default_factory=dict)
    scanned: dict[str, int] = field(default_factory=dict)
    planned: dict[int, tuple[CoreRule, set[Listed]]] = field(default_factory=dict)
    settled: set[Listed] = field(default_factory=set)
    late: dict[int, CoreRule] = field(default_factory=dict)
    dormant: dict[int, CoreRule] = field(default_factory=dict)
    fresh: frozenset[int] = frozenset()
    """The rules added in this epoch, by their identity."""
    negating: dict[str, bool] = field(default_factory=dict)
    """True if a rule negates a relation, as far as that was asked for."""
    lists: set[Listed] = field(default_factory=set)
    """The lists of other hyper-nodes' relations that this epoch has filled."""
    added: int = 0
    """The number of rules that were added since the interpreter was made, whose constants it keeps."""
    derived: dict[str, StoredRelation] = field(default_factory=dict)
    others: dict[str, StoredRelation] = field(default_factory=dict)
    """The relations of the hyper-node, and those of other ones that it reads."""
    own_group: RelationGroup = field(default_factory=lambda: RelationGroup(()))
    other_group: RelationGroup = field(default_factory=lambda: RelationGroup(()))
    closed: tuple[str, ...] = ()
    """Those of the relations that are closures."""
    written: list[StoredRelation] = field(default_factory=list)
    room: list[int] = field(default_factory=list)
    """The other relations, and how many rows these may have with the present plans."""

    def fits(self, relations: Mapping[str, StoredRelation], derived: Iterable[str]) -> bool:
        """Return True if the interpreter runs over these relations and derives the same, none has outgrown its plans,
        and few of the rules that it has seen are others by now."""
        for name, left in self.scanned.items():
            if left == 0 and name in relations and relations[name].changing:
                return False
        if {relations[name] for name in derived} != set(self.machine.derived):  # One went with its rules, and is back.
            return False
        if self.stored != relations and any(
            relations.get(name, each) is not each for name, each in self.stored.items()
        ):
            return False
        if outgrows(self.written, self.room):
            return False
        for name in self.closed:
            if len(self.stored[name]) > _room(self.sizes[name]):
                return False
        return self.added <= 2 * len(self.rules) + _COMING

    def follow(self, node: HyperNode, relations: Mapping[str, StoredRelation]) -> None:
        """Go to the present rules of the hyper-node, and to the relations that they read."""
        last, now = self.rules, node.rules
        is_same = last is now or (len(last) == len(now) and all(map(is_, last, now)))
        # With other rules it may have read relations that only rules read which went in that epoch.
        if not is_same or len(self.stored) != len(relations):
            self._relate(node, relations)
        if not is_same:
            self._change_rules(node)
        self.rules = node.rules

    def _relate(self, node: HyperNode, relations: Mapping[str, StoredRelation]) -> None:
        """Go to other relations, the present ones among them as far as plans are about these."""
        self.machine.relate(relations)
        self.stored = dict(relations)
        self.derived = {name: relations[name] for name in node.relations}
        self.others = {name: stored for name, stored in relations.items() if name not in node.derives}
        self.own_group, self.other_group = RelationGroup(self.derived.values()), RelationGroup(self.others.values())
        self.sizes = {name: self.sizes[name] if name in self.sizes else len(each) for name, each in relations.items()}
        self.closed = tuple(name for name, stored in relations.items() if isinstance(stored, ClosedRelation))
        written = [name for name in relations if name not in self.closed]
        self.written = [relations[name] for name in written]
        self.room = [_room(self.sizes[name]) for name in written]

    def _change_rules(self, node: HyperNode) -> None:
        """Go to other rules."""
        known, present = set(map(id, self.rules)), set(map(id, node.rules))
        removed = [rule for rule in self.rules if id(rule) not in present and isinstance(rule, CoreRule)]
        new = [rule for rule in node.rules if id(rule) not in known and isinstance(rule, CoreRule)]
        self.added += len(present - known)
        self.machine.drop({number for number in self.planned if number not in present})
        self.planned = {number: each for number, each in self.planned.items() if number in present}
        self.late = {number: rule for number, rule in self.late.items() if number in present}
        self.late |= {id(rule): rule for rule in new}
        self.dormant = {number: rule for number, rule in self.dormant.items() if number in present}
        if not known or len(self.late) > _LATE:  # With no rules before, all that come are late.
            self.settled, self.late = set(), {}
        self.negating = {}
        for rule in removed:
            for name in dict(rule.reads):
                self.readers[name].pop(id(rule), None)
        for rule in new:
            for name in dict(rule.reads):
                self.readers.setdefault(name, {})[id(rule)] = rule
        self.note_unplanned()

    def rules_reading(self, lists: Iterable[Listed]) -> dict[int, CoreRule]:
        """Return the rules that read the relations of lists, by their identity."""
        names = sorted({name for name, _ in lists})  # in the same order each time
        return {number: rule for name in names for number, rule in self.readers.get(name, {}).items()}

    def negates(self, name: str) -> bool:
        """Return True if what enters a relation deletes, because a rule negates it."""
        found = self.negating.get(name)
        if found is None:
            found = any((name, True) in rule.reads for rule in self.readers.get(name, {}).values())
            self.negating[name] = found
        return found

    def effects(self, lists: Iterable[Listed]) -> tuple[bool, bool]:
        """Return whether these lists of relations of other hyper-nodes may take derivations away, and may bring
        some."""
        loses = wins = False
        for name, version in lists:
            negates = self.negates(name)
            loses |= negates or version == layout.OUT
            wins |= negates or version == layout.IN
        return loses, wins

    def add(self, jobs: Iterable[Job]) -> None:
        """Take more plans. When this raises, the state is worthless."""
        self.machine.add(jobs)
        self.own_group.note_indexes()
        self.other_group.note_indexes()

    def note_unplanned(self) -> None:
        """Note in the descriptors of the hyper-node's own relations which lists have readers without plans."""
        for name, stored in self.derived.items():
            unplanned = {(name, layout.OUT), (name, layout.IN)} - self.settled if self.readers.get(name) else set()
            stored.fields[layout.R_UNPLANNED] = sum(1 << version for _, version in unplanned)

    def note_missing(self, rule: CoreRule, lists: Iterable[Listed]) -> set[Listed]:
        """Return those of the lists for which a rule has no plans so far, and note them."""
        planned = self.planned.setdefault(id(rule), (rule, set()))[1]
        missing = set(lists) - planned
        planned |= missing
        return missing


def _room(size: int) -> int:
    """Return the rows that a relation may have with plans for so many."""
    return _OUTGROWN * max(1_000, size)


@dataclass(frozen=True)
class NodeChange:
    """The changes of a hyper-node besides its inputs: asserted facts inserted and deleted, rules added and dropped."""

    inserted: Mapping[str, Words] = field(default_factory=dict)
    deleted: Mapping[str, Words] = field(default_factory=dict)
    added: Sequence[CoreRule] = ()
    dropped: Sequence[CoreRule] = ()


def prepare(node: HyperNode, change: NodeChange, inputs: Inputs, before: Maintained | None = None) -> Maintained:
    """Plan and assemble the code that a hyper-node needs to follow the changes of others in this epoch; `before` is its
    present state.

    Rules added in this epoch are evaluated in full besides; of their plans only those for newly born tuples of the
    node itself are wanted.
    """
    if before is None or not before.fits(inputs.relations, node.relations):
        indexed = {name for name, left in before.scanned.items() if left == 0} if before is not None else set()
        machine = Interpreter(inputs.catalog, inputs.dictionary, inputs.relations, node.relations, ())
        before = Maintained(machine, frozenset(indexed))
    before.follow(node, inputs.relations)
    before.fresh = frozenset(map(id, change.added))
    lists = before.lists = changed_lists(before.others)
    if not lists <= before.settled or before.late:
        settled = {each for each in before.settled if each[0] in node.derives}
        plan(before, lists | settled)
    before.late |= {id(rule): rule for rule in change.added}
    return before


def plan(kept: Maintained, lists: set[Listed]) -> None:
    """Add the plans that are missing for the tuples in `lists` of relations; see `prepare` for fresh rules."""
    internal = frozenset(kept.derived)
    statistics = LiveStatistics(kept.stored, frozenset())
    born = {(name, version) for name, version in lists if name in internal and version == layout.IN}
    wakes = False
    jobs: list[Job] = []
    for number, rule in (kept.rules_reading(lists - kept.settled) | kept.late).items():
        if reads_empty(rule, kept.stored):
            kept.dormant[number] = rule
            continue
        wakes |= kept.dormant.pop(number, None) is not None
        read = {(name, version) for name, _ in rule.reads for version in (layout.OUT, layout.IN)}
        missing = kept.note_missing(rule, read & (born if number in kept.fresh else lists))
        if missing:
            changed = _changed_atoms(rule, missing)
            for i, plans in plan_changes(rule, changed, statistics).items():
                jobs += _jobs(plans, i, changed[i], internal, statistics, kept)
    if jobs:
        kept.add(jobs)
    # A rule that wakes up has no plans for the other lists: these are asked for again.
    kept.settled = lists if wakes else kept.settled | lists
    kept.note_unplanned()


def reads_empty(rule: CoreRule, relations: Mapping[str, StoredRelation]) -> bool:
    """Return True if an atom of a rule reads a relation without rows, dead ones included: the rule has no derivations,
    now or at the start of the epoch. Pairs of closures are not rows, and are not looked at."""
    read = (relations[name] for name, negated in rule.reads if not negated)
    return any(not stored.rows and not isinstance(stored, ClosedRelation) for stored in read)


def changed_lists(others: Mapping[str, StoredRelation]) -> set[Listed]:
    """Return the lists, OUT or IN, of relations of other hyper-nodes that are not empty."""
    found = set()
    for name, stored in others.items():
        if stored.changing:
            cells, number = stored.catalog.cells, stored.number
            if cells[number, layout.R_OUT_N]:
                found.add((name, layout.OUT))
            if cells[number, layout.R_IN_N]:
                found.add((name, layout.IN))
    return found


def _changed_atoms(rule: CoreRule, lists: Collection[Listed]) -> dict[int, list[int]]:
    """Return the positions of the atoms whose relations have some of these lists, with the lists."""
    atoms = [(i, literal.relation) for i, literal in enumerate(rule.body) if isinstance(literal, CoreAtom)]
    found = {i: [version for version in (layout.OUT, layout.IN) if (name, version) in lists] for i, name in atoms}
    return {i: versions for i, versions in found.items() if versions}


def _jobs(
    plans: Sequence[Plan],
    i: int,
    lists: Sequence[int],
    internal: frozenset[str],
    statistics: LiveStatistics,
    kept: Maintained,
) -> list[Job]:
    """Return the jobs of the plans that start from the tuples in `lists` of body atom `i`, and note where they scan."""
    rule = plans[0].rule
    atom = rule.body[i]
    assert isinstance(atom, CoreAtom)
    name = atom.relation
    dear = name not in internal and any(needs_large_index(plan, statistics) for plan in plans)
    scan = plan_scan(rule, i, statistics) if dear and not atom.negated and name not in kept.indexed else None
    jobs = []
    for version in lists:
        deleting = (version == layout.OUT) is not atom.negated
        group, sight = (
            ("delete", _sight_of_losses(rule, i, internal))
            if deleting
            else ("insert", _sight_of_gains(rule, i, internal))
        )
        if scan is None:
            jobs += [Job(plan, sight, group) for plan in plans]
        else:
            kept.scanned.setdefault(name, _SCANS)
            jobs.append(Job(scan, _sight_of_scan(sight, i, GONE if deleting else NEW), f"{group} {name}"))
    return jobs


def forget_indexes(maintained: dict[frozenset[str], Maintained], relations: Sequence[StoredRelation]) -> None:
    """Release the memory of indexes that are not needed if all goes well, and the plans that run over them, from the
    states of the hyper-nodes; otherwise they are made anew."""
    for key, kept in list(maintained.items()):
        if any(stored is other for stored in kept.stored.values() for other in relations):
            del maintained[key]
    for stored in relations:
        stored.indexes.clear()


def _sight_of_losses(rule: CoreRule, i: int, internal: frozenset[str]) -> Sight:
    """Return the sight of a plan for deletions when body atom `i` has changed.

    Deaths of other hyper-nodes come before all others, so that each lost derivation is charged in the round of its
    earliest death, at the first atom that dies then: atoms before it are alive after that round, atoms behind it alive
    or dying in it. A negated atom dies by insertions.
    """
    atom = rule.body[i]
    assert isinstance(atom, CoreAtom)
    if atom.relation in internal:
        states = states_of(rule, lambda j: AFTER if j < i else WITH, lambda j: KEPT, lambda j: EVER, internal)
    else:
        states = states_of(
            rule,
            lambda j: AT_START,
            lambda j: KEPT if j < i else AT_START,
            lambda j: EVER if j < i else AT_START,
            internal,
        )
    states[i] = EVER
    return Sight(layout.IN if atom.negated else layout.OUT, tuple(states))


def _sight_of_gains(rule: CoreRule, i: int, internal: frozenset[str]) -> Sight:
    """Return the sight of a plan for insertions when body atom `i` has changed; the mirror image of `_lost`."""
    atom = rule.body[i]
    assert isinstance(atom, CoreAtom)
    if atom.relation in internal:
        states = states_of(rule, lambda j: BEFORE if j < i else UP_TO, lambda j: NOW, lambda j: NOW, internal)
    else:
        states = states_of(
            rule, lambda j: UP_TO, lambda j: KEPT if j < i else NOW, lambda j: EVER if j < i else NOW, internal
        )
    states[i] = EVER
    return Sight(layout.OUT if atom.negated else layout.IN, tuple(states))


def _sight_of_scan(sight: Sight, i: int, state: int) -> Sight:
    """Return the same sight for a plan that scans another atom and looks the changed tuples of atom `i` up."""
    return Sight(layout.NOW, (*sight.states[:i], state, *sight.states[i + 1 :]), sifted=i)


def sight_of_rule(rule: CoreRule, own: int, other: int, internal: frozenset[str]) -> Sight:
    """Return the sight of a plan that evaluates a whole rule."""
    return Sight(layout.NOW, tuple(states_of(rule, lambda j: own, lambda j: other, lambda j: other, internal)))


def states_of(
    rule: CoreRule,
    own: Callable[[int], int],
    other: Callable[[int], int],
    negated: Callable[[int], int],
    internal: frozenset[str],
) -> list[int | None]:
    """Return a state for each literal: of the hyper-node's own atoms, of other atoms, of negated ones; None for the
    rest."""
    states: list[int | None] = []
    for j, literal in enumerate(rule.body):
        if not isinstance(literal, CoreAtom):
            states.append(None)
        elif literal.negated:
            states.append(negated(j))
        else:
            states.append(own(j) if literal.relation in internal else other(j))
    return states
