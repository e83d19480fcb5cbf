"""The engine of the Regular Datalog paper on its examples, and on random programs against naive recomputation."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from itertools import product

import pytest

from papers.regular import (
    Edge,
    Edges,
    Mask,
    Update,
    Views,
    applied,
    base,
    body_mask,
    clause_update,
    closure,
    delta,
    edge_update,
    grounded,
    is_model,
    match_delta_body,
    satisfied,
    strata,
    well_formed,
)
from papers.regular_programs import (
    EQUAL,
    Clause,
    Either,
    Inverse,
    Label,
    Literal,
    Path,
    Plus,
    Rule,
    Star,
    Then,
    Variable,
    clause_map,
)
from tests.depth import cases
from tests.suite import FIRST_SEED
from tidelog.errors import ProgramError
from tidelog.language.syntax import Value

X, Y, Z = Variable("x"), Variable("y"), Variable("z")
PLUS = Label.PLUS


def single(name: str) -> tuple[str, Label]:
    return name, Label.SINGLE


def edges(*some: Edge) -> Edges:
    return frozenset(some)


# --- programs --------------------------------------------------------------------------------------------------------


def test_the_normal_form_of_the_paper() -> None:
    # s(a, b). s(z, y) ← p(x, y), q⁺(z, x), in Section 2.1; the paper's z is x' here.
    other = Variable("x'")
    program = clause_map(
        [Rule("s", ("a", "b")), Rule("s", (Z, Y), (("p", (X, Y)), (Plus("q"), (Z, X))))],
        edges=["p", "q"],
    )
    assert program == {
        "p": Clause((X, Y)),
        "q": Clause((X, Y)),
        "s": Clause(
            (X, Y),
            (
                (Literal(EQUAL, ("a", X)), Literal(EQUAL, ("b", Y))),
                (Literal("p", (other, Y)), Literal("q", (X, other), PLUS)),
            ),
        ),
    }


def test_a_variable_that_is_twice_in_a_head_becomes_an_equality() -> None:
    program = clause_map([Rule("s", (Z, Z), (("p", (Z, 1)),))], edges=["p"])
    assert program["s"].bodies == ((Literal(EQUAL, (X, Y)), Literal("p", (X, 1))),)


def test_inverse_and_star_are_compiled_away() -> None:
    program = clause_map([Rule("s", (X, Y), ((Star(Inverse("p")), (X, Y)),))], edges=["p"])
    assert program["s"].bodies == ((Literal(EQUAL, (X, Y)),), (Literal("#path0", (X, Y), PLUS),))
    assert program["#path0"].bodies == ((Literal("p", (Y, X)),),)


def test_alternatives_multiply_and_steps_share_a_variable() -> None:
    program = clause_map([Rule("s", (X, Y), ((Then(Either("p", "q"), "p"), (X, Y)),))], edges=["p", "q"])
    middle = Variable("#1'")
    assert program["s"].bodies == tuple((Literal(name, (X, middle)), Literal("p", (middle, Y))) for name in ("p", "q"))


def test_a_closure_of_a_path_has_one_symbol_wherever_it_is() -> None:
    path = Plus(Then("p", "q"))
    program = clause_map([Rule("s", (X, Y), ((path, (X, Z)), (path, (Z, Y)), (Star(path.path), (X, Y))))], ["p", "q"])
    assert program.keys() == {"p", "q", "s", "#path0"}


def test_a_clause_that_leaves_its_head_open_is_refused() -> None:
    with pytest.raises(ProgramError) as caught:
        clause_map([Rule("s", (X, Y), (("p", (X, X)),))], edges=["p"])
    assert [each.code for each in caught.value.problems] == ["E0215"]


def test_strata_follow_what_is_read() -> None:
    rules = [
        Rule("top", (X, Y), ((Plus("middle"), (X, Y)),)),
        Rule("middle", (X, Y), (("low", (X, Y)), ("p", (X, Y)))),
        Rule("low", (X, Y), (("p", (Y, X)),)),
    ]
    assert strata(clause_map(rules, edges=["p"])) == ["low", "middle", "top"]


def test_other_recursion_than_closures_is_refused() -> None:
    rules = [Rule("p", (X, Y), (("q", (X, Y)),)), Rule("q", (X, Y), ((Plus("p"), (X, Y)),))]
    with pytest.raises(ProgramError, match="recursion other than by closures: p, q"):
        Views(clause_map(rules, edges=["e"]), [1], {})


# --- graphs and updates ----------------------------------------------------------------------------------------------


def test_a_closure_is_of_paths_of_one_edge_and_more() -> None:
    assert closure(edges((1, 2), (2, 3), (3, 2))) == {(1, 2), (1, 3), (2, 3), (3, 2), (2, 2), (3, 3)}
    assert closure(edges()) == edges()
    graph = {single("p"): edges((1, 2), (2, 3)), ("p", PLUS): edges((1, 2), (2, 3))}
    assert not well_formed(graph)
    assert well_formed({**graph, ("p", PLUS): edges((1, 2), (2, 3), (1, 3))})


def test_updates_are_disjoint() -> None:
    with pytest.raises(ValueError, match="inserted and deleted"):
        Update({single("p"): edges((1, 2))}, {single("p"): edges((1, 2), (2, 3))})


def test_modification_keeps_an_update_disjoint() -> None:
    update = Update().modified(single("p"), edges((1, 2)), edges((1, 2), (2, 3)))
    assert (update.inserted, update.deleted) == ({single("p"): {(1, 2)}}, {single("p"): {(2, 3)}})
    assert update.symbols == {single("p")}
    assert Update({single("p"): edges()}).symbols == set()


def test_application_deletes_then_inserts() -> None:
    graph = {single("p"): edges((1, 2), (2, 3))}
    update = Update({single("p"): edges((3, 4)), single("q"): edges((1, 1))}, {single("p"): edges((1, 2))})
    assert applied(graph, update) == {single("p"): {(2, 3), (3, 4)}, single("q"): {(1, 1)}}


def test_an_update_of_edges_says_what_becomes_of_closures() -> None:
    graph = {single("p"): edges((1, 2), (2, 3)), ("p", PLUS): edges((1, 2), (2, 3), (1, 3))}
    update = edge_update(graph, {"p": {(2, 4), (1, 2)}}, {"p": {(1, 2), (2, 3)}})
    assert update.deleted == {single("p"): {(2, 3)}, ("p", PLUS): {(2, 3), (1, 3)}}
    assert update.inserted == {single("p"): {(2, 4), (1, 2)}, ("p", PLUS): {(2, 4), (1, 4)}}


# --- Example 3: detectable frauds, Figure 4 --------------------------------------------------------------------------
#
# The text of the paper that we have is without the pictures. These edges agree with the labels in them, six s and four
# m, then two more m and one more s, and with all the sets that the text names.

DETECTABLE = clause_map(
    [Rule("detectable", (X, Y), (("suspect", (X, Y)), ("monitors", (Z, X)), ("monitors", (Z, Y))))],
    edges=["suspect", "monitors"],
)
BEFORE: Mapping[str, set[Edge]] = {
    "monitors": {("V1", "V0"), ("V1", "V6"), ("V4", "V0"), ("V4", "V3")},
    "suspect": {("V6", "V0"), ("V3", "V0"), ("V0", "V2"), ("V2", "V0"), ("V6", "V3"), ("V3", "V6")},
}
MORE: Mapping[str, set[Edge]] = {"monitors": {("V4", "V2"), ("V1", "V5")}, "suspect": {("V0", "V5")}}
NODES = [f"V{i}" for i in range(7)]


def test_detectable_frauds_before_and_after() -> None:
    views = Views(DETECTABLE, NODES, BEFORE)
    assert views["detectable"] == {("V6", "V0"), ("V3", "V0")}
    views.epoch(MORE, {})
    assert views["detectable"] == {("V6", "V0"), ("V3", "V0"), ("V0", "V2"), ("V2", "V0"), ("V0", "V5")}
    assert views.update.inserted[single("detectable")] == {("V0", "V2"), ("V2", "V0"), ("V0", "V5")}
    assert is_model(views.graph, DETECTABLE)


@pytest.mark.parametrize(
    ("masks", "expected"),
    [("DBB", edges()), ("FDB", edges(("V2", "V0"))), ("FFD", edges(("V0", "V2"), ("V0", "V5")))],
)
def test_the_delta_program_of_figure_4c(masks: str, expected: Edges) -> None:
    # The figure has ν before the Δ of a clause, Definition 10 and the diagonal factoring behind it; both add up.
    views = Views(DETECTABLE, NODES, BEFORE)
    clause = DETECTABLE["detectable"]
    update = edge_update(views.graph, MORE, {})
    found = match_delta_body(views.graph, update, clause.bodies[0], [Mask(m) for m in masks])
    assert grounded(clause, found) == expected


# --- the operators ---------------------------------------------------------------------------------------------------

JOIN = clause_map([Rule("v", (X, Y), (("r", (X, Z)), ("s", (Z, Y))))], edges=["r", "s"])


def test_masks_are_the_diagonal_factoring() -> None:
    body = tuple(Literal(name, (X, Y)) for name in "abcd")
    assert ["".join(mask.value for mask in row) for row in body_mask(body)] == ["DFFF", "BDFF", "BBDF", "BBBD"]
    assert body_mask(()) == []


def test_the_delta_operator_derives_only_what_an_insertion_brings() -> None:
    views = Views(JOIN, [1, 2, 3, 4, 5], {"r": [(1, 2), (3, 4)], "s": [(2, 3)]})
    update = edge_update(views.graph, {"s": {(4, 5)}}, {})
    assert delta(views.graph, update, "v", JOIN["v"]).inserted[single("v")] == {(3, 5)}
    assert base(views.graph, update, "v", JOIN["v"]).inserted[single("v")] == {(3, 5)}


def test_without_support_a_clause_is_evaluated_anew() -> None:
    views = Views(JOIN, [1, 2, 3, 4, 5], {"r": [(1, 2)], "s": [(2, 3)]})
    graph = {**views.graph, single("v"): views["v"] | {(9, 9)}}
    update = edge_update(graph, {"s": {(2, 4)}}, {})
    anew = clause_update(graph, set(), update, "v", JOIN["v"])
    assert anew.deleted[single("v")] == {(9, 9)}
    kept = clause_update(graph, {single("v")}, update, "v", JOIN["v"])
    assert applied(graph, kept)[single("v")] == {(1, 3), (1, 4), (9, 9)}, "what is in the support is not looked at"


def test_a_body_that_loses_an_edge_is_evaluated_anew() -> None:
    views = Views(JOIN, [1, 2, 3], {"r": [(1, 2)], "s": [(2, 3)]})
    views.epoch({"r": {(3, 2)}}, {"r": {(1, 2)}})
    assert views.update.deleted[single("v")] == {(1, 3)}
    assert views.update.inserted[single("v")] == {(3, 3)}


def test_an_edge_that_its_closure_can_spare_is_no_deletion_for_a_reader_of_the_closure() -> None:
    program = clause_map([Rule("v", (X, Y), ((Plus("p"), (X, Y)),))], edges=["p"])
    views = Views(program, [1, 2, 3], {"p": [(1, 2), (2, 3), (1, 3)]})
    views.graph = {**views.graph, single("v"): views["v"] | {(9, 9)}}
    views.epoch({}, {"p": {(1, 3)}})
    assert (9, 9) in views["v"], "incremental: the closure keeps (1, 3)"
    views.epoch({}, {"p": {(2, 3)}})
    assert views["v"] == {(1, 2)}


def test_satisfaction_is_about_all_groundings() -> None:
    views = Views(JOIN, [1, 2, 3], {"r": [(1, 2)], "s": [(2, 3)]})
    assert satisfied(views.graph, "v", JOIN["v"])
    assert not satisfied({**views.graph, single("v"): edges()}, "v", JOIN["v"])


# --- Examples 1 and 2 ------------------------------------------------------------------------------------------------

FRAUD = clause_map(
    [
        Rule("suspect", (X, Y), ((Plus("pstransfer"), (X, Y)), (Plus("pstransfer"), (Y, X)))),
        Rule("pstransfer", (X, Y), ((Either("transfer", "stransfer"), (X, Y)),)),
        Rule("stransfer", (X, Y), (("accredited", (Y, X)), ("secures", (X, Y)), ("transfer", (X, Y)))),
        Rule("secures", (X, Y), ((Then("connected", Then(Plus("cmonitored"), "connected")), (X, Y)),)),
        Rule(
            "cmonitored",
            (X, Y),
            (("connected", (X, Y)), (Plus("monitors"), (Z, X)), (Plus("monitors"), (Z, Y)), ("accredited", (Z, X))),
        ),
    ],
    edges=["transfer", "accredited", "connected", "monitors"],
)


def test_money_that_comes_back_is_suspect() -> None:
    transfers = [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")]
    views = Views(FRAUD, "abcdmz", {"transfer": transfers})
    ring = set(product("abc", repeat=2))
    assert views["suspect"] == ring
    views.epoch({"transfer": {("d", "b")}}, {})
    assert views["suspect"] == set(product("abcd", repeat=2))
    views.epoch({}, {"transfer": {("c", "a")}})
    assert views["suspect"] == set(product("bcd", repeat=2))


def test_secured_transfers() -> None:
    facts: Mapping[str, set[Edge]] = {
        "transfer": {("a", "b")},
        "accredited": {("b", "a"), ("z", "m")},
        "connected": {("a", "m"), ("m", "n"), ("n", "b")},
        "monitors": {("z", "m"), ("z", "n")},
    }
    views = Views(FRAUD, "abmnz", facts)
    assert (views["cmonitored"], views["secures"]) == ({("m", "n")}, {("a", "b")})
    assert views["stransfer"] == {("a", "b")}
    views.epoch({}, {"monitors": {("z", "n")}})
    assert views["stransfer"] == set()
    assert is_model(views.graph, FRAUD)


REACH = clause_map(
    [
        Rule("reach", (X, Y), ((Either("pclients", Inverse("pclients")), (X, Y)),)),
        Rule("pclients", (X, Y), (("exposed", (X, Z)), ("exposed", (Y, Z)))),
        Rule("exposed", (X, Z), ((Then(Star("follows"), "endorses"), (X, Z)),)),
        Rule("endorses", (X, Z), (("likes", (X, Z)), (Plus("advertises"), (X, Z)))),
    ],
    edges=["likes", "advertises", "follows"],
)


def test_brand_reach() -> None:
    likes = {("ann", "tea"), ("bob", "tea")}
    views = Views(
        REACH,
        ["ann", "bob", "cid", "dan", "ad", "tea"],
        {"likes": likes, "advertises": {("ann", "ad"), ("ad", "tea")}, "follows": {("cid", "ann"), ("dan", "cid")}},
    )
    assert views["endorses"] == {("ann", "tea")}
    assert views["exposed"] == {(name, "tea") for name in ("ann", "cid", "dan")}
    assert views["reach"] == set(product(("ann", "cid", "dan"), repeat=2))
    views.epoch({"advertises": {("bob", "tea")}}, {"follows": {("dan", "cid")}})
    assert views["reach"] == set(product(("ann", "bob", "cid"), repeat=2))
    assert is_model(views.graph, REACH)


# --- random programs -------------------------------------------------------------------------------------------------

GIVEN, DERIVED = ("a", "b", "c"), ("p", "q", "r")
SOME_NODES = range(4)


def random_path(rng: random.Random, names: list[str], depth: int) -> Path:
    kind = rng.choice(["name", "inverse", "plus", "star", "either", "then", "then"]) if depth else "name"
    match kind:
        case "inverse":
            return Inverse(random_path(rng, names, depth - 1))
        case "plus":
            return Plus(random_path(rng, names, depth - 1))
        case "star":
            return Star(random_path(rng, names, depth - 1))
        case "either":
            return Either(random_path(rng, names, depth - 1), random_path(rng, names, depth - 1))
        case "then":
            return Then(random_path(rng, names, depth - 1), random_path(rng, names, depth - 1))
        case _:
            return rng.choice(names)


def random_rules(rng: random.Random) -> list[Rule]:
    """One to three rules for each derived symbol, over what is before it."""
    rules = []
    for i, name in enumerate(DERIVED):
        names = [*GIVEN, *DERIVED[:i]]
        for _ in range(rng.randint(1, 3)):
            body = tuple(
                (random_path(rng, names, rng.randint(0, 2)), (rng.choice((X, Y, Z)), rng.choice((X, Y, Z, 1))))
                for _ in range(rng.randint(1, 3))
            )
            bound = [term for _, ends in body for term in ends]
            rules.append(Rule(name, (rng.choice(bound), rng.choice([*bound, 2])), body))
    return rules


def meaning(path: Path, graph: Mapping[str, set[Edge]]) -> set[Edge]:
    match path:
        case Inverse(inner):
            return {(y, x) for x, y in meaning(inner, graph)}
        case Plus(inner):
            return reachable(meaning(inner, graph))
        case Star(inner):
            return reachable(meaning(inner, graph)) | {(n, n) for n in SOME_NODES}
        case Either(left, right):
            return meaning(left, graph) | meaning(right, graph)
        case Then(left, right):
            first, second = meaning(left, graph), meaning(right, graph)
            return {(x, z) for x, y in first for other, z in second if y == other}
        case _:
            return graph.get(path, set())


def reachable(steps: set[Edge]) -> set[Edge]:
    found = set()
    for start, _ in steps:
        seen: set[object] = set()
        front = [start]
        while front:
            node = front.pop()
            new = [y for x, y in steps if x == node and y not in seen]
            seen.update(new)
            front += new
        found |= {(start, node) for node in seen}
    return found  # type: ignore[return-value]


def value_of(term: Value | Variable, bound: Mapping[Variable, Value]) -> Value:
    return bound[term] if isinstance(term, Variable) else term


def recomputed(rules: Iterable[Rule], given: Mapping[str, set[Edge]]) -> dict[str, set[Edge]]:
    """All views from scratch, without the normal form: rules by the order of their heads, all groundings of each."""
    graph = {name: set(some) for name, some in given.items()}
    for rule in rules:
        wanted = [(meaning(path, graph), ends) for path, ends in rule.body]
        for values in product(SOME_NODES, repeat=3):
            bound = dict(zip((X, Y, Z), values, strict=True))
            left, right = (value_of(term, bound) for term in rule.head)
            if all((value_of(x, bound), value_of(y, bound)) in pairs for pairs, (x, y) in wanted):
                graph.setdefault(rule.name, set()).add((left, right))
    return graph


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + cases(120)))
def test_repeated_updates_of_random_programs(seed: int) -> None:
    rng = random.Random(seed)
    rules = random_rules(rng)
    given: dict[str, set[Edge]] = {name: some_edges(rng, 6) for name in GIVEN}
    program = clause_map(rules, GIVEN)
    views = Views(program, SOME_NODES, given)
    for epoch in range(5):
        expected = recomputed(rules, given)
        assert {name: views[name] for name in (*GIVEN, *DERIVED)} == {
            name: expected.get(name, set()) for name in (*GIVEN, *DERIVED)
        }, f"seed {seed}, epoch {epoch}, {rules}"
        assert well_formed(views.graph)
        if epoch == 4:
            assert is_model(views.graph, program)
        insert = {name: some_edges(rng, 2) for name in GIVEN if rng.random() < 0.5}
        delete = {name: some_edges(rng, 2) for name in GIVEN if rng.random() < 0.5} if epoch % 2 else {}
        views.epoch(insert, delete)
        given = {name: given[name] - delete.get(name, set()) | insert.get(name, set()) for name in GIVEN}


def some_edges(rng: random.Random, count: int) -> set[Edge]:
    return {(rng.choice(SOME_NODES), rng.choice(SOME_NODES)) for _ in range(rng.randint(0, count))}
