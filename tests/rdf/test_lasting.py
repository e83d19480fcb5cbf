"""Stores in a folder: everything comes back without an evaluation, and a commit lasts as a whole or not at all."""

from __future__ import annotations

import errno
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tidelog
from tests.rdf.random_ontologies import ontology
from tests.rdf.stores import delete, insert
from tests.store.disks import WRITES
from tests.suite import FIRST_SEED
from tidelog import UsageError
from tidelog.durable.simulated import SimulatedDisk
from tidelog.rdf import TYPE, Store, connect
from tidelog.rdf.connect import open_store
from tidelog.store import StoredDatabase

E = "http://example.org/"
HEAD = """@prefix : <http://example.org/> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
"""
ANIMALS = ":Dog rdfs:subClassOf :Mammal . :Mammal rdfs:subClassOf :Animal . :owns owl:inverseOf :ownedBy .\n"
DATA = ':rex a :Dog ; :ownedBy :ann ; :age "four"^^xsd:integer ; :likes [ :name "th\\u00E9"@fr, "01"^^xsd:integer ] .\n'
PROGRAM = """@prefix : <http://example.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
below: rdfs:subClassOf(x, y) :- :below(x, y).
lonely: :Lonely(x) :- :Dog(x), !:likes(x, _).
"""
VIEW = "SELECT DISTINCT ?x ?y { ?x :ownedBy+ ?y }"


def filled(folder: Path) -> Store:
    """A store of two commits, of which the second takes two epochs."""
    store = connect(folder, rules=("owl-rl", PROGRAM))
    store.prefixes[""] = E
    store.insert(HEAD + ANIMALS + DATA)
    store.view("owners", VIEW)
    store.commit()
    store.insert(HEAD + ":Dog :below :Friend . :max a :Dog .", graph=f"{E}more")
    store.replace(HEAD + ":Animal rdfs:subClassOf [ a owl:Class ] .", f"{E}onto")
    price(store, 0.0)
    assert len(store.commit().reports) == 2
    return store


def content(store: Store) -> dict[str, Any]:
    """Everything that a store shows, of its rules only the texts."""
    rules = store.database.rules
    return {
        "triples": set(store),
        "quads": set(store.quads()),
        "graphs": store.graphs(),
        "wrong": set(store.inconsistencies()),
        "prefixes": store.prefixes,
        "rules": sorted(rules[name] for name in rules),
        "views": {name: set(store[name]) for name in store.database.relations if name == "owners"},
    }


def test_everything_comes_back_and_nothing_is_evaluated(tmp_path: Path) -> None:
    with filled(tmp_path) as store:
        before = content(store)
        assert {(f"{E}rex", TYPE, f"{E}{name}") for name in ("Animal", "Friend")} < before["triples"]
        assert {row[0] for row in before["wrong"]} == {"dt-not-type"}
        assert before["views"] == {"owners": {(f"{E}rex", f"{E}ann")}}
    with connect(tmp_path) as store:
        assert content(store) == before
        assert store.database.opening is not None
        assert store.database.opening.bootstraps == 0
        assert not store.has_pending
        assert store.blame(f"{E}max", TYPE, f"{E}Animal").epoch == 2
        assert "[cax-sco]" in str(store.explain(f"{E}rex", TYPE, f"{E}Animal"))
        assert set(store.query("SELECT ?x { ?x a :Friend }")) == {(f"{E}rex",), (f"{E}max",)}
        store.delete(HEAD + ":rex :ownedBy :ann . :Mammal rdfs:subClassOf :Animal .")
        change = store.commit()
        assert change.bootstraps == 0
        assert (set(change["owners"].deleted), change.rules_added) == ({(f"{E}rex", f"{E}ann")}, ())
        assert not store.contains(f"{E}rex", TYPE, f"{E}Animal")
        store.insert(HEAD + ":tom a :Dog ; :new :thing .")
        store.rules.remove("lonely")
        store.drop_view("owners")
        store.commit()
        store.check()
        before = content(store)
        assert before["views"] == {}
    with connect(tmp_path) as store:
        assert content(store) == before


