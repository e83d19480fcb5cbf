"""Shapes from the cache of programs: a store that finds their rules there is as one that compiles them."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.depth import cases
from tests.rdf.random_shapes import PREFIXES, shapes, triple
from tests.rdf.stores import stored
from tidelog.rdf import Store, connect, prefixes

SHAPES = """
:S a sh:NodeShape ; sh:targetClass :K ; sh:property [ sh:path ( :p [ sh:zeroOrMorePath :q ] ) ; sh:minCount 1 ] .
"""


pytestmark = pytest.mark.usefixtures("program_cache")


@pytest.fixture
def readings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that gets each text of rules that a store reads."""
    found: list[str] = []
    read: Callable[..., object] = prefixes.parse_program

    def noted(program: str, *others: object) -> object:
        found.append(program)
        return read(program, *others)

    monkeypatch.setattr(prefixes, "parse_program", noted)
    return found


def file_of(folder: Path, text: str) -> Path:
    (folder / "shapes.ttl").write_text(PREFIXES + text)
    return folder / "shapes.ttl"


def filled(path: Path) -> Store:
    store = connect()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        store.shapes(path)
    return store


def test_a_second_store_does_not_read_the_rules_again(tmp_path: Path, readings: list[str]) -> None:
    path = file_of(tmp_path, SHAPES)
    for _ in range(2):
        store = filled(path)
        store.insert(f"{PREFIXES} :a a :K . :b a :K ; :p :c .")
        store.commit()
        assert [each.focus_node for each in store.validate()] == ["http://example.org/a"]
    assert len(readings) == 1


def test_other_shapes_and_stores_with_other_rules_read_theirs(tmp_path: Path, readings: list[str]) -> None:
    path = file_of(tmp_path, SHAPES)
    filled(path)
    filled(file_of(tmp_path, SHAPES.replace("minCount 1", "minCount 2")))
    assert len(readings) == 2
    other = connect(rules="rdfs")
    other.shapes(path)
    assert len(readings) == 3
    other.insert(f"{PREFIXES} :L rdfs:subClassOf :K . :a a :L .")
    other.commit()
    assert len(other.validate()) == 1


def test_rules_are_compiled_where_other_relations_stand_before_them(tmp_path: Path, readings: list[str]) -> None:
    path = file_of(tmp_path, SHAPES)
    filled(path)
    store = stored(f"{PREFIXES} :a :other 1 ; a :K .")
    store.shapes(path)
    store.commit()
    assert len(readings) == 2
    assert len(store.validate()) == 1


@pytest.mark.parametrize("seed", range(cases(8)))
def test_random_changes_have_the_same_reports(seed: int, tmp_path: Path, readings: list[str]) -> None:
    rng = random.Random(seed)
    path = file_of(tmp_path, shapes(rng))
    stores, change = [filled(path), filled(path)], ""
    assert len(readings) <= 2
    for step in range(4):
        change = change if step == 2 else " ".join(triple(rng) for _ in range(6))
        for store in stores:
            (store.delete if step == 2 else store.insert)(PREFIXES + change)
            store.commit()
        assert sorted(map(str, stores[0].validate())) == sorted(map(str, stores[1].validate())), seed
    for store in stores:
        store.drop_view("shapes")
        store.load("@prefix : <http://example.org/> .\nlate: :late(x) :- :p(x, _).")
        store.commit()
    late = [sorted(store.triples(None, "http://example.org/late", None)) for store in stores]
    assert late[0] == late[1], seed
