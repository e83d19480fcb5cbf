"""Random change scripts: after every epoch views, counts and net changes are right, whichever way they came about."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

import tidelog
from tests.depth import cases
from tests.generate import Row
from tests.maintain.stopping import Error, at_looks, fails_without_trace, limit
from tests.recount import mistakes, state_of
from tests.scripts import Epoch, Follower, Script, change_in, run, script_for
from tests.suite import FIRST_SEED, chunks, views


def in_chunks(offset: int, scripts: int) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("seeds", chunks(FIRST_SEED + offset, scripts, 25))


def scripts_from(first: int, count: int) -> list[Script]:
    return [script_for(seed) for seed in range(first, first + count)]


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """No update is worth while: almost all are cut off and taken back."""
    monkeypatch.setattr("tidelog.maintain.strategies.situation._ALWAYS_WORTH", 0.0)
    monkeypatch.setattr("tidelog.maintain.update._WEIGHED", 0)
    monkeypatch.setattr("tidelog.maintain.update._FEW", 0)


EDGES = "\n".join(f".decl {name}(x: number, y: number)" for name in ("e", "f", "t", "u"))

PICKED = 563
"""The seed of the script that alone, among the first thousand, finds three faults of `tests/plant_faults.py`."""


# --- every epoch -----------------------------------------------------------------------------------------------------


@in_chunks(0, 250)
def test_updates_in_place(seeds: range) -> None:
    for script in map(script_for, seeds):
        problem = run(script, "update")
        assert not problem, f"{problem}\n{script}"


@in_chunks(100_000, 50)
def test_bootstraps(seeds: range) -> None:
    for script in map(script_for, seeds):
        problem = run(script, "bootstrap")
        assert not problem, f"{problem}\n{script}"


@in_chunks(200_000, 75)
def test_choosing_freely(seeds: range) -> None:
    for script in map(script_for, seeds):
        problem = run(script)
        assert not problem, f"{problem}\n{script}"


@in_chunks(300_000, 75)
@pytest.mark.usefixtures("hasty")
def test_updates_that_are_cut_off(seeds: range) -> None:
    for script in map(script_for, seeds):
        problem = run(script, switch=1e-6)
        assert not problem, f"{problem}\n{script}"


def test_a_script_that_finds_faults_alone() -> None:
    script = script_for(PICKED)
    problem = run(script, "update")
    assert not problem, f"{problem}\n{script}"


def test_strategies_in_turn() -> None:
    for script in scripts_from(FIRST_SEED + 400_000, cases(14)):
        follower = Follower(script)
        for number, epoch in enumerate(script.epochs):
            follower.db.options(strategy=("update", "bootstrap", "auto")[(number + FIRST_SEED) % 3])
            follower.follow(epoch)
        follower.check_naive()


def test_updates_are_cut_off_and_taken_back(hasty: None) -> None:
    reasons = []
    for script in scripts_from(FIRST_SEED + 300_000, cases(8)):
        follower = Follower(script, switch=1e-6)
        reasons += [node.reason for epoch in script.epochs for node in follower.follow(epoch).nodes]
    assert any("given up" in reason for reason in reasons)


def test_in_checked_memory() -> None:
    """Without compilation kernels check every access."""
    program = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
from tests.scripts import run, script_for
from tidelog.maintain import update
update._WEIGHED = update._FEW = 0
for seed in range({FIRST_SEED + 500_000}, {FIRST_SEED + 500_000} + {cases(8)}):
    for strategy in ("update", "auto"):
        problem = run(script_for(seed), strategy)
        assert not problem, f"{{problem}}\\n{{script_for(seed)}}"
"""
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)


# --- other ways to the same state ------------------------------------------------------------------------------------


def followed(script: Script, strategy: str = "update") -> Follower:
    follower = Follower(script, strategy)
    for epoch in script.epochs:
        follower.follow(epoch)
    return follower