def test_the_same_file_again_and_literals_of_one_value(tmp_path: Path) -> None:
    """What a store has learnt about literals and blank nodes, it still knows."""
    source = HEAD + ":a :p [ :q 1 ], 1 ."
    with connect(tmp_path, rules=("owl-rl", "datatypes")) as store:
        store.replace(source, f"{E}source")
        store.insert(HEAD + ':a :ill "x"^^xsd:integer .')
        store.commit()
    with connect(tmp_path) as store:
        store.replace(source, f"{E}source")
        assert not len(store.commit().inserted)
        store.insert(HEAD + ':a :r "01"^^xsd:integer .')
        store.commit()
        assert store.contains(f"{E}a", f"{E}r", tidelog.rdf.literal(1))


def test_shapes_come_back_with_their_functions(tmp_path: Path) -> None:
    shapes = """@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix : <http://example.org/> .
    :S a sh:NodeShape ; sh:targetClass :Dog ; sh:property [ sh:path :name ; sh:minCount 1 ; sh:pattern "^[A-Z]" ] ."""
    with connect(tmp_path) as store:
        store.shapes(shapes)
        store.insert(HEAD + ':rex a :Dog ; :name "Rex" . :max a :Dog ; :name "max" .')
        store.commit()
    with connect(tmp_path) as store:
        assert [result.focus_node for result in store.validate()] == [f"{E}max"]
        store.insert(HEAD + ":tom a :Dog .")
        store.commit()
        assert {result.focus_node for result in store.validate()} == {f"{E}max", f"{E}tom"}


def test_rules_in_n3_come_back_with_their_functions(tmp_path: Path) -> None:
    rules = tmp_path / "rules.n3"
    rules.write_text("""@prefix : <http://example.org/> . @prefix math: <http://www.w3.org/2000/10/swap/math#> .
    { ?x :age ?n . ?n math:greaterThan 17 } => { ?x a :Adult } .""")
    with connect(tmp_path / "kg", rules=str(rules)) as store:
        store.insert(HEAD + ":ann :age 41 . :bob :age 7 .")
        store.commit()
    with connect(tmp_path / "kg", rules=rules) as store:
        store.insert(HEAD + ":cid :age 18 .")
        store.commit()
        assert {row[0] for row in store.triples(None, TYPE, f"{E}Adult")} == {f"{E}ann", f"{E}cid"}


def test_contradicting_rules_and_other_folders(tmp_path: Path) -> None:
    filled(tmp_path / "kg").close()
    connect(tmp_path / "kg", rules=(PROGRAM, "owl-rl")).close()
    for rules, found in (("rdfs", "made with owl-rl, not with rdfs"), (("owl-rl", "a: x(1)."), "other programs")):
        with pytest.raises(UsageError, match=found) as caught:
            connect(tmp_path / "kg", rules=rules)
        assert caught.value.problems[0].code == "E0657"
    for name in ("owl-rl", "a(x) :- b(x).", "rules.dl", "rules.n3"):
        with pytest.raises(UsageError, match="these are rules") as caught:
            connect(name)
        assert caught.value.problems[0].code == "E0610"
    with pytest.raises(UsageError, match=r"open it with tidelog\.rdf\.connect"):
        tidelog.connect(tmp_path / "kg")
    tidelog.connect(tmp_path / "db").close()
    with tidelog.connect(tmp_path / "db") as db:
        db.load(".decl r(x: number)")
        db.commit()
    with pytest.raises(UsageError, match=r"open it with tidelog\.connect"):
        connect(tmp_path / "db")
    with StoredDatabase(tmp_path / "kg", read_only=True) as db:  # as `tidelog check` and `tidelog show` open it
        assert len(db["owners"]) == 1
        db.check()


def test_another_process_has_the_store(tmp_path: Path) -> None:
    with connect(tmp_path):
        code = f"import tidelog; tidelog.rdf.connect({str(tmp_path)!r})"
        found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert "E0680" in found.stderr
    connect(tmp_path).close()


