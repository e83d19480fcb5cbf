"""Types with branches: how they are written and printed, in components too, and how little space their values take."""

from __future__ import annotations

import pytest

import tidelog
from tests.suite import evaluate_embedded, evaluate_naive, loaded
from tests.texts import cases_of
from tidelog.errors import ProgramError
from tidelog.language import check, read, warnings
from tidelog.language.syntax import RecordType

LIST = ".type List = Nil {} | Cons { head: number, tail: List }\n"


def record(text: str, name: str) -> RecordType:
    return check(read(text)).records[name]


@pytest.mark.parametrize(("written", "printed"), cases_of(__file__, "the text comes back"))
def test_the_text_comes_back(written: str, printed: str) -> None:
    assert str(read(written)) == printed
    assert read(printed) == read(written)


def test_checked_rules_print_as_written() -> None:
    text = f"{LIST}.decl r(x: List)\nr1: r($Cons(1, x)) :- r(x), x = $Nil."
    assert str(check(read(text)).rules[0]) == "r1: r($Cons(1, x)) :- r(x), x = $Nil."
    db = loaded(text)
    (node,) = db.engine.program.nodes
    assert str(node.rules[0]) == "r1: r(#v1) :- r(x), x = $Nil, #v1 = $Cons(1, x)."


def test_branches_share_places_of_a_kind() -> None:
    wide = record(
        ".type T = A { x: number, y: symbol } | B { y: symbol, z: symbol, x: number } | C { t: T, u: T } | D {}", "T"
    )
    assert [column.kind for column in wide.fields] == ["number", "number", "symbol", "symbol", "T", "T"]
    assert [branch.places for branch in wide.branches] == [(1, 2), (2, 3, 1), (4, 5), ()]


COMPONENT = """
.comp Lists<T> {
  .type List = Nil {} | Cons { head: T, tail: List }
  .decl given(x: List)
  .decl all(x: List)
  all(x) :- given(x).
  all(t) :- all($Cons(_, t)).
  given($Nil).
}
.init a = Lists<number>
.init b = Lists<symbol>
a.given($a.Cons(1, $a.Cons(2, $a.Nil))).
b.given($b.Cons("x", $b.Nil)).
.decl ones(x: a.List)
ones($a.Cons(1, x)) :- a.all(x).
"""


def test_instances_of_a_component_have_branches_of_their_own() -> None:
    found = evaluate_embedded(COMPONENT, {})
    assert found == evaluate_naive(COMPONENT, {})
    assert sorted(map(repr, found["b.all"])) == ["(b.Cons(head='x', tail=b.Nil()),)", "(b.Nil(),)"]
    assert len(found["ones"]) == 3
    with pytest.raises(ProgramError, match=r"E0260.*no type has a branch `Nil`"):
        check(read(f"{COMPONENT} .decl c(x: a.List) c($Nil)."))


def test_a_component_may_use_branches_from_outside() -> None:
    text = f"{LIST}.comp C {{ .decl r(x: List) r($Nil). r($Cons(1, x)) :- r(x), x = $Nil. }} .init c = C"
    assert len(evaluate_embedded(text, {})["c.r"]) == 2


def test_a_type_without_values_is_a_warning_only_and_empty() -> None:
    text = ".type S = Next { after: S }\n.decl r(x: S)\n.decl s(x: S)\nr($Next(x)) :- r(x).\ns(x) :- r(x)."
    assert [problem.code for problem in warnings(check(read(text)))] == ["E0293"]
    assert evaluate_embedded(text, {}) == {"r": set(), "s": set()}


@pytest.mark.parametrize(
    "text",
    [
        ".type A = X { r: R }\n.type R = [a: A, n: number]",  # nil is a record
        ".type A = X { b: B }\n.type B = Y { a: A } | Z {}",
        ".type A = X { b: C } | Y { a: A }\n.type B = Z {}\n.type C = B",
    ],
)
def test_types_with_values_are_no_warning(text: str) -> None:
    assert warnings(check(read(text))) == []


def test_a_type_that_changes_its_branches_keeps_no_old_values() -> None:
    db = tidelog.connect()
    db.rules.add(".type T = A { x: number } | B {}\n.decl r(x: T)\nr($A(1)).")
    db.rollback()
    db.load(".type T = B {} | A { x: number }\n.decl r(x: T)\nr($B). r($A(0)).")
    db.commit()
    assert sorted(map(repr, db["r"])) == ["(A(x=0),)", "(B(),)"]


def test_terms_nest_as_deeply_as_brackets_may() -> None:
    deep = "$Cons(1, " * 200 + "$Nil" + ")" * 200
    with pytest.raises(ProgramError, match="E0106"):
        read(f"r({deep}).")
