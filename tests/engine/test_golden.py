"""The golden programs of tests/programs, each taken through all that tidelog does with a program, in one pass.

A failure names the stage. The stages share one database, because evaluation is most of the work.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pygments.token import Error

import tidelog
from tests.certificate.alter import absent_row, altered, assert_saved_whole, judged, verdict
from tests.kernels_in_python import kernels_in_python
from tests.same_programs import assert_same_programs
from tests.spark.cluster.harness import evaluated
from tests.spark.cluster.test_suite import way_for
from tests.suite import (
    FIRST_SEED,
    Golden,
    difference,
    evaluate_naive,
    evaluate_seminaive,
    golden_programs,
    views,
)
from tidelog.editors.colours import TidelogLexer
from tidelog.editors.format import format_program
from tidelog.functions.callables import GivenFunctions
from tidelog.language import read
from tidelog.language.reading import text_of
from tidelog.workspace import programs


@pytest.mark.parametrize("golden", golden_programs(), ids=lambda golden: golden.name)
def test_a_golden_program(golden: Golden, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "_folder", lambda: tmp_path / "programs")
    monkeypatch.setattr(programs, "WORTH", 0)
    with stage("text"):
        assert_text_keeps_its_meaning(golden.text)
    with stage("reference"):
        assert difference(evaluate_naive(golden.text, {}), golden.expected) == ""
        assert difference(evaluate_seminaive(golden.text, {}), golden.expected) == ""
    db = loaded(golden.text)
    with stage("embedded engine"):
        db.commit()
        assert difference(views(db), golden.expected) == ""
    with stage("kernels in Python"), kernels_in_python():
        small = loaded(golden.text)
        small.commit()
        assert difference(views(small), golden.expected) == ""
    with stage("cluster engine"):
        partitions, limits = way_for(golden.text)
        found = evaluated(golden.text, {}, partitions=partitions, limits=limits)
        assert difference(found, golden.expected) == ""
    with stage("saved certificate"):
        assert_saved_whole(db, tmp_path / "certificate")
    with stage("forged certificate"):
        assert_forgeries_are_judged(db)
    with stage("cache of programs"):
        assert programs.find(text_of(golden.text), GivenFunctions()) is not None
        assert_same_programs(loaded(golden.text), loaded(golden.text), golden.name)


@contextmanager
def stage(name: str) -> Iterator[None]:
    """Add the name of the stage to what is raised inside the block."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"stage: {name}")
        raise


def loaded(text: str) -> tidelog.Database:
    db = tidelog.connect()
    db.load(text)
    return db


def assert_text_keeps_its_meaning(text: str) -> None:
    """The lexer of editors keeps the text, and its printed and its formatted form mean the same."""
    tokens = list(TidelogLexer(stripnl=False, ensurenl=False).get_tokens(text))
    assert "".join(value for _, value in tokens) == text
    assert [value for kind, value in tokens if kind is Error] == []
    program = read(text)
    assert read(str(program)) == program
    layout = format_program(text)
    assert format_program(layout) == layout
    if "#" not in text:
        assert read(layout) == program


def assert_forgeries_are_judged(db: tidelog.Database) -> None:
    """The checker rejects views with a tuple less or with one more, as an enumeration of all derivations does."""
    sound = altered(db)
    assert verdict(sound) == set()
    rng = random.Random(FIRST_SEED)
    for name in rng.sample(list(sound.views), 1):
        if view := sound.views[name]:
            changed = sound.without(name, rng.choice(list(view)))
            assert verdict(changed) == judged(changed) != set(), name
        if (row := absent_row(sound, name, rng)) is not None:
            changed = sound.with_row(name, row)
            assert verdict(changed) == judged(changed) != set(), name