@pytest.mark.parametrize("fold", ["SUM", "AVG", "MIN", "MAX"])
def test_views_come_back_with_their_functions(fold: str, tmp_path: Path) -> None:
    text = f"PREFIX : <{E}> SELECT ?x ({fold}(?n + 1) AS ?m) {{ ?x :n ?n }} GROUP BY ?x"
    with connect(tmp_path) as store:
        store.view("folded", text)
        store.insert([(f"{E}a", f"{E}n", 1), (f"{E}a", f"{E}n", 2)])
        store.commit()
    with connect(tmp_path) as store:
        store.insert([(f"{E}a", f"{E}n", 4), (f"{E}b", f"{E}n", 5)])
        store.delete([(f"{E}a", f"{E}n", 1)])
        store.commit()
        assert set(store["folded"]) == set(store.query(text))
        assert len(store["folded"]) == 2


WAYS = f"PREFIX : <{E}> SELECT DISTINCT ?x ?y {{ ?x (:p/:q)? ?y }}"


@pytest.mark.parametrize("place", ["memory", "folder", "folder of 0.2"])
def test_nodes_of_paths_are_those_of_the_graph(place: str, tmp_path: Path) -> None:
    """A store that lasts keeps the names of relations in a relation, which was binary until 0.2."""
    store = connect(None if place == "memory" else tmp_path, rules="owl-rl")
    store.insert([(f"{E}a", f"{E}p", f"{E}b"), (f"{E}b", f"{E}q", f"{E}c"), (f"{E}a", TYPE, f"{E}C")])
    store.view("ways", WAYS)
    store.commit()
    if place == "folder of 0.2":
        names = {tuple(row) for row in store._database["namesː"]}
        store._database.load(".decl nameː(n: symbol, i: symbol)")
        store._database.insert("nameː", [row[:2] for row in names])
        store._database.delete("namesː", names)
        store.insert([(f"{E}c", f"{E}p", f"{E}b")])
        store.commit()
        assert len(store["ways"]) > len(set(store.query(WAYS)))
        store.close()
        store = connect(tmp_path)
        assert {tuple(row) for row in store._database["namesː"]} == names
        store.insert([(f"{E}c", f"{E}q", f"{E}a")])
        store.commit()
    assert set(store["ways"]) == set(store.query(WAYS))
    store.close()


def test_tables_of_another_version_change_the_rules_at_opening(tmp_path: Path) -> None:
    with connect(tmp_path, rules="rdfs") as store:
        store.insert(HEAD + ANIMALS + DATA)
        store.commit()
        assert store._lasting is not None
        store._lasting.keeper.state.note({"rdf": {"sets": ["owl-rl"]}})
    with connect(tmp_path, rules="owl-rl") as store, connect(rules="owl-rl") as other:
        other.insert(store.quads())
        other.commit()
        assert set(store) == set(other)
        assert store.contains(f"{E}ann", f"{E}owns", f"{E}rex")
        before = content(store)
    with connect(tmp_path) as store:
        assert content(store) == before


def test_trials_and_commits_that_fail_leave_the_folder_alone(tmp_path: Path) -> None:
    with filled(tmp_path) as store:
        before = content(store)
        files = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
        with store.what_if() as trial:
            trial.delete(HEAD + ":Dog :below :Friend .")
            trial.insert(HEAD + ":Cat :below :Friend . :kim a :Cat ; :unheard :of .")
            trial.drop_view("owners")
        assert trial.change is not None
        assert len(trial.change.deleted)
        store.insert(HEAD + "".join(f":d{i} a :Dog ; :ownedBy :d{i + 1} ." for i in range(60)))
        store.options(max_rows=100)
        with pytest.raises(tidelog.LimitError):
            store.commit()
        store.rollback()
        assert content(store) == before
        assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == files
        store.options(max_rows=None)
        store.insert(HEAD + ":kim a :Cat .")
        store.commit()
        price(store, 1e9)
        with store.what_if() as trial:
            trial.delete(HEAD + ":rex :ownedBy :ann .")
        store.insert(HEAD + ":kit a :Cat .")
        store.commit()
        before = content(store)
        assert store.stats()["store"]["segments"] == 1
    with connect(tmp_path) as store:
        assert content(store) == before
        assert store.blame(f"{E}rex", f"{E}ownedBy", f"{E}ann").epoch == 1
        store.check()


