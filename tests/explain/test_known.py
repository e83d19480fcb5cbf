"""Derivations that are kept until the next epoch: they change no proof, and end with the state that they are of."""

from __future__ import annotations

import random
from collections.abc import Sequence
from weakref import ref

import pytest

import tidelog
from tests.depth import cases
from tests.mixtures import MixtureFollower, mixture_for
from tests.suite import FIRST_SEED, loaded
from tidelog.explain import derivations as known
from tidelog.explain.derivations import Known, TupleDerivations
from tidelog.explain.explainer import Explainer
from tidelog.explain.views import EngineViews
from tidelog.language.inlining import INLINE

Goal = tuple[str, tuple[object, ...]]


def goals_of(db: tidelog.Database) -> list[Goal]:
    shown = [name for name, each in db.program.relations.items() if INLINE not in each.qualifiers]
    return sorted(((name, row) for name in shown for row in db[name]), key=repr)


def founded_proofs(db: tidelog.Database, goals: Sequence[Goal]) -> dict[Goal, str]:
    """The proofs that births give, as texts, by what the database keeps."""
    return {goal: str(db._explainer.founded_proof(*goal, EngineViews(db.engine)).to_dict()) for goal in goals}


def alone(db: tidelog.Database, goal: Goal) -> str:
    """The proof of a tuple for which nobody has asked before."""
    return str(Explainer(db.workspace).founded_proof(*goal, EngineViews(db.engine)).to_dict())


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + cases(2)))
def test_proofs_do_not_depend_on_the_questions_before(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """After every epoch of a script of facts and rules, and after trials, which change nothing."""
    monkeypatch.setattr(known, "MOST_KNOWN", (known.MOST_KNOWN, 3)[seed % 2])
    rng, script = random.Random(seed), mixture_for(seed)
    follower = MixtureFollower(script, ("update", "auto", "bootstrap")[seed % 3])
    for number in range(min(6, len(script.epochs))):
        follower.step(number)
        db = follower.db
        every = goals_of(db)
        goals = rng.sample(every, min(12, len(every)))
        found = founded_proofs(db, goals)
        with db.what_if() as trial:
            for name, row in goals[:4]:
                trial.delete(name, [row])
        assert founded_proofs(db, rng.sample(goals, len(goals))) == found
        for goal in goals[:2]:
            assert alone(db, goal) == found[goal], f"{script}"


def grid(size: int) -> tidelog.Database:
    return loaded(
        ".decl e(x: number, y: number) .decl t(x: number, y: number) "
        "one: t(x, y) :- e(x, y). two: t(x, z) :- t(x, y), e(y, z).",
        {"e": [(x, x + step) for x in range(size) for step in (1, 2)]},
        closures=False,
    )


def of(db: tidelog.Database) -> Known:
    derivations = db._explainer._derivations
    assert derivations is not None
    return derivations.known.of(EngineViews(db.engine))


def test_known_derivations_are_not_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    db = grid(40)
    asked: list[int] = []
    instances = TupleDerivations.instances

    def noted(self: TupleDerivations, views: object, keys: Sequence[object], watch: object) -> object:
        asked.append(len(keys))
        return instances(self, views, keys, watch)  # type: ignore[arg-type]  # They are passed on.

    monkeypatch.setattr(TupleDerivations, "instances", noted)
    first = founded_proofs(db, [("t", (0, 38))])
    assert sum(asked) == len(of(db).founded) - sum(of(db).facts.values())
    asked.clear()
    assert founded_proofs(db, [("t", (0, 38))]) == first
    founded_proofs(db, [("t", (0, 40))])
    assert asked == [1]


def test_what_is_known_ends_with_the_epoch() -> None:
    db = grid(6)
    founded_proofs(db, [("t", (0, 5))])
    before = ref(of(db))
    with db.what_if() as trial:
        trial.delete("e", [(0, 1)])
    assert before() is of(db)
    db.delete("e", [(0, 1), (0, 2)])
    db.commit()
    assert before() is None
    assert not of(db).founded
    db.insert("e", [(0, 3)])
    db.commit()
    proof = db._explainer.founded_proof("t", (0, 5), EngineViews(db.engine))
    proof.check(db)
    assert ("e", (0, 3)) in proof.facts


def test_what_is_known_ends_when_words_are_used_again() -> None:
    db = loaded(
        ".decl s(x: symbol) .decl p(x: symbol, n: number) p(x, n) :- s(x), n = strlen(x).", {"s": [("a",), ("bc",)]}
    )
    founded_proofs(db, [("p", ("bc", 2))])
    before, stamp = of(db), db.engine.dictionary.stamp
    for word in "xy":
        with db.what_if() as trial:
            trial.insert("s", [(f"{word}{i}",) for i in range(10_000)])
    assert db.engine.dictionary.stamp != stamp
    assert of(db) is not before
    assert db._explainer.founded_proof("p", ("bc", 2), EngineViews(db.engine)).check(db).granted == ()


@pytest.mark.parametrize("order", range(4))
def test_equal_births_leave_the_choice_to_the_words(order: int) -> None:
    """Words of numbers are their values."""
    db = tidelog.connect()
    db.load(".decl q(x: number, y: number, z: number) .decl p(x: number) p(x) :- q(x, y, z).")
    rows = [(x, y, z) for x in range(30) for y in range(4) for z in range(4)]
    db.insert("q", random.Random(order).sample(rows, len(rows)))
    db.commit()
    asked = [("p", (x,)) for x in range(30)]
    for goal in asked:
        assert db._explainer.founded_proof(*goal, EngineViews(db.engine)).facts == (("q", (*goal[1], 0, 0)),)
