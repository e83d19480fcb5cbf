"""Pipelined semi-naive evaluation, as in *Maintaining Distributed Recursive Views Incrementally* (Nigam, Jia, Loo,
Scedrov).

A `State` is the paper's ⟨K, U, P, E⟩: the multiset of tuples, in the view and in the updated view (written ν there),
and the updates that wait, that were picked, and that have fired. The three commands are the transition rules of
Figure 2; without `cycles` those of Figure 1, which are the same with empty sets:

    pick    takes an update that is no deletion of a tuple that is not there yet, and changes the updated view
    fire    makes the updates that follow by delta rules: atoms before the changed one read the updated view, those
            behind it the view
    commit  changes the view

A tuple carries its derivation set S, all that was used to derive it, and its infinite-count set H, those members of S
that lie on a cycle. A tuple that is in its own S goes into H, and what is in its own H is not sent on (Section 5).

Algorithm 1 is a run of iterations with one update each (`psn_iteration`), Algorithm 2 one of iterations with all
updates (`sn_iteration`). All nodes of the network are one state here: rules are local, so that each iteration of one
node is one of the whole, and the order of updates is the order in which messages come. `explore` takes every order.

Rules are core rules without negation and without functors, as in the paper.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TypeAlias

from tidelog.rules.core import CoreAtom, CoreRule
from tidelog.semantics.literals import Substitution, unify, value_of
from tidelog.semantics.values import Row

Fact: TypeAlias = tuple[str, Row]
Facts: TypeAlias = frozenset[Fact]

NONE: Facts = frozenset()


@dataclass(frozen=True)
class Tuple:
    """A fact with the sets S (`used`) and H (`endless`): one derivation of it, or all that look alike."""

    fact: Fact
    used: Facts = NONE
    endless: Facts = NONE


@dataclass(frozen=True)
class Update:
    """⟨INS, tuple⟩ or ⟨DEL, tuple⟩."""

    inserts: bool
    tuple: Tuple


Key: TypeAlias = tuple[frozenset[tuple[object, int]], ...]


class State:
    """A state that starts with nothing but updates that wait. `sent` counts, by the rule's name, the updates that
    firing made."""

    def __init__(self, rules: Sequence[CoreRule], waiting: Iterable[Update], *, cycles: bool = True) -> None:
        self.rules = rules
        self.cycles = cycles
        self.view: Counter[Tuple] = Counter()
        self.updated: Counter[Tuple] = Counter()
        self.waiting: Counter[Update] = Counter(waiting)
        self.picked: Counter[Update] = Counter()
        self.fired: Counter[Update] = Counter()
        self.sent: Counter[str] = Counter()

    def copy(self) -> State:
        """Return another state that is equal now."""
        other = State(self.rules, (), cycles=self.cycles)
        other.view, other.updated = self.view.copy(), self.updated.copy()
        other.waiting, other.picked, other.fired = self.waiting.copy(), self.picked.copy(), self.fired.copy()
        other.sent = self.sent.copy()
        return other

    @property
    def key(self) -> Key:
        """Return a key that equal states share."""
        bags = (self.view, self.updated, self.waiting, self.picked, self.fired)
        return tuple([frozenset(bag.items()) for bag in bags])

    @property
    def facts(self) -> set[Fact]:
        """Return the view as a set."""
        return {each.fact for each in self.view}

    # --- the commands ------------------------------------------------------------------------------------------------

    def can_pick(self, update: Update) -> bool:
        """Return True if an update may be picked now (pick_I, pick_D)."""
        return update.inserts or self.updated[self._marked(update).tuple] > 0

    def pick(self, update: Update) -> None:
        """Run pick_I or pick_D: a tuple that was used to derive itself gets into its infinite-count set."""
        _take(self.waiting, update)
        marked = self._marked(update)
        _change(self.updated, marked)
        self.picked[marked] += 1

    def fire(self, update: Update) -> None:
        """Run fire: the updates that follow wait from now on."""
        _take(self.picked, update)
        for rule in self.rules:
            for head in self._derived(rule, update.tuple):
                self.waiting[Update(update.inserts, head)] += 1
                self.sent[rule.name] += 1
        self.fired[update] += 1

    def commit(self, update: Update) -> None:
        """Run commit_I or commit_D."""
        _take(self.fired, update)
        _change(self.view, update)

    def _marked(self, update: Update) -> Update:
        each = update.tuple
        if not self.cycles or each.fact not in each.used:
            return update
        return Update(update.inserts, Tuple(each.fact, each.used, each.endless | {each.fact}))

    def _derived(self, rule: CoreRule, changed: Tuple) -> Iterator[Tuple]:
        """Yield the heads of a rule's delta rules for a changed tuple, each once per derivation."""
        body = [literal for literal in rule.body if isinstance(literal, CoreAtom)]
        for position, atom in enumerate(body):
            if atom.relation == changed.fact[0]:
                sources = [self.updated] * position + [Counter([changed])] + [self.view] * (len(body) - position - 1)
                for bound, chosen, times in _joined(body, sources):
                    head = (rule.head.relation, tuple([value_of(arg, bound) for arg in rule.head.args]))
                    used = frozenset({each.fact for each in chosen}.union(*(each.used for each in chosen)))
                    endless = NONE.union(*(each.endless for each in chosen))
                    if not self.cycles:
                        yield from [Tuple(head)] * times
                    elif head not in endless:
                        yield from [Tuple(head, used, endless)] * times


