"""Join plans: the order in which to evaluate a rule's literals, for each position of the delta.

A plan scans one atom - the delta where there is one - and then takes the other literals one at a time. Filters and
computations come as soon as their variables are bound; of the atoms, only those connected to bound variables are
candidates, so that a cross product is made only where the rule itself is one. The order with the fewest estimated
bindings is found by depth-first search with pruning, whose steps are bounded. Where the first atom behind the scan
could be one of two whose segments differ from binding to binding, two plans share the work: each binding takes the
shorter way (`Route`). Where several atoms bind the same variable and nothing else, each binding takes its candidates
from the shortest of their segments (`shared`), so that a cyclic rule makes no more bindings than its result could have
tuples. Sources: Section 4.2 of the elastic paper; Ngo, Porat, Ré, Rudra, "Worst-case optimal join algorithms", PODS
2012; adaptive orders as measured in docs/theory.md.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from math import inf
from typing import Protocol, TypeAlias

from tidelog.rules.core import Computation, CoreAtom, CoreComparison, CoreRule, CoreVariable, is_several

_SEARCH_STEPS = 3_000
"""So many steps look for a better order; then the cheapest literal comes first, each time."""
_CHEAP_STEPS = 100
"""So many steps look for a better order than one that costs nothing, and one more for each ten bindings that it costs:
a step takes as long as some hundred bindings, and a plan may run for many rows."""
_LONG = 24
"""Of bodies with more literals a step takes longer, and fewer are taken."""
_ROUTE_RANGE = 16.0
"""Two ways whose estimated costs differ by less than this factor are left to each binding."""
_BUILDING = 0.0005
"""The cost of a row of an index that a change would have to build first, in bindings; later changes use it as well."""
_CHEAP_INDEX = 10.0
"""The cost of an index, in bindings, that does not decide about an order."""
_SMALL = 500_000.0
_SHARED_FANOUT = 2.0
"""With fewer candidates on average, one atom alone binds a variable that several share."""
_INDEXED = 8
"""The most columns of an index (`layout.MAX_KEYS`)."""

Probe: TypeAlias = tuple[str, tuple[int, ...]]
"""A relation, and the columns by which its rows are looked up."""


class Statistics(Protocol):
    """The planner's knowledge about the relations."""

    def size(self, relation: str) -> float:
        """Return the number of rows, at least 1."""

    def distinct(self, relation: str, columns: tuple[int, ...]) -> float:
        """Return the number of different values of these columns together, at least 1."""

    def has_index(self, relation: str, columns: tuple[int, ...]) -> bool:
        """Return True if there is an index by these columns, or none is needed."""

    def is_compressed(self, relation: str) -> bool:
        """Return True if the relation is a closure whose pairs are not written. Plans probe it without an index; it has
        neither segments with lengths to compare nor rows to sift."""


@dataclass(frozen=True)
class Route:
    """Keep a binding if the segment of atom `mine` is shorter than that of `other`; `ties` also when they are equal."""

    mine: int
    other: int
    ties: bool


@dataclass(frozen=True)
class Plan:
    """An order for `rule`: scan body atom `source` (None: start from the empty binding), then take `order`.

    All numbers are positions in the body. with `delta`, the plan reads the source in its delta version only; atoms of
    the hyper-node before it in the body are then read without the delta, those behind it with it.
    """

    rule: CoreRule
    source: int | None
    order: tuple[int, ...]
    delta: bool = False
    route: Route | None = None
    shared: tuple[tuple[int, ...], ...] = ()
    """Atoms that bind one variable together, in the order in which they come; the first stands for them all."""
    fanouts: Mapping[int, float] = field(default_factory=dict, compare=False, repr=False)
    """How many bindings each atom behind the scan was expected to make of one, for profiles."""


def _binds(rule: CoreRule, i: int) -> frozenset[str]:
    """Return the variables that literal `i` of a rule binds."""
    literal = rule.body[i]
    return frozenset() if isinstance(literal, CoreAtom) and literal.negated else rule.variables[i]


