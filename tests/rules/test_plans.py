"""Join plans: bound variables first, no cross product where there is a connected order, small planning time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from tidelog.language import check, read
from tidelog.rules import compile_program
from tidelog.rules.core import CoreAtom, CoreRule, CoreVariable
from tidelog.rules.plans import Plan, _Planner, plan_changes, plan_deltas, plan_full, probes


@dataclass(frozen=True)
class Known:
    """Statistics given outright: sizes, distinct values of single columns, and which relations are closures."""

    sizes: Mapping[str, float] = field(default_factory=dict)
    values: Mapping[tuple[str, int], float] = field(default_factory=dict)
    closures: frozenset[str] = frozenset()

    def size(self, relation: str) -> float:
        return self.sizes.get(relation, 1000.0)

    def distinct(self, relation: str, columns: tuple[int, ...]) -> float:
        product = 1.0
        for column in columns:
            product *= self.values.get((relation, column), 100.0)
        return min(product, self.size(relation))

    def has_index(self, relation: str, columns: tuple[int, ...]) -> bool:
        return False

    def is_compressed(self, relation: str) -> bool:
        return relation in self.closures


def rule(text: str, declarations: str) -> CoreRule:
    declared = "".join(
        f".decl {name}({', '.join(f'c{i}: number' for i in range(int(arity)))})\n"
        for name, arity in (part.split("/") for part in declarations.split())
    )
    core = compile_program(check(read(declared + text)), as_written=True)
    (found,) = [r for node in core.nodes for r in node.rules if isinstance(r, CoreRule)]
    return found


def names(plan: Plan) -> list[str]:
    body = plan.rule.body
    order = ([] if plan.source is None else [plan.source]) + list(plan.order)
    return [a.relation for i in order if isinstance(a := body[i], CoreAtom)]


def test_the_smallest_relation_is_scanned_first() -> None:
    r = rule("h(x, z) :- a(x, y), b(y, z).", "h/2 a/2 b/2")
    assert names(plan_full(r, Known({"a": 1e6, "b": 10}))) == ["b", "a"]
    assert names(plan_full(r, Known({"a": 10, "b": 1e6}))) == ["a", "b"]


def test_an_atom_with_a_constant_is_probed_rather_than_scanned() -> None:
    r = rule("h(y, z) :- a(7, y), b(y, z).", "h/2 a/2 b/2")
    plan = plan_full(r, Known({"a": 1e6, "b": 1e5}, {("a", 0): 1e5}))
    assert plan.source is None
    assert names(plan) == ["a", "b"]


def test_the_delta_comes_first() -> None:
    r = rule("h(x, z) :- h(x, y), e(y, z).", "h/2 e/2")
    (plan,) = plan_deltas([(r, 0)], frozenset({"h"}), Known({"e": 5}))
    assert (plan.source, plan.order, plan.delta) == (0, (1,), True)


def test_no_cross_product_where_a_connected_order_exists() -> None:
    r = rule("h(a, e) :- p(a, b), q(b, c), r(c, d), s(d, e).", "h/2 p/2 q/2 r/2 s/2")
    # Seen alone, p x s would be the cheapest pair.
    statistics = Known({"p": 2, "s": 2, "q": 1e6, "r": 1e6})
    for plan in (plan_full(r, statistics), *plan_deltas([(r, i) for i in range(4)], frozenset(), statistics)):
        bound = r.variables[plan.source] if plan.source is not None else frozenset()
        for i in plan.order:
            assert bound & r.variables[i], plan
            bound |= r.variables[i]


def test_a_rule_that_is_a_cross_product_is_planned_as_one() -> None:
    r = rule("h(x, y) :- a(x), b(y).", "h/2 a/1 b/1")
    assert sorted(names(plan_full(r, Known()))) == ["a", "b"]


def test_filters_and_computations_come_as_early_as_possible() -> None:
    r = rule("h(x, z) :- a(x, y), b(k, z), k = y + 1, x < y, !c(k).", "h/2 a/2 b/2 c/1")
    plan = plan_full(r, Known({"a": 10, "b": 1e6}))
    kinds = [type(r.body[i]).__name__ for i in plan.order]
    assert sorted(kinds[:2]) == ["Computation", "CoreComparison"]
    assert kinds[2:] == ["CoreAtom", "CoreAtom"]
    assert names(plan) == ["a", "c", "b"]


def test_two_near_ways_share_the_bindings() -> None:
    r = rule("p(x, z) :- c(y, w, z), p(x, w), p(x, y).", "p/2 c/3")
    closure = rule("p(x, z) :- p(x, y), p(y, z).", "p/2")  # probes p by its first column in any case
    statistics = Known({"p": 1e5, "c": 1e5}, {("c", 0): 1e3, ("p", 0): 1e3, ("c", 1): 1e3})
    plans = plan_deltas([(r, 2), (closure, 0)], frozenset({"p"}), statistics)
    first, second = (plan.route for plan in plans if plan.rule == r)
    assert first is not None
    assert second is not None
    assert (first.mine, first.other, first.ties) == (second.other, second.mine, not second.ties)


def test_a_second_way_never_costs_an_index_on_a_growing_relation() -> None:
    r = rule("q(x, e, o) :- q(x, y, z), r(y, u, e), q(z, u, o).", "q/3 r/3")
    statistics = Known({"q": 1e6, "r": 400}, {("q", 2): 1e5, ("r", 1): 50, ("r", 0): 150, ("q", 0): 1e5, ("q", 1): 50})
    plans = plan_deltas([(r, 0), (r, 2)], frozenset({"q"}), statistics)
    alone = {p for plan in plans if plan.route is None or plan.route.ties for p in probes(plan)}
    assert {p for plan in plans for p in probes(plan) if p[0] == "q"} <= alone


def test_atoms_that_only_filter_are_not_permuted() -> None:
    names = [f"a{i}" for i in range(40)]
    found = rule(
        f"h(x) :- {', '.join(f'{name}(x)' for name in names)}.", " ".join(f"{name}/1" for name in ("h", *names))
    )
    asked: list[str] = []

    class Counting(Known):
        def size(self, relation: str) -> float:
            asked.append(relation)
            return super().size(relation)

    plans = plan_deltas([(found, i) for i in range(40)], frozenset(), Counting())
    assert [plan.order for plan in plans] == [tuple(j for j in range(40) if j != i) for i in range(40)]
    assert len(asked) < 40 * 100


@pytest.mark.parametrize("atoms", [12, 40])
def test_long_bodies_are_planned_by_bounded_search(atoms: int) -> None:
    body = ", ".join(f"e(x{i}, x{i + 1})" for i in range(atoms))
    r = rule(f"h(x0, x{atoms}) :- {body}.", "h/2 e/2")
    plan = plan_full(r, Known())
    assert len(plan.order) == atoms - 1
    assert {v.name for v in r.head.args if isinstance(v, CoreVariable)} == {"x0", f"x{atoms}"}


def test_the_search_for_a_key_of_many_properties_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each literal may come next, as in the rule of an owl:hasKey: the search ends soon after its steps."""
    steps, complete = 0, _Planner._complete

    def counted(*arguments: Any) -> Any:
        nonlocal steps
        steps += 1
        assert steps < 5_000, "the search goes on and on"
        return complete(*arguments)

    monkeypatch.setattr(_Planner, "_complete", counted)
    body = ", ".join(f"e(x, z{i}), e(y, z{i})" for i in range(30))
    plan = plan_full(rule(f"h(x, y) :- {body}.", "h/2 e/2"), Known({"e": 1_000.0}, {("e", 0): 10.0, ("e", 1): 10.0}))
    assert len(plan.order) == 59