def _joined(
    body: Sequence[CoreAtom], sources: Sequence[Counter[Tuple]]
) -> Iterator[tuple[Substitution, tuple[Tuple, ...], int]]:
    """Yield the ways in which tuples of the sources match the atoms, with their numbers."""
    found: list[tuple[Substitution, tuple[Tuple, ...], int]] = [({}, (), 1)]
    for atom, source in zip(body, sources, strict=True):
        rows = [(each, number) for each, number in source.items() if each.fact[0] == atom.relation]
        found = [
            (extended, (*chosen, each), times * number)
            for (bound, chosen, times), (each, number) in product(found, rows)
            for extended in unify(atom.args, each.fact[1], bound)
        ]
    yield from found


def _take(bag: Counter[Update], update: Update) -> None:
    bag[update] -= 1
    if not bag[update]:
        del bag[update]


def _change(bag: Counter[Tuple], update: Update) -> None:
    bag[update.tuple] += 1 if update.inserts else -1
    if not bag[update.tuple]:
        del bag[update.tuple]


# --- iterations ------------------------------------------------------------------------------------------------------


def complete_iteration(state: State, updates: Sequence[Update]) -> None:
    """Pick all of `updates`, insertions first, then fire all, then commit all (Definition 3)."""
    before = state.picked.copy()
    for update in sorted(updates, key=lambda each: not each.inserts):
        state.pick(update)
    picked = list((state.picked - before).elements())
    for update in picked:
        state.fire(update)
    for update in picked:
        state.commit(update)


def psn_iteration(state: State, update: Update) -> None:
    """Run a complete iteration with one update (Definition 4)."""
    complete_iteration(state, [update])


def sn_iteration(state: State) -> None:
    """Run a complete iteration with all updates that wait (Definition 6)."""
    complete_iteration(state, list(state.waiting.elements()))


# --- executions ------------------------------------------------------------------------------------------------------


def psn(state: State, choose: Callable[[list[Update]], Update]) -> int:
    """Run Algorithm 1: `choose` picks one update after the other until none waits; return the number of iterations."""
    iterations = 0
    while state.waiting:
        psn_iteration(state, choose([update for update in state.waiting if state.can_pick(update)]))
        iterations += 1
    return iterations


def sn(state: State) -> int:
    """Run Algorithm 2: rounds that take all updates; return the number of rounds."""
    iterations = 0
    while state.waiting:
        sn_iteration(state)
        iterations += 1
    return iterations


def explore(state: State, *, most: int = 1) -> list[State]:
    """Return the last states of all executions, each once: iterations with up to `most` updates at once, in every
    order."""
    seen = {state.key}
    open_states, ends = [state], []
    while open_states:
        here = open_states.pop()
        if not here.waiting:
            ends.append(here)
        for updates in _choices(here, most):
            following = here.copy()
            complete_iteration(following, updates)
            if following.key not in seen:
                seen.add(following.key)
                open_states.append(following)
    return ends


def _choices(state: State, most: int) -> Iterator[list[Update]]:
    """Yield the sets of one or more updates that can be picked together."""
    choices: list[list[Update]] = [[]]
    for update in state.waiting:
        if state.can_pick(update):
            choices += [[*chosen, update] for chosen in choices if len(chosen) < most]
    return (chosen for chosen in choices if chosen)