class _Planner:
    """The search for one rule and one set of statistics. Sets of variables and of literals are bits of numbers: a
    program may have thousands of rules, which are planned for each position of a change."""

    def __init__(self, rule: CoreRule, statistics: Statistics, building: float = 0.0) -> None:
        self.building = building
        self.rule = rule
        self.statistics = statistics
        size = len(rule.body)
        self.bits = {name: 1 << n for n, name in enumerate(dict.fromkeys(chain(*map(sorted, rule.variables))))}
        self.binds = [self.set_of(_binds(rule, i)) for i in range(size)]
        self.needs = [self.set_of(names) for names in rule.needs]
        self.atoms = frozenset(i for i, x in enumerate(rule.body) if isinstance(x, CoreAtom) and not x.negated)
        self.ranges = frozenset(i for i, x in enumerate(rule.body) if is_several(x))
        self.choices = [i for i in range(size) if i in self.atoms or i in self.ranges]
        self.filters = [i for i in range(size) if i not in self.atoms and i not in self.ranges]
        self.all = (1 << size) - 1
        self.steps = 0
        self.most_steps = _SEARCH_STEPS if size <= _LONG else max(2 * size, _SEARCH_STEPS * _LONG**2 // size**2)
        self._keys: dict[tuple[int, int], tuple[int, ...]] = {}
        self._fanouts: dict[tuple[int, int], float] = {}
        self._reached: dict[int, tuple[float, float]] = {}
        """For each set of literals that are done, the cost and the bindings of the last order that was followed."""

    def set_of(self, names: Iterable[str]) -> int:
        """Return the set of some variables."""
        return sum(self.bits[name] for name in names)

    def scan(self, i: int | None) -> _Partial:
        """Return what there is once literal `i` has been scanned, or nothing."""
        return (
            self.add_filters((), 0, 0)
            if i is None
            else self.add_filters((), 1 << i, self.set_of(self.rule.variables[i]))
        )

    def add_filters(self, order: tuple[int, ...], done: int, bound: int) -> _Partial:
        """Add every filter and computation that can be evaluated, in the order of the body, until none is left."""
        again = bool(self.filters)
        while again:
            again = False
            for i in self.filters:
                if not done >> i & 1 and not self.needs[i] & ~bound:
                    order, done, bound, again = (*order, i), done | 1 << i, bound | self.binds[i], True
        return order, done, bound

    def take(self, partial: _Partial, i: int) -> _Partial:
        """Return what there is once literal `i` comes next."""
        order, done, bound = partial
        return self.add_filters((*order, i), done | 1 << i, bound | self.binds[i])

    def keys(self, i: int, bound: int) -> tuple[int, ...]:
        """Return the columns of atom `i` that are known once `bound` are."""
        key = i, self.binds[i] & bound
        found = self._keys.get(key)
        if found is None:
            bits = self.bits
            found = self._keys[key] = tuple(
                c
                for c, arg in enumerate(self.atom(i).args)
                if not isinstance(arg, CoreVariable) or bits[arg.name] & bound
            )
        return found

    def fanout(self, i: int, bound: int) -> float:
        """Return how many bindings literal `i` makes of one."""
        key = i, self.binds[i] & bound
        found = self._fanouts.get(key)
        if found is None:
            found = self._fanouts[key] = self._fanout(i, bound)
        return found

    def _fanout(self, i: int, bound: int) -> float:
        literal = self.rule.body[i]
        if not isinstance(literal, CoreAtom):
            return 1.0 if isinstance(literal, Computation) and literal.declared is not None else 10.0
        columns = self.keys(i, bound)
        size = self.statistics.size(literal.relation)
        if not columns:
            return size if literal.args else 1.0
        if len(columns) == len(literal.args):
            return 0.5
        return size / self.statistics.distinct(literal.relation, columns)

    def index_cost(self, i: int, bound: int) -> float:
        """Return the cost of making an index for atom `i`, in bindings; 0 if there is one."""
        literal = self.rule.body[i]
        if not self.building or not isinstance(literal, CoreAtom):
            return 0.0
        keys = self.keys(i, bound)
        if len(keys) == len(literal.args) or self.statistics.has_index(literal.relation, keys):
            return 0.0
        return self.building * self.statistics.size(literal.relation)

    def atom(self, i: int) -> CoreAtom:
        """Return literal `i`, which is an atom."""
        atom = self.rule.body[i]
        assert isinstance(atom, CoreAtom)
        return atom

    def relation(self, i: int) -> str:
        """Return the relation of atom `i`."""
        return self.atom(i).relation

    def candidates(self, done: int, bound: int) -> list[int]:
        """Return the literals that may come next: connected ones if there are any."""
        binds, needs = self.binds, self.needs
        rest = [i for i in self.choices if not done >> i & 1 and not needs[i] & ~bound]
        connected = [i for i in rest if binds[i] & bound or not binds[i] or i in self.ranges]
        return connected or rest

    def is_enough(self, best: _Found | None) -> bool:
        """Return True if it does not pay to look any longer for a better order than the `best` so far."""
        return self.steps >= self.most_steps or (best is not None and self.steps >= _CHEAP_STEPS + best[0] / 10)

    def is_filter(self, fanout: float, i: int, bound: int) -> bool:
        """Return True if literal `i` makes no more bindings of those that there are: an order that puts it off is
        hardly cheaper, unless it saves an index."""
        return fanout < 1.0 or (fanout == 1.0 and self.index_cost(i, bound) <= _CHEAP_INDEX)

    def search(self, partial: _Partial, rows: float, cost: float, best: _Found | None) -> _Found | None:
        """Return the cheapest completion of `partial`, or `best` if none is cheaper."""
        self._reached = {}
        return self._complete(partial, rows, cost, best)

    def _complete(self, partial: _Partial, rows: float, cost: float, best: _Found | None) -> _Found | None:
        order, done, bound = partial
        if done == self.all:
            return (cost, order) if best is None or cost < best[0] else best
        reached = self._reached.get(done)
        if reached is not None and reached[0] <= cost and reached[1] <= rows:
            return best  # Each completion is one of that order as well, and was cheaper there.
        self._reached[done] = cost, rows
        self.steps += 1
        ways = sorted([(self.fanout(i, bound), i) for i in self.candidates(done, bound)])
        only_first = self.is_enough(best) or (ways and self.is_filter(*ways[0], bound))
        for place, (fanout, i) in enumerate(ways[:1] if only_first else ways):
            if place and self.is_enough(best):  # It has been so while the first ways were followed.
                break
            produced = rows * fanout
            total = cost + produced + rows + self.index_cost(i, bound)
            if best is not None and total >= best[0]:
                continue
            best = self._complete(self.take(partial, i), max(produced, 1e-6), total, best)
        return best


_Partial: TypeAlias = tuple[tuple[int, ...], int, int]
"""An order, the set of the literals that are done, and that of the variables that are bound."""
_Found: TypeAlias = tuple[float, tuple[int, ...]]
"""The cost of an order, in bindings, and the order."""


def plan_full(rule: CoreRule, statistics: Statistics) -> Plan:
    """Return the plan that evaluates a rule over everything."""
    planner = _Planner(rule, statistics)
    best: _Found | None = None
    source: int | None = None
    for size, i in _starts(planner):
        found = planner.search(planner.scan(i), size, size, best)
        if found is not None and found is not best:
            best, source = found, i
    assert best is not None, f"the rule {rule} cannot be evaluated"
    return _with_shared_variables(planner, Plan(rule, source, best[1]), _SHARED_FANOUT)


def _with_shared_variables(
    planner: _Planner,
    plan: Plan,
    least: float,
    *,
    held: Collection[Probe] = (),
    growing: Collection[str] = (),
    free: float = 0.0,
) -> Plan:
    """Return a plan in which atoms share variables that have at least `least` candidates on average. Make no index for
    that on a `growing` relation, nor one that costs more than it saves; those `held` are there anyway, those on `free`
    rows cost nothing."""
    statistics = planner.statistics
    bound = planner.set_of(_scanned_variables(plan))
    rows = 1.0 if plan.source is None else statistics.size(planner.relation(plan.source))
    groups: list[tuple[int, ...]] = []
    fanouts: dict[int, float] = {}

    def is_cheap(i: int) -> bool:
        probe = planner.relation(i), planner.keys(i, bound)
        makes = probe[0] not in growing and statistics.size(probe[0]) <= max(free, rows)
        return probe in held or statistics.has_index(*probe) or makes

    for place, i in enumerate(plan.order):
        if i in planner.atoms:
            fanout, later = planner.fanout(i, bound), planner.atoms.intersection(plan.order[place + 1 :])
            variable = _shareable(planner, i, bound) if later and fanout >= least else None
            if variable is not None:
                others = (j for j in plan.order[place + 1 :] if _shareable(planner, j, bound) == variable)
                group = (i, *(j for j in others if is_cheap(j)))
                groups += [group] if len(group) > 1 else []
            rows *= fanout
            fanouts[i] = fanout
        bound |= planner.binds[i]
    return replace(plan, shared=tuple(groups), fanouts=fanouts)


def _shareable(planner: _Planner, i: int, bound: int) -> str | None:
    """Return the only variable that an atom binds, None if it binds several or is not looked up by all other
    columns."""
    if i not in planner.atoms or not _is_looked_up(planner, i, bound):
        return None
    atom = planner.atom(i)
    free = [arg.name for arg in atom.args if isinstance(arg, CoreVariable) and not planner.bits[arg.name] & bound]
    return free[0] if len(free) == 1 and len(atom.args) - 1 <= _INDEXED else None


def _starts(planner: _Planner) -> list[tuple[float, int | None]]:
    """Return the possible starts of a plan, smallest first: rows, and the atom that has them, None for the empty
    binding.

    Atoms with constants are probed, not scanned. A plan scans all pairs of a closure only if there is nothing else to
    scan, or nothing smaller.
    """
    statistics, body = planner.statistics, planner.rule.body
    free = [
        i
        for i in planner.atoms
        if isinstance(x := body[i], CoreAtom) and all(isinstance(v, CoreVariable) for v in x.args)
    ]
    written = [i for i in free if not statistics.is_compressed(planner.relation(i))]
    starts: list[tuple[float, int | None]] = [(statistics.size(planner.relation(i)), i) for i in written]
    if _useful_from_nothing(planner):
        starts.append((1.0, None))
    least = min((size for size, _ in starts), default=inf)
    closures = [(statistics.size(planner.relation(i)), i) for i in free if i not in written]
    return sorted([*starts, *(start for start in closures if start[0] <= least)], key=lambda start: start[0])


def _useful_from_nothing(planner: _Planner) -> bool:
    """Return True if the empty binding leads to a literal that does not scan a whole relation."""
    _, done, bound = planner.scan(None)
    rest = [planner.rule.body[i] for i in planner.atoms if not done >> i & 1]
    constants = any(
        not isinstance(arg, CoreVariable) for atom in rest if isinstance(atom, CoreAtom) for arg in atom.args
    )
    return not rest or bound > 0 or constants or any(isinstance(atom, CoreAtom) and not atom.args for atom in rest)


def plan_deltas(
    deltas: Sequence[tuple[CoreRule, int]], internal: frozenset[str], statistics: Statistics
) -> tuple[Plan, ...]:
    """Return the plans that evaluate each rule for the delta of the body atom given with it: one, or two that share the
    bindings.

    A second plan must not cost an index of its own on a relation of the hyper-node (`internal`), which grows all the
    time.
    """
    found = [_plan_delta(_Planner(rule, statistics), delta) for rule, delta in deltas]
    held = {probe for each in found for probe in probes(each[1])}
    plans: list[Plan] = []
    for planner, first, start, cost in found:
        plan = _with_shared_variables(planner, first, _SHARED_FANOUT, held=held, growing=internal)
        rival = _rival(planner, plan, start, _ROUTE_RANGE * max(cost, 1.0), 2.0)
        if rival is None or any(p not in held and p[0] in internal for p in probes(rival)):
            plans.append(plan)
        else:
            plans += _with_routes(
                planner, plan, _with_shared_variables(planner, rival, _SHARED_FANOUT, held=held, growing=internal)
            )
    return tuple(plans)


def plan_changes(rule: CoreRule, changed: Iterable[int], statistics: Statistics) -> dict[int, tuple[Plan, ...]]:
    """Return for each of these body atoms, which may be negated, the plans that start from its changed tuples: one, or
    two that share the bindings. Changes are small, so that an unusually long segment decides. Make no large index for a
    second plan, and for a first plan only if there is no other way."""
    planner = _Planner(rule, statistics, _BUILDING)
    return {i: _plan_change(planner, i) for i in changed}


def _plan_change(planner: _Planner, changed: int) -> tuple[Plan, ...]:
    planner, first, start, _ = _plan_delta(planner, changed)
    plan = _with_shared_variables(planner, first, 0.0, free=_SMALL)
    rival = _rival(planner, plan, start, inf, 0.0)
    if rival is None or needs_large_index(rival, planner.statistics):
        return (plan,)
    return _with_routes(planner, plan, _with_shared_variables(planner, rival, 0.0, free=_SMALL))


def plan_scan(rule: CoreRule, changed: int, statistics: Statistics) -> Plan | None:
    """Return the plan that scans another atom and meets the changed tuples of atom `changed` next, without making a
    large index; None if there is none."""
    planner = _Planner(rule, statistics, _BUILDING)
    best: tuple[float, Plan] | None = None
    for source in sorted(planner.atoms - {changed}):
        scanned = planner.scan(source)
        if planner.binds[changed] & scanned[2] and not statistics.is_compressed(planner.relation(source)):
            found = planner.search(planner.take(scanned, changed), 1.0, 0.0, None)
            assert found is not None, f"the rule {rule} cannot be evaluated"
            plan, cost = Plan(rule, source, found[1]), statistics.size(planner.relation(source)) + found[0]
            if not needs_large_index(plan, statistics) and (best is None or cost < best[0]):
                best = cost, plan
    return best[1] if best is not None else None


def needs_large_index(plan: Plan, statistics: Statistics) -> bool:
    """Return True if a plan looks rows up by a large index that does not exist yet."""
    return any(not statistics.has_index(*probe) and statistics.size(probe[0]) > _SMALL for probe in probes(plan))


def _with_routes(planner: _Planner, plan: Plan, rival: Plan) -> tuple[Plan, Plan]:
    """Return two plans that share the bindings."""
    mine, other = (next(i for i in p.order if i in planner.atoms) for p in (plan, rival))
    return replace(plan, route=Route(mine, other, True)), replace(rival, route=Route(other, mine, False))


def probes(plan: Plan) -> set[Probe]:
    """Return the relations and columns by which a plan looks rows up without knowing all columns."""
    wanted = set()
    bound = _scanned_variables(plan)
    for i in plan.order:
        literal = plan.rule.body[i]
        if isinstance(literal, CoreAtom):
            keys = _keys(literal, bound)
            if len(keys) < len(literal.args):
                wanted.add((literal.relation, keys))
            for j in next((group for group in plan.shared if group[0] == i), ()):
                atom = plan.rule.body[j]
                assert isinstance(atom, CoreAtom)
                wanted.add((atom.relation, _keys(atom, bound)))
        bound |= _binds(plan.rule, i)
    return wanted


def _scanned_variables(plan: Plan) -> frozenset[str]:
    """Return the variables that the scan of a plan binds."""
    return frozenset() if plan.source is None else plan.rule.variables[plan.source]


def _keys(atom: CoreAtom, bound: frozenset[str]) -> tuple[int, ...]:
    """Return the columns of an atom that are known once `bound` are."""
    return tuple(c for c, arg in enumerate(atom.args) if not isinstance(arg, CoreVariable) or arg.name in bound)


def _plan_delta(planner: _Planner, delta: int) -> tuple[_Planner, Plan, _Partial, float]:
    planner.steps = 0
    start = planner.scan(delta)
    best = planner.search(start, 1.0, 0.0, None)
    assert best is not None, f"the rule {planner.rule} cannot be evaluated"
    return planner, Plan(planner.rule, delta, best[1], True), start, best[0]


def _rival(planner: _Planner, plan: Plan, start: _Partial, most: float, least: float) -> Plan | None:
    """Return the best plan that begins with another atom, under four conditions: it costs less than `most`, both
    atoms are looked up by a part of their columns, the first has at least `least` candidates on average, and
    they do not share their variable anyway."""
    order, done, bound = start
    computed = any(planner.binds[i] for i in order if not isinstance(planner.rule.body[i], CoreComparison))
    if computed or sum(not done >> i & 1 for i in planner.atoms) < 2:
        return None
    first = plan.order[len(order)]
    if first not in planner.atoms or not _is_looked_up(planner, first, bound) or planner.fanout(first, bound) < least:
        return None
    sharing = next((group for group in plan.shared if group[0] == first), (first,))
    found: _Found | None = None
    for i in planner.candidates(done, bound):
        if i not in sharing and i in planner.atoms and _is_looked_up(planner, i, bound):
            fanout = planner.fanout(i, bound)
            following = planner.take(start, i)
            found = planner.search(following, max(fanout, 1e-6), fanout + 1.0 + planner.index_cost(i, bound), found)
    if found is None or found[0] >= most:
        return None
    return replace(plan, order=found[1], shared=())


def _is_looked_up(planner: _Planner, i: int, bound: int) -> bool:
    """Return True if an atom is looked up by some of its columns and not by all."""
    atom = planner.rule.body[i]
    if not isinstance(atom, CoreAtom) or planner.statistics.is_compressed(atom.relation):
        return False
    return 0 < len(planner.keys(i, bound)) < len(atom.args)