# --- closures --------------------------------------------------------------------------------------------------------


def closures() -> Known:
    """A closure t of 74 million pairs of 9,000 nodes, and small relations."""
    sizes = {"t": 74_000_000.0, "u": 10_000_000.0, "s": 10.0, "n": 9_000.0, "e": 52_000.0}
    return Known(sizes, {("t", 0): 9_000.0, ("t", 1): 9_000.0} | {("e", 0): 9_000.0}, frozenset("tu"))


@pytest.mark.parametrize(
    ("body", "order"),
    [
        ("t(x, y), s(x)", ["s", "t"]),
        ("t(x, y), s(y)", ["s", "t"]),
        ("t(x, y), n(x), n(y), s(x)", ["s", "n", "t", "n"]),
        ("t(x, y), t(y, x)", ["t", "t"]),
        ("t(x, y), t(y, z), s(z)", ["s", "t", "t"]),
        ("t(x, y), u(y, z), e(z, w), s(w)", ["s", "e", "u", "t"]),
    ],
)
def test_a_closure_is_scanned_where_nothing_leads_to_it(body: str, order: list[str]) -> None:
    plan = plan_full(rule(f"h(x) :- {body}.", "h/1 t/2 u/2 s/1 n/1 e/2"), closures())
    assert names(plan) == order


