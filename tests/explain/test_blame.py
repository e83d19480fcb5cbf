"""Since when a tuple holds: by hand, and against brute force over random histories, in memory and in stores."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy
import pytest

import tidelog
from tests.depth import cases
from tests.generate import Row
from tests.suite import FIRST_SEED, evaluate_naive, loaded
from tidelog.storage.extents import RowEpochs
from tidelog.store import checkpoint

DECLARED = (
    ".decl e(x: number, y: number) .decl f(x: number, y: number) .decl t(x: number, y: number) "
    ".decl p(x: number, y: number) "
)
RULES = {
    "a": "a: t(x, y) :- e(x, y).",
    "b": "b: t(x, z) :- t(x, y), t(y, z).",
    "c": "c: t(x, y) :- f(y, x), x != y.",
    "d": "d: p(x, y) :- <(e/^f)+>(x, y).",
    "g": "g: p(x, y) :- t(x, y), e(y, _).",
}


@dataclass
class History:
    """The facts and rules of a database with the epochs in which they came, and what held in each epoch."""

    epoch: int = 0
    facts: dict[tuple[str, Row], int] = field(default_factory=dict)
    rules: dict[str, int] = field(default_factory=dict)
    views: list[dict[str, set[Row]]] = field(default_factory=list)

    def model(self, until: int) -> dict[str, set[Row]]:
        """The views of the facts and rules that are there now and were there in an epoch."""
        text = DECLARED + "\n".join(RULES[name] for name, epoch in self.rules.items() if epoch <= until)
        given: dict[str, set[Row]] = {"e": set(), "f": set(), "t": set()}
        for (name, row), epoch in self.facts.items():
            if epoch <= until:
                given[name].add(row)
        return evaluate_naive(text, given)

    def step(self, db: Any, rng: random.Random) -> None:
        """Make a random epoch."""
        self.epoch += 1
        for name, text in RULES.items():
            if rng.random() < (0.8 if self.epoch == 1 else 0.1):
                if name in self.rules:
                    db.rules.remove(name)
                    del self.rules[name]
                else:
                    db.rules.add(text)
                    self.rules[name] = self.epoch
        before = dict(self.facts)  # A fact that goes and comes in the same epoch is there as before.
        for _ in range(rng.randrange(1, 4)):
            fact = rng.choice("eeft"), (rng.randrange(4), rng.randrange(4))
            if fact in self.facts and rng.random() < 0.6:
                db.delete(fact[0], [fact[1]])
                del self.facts[fact]
            else:
                db.insert(fact[0], [fact[1]])
                self.facts.setdefault(fact, before.get(fact, self.epoch))
        db.insert("f", [(100 + self.epoch, 0)])
        self.facts["f", (100 + self.epoch, 0)] = self.epoch
        db.commit()
        self.views.append(self.model(self.epoch))

    def check(self, db: Any) -> None:
        """Compare all tuples of a database, on whichever engine, with brute force."""
        models = {epoch: self.model(epoch) for epoch in range(1, self.epoch + 1)}
        for name, rows in models[self.epoch].items():
            for row in rows if name != "f" else ():
                blame = db.blame(name, row)
                expected = min(epoch for epoch, model in models.items() if row in model[name])
                assert (blame.epoch, blame.or_before) == (expected, False), f"{name}{row}\n{blame}\n{blame.proof}"
                assert not blame.proof.check(db).granted
                assert blame.facts or blame.rules
                assert all(self.facts[fact] == expected for fact in blame.facts)
                assert all(self.rules[rule] == expected for rule in blame.rules)
                assert all(row in view[name] for view in self.views[expected - 1 :]), "it has held ever since"


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + cases(4)))
def test_random_histories(seed: int) -> None:
    rng, db, history = random.Random(seed), tidelog.connect(), History()
    db.load(DECLARED)
    for _ in range(8):
        history.step(db, rng)
    history.check(db)
    with db.what_if() as trial:
        trial.clear("e")
        trial.insert("t", [(7, 7)])
    history.check(db)


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + cases(4)))
def test_random_histories_of_stores(seed: int, tmp_path: Path) -> None:
    rng, history, folder = random.Random(seed), History(), tmp_path / "store"
    db = tidelog.connect(folder)
    db.load(DECLARED)
    for _ in range(10):
        # Checkpoints do not depend on how long epochs take: with this one, or not until much later.
        db.keeper.price = rng.choice([0.0, 1e9])
        history.step(db, rng)
        match rng.randrange(4):
            case 0:
                db.close()
                db = tidelog.connect(folder)
            case 1:
                db.keeper.write_checkpoint(db.engine)
    history.check(db)
    db.close()
    with tidelog.connect(folder) as again:
        history.check(again)


def test_facts_that_are_asserted_again_stay_as_old_as_they_are(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    db = tidelog.connect(folder)
    db.load(".decl e(x: number)")
    db.insert("e", [(1,), (2,), (3,)])
    db.commit()
    db.keeper.write_checkpoint(db.engine)
    db.keeper.price = 1e9
    db.insert("e", [(4,)])
    db.delete("e", [(2,)])
    db.commit()
    for row in ((1,), (2,), (4,)):
        db.insert("e", [row])
    db.commit()
    db.close()
    with tidelog.connect(folder) as again:
        assert [again.blame("e", (x,)).epoch for x in (1, 2, 3, 4)] == [1, 3, 1, 2]


def test_equal_histories_give_equal_answers() -> None:
    """In whichever order the facts of an epoch came."""
    answers = []
    rows = [(x, y) for x in range(4) for y in range(4) if x != y]
    for order in (1, -1):
        db = tidelog.connect()
        db.load(DECLARED + "\n".join(RULES.values()) + ".decl h(y: number) h: h(y) :- e(_, y).")
        for part in (rows[::3], rows[1::3], rows[2::3]):
            for name in ("e", "f"):
                db.insert(name, part[::order])
            db.commit()
        found = [db.blame(name, row) for name in ("t", "p", "h") for row in sorted(db[name])]
        answers.append([(str(each), str(each.proof)) for each in found])
    assert len(answers[0]) > 20
    assert answers[0] == answers[1]


PROGRAM = """
.decl e(x: symbol, y: symbol) .decl blocked(x: symbol) .decl r(x: symbol, y: symbol) .decl many(n: number)
direct: r(x, y) :- e(x, y), !blocked(x).
step: r(x, z) :- r(x, y), r(y, z).
many: many(n) :- n = count : { e(_, _) }.
"""


@pytest.fixture
def db() -> tidelog.Database:
    return loaded(PROGRAM, {"e": [("a", "b"), ("b", "c")]}, {"e": [("c", "d")]})


def test_an_answer_names_what_brought_the_tuple(db: tidelog.Database) -> None:
    assert (
        str(db.blame("r", ("a", "d")))
        == """\