def in_small_steps(script: Script, rng: random.Random) -> Script:
    """The last epoch of a script taken apart into single changes, in any order that gives the same."""
    last = script.epochs[-1]
    insert = {(name, row) for name, rows in last.insert.items() for row in rows}
    delete = {(name, row) for name, rows in last.delete.items() for row in rows} - insert
    steps = [Epoch({name: frozenset({row})}, {}) for name, row in sorted(delete, key=repr)]
    steps += [Epoch({}, {name: frozenset({row})}) for name, row in sorted(insert, key=repr)]
    steps += [Epoch({}, {}, remove=(name,)) for name in last.remove] + [Epoch({}, {}, add=(name,)) for name in last.add]
    rng.shuffle(steps)
    return replace(script, epochs=(*script.epochs[:-1], *steps))


def test_all_at_once_is_one_by_one_in_any_order() -> None:
    for script in scripts_from(FIRST_SEED + 600_000, cases(8)):
        rng = random.Random(script.seed)
        small = in_small_steps(script, rng)
        assert views(followed(small).db) == views(followed(script).db), f"{script}\n--- in small steps\n{small}"


def test_all_epochs_in_one_are_the_epochs_one_by_one() -> None:
    for script in scripts_from(FIRST_SEED + 700_000, cases(8)):
        single, many = Follower(script, "update"), followed(script)
        with single.db.transaction() as transaction:
            for epoch in script.epochs:
                change_in(transaction, script, epoch)
                single.note(epoch)
        assert transaction.change is not None
        single.check(transaction.change)
        assert views(single.db) == views(many.db), str(script)


def test_net_changes_add_up_to_the_difference() -> None:
    for script in scripts_from(FIRST_SEED + 800_000, cases(8)):
        follower = Follower(script)
        sums = views(follower.db)
        for epoch in script.epochs:
            with follower.db.transaction() as transaction:
                change_in(transaction, script, epoch)
            assert transaction.change is not None
            for name in transaction.change:
                inserted, deleted = transaction.change[name].inserted, transaction.change[name].deleted
                assert set(deleted) <= sums[name]
                assert not set(inserted) & sums[name]
                sums[name] = sums[name] - set(deleted) | set(inserted)
        assert sums == views(follower.db), str(script)


def backwards(follower: Follower, epoch: Epoch) -> Epoch:
    """The epoch that takes back what `epoch` will do."""
    insert = {name: rows & follower.facts.get(name, set()) for name, rows in epoch.delete.items()}
    delete = {name: rows - follower.facts.get(name, set()) for name, rows in epoch.insert.items()}
    return Epoch(delete, insert, remove=epoch.add, add=epoch.remove)


@pytest.mark.parametrize("part", ["facts", "rules", "both"])
def test_there_and_back_is_where_it_was(part: str) -> None:
    for script in scripts_from(FIRST_SEED + 900_000, cases(8)):
        follower = Follower(script, "update")
        for epoch in script.epochs:
            if part == "facts":
                epoch = replace(epoch, remove=(), add=())
            remove = tuple(name for name in epoch.remove if name in follower.active)
            add = tuple(name for name in epoch.add if name not in follower.active)
            epoch = replace(epoch, remove=remove, add=add)
            if part == "rules":
                epoch = replace(epoch, insert={}, delete={})
            before, back = views(follower.db), backwards(follower, epoch)
            follower.follow(epoch)
            follower.follow(back)
            assert views(follower.db) == before, f"{epoch}\n{script}"


def test_rules_one_by_one_are_the_rules_together() -> None:
    for script in scripts_from(FIRST_SEED + 1_000_000, cases(10)):
        names = list(script.rules)
        random.Random(script.seed).shuffle(names)
        growing = replace(script, active=(), epochs=tuple(Epoch({}, {}, add=(name,)) for name in names))
        together = Follower(replace(script, active=tuple(script.rules), epochs=()))
        assert views(followed(growing).db) == views(together.db), str(script)


