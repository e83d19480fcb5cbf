"""Pipelined semi-naive evaluation: the paper's examples, its counter-examples, and every order of updates."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from papers.psn import (
    NONE,
    Fact,
    State,
    Tuple,
    Update,
    complete_iteration,
    explore,
    psn,
    psn_iteration,
    sn,
    sn_iteration,
)
from tests.depth import cases
from tidelog.language import check, read
from tidelog.reference.seminaive import evaluate
from tidelog.rules import compile_program
from tidelog.rules.core import CoreProgram, CoreRule
from tidelog.semantics.values import Row

HOPS = """
.decl link(@x: symbol, y: symbol)
.decl hop(@x: symbol, y: symbol)
.decl tri_hop(@x: symbol, y: symbol)
hop(@x, y) :- link(@x, z), link(@z, y).
tri_hop(@x, y) :- hop(@x, z), link(@z, y).
"""
CYCLE = """
.decl a(@x: number) .decl p(@x: number) .decl q(@x: number)
p(1) :- a(0).
q(2) :- p(1).
p(1) :- q(2).
"""
REACHABLE = """
.decl link(@x: number, y: number) .decl reachable(@x: number, y: number)
reachable(@s, d) :- link(@s, d).
reachable(@s, d) :- link(@s, z), reachable(@z, d).
"""
A, P, Q = ("a", (0,)), ("p", (1,)), ("q", (2,))


def program(text: str) -> CoreProgram:
    return compile_program(check(read(text)))


def rules(text: str) -> list[CoreRule]:
    return [rule for node in program(text).nodes for rule in node.rules if isinstance(rule, CoreRule)]


def inserts(*facts: Fact) -> list[Update]:
    return [Update(True, Tuple(fact)) for fact in facts]


def deletes(*facts: Fact) -> list[Update]:
    return [Update(False, Tuple(fact)) for fact in facts]


def links(*pairs: str) -> list[Fact]:
    return [("link", tuple(pair)) for pair in pairs]


def settled(text: str, facts: list[Fact], *, cycles: bool = True) -> State:
    """The state after asserting `facts`."""
    state = State(rules(text), inserts(*facts), cycles=cycles)
    sn(state)
    return state


def multiset(state: State, relation: str) -> Counter[str]:
    """The tuples of a relation with their multiplicities; columns written together."""
    found: Counter[str] = Counter()
    for each, number in state.view.items():
        if each.fact[0] == relation:
            found["".join(map(str, each.fact[1]))] += number
    return found


def least_model(text: str, facts: list[Fact]) -> set[Fact]:
    asserted: dict[str, list[Row]] = {}
    for relation, row in facts:
        asserted.setdefault(relation, []).append(row)
    tables = evaluate(program(text), asserted)
    return {(relation, row) for relation, table in tables.items() for row in table}


# --- the hops of Section 3.3 -----------------------------------------------------------------------------------------

BEFORE = links("ab", "ad", "dc", "bc", "ch", "fg")
CHANGES = [*inserts(*links("df", "af")), *deletes(*links("ab"))]


def test_the_view_of_the_example() -> None:
    state = settled(HOPS, BEFORE, cycles=False)
    assert multiset(state, "hop") == Counter({"ac": 2, "dh": 1, "bh": 1})
    assert multiset(state, "tri_hop") == Counter({"ah": 2})


def test_the_first_iteration_of_the_example() -> None:
    state = settled(HOPS, BEFORE, cycles=False)
    state.waiting.update(CHANGES)
    psn_iteration(state, CHANGES[0])
    assert multiset(state, "link") == Counter(["ab", "ad", "dc", "bc", "ch", "fg", "df"])
    assert state.waiting == Counter([*inserts(("hop", ("d", "g"))), *inserts(("hop", ("a", "f"))), *CHANGES[1:]])


@pytest.mark.parametrize("cycles", [False, True])
def test_every_order_of_the_example_ends_in_the_same_view(cycles: bool) -> None:
    start = settled(HOPS, BEFORE, cycles=cycles)
    start.waiting.update(CHANGES)
    after = settled(HOPS, links("ad", "dc", "bc", "ch", "fg", "df", "af"), cycles=cycles)
    for most in (1, 3):
        ends = explore(start, most=most)
        assert [end.view for end in ends] == [after.view]
    synchronous = start.copy()
    assert sn(synchronous) == 3
    assert synchronous.view == after.view


def test_a_hop_is_counted_once_when_both_links_come_together() -> None:
    for end in explore(State(rules(HOPS), inserts(*links("ab", "bc")), cycles=False), most=2):
        assert multiset(end, "hop") == Counter({"ac": 1})


def test_iterations_have_to_be_complete() -> None:
    """Commands of different iterations may not be mixed: here a hop would be derived twice."""
    state = State(rules(HOPS), (first := inserts(*links("ab"))) + (second := inserts(*links("bc"))), cycles=False)
    state.pick(first[0])
    state.pick(second[0])
    state.fire(second[0])
    state.commit(second[0])
    state.fire(first[0])
    state.commit(first[0])
    sn(state)
    assert multiset(state, "hop") == Counter({"ac": 2})


def test_a_deletion_waits_for_its_tuple() -> None:
    state = State(rules(HOPS), deletes(*links("ab")))
    assert not state.can_pick(deletes(*links("ab"))[0])
    state.waiting.update(inserts(*links("ab")))
    ends = explore(state)
    assert [end.view for end in ends] == [Counter()]


def test_conflicting_updates_cancel_out() -> None:
    """Section 4.2: p is derived from what comes and what goes, and is deleted again."""
    declarations = "".join(f".decl {name}(x: number) " for name in "rsqp")
    text = f"{declarations} p(1) :- q(1), r(1). q(1) :- s(1)."
    state = settled(text, [("s", (1,))])
    state.waiting.update([*inserts(("r", (1,))), *deletes(("s", (1,)))])
    sn_iteration(state)
    assert {update.tuple.fact: update.inserts for update in state.waiting} == {("p", (1,)): True, ("q", (1,)): False}
    sn(state)
    assert state.facts == {("r", (1,))}


# --- recursion, Section 5 --------------------------------------------------------------------------------------------


def test_the_sets_of_the_cycle() -> None:
    """The view that the paper shows, and where its dots end."""
    assert settled(CYCLE, [A]).view == Counter(
        [
            Tuple(A),
            Tuple(P, frozenset([A])),
            Tuple(Q, frozenset([A, P])),
            Tuple(P, frozenset([A, P, Q]), frozenset([P])),
            Tuple(Q, frozenset([A, P, Q]), frozenset([P, Q])),
        ]
    )


def test_without_sets_the_cycle_never_ends() -> None:
    state = State(rules(CYCLE), inserts(A), cycles=False)
    for _ in range(50):
        sn_iteration(state)
    assert state.waiting


def test_deleting_the_cycle_leaves_nothing_in_any_order() -> None:
    start = settled(CYCLE, [A])
    start.waiting.update(deletes(A))
    assert [end.view for end in explore(start)] == [Counter()]


def test_the_counter_example_of_the_appendix() -> None:
    """The deletion of a arrives before its insertion: earlier algorithms drop it, here it waits."""
    ends = explore(State(rules(CYCLE), [*inserts(A), *deletes(A)]), most=2)
    assert [end.view for end in ends] == [Counter()]


def test_dropping_a_deletion_that_comes_early_is_wrong() -> None:
    """What the appendix says that earlier algorithms do, done here."""
    state = State(rules(CYCLE), [*inserts(A), *deletes(A)])
    early = deletes(A)[0]
    assert not state.can_pick(early)
    del state.waiting[early]
    sn(state)
    assert state.facts == {A, P, Q}


def test_base_tuples_alone_do_not_tell_a_cycle_from_another_way() -> None:
    """Appendix A: with base tuples in the sets only, p by a and p by the cycle look alike."""
    state = settled(CYCLE, [A])
    provenance = [each.used & {A} for each in state.view if each.fact == P]
    assert provenance == [{A}, {A}]
    assert len({(each.used, each.endless) for each in state.view if each.fact == P}) == 2


@pytest.mark.parametrize("seed", range(cases(80)))
def test_random_orders_on_random_graphs(seed: int) -> None:
    """Facts come and go while updates wait; in the end the view is the least model, and its derivations are those that
    an evaluation from scratch finds."""
    rng = random.Random(seed)
    nodes = range(rng.choice([2, 3, 3]))
    present: dict[Fact, None] = {}
    state = State(rules(REACHABLE), ())
    for _ in range(rng.randrange(2, 8)):
        fact = ("link", (rng.choice(nodes), rng.choice(nodes)))
        if fact in present:
            del present[fact]
            state.waiting.update(deletes(fact))
        else:
            present[fact] = None
            state.waiting.update(inserts(fact))
        for _ in range(rng.randrange(4)):
            ready = [update for update in state.waiting if state.can_pick(update)]
            complete_iteration(state, rng.sample(ready, min(len(ready), rng.randrange(1, 4))))
    psn(state, rng.choice)
    assert state.facts == least_model(REACHABLE, list(present))
    assert state.view == settled(REACHABLE, list(present)).view
    assert all(fact in state.facts for each in state.view for fact in each.used)


def test_every_order_on_a_small_cycle_of_links() -> None:
    start = settled(REACHABLE, [("link", (1, 2)), ("link", (2, 1))])
    start.waiting.update(deletes(("link", (2, 1))))
    ends = explore(start)
    assert len(ends) == 1
    assert ends[0].facts == least_model(REACHABLE, [("link", (1, 2))])


def test_a_base_tuple_rests_on_nothing() -> None:
    assert Tuple(A).used == Tuple(A).endless == NONE