r("a", "d") holds since epoch 2
  fact: e("c", "d")
  under the condition: !blocked("a")
  under the condition: !blocked("b")
  under the condition: !blocked("c")"""
    )
    assert db.blame("many", (3,)).to_dict()["conditions"] == ["3 = count : { e(_, _) }"]
    db.rules.remove("step")
    db.commit()
    db.rules.add("step: r(x, z) :- r(x, y), r(y, z).")
    db.commit()
    assert db.blame("r", ("a", "d")).rules == ("step",)
    assert db.blame("r", ("a", "d")).epoch == 4 == db.stats()["epochs"]


def test_a_fact_that_comes_again_is_as_old_as_that(db: tidelog.Database) -> None:
    db.delete("e", [("a", "b")])
    db.commit()
    db.insert("e", [("a", "b")])
    db.commit()
    db.insert("e", [("a", "b")])
    db.insert("e", [("x", "y")])
    db.commit()
    assert db.blame("e", ("a", "b")).epoch == 4
    assert db.blame("r", ("a", "c")).facts == (("e", ("a", "b")),)


def test_dead_rows_and_wide_words_do_not_matter(db: tidelog.Database) -> None:
    db.load(".decl n(x: number)")
    for epoch in range(3, 9):
        db.insert("n", [(10_000 * epoch + i,) for i in range(2_000)])
        db.delete("n", [(10_000 * (epoch - 2) + i,) for i in range(2_000)])
        db.commit()
    db.insert("n", [(1 << 40,)])
    db.commit()
    for value, epoch in ((70_005, 7), (80_100, 8), (1 << 40, 9)):
        assert db.blame("n", (value,)).epoch == epoch


def test_an_epoch_that_is_undone_leaves_no_runs(db: tidelog.Database) -> None:
    epochs = db.engine.asserted["e"].epochs
    assert epochs is not None
    before = epochs.runs().tolist()
    with db.what_if() as trial:
        trial.insert("e", [("x", "y")])
        trial.insert("blocked", [("x",)])
    assert epochs.runs().tolist() == before == [[0, 1], [2, 2]]
    assert db.engine.asserted["blocked"].epochs is None


def test_a_relation_that_loses_its_rules_keeps_the_epochs_of_its_facts(db: tidelog.Database) -> None:
    db.insert("r", [("q", "q")])
    db.commit()
    for name in ("direct", "step"):
        db.rules.remove(name)
    db.commit()
    assert list(db["r"]) == [("q", "q")]
    assert db.blame("r", ("q", "q")).epoch == 3
    db.rules.add("direct: r(x, y) :- e(x, y).")
    db.commit()
    assert (db.blame("r", ("q", "q")).epoch, db.blame("r", ("a", "b")).epoch) == (3, 5)


def test_beyond_the_budget_an_answer_is_a_bound(db: tidelog.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidelog.explain.blame.LARGE", 2)
    blame = db.blame("r", ("a", "d"))
    assert (blame.epoch, blame.or_before) == (2, True)
    assert "or before" in str(blame)


def test_stores_of_earlier_versions_say_or_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "store"
    put = checkpoint._write_array
    monkeypatch.setattr("tidelog.store.keeper.RULES", "other")
    with tidelog.connect(folder) as db:
        with monkeypatch.context() as before:
            before.setattr(
                checkpoint, "_write_array", lambda archive, name, array: "epochs" in name or put(archive, name, array)
            )
            db.load(PROGRAM)
            db.insert("e", [("a", "b"), ("b", "c")])
            db.commit()
        db.keeper.price = 1_000.0
        db.insert("e", [("c", "d")])
        db.commit()
    monkeypatch.undo()
    with tidelog.connect(folder) as db:
        found = db.blame("e", ("a", "b"))
        assert (found.epoch, found.or_before) == (1, True)
        assert db.blame("e", ("c", "d")).epoch == 2
        assert not db.blame("e", ("c", "d")).or_before
        assert db.blame("many", (3,)).or_before, "its rule may have come in any epoch"


def test_runs_of_rows() -> None:
    epochs = RowEpochs(numpy.array([(2, 5), (3, 6), (7, 9)]))
    numbers = numpy.arange(9)
    assert epochs.of(numbers).tolist() == [0, 0, 5, 6, 6, 6, 6, 9, 9]
    live = numpy.array([0, 3, 6, 8])
    assert epochs.among(live).of(numpy.arange(4)).tolist() == epochs.of(live).tolist()
    assert RowEpochs.of_rows(epochs.of(numbers)).of(numbers).tolist() == epochs.of(numbers).tolist()
    assert RowEpochs.of_rows(numpy.empty(0, numpy.int64)).runs().tolist() == []
