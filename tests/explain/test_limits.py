"""Limits of time and size: partial proofs and absences that say so, and iterators that say how much they have found."""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import count

import pytest

import tidelog
from tests.explain.test_proofs import made
from tests.suite import loaded
from tidelog.errors import Problem
from tidelog.explain.proof import Proof
from tidelog.explain.steps import ProofStep
from tidelog.explain.views import EngineViews
from tidelog.limits.watch import Watch
from tidelog.storage.record_text import row_text


class Soon(Watch):
    """A limit of time that is reached after some looks."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most

    def look(self, rows: int = 0, doing: str = "") -> None:
        self.most -= 1
        if self.most < 0:
            raise tidelog.LimitError(Problem("E0501", "the time is over"))


def chain(length: int) -> tidelog.Database:
    return loaded(
        ".decl s(x: number) .decl e(x: number, y: number) s(0). next: s(y) :- s(x), e(x, y).",
        {"e": [(i, i + 1) for i in range(length)]},
    )


def test_a_limit_before_the_first_derivation_is_an_error() -> None:
    db = made()
    db.options(timeout=1e-9)
    with pytest.raises(tidelog.LimitError, match=r"E0501.*the explanation was stopped after"):
        db.explain("r", ("a", "d"))
    with pytest.raises(tidelog.LimitError, match="E0501"):
        db.why_not("r", ("d", "b"))


@pytest.mark.parametrize("length", [30, 500])
def test_a_limit_leaves_the_rest_open(length: int) -> None:
    """By least height, and by births."""
    db = chain(length)
    sizes: list[int] = []
    for looks in (0, 1, 2, 4, 8, 16, 32, 64, 10_000):
        try:
            proof = db._explainer.explain("s", (length,), EngineViews(db.engine), Soon(looks))
        except tidelog.LimitError:
            assert not sizes
            continue
        sizes.append(len(proof.steps))
        assert not proof.check(db).granted
        is_whole = len(proof.steps) == 2 * length + 1
        assert proof.is_partial != is_whole
        assert ("[not explained: a limit was reached]" in str(proof)) != (is_whole or len(proof.steps) > 200)
        assert proof.to_dict()["partial"] != is_whole
    assert sizes == sorted(sizes)
    assert len(set(sizes)) > 3
    assert sizes[-1] == 2 * length + 1


def test_a_partial_proof_is_checked() -> None:
    db = chain(30)
    proof = db._explainer.explain("s", (30,), EngineViews(db.engine), Soon(8))
    assert proof.is_partial
    with pytest.raises(tidelog.ProofRejected, match="E0820"):
        Proof((*proof.steps[:-1], replace(proof.goal, values=(7,)))).check()
    with pytest.raises(tidelog.UsageError, match="E0676"):
        proof.export("lean")


def test_a_limit_leaves_members_uncounted() -> None:
    db = made()
    shown: set[str] = set()
    for looks in range(40):
        try:
            proof = db._explainer.explain("ok", ("a", 3), EngineViews(db.engine), Soon(looks))
        except tidelog.LimitError:
            continue
        proof.check(db)
        (count,) = [each for each in proof.goal.conditions if each.sort == "aggregate"]
        assert proof.is_partial >= count.is_open
        shown.add(count.line)
    assert shown == {
        '2 = count : { e("a", _) }   [members not counted: a limit was reached]',
        '2 = count : { e("a", _) }   [2 members: e("a", "b"), e("a", "c")]',
    }


def test_a_limit_leaves_rules_out_of_an_absence() -> None:
    db = loaded(
        ".decl a(x: number) .decl b(x: number) .decl c(x: number) .decl d(x: number) "
        "one: d(x) :- c(x). two: d(x) :- a(x), b(x). three: c(x) :- b(x).",
        {"a": [(1,)]},
    )
    whole = db.why_not("d", (1,))
    assert not whole.is_partial
    texts: list[str] = []
    for looks in range(60):
        try:
            absence = db._explainer.absence("d", (1,), 3, EngineViews(db.engine), Soon(looks))
        except tidelog.LimitError:
            assert not texts
            continue
        texts.append(str(absence))
        assert absence.is_partial == ("not explained: a limit was reached" in texts[-1]) == (texts[-1] != str(whole))
        assert absence.to_dict()["partial"] == absence.is_partial
    assert texts[-1] == str(whole)
    assert len(set(texts)) > 2
    assert "    holds: a(1)\n    not explained: a limit was reached" in "\n".join(texts)


def test_iterators_say_that_they_are_partial(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each look at the clock behind the first answer takes a minute."""
    db = loaded(
        ".decl e(x: number, y: number) .decl t(x: number, y: number) t(x, y) :- e(x, y). t(x, z) :- t(x, y), t(y, z).",
        {"e": [(99, 0), *((x, y) for x in range(9) for y in range(9))]},
        closures=False,
        timeout=60,
    )
    found = db.ways_to_remove("t", (99, 5))
    next(found)
    clock, minutes = time.perf_counter, count()
    with monkeypatch.context() as patched:
        patched.setattr(time, "perf_counter", lambda: clock() + 60 * next(minutes))
        assert not found.is_partial
        assert list(found) == []
    assert (found.is_partial, found.count) == (True, 1)
    assert str(found.limit).startswith("ways_to_remove of t(99, 5): error[E0501]: the explanation was stopped after")
    assert "; found before: 1" in str(found.limit)
    assert [each.facts for each in db.ways_to_remove("t", (99, 0))][:1] == [(("e", (99, 0)),)]