# --- stopped in the middle -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [limit, KeyboardInterrupt], ids=["limit", "interrupt"])
@pytest.mark.parametrize("strategy", ["update", "bootstrap", "auto"])
def test_an_epoch_stopped_anywhere_leaves_no_trace(
    error: Error, strategy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tidelog.maintain.update.WORK_BEFORE_LOOK", 20)
    if strategy == "auto":
        monkeypatch.setattr("tidelog.maintain.strategies.situation._ALWAYS_WORTH", 0.0)
    monkeypatch.setattr("tidelog.maintain.update._WEIGHED", 0)
    monkeypatch.setattr("tidelog.maintain.update._FEW", 0)
    stops = 0
    for script in scripts_from(FIRST_SEED + 1_100_000, cases(4)):
        follower = Follower(script, strategy, switch=1e-6)
        for epoch in script.epochs[:4]:
            commit = partial(follower.commit, epoch)
            change, failures = fails_without_trace(follower.db, commit, at_looks(error))
            stops += failures
            follower.note(epoch)
            follower.check(change)
    assert stops > cases(20)


def of_facts_and_rules(seed: int) -> Script:
    """Return a script whose relations all have facts and get rules, recursive ones among them."""
    rng = random.Random(seed)
    bodies = "t(x, y) :- e(x, y). t(x, z) :- t(x, y), t(y, z). e(y, x) :- t(x, y). f(x, y) :- e(x, y), t(y, x)."
    bodies += " e(x, y) :- f(x, y). f(y, x) :- f(x, y). t(x, y) :- f(y, x)."
    rules = {f"r{i}": f"r{i}: {text}." for i, text in enumerate(bodies.removesuffix(".").split(". "))}

    def facts(most: int) -> dict[str, frozenset[Row]]:
        rows = ((rng.randrange(6), rng.randrange(6)) for _ in range(3 * most))
        return {
            name: frozenset(row for row, _ in zip(rows, range(rng.randrange(most)), strict=False)) for name in "eft"
        }

    active, epochs = set(rng.sample(sorted(rules), 3)), []
    start = tuple(sorted(active))
    for _ in range(8):
        toggled = set(rng.sample(sorted(rules), rng.randrange(3)))
        epochs.append(Epoch(facts(4), facts(4), remove=tuple(toggled & active), add=tuple(toggled - active)))
        active ^= toggled
    return Script(EDGES, rules, start, facts(6), tuple(epochs))


@pytest.mark.parametrize("strategy", ["update", "auto"])
def test_trials_leave_no_trace(strategy: str) -> None:
    """Facts and rules that are taken back one after the other, before an epoch that stays."""
    for seed in range(FIRST_SEED + 1_200_000, FIRST_SEED + 1_200_000 + cases(15)):
        script = of_facts_and_rules(seed)
        follower, rng = Follower(script, strategy), random.Random(seed)
        for epoch in script.epochs:
            for other in rng.choices(script.epochs, k=3):
                remove = tuple(name for name in other.remove if name in follower.active)
                add = tuple(name for name in other.add if name not in follower.active)
                trial = replace(other, remove=remove, add=add)
                if rng.random() < 0.5:
                    trial = replace(trial, remove=(), add=())
                elif rng.random() < 0.5:
                    trial = replace(trial, insert={}, delete={})
                with follower.db.transaction(dry_run=True) as changes:
                    change_in(changes, script, trial)
            follower.follow(epoch)
        follower.check_naive()


def test_facts_that_are_taken_back_keep_their_support() -> None:
    """The rule has made the supports of the relation kept, and goes back; then facts go back as well."""
    with tidelog.connect() as db:
        db.options(strategy="update")
        db.load(".decl e(x: number, y: number) .decl t(x: number, y: number) a: t(x, y) :- e(x, y).")
        db.insert("e", [(1, 2), (3, 4), (5, 6)])
        db.commit()
        with db.transaction(dry_run=True) as trial:
            trial.rules.add("b: e(y, x) :- t(x, y).")
        with db.transaction(dry_run=True) as trial:
            trial.delete("e", [(1, 2)])
        db.rules.add("b: e(y, x) :- t(x, y).")
        db.commit()
        db.delete("e", [(1, 2), (3, 4)])
        db.commit()
        assert set(db["e"]) == {(5, 6), (6, 5)}
        db.check()


# --- made small: what random scripts have found ----------------------------------------------------------------------


def check_small(rules: str, facts: dict[str, set[Row]], *epochs: Epoch, strategy: str = "update") -> None:
    """Run a script whose rules are called r0, r1, …; those that an epoch adds before any removes them are not there at
    the start."""
    named = {f"r{i}": f"r{i}: {text}." for i, text in enumerate(rules.removesuffix(".").split(". "))}
    later = {
        name for i, each in enumerate(epochs) for name in each.add if all(name not in e.remove for e in epochs[:i])
    }
    start = tuple(name for name in named if name not in later)
    script = Script(EDGES, named, start, {n: frozenset(rows) for n, rows in facts.items()}, epochs)
    assert run(script, strategy) == ""


def test_a_relation_of_a_cycle_loses_its_last_rule() -> None:
    check_small("t(x, y) :- u(x, y). u(x, y) :- t(y, x).", {"t": {(1, 1)}}, Epoch({}, {}, remove=("r1",)))


@pytest.mark.parametrize("strategy", ["update", "bootstrap", "auto"])
def test_a_cycle_is_taken_apart(strategy: str) -> None:
    rules = "t(x, z) :- e(x, y), u(y, z). t(x, y) :- f(x, y). u(x, z) :- t(x, y), e(y, z). u(x, y) :- f(y, x)."
    facts = {"e": {(1, 2), (2, 1), (2, 3)}, "f": {(1, 2), (2, 2), (3, 1)}}
    epochs = [Epoch({}, {}, remove=("r0",)), Epoch({"f": frozenset({(2, 2)})}, {}), Epoch({}, {}, add=("r0",))]
    epochs += [Epoch({}, {}, remove=("r2",)), Epoch({"e": frozenset({(1, 2)})}, {}), Epoch({}, {}, add=("r2",))]
    check_small(rules, facts, *epochs, strategy=strategy)


def test_given_tuples_of_a_new_cycle_are_older_than_derived_ones() -> None:
    rules = "u(x, z) :- t(x, y), f(y, z). t(x, z) :- u(x, y), e(y, z)."
    check_small(rules, {"f": {(2, 1)}, "t": {(3, 2)}}, Epoch({}, {}, add=("r1",)))


def test_rounds_go_on_behind_those_of_merged_hyper_nodes() -> None:
    """Both are recursive, so that the births of one are shifted beyond the rounds so far."""
    rules = "t(x, z) :- t(x, y), f(y, z). u(x, z) :- u(x, y), e(y, z). u(x, z) :- t(x, y), u(y, z)."
    rules += " t(x, z) :- u(x, y), t(y, z)."
    facts = {"e": {(1, 2), (2, 3), (3, 4)}, "f": {(0, 1), (1, 5), (5, 6)}, "u": {(1, 1)}, "t": {(0, 0)}}
    check_small(rules, facts, Epoch({}, {}, add=("r2", "r3")), Epoch({"t": frozenset({(0, 0)})}, {}))


def test_a_negation_between_relations_of_a_former_cycle() -> None:
    rules = (
        "t(x, y) :- e(x, y). t(x, z) :- u(x, y), e(y, z). u(x, z) :- t(x, y), f(y, z). u(x, y) :- f(x, y), !t(x, y)."
    )
    facts = {"e": {(1, 2), (2, 1)}, "f": {(1, 1), (2, 2), (1, 2)}}
    script = Script(
        EDGES,
        {f"r{i}": f"r{i}: {text}." for i, text in enumerate(rules.removesuffix(".").split(". "))},
        ("r0", "r1", "r2"),
        {n: frozenset(rows) for n, rows in facts.items()},
        (
            Epoch({}, {}, remove=("r1",), add=("r3",)),
            Epoch({"e": frozenset({(1, 2)})}, {}),
            Epoch({}, {}, remove=("r3",), add=("r1",)),
        ),
    )
    follower = Follower(script)
    for epoch in script.epochs:
        follower.follow(epoch)
    follower.check_naive()
    assert mistakes(follower.db, state_of(follower.db), follower.facts) == ""
