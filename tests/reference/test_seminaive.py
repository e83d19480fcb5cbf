"""Births and counts of small programs, worked out by hand from the definition in the module."""

from __future__ import annotations

from tests.suite import Facts, checked
from tidelog.reference import seminaive
from tidelog.reference.seminaive import CountedTable
from tidelog.rules import compile_program


def tables(text: str, facts: Facts | None = None) -> dict[str, CountedTable]:
    return seminaive.evaluate(compile_program(checked(text)), facts or {})


EDGES = ".decl e(x: number, y: number)\n.decl p(x: number, y: number)\n"


def test_birth_is_the_round_and_a_chain_has_one_derivation_each() -> None:
    text = EDGES + "p(x, y) :- e(x, y). p(x, z) :- p(x, y), e(y, z)."
    assert tables(text, {"e": [(1, 2), (2, 3), (3, 4)]})["p"] == {
        (1, 2): (1, 1),
        (2, 3): (1, 1),
        (3, 4): (1, 1),
        (1, 3): (2, 1),
        (2, 4): (2, 1),
        (1, 4): (3, 1),
    }


def test_a_derivation_from_two_new_tuples_counts_once() -> None:
    text = EDGES + "p(x, y) :- e(x, y). p(x, z) :- p(x, y), p(y, z)."
    found = tables(text, {"e": [(1, 2), (2, 3), (3, 4)]})["p"]
    assert found[1, 3] == (2, 1)
    assert found[1, 4] == (3, 2), "(1, 2) with (2, 4) and (1, 3) with (3, 4)"


def test_both_ways_through_a_diamond_count() -> None:
    text = EDGES + "p(x, y) :- e(x, y). p(x, z) :- p(x, y), e(y, z)."
    assert tables(text, {"e": [(1, 2), (1, 3), (2, 4), (3, 4)]})["p"][1, 4] == (2, 2)


def test_derivations_of_later_rounds_do_not_count() -> None:
    text = EDGES + "p(x, y) :- e(x, y). p(x, z) :- p(x, y), e(y, z)."
    assert tables(text, {"e": [(1, 2), (2, 3), (1, 3), (3, 1)]})["p"][1, 3] == (1, 1)


def test_a_fact_of_a_derived_relation_is_a_derivation_of_the_first_round() -> None:
    text = EDGES + "p(x, y) :- e(x, y). p(x, z) :- p(x, y), p(y, z). p(1, 3)."
    found = tables(text, {"e": [(1, 2), (2, 3)], "p": [(1, 2), (1, 3)]})["p"]
    assert found == {(1, 2): (1, 2), (2, 3): (1, 1), (1, 3): (1, 1)}


def test_each_rule_and_each_alternative_counts() -> None:
    text = EDGES + "p(x, y) :- e(x, y). p(x, y) :- e(x, y), x < y. p(x, y) :- e(x, y), (x < 2 ; y > 1)."
    assert tables(text, {"e": [(1, 2), (3, 1)]})["p"] == {(1, 2): (1, 4), (3, 1): (1, 1)}


def test_each_value_of_a_variable_that_the_head_drops_counts() -> None:
    text = EDGES + ".decl q(x: number)\nq(x) :- e(x, _). p(x, x) :- e(x, y), e(x, z), y <= z."
    found = tables(text, {"e": [(1, 2), (1, 3), (4, 4)]})
    assert found["q"] == {(1,): (1, 2), (4,): (1, 1)}
    assert found["p"] == {(1, 1): (1, 3), (4, 4): (1, 1)}


def test_a_negated_atom_adds_no_derivations() -> None:
    text = EDGES + "p(x, y) :- e(x, y), !e(y, _)."
    assert tables(text, {"e": [(1, 2), (2, 3), (2, 4)]})["p"] == {(2, 3): (1, 1), (2, 4): (1, 1)}


def test_rounds_begin_anew_in_each_hyper_node() -> None:
    text = EDGES + ".decl q(x: number, y: number)\n"
    text += "p(x, y) :- e(x, y). p(x, z) :- p(x, y), e(y, z). q(x, y) :- p(x, y), x > 1. q(x, y) :- q(y, x)."
    assert tables(text, {"e": [(1, 2), (2, 3), (3, 4)]})["q"] == {
        (2, 3): (1, 1),
        (3, 4): (1, 1),
        (2, 4): (1, 1),
        (3, 2): (2, 1),
        (4, 3): (2, 1),
        (4, 2): (2, 1),
    }


def test_mutual_recursion_shares_its_rounds() -> None:
    text = ".decl n(x: number, y: number)\n.decl even(x: number)\n.decl odd(x: number)\n"
    text += "even(0). odd(y) :- even(x), n(x, y). even(y) :- odd(x), n(x, y)."
    found = tables(text, {"n": [(0, 1), (1, 2), (2, 3), (0, 3), (3, 4), (1, 4)]})
    assert found["even"] == {(0,): (1, 1), (2,): (3, 1), (4,): (3, 2)}
    assert found["odd"] == {(1,): (2, 1), (3,): (2, 1)}


def test_each_value_of_a_range_counts() -> None:
    text = ".decl n(x: number)\n.decl odd(x: number)\nodd(y % 2) :- n(x), y = range(0, x)."
    assert tables(text, {"n": [(5,), (2,)]})["odd"] == {(0,): (1, 4), (1,): (1, 3)}


def test_an_aggregate_is_one_derivation() -> None:
    text = EDGES + "p(x, c) :- e(x, x), c = count : { e(x, _) }."
    assert tables(text, {"e": [(1, 1), (1, 2), (1, 3), (2, 5)]})["p"] == {(1, 3): (1, 1)}


def test_given_relations_have_birth_and_count_one() -> None:
    assert tables(EDGES + "e(1, 2).", {"e": [(1, 2), (3, 4)]})["e"] == {(1, 2): (1, 1), (3, 4): (1, 1)}