def test_the_time_of_an_iterator_is_that_of_its_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """An hour goes by between two answers."""
    db = made()
    db.options(timeout=60)
    proofs = db.explain("r", ("a", "d"), all=True)
    first = next(proofs)
    clock = time.perf_counter
    monkeypatch.setattr(time, "perf_counter", lambda: clock() + 3600)
    assert next(proofs) != first


def test_a_search_for_sets_that_is_cut_short_says_so() -> None:
    db = loaded(
        ".decl q(x: number, y: number) .decl r(y: number) .decl p(x: number) p(x) :- q(x, y), r(y).",
        {"q": [(0, y) for y in range(20_001)]},
    )
    found = db.ways_to_derive("p", (0,))
    assert next(found) == (("r", (0,)),)
    assert (found.is_partial, len(list(found))) == (False, 199)
    assert (found.is_partial, found.count) == (True, 200)
    assert repr(found) == "<Enumeration of ways_to_derive of p(0): 200 so far, a limit has ended it>"
    assert str(found.limit).startswith("ways_to_derive of p(0): error[E0505]: more than")
    db.insert("r", [(y,) for y in range(20_001)])
    db.commit()
    with pytest.raises(tidelog.LimitError, match=r"ways_to_remove of p\(0\): error.E0505.*; found before: 0"):
        list(db.ways_to_remove("p", (0,)))


def test_a_fact_that_all_of_very_many_proofs_need_ends_a_tuple() -> None:
    db = loaded(
        ".decl q(x: number, y: number) .decl base(x: number) .decl p(x: number) .decl t(x: number) "
        "one: p(x) :- q(x, y), base(x). two: t(x) :- p(x).",
        {"q": [(0, y) for y in range(20_001)], "base": [(0,)]},
    )
    assert next(db.ways_to_remove("t", (0,))).facts == (("base", (0,)),)
    found = db.ways_to_remove("t", (0,), rules=True)
    assert {next(found).rules, next(found).rules} == {("one",), ("two",)}
    assert list(found) == []
    assert found.is_partial


# --- large proofs ----------------------------------------------------------------------------------------------------


def test_a_proof_of_a_million_steps_prints_its_beginning() -> None:
    """Made by hand: the search for one takes minutes."""
    steps = [ProofStep("s", (0,), "fact")]
    for i in range(1, 500_001):
        fact = ProofStep("e", (i - 1, i), "fact")
        steps += [fact, ProofStep("s", (i,), "rule", "next", premises=(len(steps) - 1, len(steps)), height=i)]
    proof = Proof(tuple(steps))
    lines = str(proof).split("\n")
    assert len(lines) == 201
    assert lines[0] == "s(500000)   [next]"
    assert lines[-1] == "… (1,000,001 steps in all)"


def test_a_wide_proof_is_found_printed_and_drawn() -> None:
    db = tidelog.connect()
    db.load(
        ".decl leaf(x: number) .decl node(x: number, l: number, r: number) .decl tree(x: number) "
        "tree(x) :- leaf(x). tree(x) :- node(x, l, r), tree(l), tree(r)."
    )
    size = 1 << 13
    db.insert("leaf", [(i,) for i in range(size, 2 * size)])
    db.insert("node", [(i, 2 * i, 2 * i + 1) for i in range(1, size)])
    db.commit()
    proof = db.explain("tree", (1,))
    assert len(proof.steps) == 4 * size - 2
    assert str(proof).endswith(f"… ({4 * size - 2:,} steps in all)")
    page = proof.to_html()
    assert all(row_text("leaf", (i,)) in page for i in (size, 2 * size - 1))
    assert len(page) < 100 * len(proof.steps)
