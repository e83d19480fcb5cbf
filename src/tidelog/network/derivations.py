"""The rule instances of a node: which tuples derive which heads, while tuples, rules and groups come and go.

An instance joins tuples that are present. Negated tuples are part of it; they decide later, when a derivation is
chosen, whether it counts. So a change of a negated tuple only makes its heads worth another look.

No peer may keep a node busy for good: joins count their steps (`limits`). If a travelled rule takes too many steps, the
node sets the rule aside. If a rule of the node's own program does, the node does not use the tuple of others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, NamedTuple, TypeAlias

from tidelog.errors import Problem, UsageError
from tidelog.network.functors import FailedError, FunctorCall, NodeFunctors, fold_call
from tidelog.network.joins import Calling, Substitution, Tuples, ground, matches, value_of
from tidelog.network.limits import Limits, Meter, OverrunError, is_sendable
from tidelog.network.program import LocalAggregate, LocalRule, LocatedProgram, LocatedTuple, NodeRow
from tidelog.network.values import stored_value
from tidelog.rules.core import OwnAggregate
from tidelog.semantics.aggregates import aggregate
from tidelog.semantics.user_aggregates import start_value
from tidelog.semantics.values import NoValueError


class Derivation(NamedTuple):
    """A derivation of a head: the rule's key, the tuples that it needs, and those that must be absent."""

    rule: str
    body: tuple[LocatedTuple, ...]
    absent: tuple[LocatedTuple, ...]


_Group: TypeAlias = tuple[LocalAggregate, NodeRow]
"""A group of an aggregate."""


