"""The localization rewrite: what sends what to whom, which programs it refuses, and that it changes no view."""

from __future__ import annotations

import re

import pytest

from tests.network.cases import CASES
from tests.suite import loaded
from tests.texts import cases_of, python
from tidelog.errors import ProgramError
from tidelog.language import check, read
from tidelog.network import localize
from tidelog.network.program import LocatedProgram

LINKS = ".decl link(@x: symbol, y: symbol)\n.decl out(@x: symbol, y: symbol)\n"


def localized(rules: str, declarations: str = LINKS) -> LocatedProgram:
    return localize(check(read(declarations + rules)))


def text(rules: str, declarations: str = LINKS) -> list[str]:
    """The rules, without the digests in names."""
    return re.sub(r"\.[0-9a-f]{16}", "", str(localized(rules, declarations))).splitlines()


def code(rules: str, declarations: str = LINKS) -> str:
    with pytest.raises(ProgramError) as caught:
        localized(rules, declarations)
    return caught.value.code


def test_a_rule_at_one_node_stays_as_it_is() -> None:
    assert text("out(@x, y) :- link(@x, y), link(@x, x), x != y.") == [
        "out(@x, y) :- link(@x, y), link(@x, x), x != y."
    ]


def test_the_head_may_live_elsewhere() -> None:
    assert text("out(@y, x) :- link(@x, y).") == ["out(@y, x) :- link(@x, y)."]


def test_the_rule_of_the_paper() -> None:
    """Links go to the neighbour once; what a node can reach stays where it is."""
    assert text("out(@s, d) :- link(@s, d).\nout(@s, d) :- link(@s, z), out(@z, d).") == [
        "out(@s, d) :- link(@s, d).",
        "#r2.s(@z, s) :- link(@s, z).",
        "out(@s, d) :- #r2.s(@z, s), out(@z, d).",
    ]


def test_three_nodes_in_a_row() -> None:
    assert text("out(@a, d) :- link(@a, b), link(@b, c), link(@c, d).") == [
        "#r1.a(@b, a) :- link(@a, b).",
        "#r1.b(@c, a) :- #r1.a(@b, a), link(@b, c).",
        "out(@a, d) :- #r1.b(@c, a), link(@c, d).",
    ]


def test_two_senders_and_one_receiver() -> None:
    assert text("out(@a, b) :- link(@a, c), link(@b, c), link(@c, c).") == [
        "#r1.a(@c, a) :- link(@a, c).",
        "#r1.b(@c, b) :- link(@b, c).",
        "out(@a, b) :- #r1.a(@c, a), #r1.b(@c, b), link(@c, c).",
    ]


def test_conditions_are_checked_before_anything_is_sent() -> None:
    assert text('out(@s, d) :- link(@s, z), s != "hub", link(@z, d).') == [
        '#r1.s(@z, s) :- link(@s, z), s != "hub".',
        "out(@s, d) :- #r1.s(@z, s), link(@z, d).",
    ]


def test_a_value_that_is_computed_can_be_a_location() -> None:
    assert text('out(@t, s) :- link(@s, y), t = cat(s, "x"), link(@t, y).')[0] == (
        '#r1.s(@t, s, y) :- link(@s, y), t = cat(s, "x").'
    )


def test_a_constant_can_be_a_location() -> None:
    assert text('out(@s, d) :- link(@s, d), link("hub", d).') == [
        '#r1.s(@"hub", s, d) :- link(@s, d).',
        'out(@s, d) :- #r1.s(@"hub", s, d), link(@"hub", d).',
    ]


def test_a_negated_atom_is_asked_where_it_lives() -> None:
    assert text("out(@s, d) :- link(@s, d), !link(@d, s).") == [
        "#r1.s(@d, s) :- link(@s, d).",
        "out(@s, d) :- #r1.s(@d, s), !link(@d, s).",
    ]


def test_two_negated_atoms_at_two_nodes() -> None:
    rules = text("out(@a, b) :- link(@a, b), link(@a, c), !link(@b, a), !link(@c, a).", LINKS)
    assert len(rules) == 3
    assert rules[-1].startswith("out(@a, b) :- ")