def scripts() -> Iterator[Callable[[Store], object]]:
    """Changes of a store, one for each commit."""
    yield lambda store: store.insert(HEAD + ":rex a :Dog ; :ownedBy :ann .")
    yield lambda store: store.insert(HEAD + ":Dog :below :Pet . :Pet rdfs:subClassOf :Thing .")
    yield lambda store: store.view("owners", VIEW)
    yield lambda store: store.delete(HEAD + ":rex a :Dog .")
    yield lambda store: store.insert(HEAD + "".join(f":d{i} a :Dog ." for i in range(40)), graph=f"{E}g")
    yield lambda store: store.drop_view("owners")


def simulated(disk: SimulatedDisk) -> Store:
    store = open_store("/kg", ["rdfs"], [PROGRAM], False, disk.files())
    store.prefixes[""] = E
    price(store, 1e9)
    return store


def price(store: Store, seconds: float) -> None:
    """Let a checkpoint be due when epochs have taken so long, so that changes stay in segments until then."""
    assert store._lasting is not None
    store._lasting.keeper.price = seconds


def test_whatever_is_on_the_disk_before_each_operation() -> None:
    """As the next process finds it when this one is killed there, and when the machine stops."""
    rng = random.Random(FIRST_SEED)
    disk, left, states = SimulatedDisk(), list[tuple[int, SimulatedDisk]](), [(set[Any](), False)]

    def keep(operation: str, name: str) -> None:
        if operation in WRITES:
            left.append((len(states), rng.choice((disk.copy_after_kill, lambda: disk.copy_after_crash(rng)))()))

    disk.before = keep
    with simulated(disk) as store:
        for number, change in enumerate(scripts()):
            change(store)
            price(store, 0.0 if number == 2 else 1e9)
            store.commit()
            states.append((set(store), "owners" in store.database.relations))
    disk.before = None
    assert len(left) > 100
    for known, other in rng.sample(left, 30):
        with simulated(other) as store:
            found = set(store), "owners" in store.database.relations
            assert found in states[max(known - 1, 0) : known + 1]


def test_a_full_disk_takes_a_commit_back(tmp_path: Path) -> None:
    disk = SimulatedDisk()
    with simulated(disk) as store:
        for number, change in enumerate(scripts()):
            before = set(store), sorted(store.database.rules)
            change(store)
            if number in (1, 4):
                operations = 0

                def full(operation: str, name: str) -> None:
                    nonlocal operations
                    operations += operation == "write"
                    if operations > 0:
                        raise OSError(errno.ENOSPC, "no space left")

                disk.before = full
                with pytest.raises(UsageError, match="no space left"):
                    store.commit()
                disk.before = None
                assert (set(store), sorted(store.database.rules)) == before
                assert store.has_pending
            store.commit()
        found = set(store)
    with simulated(disk) as store:
        assert set(store) == found
        assert found > {(f"{E}d7", TYPE, f"{E}Thing")}


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + 2))
def test_random_commits_with_reopenings(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    plain, present = connect(rules="owl-rl"), set[Any]()
    store = connect(tmp_path, rules="owl-rl")
    for _ in range(4):
        more = ontology(rng) - present
        less = set(rng.sample(sorted(present), min(len(present), 4)))
        for each in (store, plain):
            insert(each, sorted(more))
            delete(each, sorted(less))
            each.commit()
        present = (present | more) - less
        if rng.random() < 0.6:
            store.close()
            store = connect(tmp_path)
        assert set(store) == set(plain), f"seed {seed}"
        assert set(store.inconsistencies()) == set(plain.inconsistencies()), f"seed {seed}"
        assert len(store.database.rules) == len(plain.database.rules), f"seed {seed}"
    store.check()
    store.close()