class Derivations:
    """The instances of a node's rules over its tuples.

    `touched` collects the heads whose derivations have changed. `overrun` collects the keys of travelled rules that
    took more than `limits` allow, or whose functors have no result, with the error. The reader empties both. `own` are
    the keys of the other rules. The first evaluation has no limits, since the node did all of it before. `failed` are
    the groups of other rules without a value because an aggregate in Python fails, and `failures` counts new ones.
    """

    def __init__(
        self,
        name: str,
        program: LocatedProgram,
        tuples: Tuples,
        limits: Limits,
        own: frozenset[str],
        functors: NodeFunctors,
    ) -> None:
        self._name = name
        self._functors = functors
        self._calls: dict[tuple[LocatedTuple, Derivation], dict[FunctorCall, None]] = {}
        self._program = program
        self._tuples = tuples
        self.limits = limits
        self._own = own
        self._meters: dict[str, Meter] | None = None
        self._rows: Counter[str] = Counter()
        self.overrun: dict[str, Problem | None] = {}
        self._of: dict[LocatedTuple, dict[Derivation, None]] = {}
        self._uses: dict[LocatedTuple, dict[tuple[LocatedTuple, Derivation], None]] = {}
        self._groups: dict[_Group, tuple[LocatedTuple, Derivation] | None] = {}
        self._stale: dict[_Group, None] = {}
        self._folds: dict[_Group, FunctorCall] = {}
        self.failed: dict[_Group, Problem] = {}
        self.failures = 0
        self.touched: dict[LocatedTuple, None] = {}
        try:
            self._join(program.rules, program.aggregates)
        except FailedError as error:
            raise UsageError(error.problem) from error
        self._meters = {}

    def begin(self) -> None:
        """Begin a step of the node: travelled rules may take as many steps again."""
        self._meters = {}
        self._functors.begin()

    def of(self, head: LocatedTuple) -> Iterable[Derivation]:
        return self._of.get(head, ())

    def heads(self) -> Iterable[LocatedTuple]:
        """Return the tuples that have instances."""
        return self._of

    def users(self, fact: LocatedTuple) -> list[LocatedTuple]:
        """Return the heads of the instances that use a tuple."""
        return [head for head, _ in self._uses.get(fact, ())]

    # --- changes -----------------------------------------------------------------------------------------------------

    def appear(self, fact: LocatedTuple, *, trusted: bool) -> None:
        """Add the instances of a new tuple, which `tuples` has already. Raise OverrunError where a rule of the node's
        own program derives something too large from it or, if it is not `trusted`, takes too many steps; the caller
        then removes it."""
        self.touched.update(dict.fromkeys(self.users(fact)))
        for rule, position in self._program.readers.get(fact[0], ()):
            self._match(rule, Meter(None if trusted else self.limits.steps), position, fact[1])
        self._collect(fact)

    def disappear(self, fact: LocatedTuple) -> None:
        """Remove the instances of a tuple that `tuples` has no more."""
        for head, instance in list(self._uses.get(fact, ())):
            self.touched[head] = None
            if fact in instance.body:
                self._drop(head, instance)
        self._collect(fact)

    def switch(self, program: LocatedProgram) -> None:
        """Go on with another program. All heads are worth another look, because the set of a derivation depends on
        which relations are recursive."""
        before, keep = self._program.keys, program.keys
        for head, instances in list(self._of.items()):
            for instance in list(instances):
                if instance.rule not in keep:
                    self._drop(head, instance)
        self._groups = {group: derived for group, derived in self._groups.items() if group[0].key in keep}
        self._stale = {group: None for group in self._stale if group[0].key in keep}
        for group in [group for group in self._folds if group[0].key not in keep]:
            self._functors.drop(self._folds.pop(group))
        self.failed = {group: problem for group, problem in self.failed.items() if group[0].key in keep}
        self._rows = Counter({key: rows for key, rows in self._rows.items() if key in keep})
        self.overrun.clear()
        self._program = program
        rules = [rule for rule in program.rules if rule.key not in before]
        self._join(rules, [each for each in program.aggregates if each.key not in before])
        self.touched.update(dict.fromkeys(self._of))

    def settle_groups(self) -> bool:
        """Update aggregates with their values; return True if there was anything to do."""
        stale, self._stale = self._stale, {}
        for rule, group in stale:
            old, new = self._groups.get((rule, group)), self._group_tuple(rule, group)
            if old == new:
                continue
            if old is not None:
                self._drop(*old)
            if new is not None:
                self._link(*new)
            self._groups[rule, group] = new
            if new is None:
                del self._groups[rule, group]
        return bool(stale)

    # --- joins -------------------------------------------------------------------------------------------------------

    def _join(self, rules: Iterable[LocalRule], aggregates: Iterable[LocalAggregate]) -> None:
        for rule in rules:
            self._match(rule, Meter(None))
        for each in aggregates:
            for row in self._tuples.rows(each.outer):
                self._stale[each, row] = None

    def _match(self, rule: LocalRule, meter: Meter, position: int | None = None, row: NodeRow = ()) -> None:
        """Link the instances of a rule. The `meter` is for rules of the node's own program; others have one each."""
        limited = self._meters is not None and rule.key not in self._own
        if limited and rule.key in self.overrun:
            return
        if rule.key not in self._own and not self._functors.known.issuperset(rule.functors):
            return  # `Rulebook.refused` names it.
        calling = Calling(self._functors, self._program.records)
        try:
            if limited:
                assert self._meters is not None
                meter = self._meters.setdefault(rule.key, Meter(self.limits.steps))
            for bound, body in matches(rule, self._tuples, calling, meter, position, row):
                if self._is_here(rule, bound):
                    absent = tuple([ground(atom, bound) for atom in rule.negative])
                    head, instance = ground(rule.head, bound), Derivation(rule.key, body, absent)
                    self._link(head, instance)
                    self._use(head, instance, rule, bound)
                    if limited and self._rows[rule.key] > self.limits.rows:
                        raise OverrunError
        except OverrunError as error:
            # A rule of the node's own program that was removed comes back as a change, which can be set aside.
            if not limited and (self._meters is None or position is not None):
                raise
            self.overrun[rule.key] = error.problem if isinstance(error, FailedError) else None

    def _use(self, head: LocatedTuple, instance: Derivation, rule: LocalRule, bound: Substitution) -> None:
        """Note the calls that an instance uses; its substitutions may use several."""
        for each in rule.calls:
            assert each.declared is not None
            call = each.declared.name, tuple([value_of(arg, bound) for arg in each.args])
            used = self._calls.setdefault((head, instance), {})
            if call not in used:
                used[call] = None
                self._functors.use(call)

    def _is_here(self, rule: LocalRule, bound: Substitution) -> bool:
        """Return True if this node evaluates a rule. Tuples of other nodes never get here, but a rule may read only
        relations that every node has for itself."""
        return rule.at is None or str(value_of(rule.at, bound)) == self._name

    def _link(self, head: LocatedTuple, instance: Derivation) -> None:
        if not is_sendable(head[1]):
            raise OverrunError
        instances = self._of.setdefault(head, {})
        if instance not in instances:
            self._rows[instance.rule] += 1
        instances[instance] = None
        self.touched[head] = None
        for fact in instance.body + instance.absent:
            self._uses.setdefault(fact, {})[head, instance] = None

    def _drop(self, head: LocatedTuple, instance: Derivation) -> None:
        instances = self._of.get(head, {})
        if instance not in instances:
            return
        del instances[instance]
        self._rows[instance.rule] -= 1
        if not instances:
            del self._of[head]
        for call in self._calls.pop((head, instance), ()):
            self._functors.drop(call)
        self.touched[head] = None
        for fact in instance.body + instance.absent:
            users = self._uses.get(fact)
            if users is not None:
                users.pop((head, instance), None)
                if not users:
                    del self._uses[fact]

    # --- aggregates --------------------------------------------------------------------------------------------------

    def _collect(self, fact: LocatedTuple) -> None:
        for rule in self._program.collectors.get(fact[0], ()):
            self._stale[rule, fact[1][: rule.groups]] = None

    def _group_tuple(self, rule: LocalAggregate, group: NodeRow) -> tuple[LocatedTuple, Derivation] | None:
        """Return the tuple of a group if some instance asks for the group and it has a value."""
        outer = (rule.outer, group)
        asked = outer in self._tuples
        rows = self._tuples.find(rule.inner, tuple(range(rule.groups)), group) if asked else []
        values: tuple[Any, ...] = ()
        if rule.own is not None:
            values = self._fold_value(rule, rule.own, group, rows, asked=asked)
        elif asked:
            with suppress(NoValueError):
                members = [None if rule.op == "count" else row[rule.groups] for row in rows]
                values = (aggregate(rule.op, rule.kind, members),)
        return ((rule.head, (*group, *values)), Derivation(rule.key, (outer,), ())) if values else None

    def _fold_value(
        self, rule: LocalAggregate, own: OwnAggregate, group: NodeRow, rows: list[NodeRow], *, asked: bool
    ) -> tuple[Any, ...]:
        """Return the value of a group of an aggregate in Python, or nothing."""
        records, before = self._program.records, self._folds.pop((rule, group), None)
        self.failed.pop((rule, group), None)
        lacks = rule.key not in self._own and not self._functors.known.issuperset(rule.functors)
        try:
            if not asked or lacks:
                return ()
            if not rows:
                return (
                    ()
                    if own.start is None
                    else (stored_value(start_value(own.start), own.declared.result.kind, records),)
                )
            members = [row[rule.groups : rule.groups + len(own.operands)] for row in rows]
            call = fold_call(own, members)
            new = not self._functors.knows(call)
            try:
                return self._functors.value(call, rule, group, members, records)
            except FailedError as error:
                if rule.key not in self._own:
                    self.overrun[rule.key] = error.problem
                else:
                    self.failed[rule, group] = error.problem
                    self.failures += new
                return ()
            finally:
                self._functors.use(call)
                self._folds[rule, group] = call
        finally:
            if before is not None:
                self._functors.drop(before)