def test_an_aggregate_collects_where_its_groups_live() -> None:
    declarations = LINKS + ".decl count(@x: symbol, n: number)\n"
    assert text("count(@d, n) :- link(_, d), n = count : { link(_, d) }.", declarations) == [
        "#outer.r1(@d) :- link(@_, d).",
        "#r1._(@d, _) :- link(@_, d).",
        "#inner.r1(@d, _) :- #r1._(@d, _), #outer.r1(@d).",
        "#r1._(@d) :- link(@_, d).",
        "count(@d, n) :- #r1._(@d), #aggregate.r1(@d, n).",
        "#aggregate.r1: count of #inner.r1 for each tuple of #outer.r1.",
    ]


def test_relations_without_location_are_everywhere() -> None:
    declarations = LINKS + ".decl limit(n: number)\n"
    assert text("limit(3).\nout(@x, y) :- link(@x, y), limit(n), n > 2.", declarations) == [
        "out(@x, y) :- link(@x, y), limit(n), n > 2."
    ]


def test_marks_of_atoms_are_enough() -> None:
    declarations = ".decl link(x: symbol, y: symbol)\n.decl out(x: symbol, y: symbol)\n"
    assert text("out(@y, x) :- link(@x, y).", declarations) == ["out(@y, x) :- link(@x, y)."]


def test_what_an_auxiliary_relation_means_gives_its_name() -> None:
    """Nodes with different rules agree on the relations that they have in common."""
    rule = "r2: out(@s, d) :- link(@s, z), out(@z, d)."
    alone, together = localized(rule), localized(f"out(@s, d) :- link(@s, d).\n{rule}")
    assert set(alone.places) == set(together.places)
    assert set(alone.rules) < set(together.rules)
    other = localized("r2: out(@s, z) :- link(@s, z), out(@z, _), z != s.")
    assert {name for name in other.places if name.startswith("#")}.isdisjoint(alone.places)


def test_the_tree_that_sends_least_is_taken() -> None:
    """Both directions are possible; the one that sends base tuples and keeps recursive ones at home is taken."""
    rules = text("out(@s, d) :- link(@s, z), link(@z, s), out(@z, d).")
    assert rules == ["#r1.s(@z, s) :- link(@s, z).", "out(@s, d) :- #r1.s(@z, s), link(@z, s), out(@z, d)."]


@pytest.mark.parametrize(("expected", "rules"), cases_of(__file__, "what cannot be made local", str, python))
def test_what_cannot_be_made_local(expected: str, rules: str) -> None:
    assert code(rules) == expected


def test_seven_locations_are_too_many() -> None:
    atoms = ", ".join(f"link(@x{i}, x{i + 1})" for i in range(7))
    assert code(f"out(@x0, x7) :- {atoms}.") == "E0313"


def test_a_program_without_locations() -> None:
    assert code("", ".decl link(x: symbol, y: symbol)") == "E0312"


def test_the_message_shows_the_rule_and_the_two_locations() -> None:
    with pytest.raises(ProgramError) as caught:
        localize(check(read(LINKS + "far: out(@x, y) :- link(@x, _), link(@y, _).", name="net.dl")))
    assert str(caught.value) == (
        "net.dl:3:1: error[E0313]: rule `far` reads tuples at `x` and `y`, and no tuple leads from one to the other\n"
        "    3 | far: out(@x, y) :- link(@x, _), link(@y, _).\n"
        "      | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "  hint: let an atom at one location name the other: `link(@s, z), reachable(@z, d)`"
    )


@pytest.mark.parametrize("name", CASES)
def test_every_body_is_at_one_place(name: str) -> None:
    program = localize(check(read(CASES[name].text)))
    for rule in program.rules:
        atoms = (*rule.positive, *rule.negative)
        places = [(atom, program.places[atom.relation].location) for atom in atoms]
        assert {atom.args[place] for atom, place in places if place is not None} <= {rule.at}


def test_marks_mean_nothing_in_one_database() -> None:
    database = loaded(
        LINKS + "out(@s, d) :- link(@s, d).\nout(@s, d) :- link(@s, z), out(@z, d).", {"link": [("a", "b"), ("b", "c")]}
    )
    assert set(database["out"]) == {("a", "b"), ("b", "c"), ("a", "c")}
