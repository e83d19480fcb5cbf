"""The six conditions, each broken by hand, and what the checker says about it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import duckdb
import numpy
import pytest

import tidelog
from tests.certificate.alter import Altered, altered, verdict
from tests.suite import loaded
from tidelog.certificate import check
from tidelog.errors import CertificateRejected, Problem
from tidelog.rules.core import CoreAtom, CoreRule, CoreVariable

CYCLE = """\
.decl e(x: number, y: number)
.decl t(x: number, y: number)
.decl n(x: number, y: number)
e(1, 2). e(2, 1). e(5, 6).
t(x, y) :- e(x, y).
t(x, z) :- t(x, y), e(y, z).
n(x, y) :- e(x, y), !t(y, x).
"""


def problems(changed: Altered) -> list[Problem]:
    with pytest.raises(CertificateRejected) as caught:
        check(changed.certificate())
    return list(caught.value.problems)


@pytest.fixture(scope="module")
def cycle() -> Altered:
    return altered(loaded(CYCLE))


def test_a_sound_certificate(cycle: Altered) -> None:
    assert verdict(cycle) == set()
    loaded(CYCLE).check()


# --- condition 1 -----------------------------------------------------------------------------------------------------


def test_a_fact_that_the_view_lacks(cycle: Altered) -> None:
    (problem,) = problems(cycle.with_facts("n", [(7, 8)]))
    assert problem.code == "E0801"
    assert problem.message == "condition 1 (facts): n(7, 8) is a fact, but not in the view"


# --- condition 2 -----------------------------------------------------------------------------------------------------


def test_a_missing_tuple_names_the_rule_and_its_place(cycle: Altered) -> None:
    (problem,) = problems(cycle.without("t", (2, 2)))
    assert str(problem).splitlines()[0] == (
        "<text>:6:1: error[E0802]: condition 2 (closed): rule r2 derives t(2, 2) from the view, "
        "but the view does not contain it"
    )


def test_a_missing_tuple_that_makes_a_negation_true(cycle: Altered) -> None:
    changed = cycle.without("t", (2, 1))
    assert "rule r3 derives n(1, 2)" in str(CertificateRejected(*problems(changed)))


def test_some_of_many_are_shown(cycle: Altered) -> None:
    changed = replace(cycle, views={**cycle.views, "t": {}})
    assert problems(changed)[0].message.count("t(") == 3
    assert "and more" in loaded_message("v(x, y) :- e(x, _), e(_, y).", "v", keep=0)


def loaded_message(rule: str, name: str, keep: int) -> str:
    """Return the message for a view that lacks all but `keep` tuples."""
    sound = altered(loaded(f"{CYCLE}.decl v(x: number, y: number)\n{rule}"))
    view = dict(list(sound.views[name].items())[:keep])
    return problems(replace(sound, views={**sound.views, name: view}))[0].message


# --- condition 3 -----------------------------------------------------------------------------------------------------


def test_an_invented_tuple_shows_the_rules_that_do_not_derive_it(cycle: Altered) -> None:
    (problem,) = problems(cycle.with_row("t", (8, 9)))
    assert problem.code == "E0803"
    assert problem.message.startswith(
        "condition 3 (founded): t(8, 9) is in the view, but is no fact and no rule derives it"
    )
    assert [label for _, label in problem.notes] == ["rule r1 does not", "rule r2 does not"]


def test_tuples_that_support_each_other_only(cycle: Altered) -> None:
    """t(8, 8) would follow from itself if there were e(8, 8): births are what tells."""
    alone = altered(loaded(CYCLE + ".decl s(x: number) .decl k(x: number) k(8). s(x) :- s(x), k(x)."))
    for birth in (0, 1, 1000):
        assert verdict(alone.with_row("s", (8,), birth)) == {"E0803"}


def test_a_missing_fact(cycle: Altered) -> None:
    assert verdict(cycle.with_facts("e", [(1, 2), (2, 1)])) == {"E0803"}


def test_births_that_do_not_grow(cycle: Altered) -> None:
    count = len(cycle.views["t"])
    assert verdict(cycle.with_births("t", [5] * count)) == {"E0803"}
    assert verdict(cycle.with_births("e", [9] * len(cycle.views["e"]))) == set()  # of a lower stratum: not compared
    assert verdict(cycle.with_births("t", [birth * 10 - 100 for birth in cycle.views["t"].values()])) == set()


def test_births_of_a_cycle_reversed(cycle: Altered) -> None:
    births = list(cycle.views["t"].values())
    assert verdict(cycle.with_births("t", [-birth for birth in births])) == {"E0803"}


def test_a_fact_of_a_derived_relation_needs_no_rule() -> None:
    db = loaded(CYCLE)
    db.insert("t", [(9, 5)])
    db.commit()
    sound = altered(db)
    assert verdict(sound) == set()
    assert (9, 6) in sound.views["t"]
    assert verdict(sound.with_facts("t", [])) == {"E0803"}


# --- condition 4 -----------------------------------------------------------------------------------------------------


def test_strata_follow_from_the_rules(cycle: Altered) -> None:
    strata = cycle.certificate().strata
    assert strata["e"] < strata["t"] < strata["n"]
    mutual = altered(loaded(".decl a(x: number) .decl b(x: number) a(x) :- b(x). b(x) :- a(x). a(1)."))
    assert len(set(mutual.certificate().strata.values())) == 1


def test_a_negation_of_its_own_stratum(cycle: Altered) -> None:
    first, second = problems(with_rule_of(cycle, "t", CoreAtom("n", (X, Y), negated=True)))
    assert (first.code, second.code) == ("E0804", "E0804")
    assert first.message.startswith("condition 4 (strata): rule r1 reads stratum ")
    assert " in full (by negation or an aggregate)" in first.message
    assert str(first).startswith("<text>:5:1: ")
    assert second.message.startswith("condition 4 (strata): rule r3 reads stratum ")


def test_an_aggregate_of_its_own_stratum() -> None:
    sound = altered(loaded(CYCLE + ".decl c(n: number) c(n) :- n = count : { t(_, _) }."))
    assert verdict(sound) == set()
    assert verdict(with_rule_of(sound, "t", CoreAtom("c", (X,)))) == {"E0804"}


X, Y = CoreVariable("x", "number"), CoreVariable("y", "number")


def with_rule_of(sound: Altered, head: str, atom: CoreAtom) -> Altered:
    """The certificate for a program whose first rule of a relation has another atom in its body."""
    nodes = []
    for node in sound.program.nodes:
        for rule in node.rules:
            if isinstance(rule, CoreRule) and rule.head.relation == head and atom not in rule.body:
                rule = replace(rule, body=(*rule.body, atom))
                head = ""
            nodes.append(replace(node, rules=(rule,)))
    return replace(sound, program=replace(sound.program, nodes=tuple(nodes)))


# --- features of the language ----------------------------------------------------------------------------------------

WRONG_VALUES = [
    ("v(x + 1) :- a(x).", (3,), (4,)),
    ("v(x * 4611686018427387904) :- a(x), x = 2.", (-(2**63),), (2**63 - 1,)),
    ("v(n) :- n = count : { a(_) }.", (2,), (3,)),
    ("v(n) :- n = sum x : { a(x), x > 5 }.", (0,), (1,)),
    ("v(n) :- n = max x : { a(x) }.", (2,), (1,)),
    ("v(n) :- a(x), n = strlen(cat(to_string(x), s)), t(s).", (3,), (2,)),
    ("v(n) :- a(n), n = range(0, 2).", (1,), (2,)),
    ("v(n) :- a(n), !a(n + 1).", (2,), (1,)),
    ('v(n) :- n = codepoint(s), t(s), contains("b", s), match("a.", s).', (97,), (98,)),
    ("v(n) :- r(p), p = [n, _].", (7,), (8,)),
    ("v(n) :- n = 1, r([7, nil]).", (1,), (2,)),
    ("v(n) :- a(n), n = 1 ; a(n), n > 2.", (1,), (3,)),
    ("v(n) :- a(x), n = x + x, n = x * x.", (4,), (2,)),
    ("v(n) :- q([n, n]).", (1,), (2,)),
]


@pytest.mark.parametrize(("rule", "right", "wrong"), WRONG_VALUES, ids=[rule for rule, _, _ in WRONG_VALUES])
def test_values_are_computed_again(rule: str, right: tuple[int], wrong: tuple[int]) -> None:
    text = f""".type List = [head: number, tail: List]
        .type Pair = [x: number, y: number]
        .decl a(x: number) .decl t(s: symbol) .decl r(p: List) .decl q(p: Pair) .decl v(n: number)
        a(1). a(2). t("ab"). r([7, nil]). q([1, 1]). q([2, 3]). {rule}"""
    sound = altered(loaded(text))
    assert right in sound.views["v"]
    assert verdict(sound) == set()
    assert verdict(sound.without("v", right)) == {"E0802"}
    assert verdict(sound.with_row("v", wrong)) == {"E0803"}
    assert verdict(sound.without("v", right).with_row("v", wrong)) == {"E0802", "E0803"}


def test_a_group_that_lists_a_tuple_twice_counts_it_once() -> None:
    """Otherwise a certificate could make a sum larger than it is."""
    sound = altered(loaded(".decl a(x: number) .decl s(n: number) a(3). a(4). s(n) :- n = sum x : { a(x) }."))
    forged = replace(sound, twice=frozenset(sound.views))
    assert verdict(forged) == set()
    (head,) = [name for name in sound.views if name.startswith("#aggregate")]
    forged = forged.without("s", (7,)).with_row("s", (14,)).without(head, (7,)).with_row(head, (14,))
    assert verdict(forged) == {"E0802", "E0803"}


def test_messages_do_not_name_intermediate_results() -> None:
    sound = altered(loaded(".decl a(x: number) .decl s(n: number) a(3). a(4). s(n) :- n = sum x : { a(x) }."))
    (inner,) = [name for name in sound.views if name.startswith("#inner")]
    text = str(CertificateRejected(*problems(sound.without(inner, next(iter(sound.views[inner]))))))
    assert "#" not in text
    assert "(an intermediate result)" in text


def test_floats_and_infinities() -> None:
    text = """.decl f(x: float) .decl g(x: float) f(0.1). f(0.2). f(-0.0). f(x) :- f(0.0), x = to_float("inf").
        g(x + y) :- f(x), f(y). g(x / y) :- f(x), f(y)."""
    sound = altered(loaded(text))
    assert verdict(sound) == set()
    assert (0.1 + 0.2,) in sound.views["g"]
    assert verdict(sound.with_row("g", (0.3,))) == {"E0803"}
    assert verdict(sound.without("g", (float("inf"),))) == {"E0802"}


def test_unsigned() -> None:
    sound = altered(
        loaded(
            ".decl u(x: unsigned) .decl w(x: unsigned) u(1). u(18446744073709551615). w(x + y) :- u(x), u(y), x > y."
        )
    )
    assert sound.views["w"].keys() == {(0,)}
    assert verdict(sound) == set()
    assert verdict(sound.with_row("w", (2**64 - 1,))) == {"E0803"}


def test_relations_without_columns() -> None:
    sound = altered(loaded(".decl a() .decl b() .decl c() a(). b() :- a(), !c()."))
    assert verdict(sound) == set()
    assert verdict(sound.without("b", ())) == {"E0802"}
    assert verdict(sound.with_row("c", ())) == {"E0803"}
    assert problems(sound.without("b", ()))[0].message.startswith("condition 2 (closed): rule r1 derives b() from")


def test_a_database_whose_view_is_wrong() -> None:
    """What would be a fault of tidelog: a row that nobody has derived."""
    db = loaded(CYCLE)
    db.engine.views["n"].insert(numpy.array([[4, 4]]))
    with pytest.raises(tidelog.CertificateRejected, match=r"condition 3 \(founded\): n\(4, 4\)"):
        db.check()


def test_checking_changes_nothing_and_can_be_repeated() -> None:
    db = loaded(CYCLE)
    before = {name: set(db[name]) for name in db.relations}
    for _ in range(3):
        db.check()
    db.insert("e", [(6, 7)])
    db.check()  # pending facts do not count
    assert {name: set(db[name]) for name in db.relations} == before
    db.commit()
    db.check()


def test_after_rules_have_come_and_gone() -> None:
    db = loaded(CYCLE)
    with db.transaction() as tx:
        tx.rules.add("back: e(y, x) :- t(x, y), x > y.")
    db.check()
    with db.transaction() as tx:
        tx.rules.remove("r2")
        tx.insert("t", [(3, 4)])
    db.check()
    with db.transaction() as tx:
        tx.rules.remove("back")
        tx.rules.remove("r3")
    db.check()


def test_rules_of_many_literals() -> None:
    """Each a shape that could be too deep for a parser, or grow exponentially."""
    doubled = ", ".join(f"x{i + 1} = x{i} + x{i}" for i in range(60))
    chain = ", ".join(f"e(y{i}, y{i + 1})" for i in range(40))
    unequal = ", ".join(f"x != {i}" for i in range(10, 300))
    text = f"""{CYCLE} .decl v(x: number) .decl f(x: float) .decl g(x: float) f(1.5).
        v(x60) :- e(x0, _), {doubled}. v(y0) :- {chain}. v(x) :- e(x, _), {unequal}.
        g(x60) :- f(x0), {doubled}. v({" + ".join(["x"] * 60)}) :- e(x, _)."""
    sound = altered(loaded(text))
    assert verdict(sound) == set()
    assert sound.views["g"].keys() == {(1.5 * 2.0**60,)}


def test_memory_that_does_not_suffice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidelog.certificate.session.session", lambda _: limited("2MB"))
    db = loaded(".decl e(x: number) .decl p(x: number, y: number) e(x) :- x = range(0, 1000). p(x, y) :- e(x), e(y).")
    with pytest.raises(tidelog.LimitError, match="E0503"):
        db.check()


def test_a_disk_that_does_not_suffice(monkeypatch: pytest.MonkeyPatch) -> None:
    config: dict[str, Any] = {"memory_limit": "8MB", "temp_directory": "/dev/null/nowhere"}
    monkeypatch.setattr("tidelog.certificate.session.session", lambda _: duckdb.connect(config=config))
    db = loaded(".decl e(x: number) .decl p(x: number, y: number) e(x) :- x = range(0, 1000). p(x, y) :- e(x), e(y).")
    with pytest.raises(tidelog.LimitError, match="E0508"):
        db.check()


@contextmanager
def limited(memory: str) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(config={"memory_limit": memory, "max_temp_directory_size": "0GB"}) as connection:
        yield connection


def test_a_closed_database() -> None:
    db = loaded(CYCLE)
    db.close()
    with pytest.raises(tidelog.UsageError, match="E0602"):
        db.check()


# --- condition 6 -----------------------------------------------------------------------------------------------------

COUNTED = """\
.decl b(x: number, y: number)
.decl a(x: number, n: number)
.decl c(x: number, n: number)
b(1, 10). b(1, 20). b(2, 30).
a(x, $) :- b(x, _).
c(x, $) :- b(_, x).
"""


@pytest.fixture(scope="module")
def counted() -> Altered:
    return altered(loaded(COUNTED))


def renumbered(changed: Altered, name: str, row: tuple[int, ...], number: int) -> Altered:
    """With another number of a substitution in the view of its counter, and in the relation that shows it."""
    counter = {"a": "#counter.r1.1", "c": "#counter.r2.1"}[name]
    shown = (row[0] if name == "a" else row[1], row[-1])
    birth = changed.views[name][shown]
    changed = changed.without(counter, row).with_row(counter, (*row[:-1], number))
    return changed.without(name, shown).with_row(name, (shown[0], number), birth)


def test_numbers_are_taken_as_given(counted: Altered) -> None:
    assert verdict(counted) == set()
    assert verdict(renumbered(counted, "a", (1, 10, 0), 77)) == set()


def test_a_substitution_without_a_number(counted: Altered) -> None:
    (problem,) = problems(counted.without("#counter.r1.1", (1, 10, 0)).without("a", (1, 0)))
    assert problem.code == "E0806"
    assert problem.message == "condition 6 (numbered): rule r1 has no number for (1, 10) (an intermediate result)"


def test_one_number_for_two_substitutions(counted: Altered) -> None:
    for name, row in (("a", (1, 20, 1)), ("c", (2, 30, 5))):
        (problem,) = problems(renumbered(counted, name, row, 0))
        assert problem.code == "E0806"
        assert "the number 0 is given twice" in problem.message


def test_two_numbers_for_one_substitution(counted: Altered) -> None:
    changed = counted.with_row("#counter.r1.1", (1, 10, 99)).with_row("a", (1, 99))
    assert verdict(changed) == {"E0806"}


def test_a_number_of_no_substitution(counted: Altered) -> None:
    assert verdict(counted.with_row("#counter.r1.1", (5, 5, 99)).with_row("a", (5, 99))) == {"E0803"}
