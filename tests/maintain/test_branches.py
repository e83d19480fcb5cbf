"""Values with branches under changes of facts and rules: views, births and counts are right after every epoch."""

from __future__ import annotations

from pathlib import Path

import pytest

import tidelog
from tests.scripts import Follower, run
from tests.suite import FIRST_SEED, chunks, evaluate_naive, loaded, views
from tests.terms import terms_script


def in_chunks(offset: int, scripts: int) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("seeds", chunks(FIRST_SEED + offset, scripts, 20))


@in_chunks(0, 60)
def test_updates_in_place(seeds: range) -> None:
    for seed in seeds:
        problem = run(script := terms_script(seed), "update")
        assert not problem, f"{problem}\n{script}"


@in_chunks(50_000, 20)
def test_bootstraps_and_choices(seeds: range) -> None:
    for seed in seeds:
        problem = run(script := terms_script(seed), ("bootstrap", "auto")[seed % 2])
        assert not problem, f"{problem}\n{script}"


def test_scripts_have_values_in_every_place() -> None:
    """The scripts would show nothing if most of them derived nothing."""
    filled = dict.fromkeys("dfghm", 0)
    for seed in range(40):
        script = terms_script(seed)
        for name, rows in evaluate_naive(script.text(tuple(script.rules)), script.facts).items():
            if name in filled:
                filled[name] += bool(rows)
    assert min(filled.values()) >= 10, filled


@pytest.mark.parametrize("seed", [3, 4])
def test_certificates_are_accepted_after_every_epoch(seed: int, tmp_path: Path) -> None:
    script = terms_script(seed)
    follower = Follower(script)
    for number, epoch in enumerate(script.epochs):
        follower.follow(epoch)
        follower.db.check()
        follower.db.save_certificate(tmp_path / str(number))
        tidelog.check_certificate(tmp_path / str(number))


@pytest.mark.parametrize("seed", [5, 6])
def test_a_store_keeps_the_values(seed: int, tmp_path: Path) -> None:
    script = terms_script(seed)
    follower = Follower(script, folder=tmp_path / "store")
    for epoch in script.epochs:
        follower.follow(epoch)
        expected = {name: set(follower.db[name]) for name in follower.db.relations}
        follower.db.close()
        follower.db = tidelog.connect(tmp_path / "store")
        assert {name: set(follower.db[name]) for name in follower.db.relations} == expected
        follower.set_options()
    follower.check_naive()
    follower.db.close()


def test_without_maintenance_the_views_are_the_same() -> None:
    for seed in range(10):
        script = terms_script(seed)
        db = loaded(script.text(), script.facts, maintain=False)
        assert views(db) == evaluate_naive(script.text(), script.facts)
