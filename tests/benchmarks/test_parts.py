"""Each part at a tiny size, and what happens without the published data."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

import tidelog
from benchmarks import __main__ as program
from benchmarks import (
    chains,
    closure,
    components,
    crdt,
    distances,
    equivalence,
    explanations,
    first_contact,
    galen,
    labels,
    lubm,
    many_rules,
    memory,
    peers,
    policies,
    queries,
    readers,
    reading,
    spilling,
    updates,
    zodiac,
)
from benchmarks.harness import BenchmarkError, Options
from tests.benchmarks.galen_facts import write_galen
from tidelog.language import check, read


@pytest.fixture
def edges(tmp_path: Path) -> Path:
    """A cycle of three, and one more node that all of them reach: 9 + 3 pairs."""
    path = tmp_path / "edges.txt.gz"
    with gzip.open(path, "wt") as stream:
        stream.write("1\t2\n2\t3\n3\t1\n3\t4\n")
    return path


def test_closure_and_its_peers_agree(edges: Path) -> None:
    pairs = {"t": 9 + 3}
    assert closure.evaluation(str(edges), True, 1).sizes == pairs
    assert closure.evaluation(str(edges), False, 1).sizes == pairs
    assert peers.duckdb_closure(str(edges), 1).sizes == pairs
    assert peers.nemo_closure(str(edges), 1).sizes == pairs


def test_components_and_their_peer_agree() -> None:
    for nodes, edges in ((5, 3), (200, 150), (50, 400)):
        measured = equivalence.evaluation(nodes, edges, 1)
        assert measured.sizes == equivalence.scipy_components(nodes, edges, 1).sizes


def test_edges_of_a_chain_go_and_come() -> None:
    assert chains.evaluation(50, 1).sizes == {"t": 50 * 49 // 2}
    for place in (0, 25, 48):
        pairs = (place + 1) * (49 - place)
        assert chains.changes(50, place, 2).sizes == {"deleted": pairs, "inserted": pairs}


@pytest.mark.deep
def test_labels_and_their_peers_agree() -> None:
    for nodes, edges in ((5, 3), (200, 150), (50, 400)):
        sizes = labels.evaluation(nodes, edges, 1).sizes
        assert sizes == labels.scipy_components(nodes, edges, 1).sizes
        assert sizes == labels.duckdb_labels(nodes, edges, 1).sizes


@pytest.mark.deep
def test_folded_components_and_their_peers_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    for nodes, edges in ((5, 3), (60, 45), (20, 90)):
        sizes = components.with_sizes(nodes, edges, 1).sizes
        for peer in (components.scipy_components, components.duckdb_components):
            assert sizes == peer(nodes, edges, 1).sizes
        least = components.evaluation(nodes, edges, 1).sizes
        assert least == {key: sizes[key] for key in least}
    monkeypatch.setattr(components, "CHANGES", 2)
    assert components.changes(5, 3).runs == 2


@pytest.mark.deep
def test_distances_and_their_peers_agree() -> None:
    for nodes, edges in ((5, 3), (200, 150), (50, 400)):
        sizes = distances.evaluation(nodes, edges, 1).sizes
        assert sizes == distances.scipy_dijkstra(nodes, edges, 1).sizes
        assert sizes == distances.duckdb_distances(nodes, edges, 1).sizes


@pytest.mark.deep
def test_galen_and_its_peer_agree(tmp_path: Path) -> None:
    write_galen(tmp_path)
    measured = galen.evaluation(str(tmp_path), 1)
    # p: (1,2) (2,3) (1,3). q: (3,7,4) through p gives (1|2,7,4), and s gives all three with 10 in place of 7.
    assert measured.sizes == {"p": 3, "q": 6}
    assert peers.nemo_galen(str(tmp_path)).sizes == measured.sizes
    assert {"load", "store", "fixpoint", "growing", "reindexing", "bytes_per_tuple"} <= set(measured.details)


@pytest.mark.deep
def test_updates_on_two_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_galen(tmp_path)
    monkeypatch.setattr(updates, "FACTS", 4)
    measured = [updates.of_galen(str(tmp_path), 1), *(updates.of_chains(case, 8, 2) for case in updates.CASES)]
    assert all({"one_thread", "ratio"} <= set(each.details) for each in measured)
    assert all(each.sizes["changed"] > 0 for each in measured[1:])


@pytest.mark.deep
@pytest.mark.parametrize("rest", readers.RESTS.values(), ids=readers.RESTS)
def test_readers_beside_galen(tmp_path: Path, rest: float) -> None:
    write_galen(tmp_path)
    measured = readers.evaluation(str(tmp_path), rest, 1)
    assert measured.sizes == {"p": 3, "q": 6}
    assert measured.details["reads"] >= readers.THREADS
    assert {"alone", "read", "slow_read"} <= set(measured.details)


@pytest.mark.deep
def test_explanations_of_galen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_galen(tmp_path)
    monkeypatch.setattr(explanations, "QUESTIONS", 5)
    measured = explanations.proofs_of_galen(str(tmp_path), "p")
    assert measured.runs == 5
    assert measured.sizes["found"] >= 5
    assert measured.details["worst"] >= measured.wall


def test_crdt_reads_what_the_program_names(tmp_path: Path) -> None:
    folder = tmp_path / "crdt"
    folder.mkdir()
    (folder / "insert.txt").write_text("1 0\n")
    names = ", ".join(crdt.SIZES)
    declarations = "\n".join(f".decl {name}(c: number, n: number)" for name in crdt.SIZES)
    rules = "\n".join(f"{name}(c, n) :- insert(c, n)." for name in crdt.SIZES)
    inputs = '.decl insert(c: number, n: number)\n.input insert(filename="insert.txt", delimiter=" ")'
    (folder / "crdt.dl").write_text(f"// {names}\n{inputs}\n{declarations}\n{rules}\n")
    assert crdt.evaluation(str(tmp_path), 1).sizes == dict.fromkeys(crdt.SIZES, 1)


RULES: list[tuple[bool, bool, str]] = [
    (False, False, "<headOf>(?X, ?Y) :- <src_headOf>(?X, ?Y) ."),
    (False, False, "<Department>(?X) :- <src_Department>(?X) ."),
    (False, True, "<Chair>(?X) :- <headOf>(?X, ?X1) and <Department>(?X1) ."),
    (True, False, "<Person>(?X) :- <Chair>(?X) ."),
]


def test_lubm_rules_become_a_program() -> None:
    text = lubm.program(RULES, "without starred").splitlines()
    assert ".decl Person(x: symbol)" in text
    assert ".decl src_headOf(x: symbol, y: symbol)" in text
    assert text[-1] == "Chair(X) :- headOf(X, X1), Department(X1)."


@pytest.mark.parametrize(("which", "derived"), [("all rules", 4), ("without starred", 3), ("without #", 2)])
def test_lubm_counts_everything_but_the_source(which: str, derived: int, tmp_path: Path) -> None:
    folder = tmp_path / "lubm1"
    folder.mkdir()
    (folder / "rules.json").write_text(json.dumps(RULES))
    with gzip.open(folder / "lubm1.nt.gz", "wt") as stream:
        stream.write("<ann> <src_headOf> <cs> .\n")
        stream.write("<cs> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <src_Department> .\n")
    assert lubm.evaluation(str(tmp_path), which, 1).sizes == {"derived": derived}


@pytest.mark.deep
@pytest.mark.parametrize("name", ["RS2", "RS3"])
def test_zodiac_for_50_turbines_per_chain(name: str) -> None:
    assert zodiac.evaluation(name, 50, 1).sizes == {"derived": zodiac.DERIVED[name][50]}


@pytest.mark.deep
@pytest.mark.parametrize("arity", [2, 3])
def test_memory_counts_rows_and_index(arity: int) -> None:
    measured = memory.evaluation(arity, 3_000)
    assert measured.sizes == {"e": 0}
    assert measured.details["rows_bytes"] >= 4 * arity
    assert measured.details["index_bytes"] > 0


@pytest.mark.deep
@pytest.mark.parametrize("name", spilling.PROGRAMS)
def test_spilling_has_the_tuples_of_an_evaluation_in_memory(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidelog.storage.room.Room.fits", lambda self, more: False)
    program = spilling.PROGRAMS[name][0]
    inside = spilling.evaluation(program, 1_400, 2_000, None)
    measured = spilling.evaluation(program, 1_400, 2_000, 10**9)
    assert measured.sizes == inside.sizes
    assert inside.details["files_mb"] == 0 < measured.details["files_mb"] <= measured.details["table_mb"]


@pytest.mark.deep
@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize("kind", ["number", "symbol"])
def test_reading(form: str, kind: str) -> None:
    assert reading.evaluation(form, kind, 500, 1).sizes == {"e": 500}


@pytest.mark.deep
@pytest.mark.parametrize("shape", queries.SHAPES)
def test_queries_and_their_peer_agree(shape: str) -> None:
    asked = queries.tidelog_queries(shape, 300, 40, 1)
    assert asked.sizes == queries.sqlite_queries(shape, 300, 40, 1).sizes
    assert asked.sizes["tuples"] > 0


def test_first_contact_needs_a_wheel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(first_contact, "ROOT", tmp_path)
    with pytest.raises(BenchmarkError, match="make wheel"):
        next(first_contact.lines(Options()))


@pytest.mark.parametrize("relations", [3, 15, 30])
def test_programs_of_first_contact_are_accepted(relations: int) -> None:
    with tidelog.connect() as db:
        db.load(first_contact.program(relations))
        for name in range(relations // 3):
            db.insert(f"r{name}", [(i, (i + 1) % 20) for i in range(20)])
        db.commit()
        assert len(db[f"r{relations - 1}"]) == 20


def test_without_data_the_user_is_told_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.delenv("TIDELOG_DATA", raising=False)
    assert program.main(["--only", "galen", "--json", str(tmp_path / "out/bench.json")]) == 2
    assert "TIDELOG_DATA=/path/to/data make bench" in capsys.readouterr().err
    assert json.loads((tmp_path / "out/bench.json").read_text())["lines"] == []


@pytest.mark.deep
def test_generated_parts_run_without_data(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("TIDELOG_DATA", str(tmp_path / "nowhere"))
    status = program.main(["--only", "zodiac", "--runs", "1", "--json", str(tmp_path / "bench.json")])
    assert (status, "TIDELOG_DATA" in capsys.readouterr().err) == (0, False)
    assert [line["exact"] for line in json.loads((tmp_path / "bench.json").read_text())["lines"]] == [True, True]


def test_a_part_that_cannot_be_run_is_a_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("TIDELOG_DATA", str(tmp_path))
    assert program.main(["--only", "crdt", "--json", str(tmp_path / "bench.json")]) == 1
    assert "crdt  could not be run: benchmarks.crdt:evaluation ended with 1" in capsys.readouterr().out


@pytest.mark.deep
def test_a_wrong_size_fails_the_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(zodiac.DERIVED["RS2"], 200, 424_301)
    assert program.main(["--only", "zodiac", "--runs", "1", "--json", str(tmp_path / "bench.json")]) == 1


@pytest.mark.deep
@pytest.mark.parametrize("what", ["check", "start", "rule"])
def test_many_rules(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(many_rules, "FILES", 42)
    monkeypatch.setattr(many_rules, "_PER_FILE", 12)
    assert many_rules.evaluation(what, 1).sizes["rules"] > 400


@pytest.mark.deep
def test_many_rules_are_as_many_as_said(tmp_path: Path) -> None:
    checked = check(read(many_rules.write(tmp_path)))
    assert len(checked.rules) == many_rules.RULES
    assert len(list(tmp_path.iterdir())) == many_rules.FILES


def test_a_policy_and_its_evaluation_anew_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policies, "_FIRST", 2)
    monkeypatch.setattr(policies, "_TRANSACTIONS", 20)
    sizes = [policies.evaluation(strategy, 0.5, 1).sizes for strategy in ("update", "bootstrap")]
    assert sizes[0] == sizes[1]
    assert sizes[0]["changed"] > 40