def test_no_two_plans_share_the_bindings_of_a_closure() -> None:
    """Segments of a closure have no lengths to compare."""
    text, declared = "h(x, z) :- h(x, y), t(y, z), e(z, x).", "h/2 t/2 e/2"
    deltas = [(rule(text, declared), 0)]
    known = Known({"t": 1e6, "e": 1e6, "h": 1e6})
    (plan,) = plan_deltas(deltas, frozenset("h"), known)
    assert plan.shared == ((1, 2),)
    (plan,) = plan_deltas(deltas, frozenset("h"), Known(known.sizes, {}, frozenset("t")))
    assert (plan.shared, plan.route) == ((), None)


@pytest.mark.parametrize(
    ("body", "shared"),
    [
        ("e(x, y), e(y, z), e(x, z)", [{1, 2}]),
        ("e(x, y), e(y, z), e(z, w), e(w, x)", [{2, 3}]),
        ("e(x, y), e(x, z), e(y, z), e(x, w), e(y, w), e(z, w)", [{1, 2}, {3, 4, 5}]),
        ("e(x, y), f(x, y, z), f(z, x, y)", [{1, 2}]),
        ("e(x, y), f(x, z, w), f(y, z, w)", []),
        ("e(x, y), e(y, z), e(z, z)", []),
        ("e(x, y), e(y, z), z > 3", []),
        ("e(x, y), e(y, z), !e(x, z)", []),
    ],
)
def test_atoms_that_bind_one_variable_share_it(body: str, shared: list[set[int]]) -> None:
    r = rule(f"h(x) :- {body}.", "h/1 e/2 f/3")
    known = Known({"e": 1e5, "f": 1e5}, {("e", 0): 1e4, ("e", 1): 1e4, ("f", 0): 1e2, ("f", 1): 1e2, ("f", 2): 1e2})
    plans = plan_deltas([(r, 0)], frozenset(), known)
    assert sorted(map(set, plans[0].shared), key=min) == shared


def test_a_variable_with_few_candidates_is_bound_by_one_atom() -> None:
    r = rule("h(x) :- e(x, y), e(y, z), e(x, z).", "h/1 e/2")
    assert not plan_full(r, Known({"e": 1e5}, {("e", 0): 9e4, ("e", 1): 9e4})).shared


def test_shared_variables_cost_no_index_on_a_growing_relation() -> None:
    r = rule("h(x, z) :- h(x, y), e(y, z), h(z, x).", "h/2 e/2")
    known = Known({"e": 1e5, "h": 1e5}, {("e", 0): 1e3, ("h", 0): 1e3, ("h", 1): 1e3})
    plans = plan_deltas([(r, 0)], frozenset("h"), known)
    assert all(not plan.shared for plan in plans)


def test_a_search_ends_when_it_costs_more_than_the_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where relations are small, any order will do."""
    atoms = [f"a{i}(x{i}, x{(i + 1) % 10}), a{i}(x{(i + 3) % 10}, x{i})" for i in range(10)]
    r = rule(f"h(x0) :- {', '.join(atoms)}.", "h/1 " + " ".join(f"a{i}/2" for i in range(10)))
    steps, complete = 0, _Planner._complete

    def counted(*args: Any) -> Any:
        nonlocal steps
        steps += 1
        return complete(*args)

    monkeypatch.setattr(_Planner, "_complete", counted)
    needed = []
    for size in (10.0, 1e6):
        steps, known = 0, {f"a{i}": size for i in range(10)}
        plan_changes(r, [0], Known(known, {(f"a{i}", c): size**0.5 for i in range(10) for c in (0, 1)}))
        needed.append(steps)
    assert 3 * needed[0] < needed[1], needed
