"""gMark's graphs and queries at small sizes, every engine on them, and what is printed; nothing takes a time."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterable
from itertools import product
from pathlib import Path
from typing import Any

import numpy
import pytest

import tidelog
from benchmarks.graphs import __main__ as program
from benchmarks.graphs import closures, gmark, measure, paper, peers, processes, schema, tables, targets, translation
from benchmarks.graphs import workload as queries
from benchmarks.graphs.gmark import Conjunct, Graph, Query, Step
from benchmarks.graphs.gmark import Path as Regular
from benchmarks.harness import BenchmarkError
from tests.benchmarks.here import here

pytestmark = pytest.mark.deep

SCHEMA = """
<generator>
  <graph><nodes>100</nodes></graph>
  <predicates><size>2</size><alias symbol="0">wrote</alias><alias symbol="1">heldIn</alias></predicates>
  <types>
    <size>4</size>
    <alias type="0">person</alias><proportion type="0">0.6</proportion>
    <alias type="1">paper</alias><proportion type="1">0.2</proportion>
    <alias type="2">city</alias><fixed type="2">4</fixed>
    <alias type="3">country</alias>
  </types>
  <schema>
    <source type="0">
      <target type="1" symbol="0">
        <indistribution type="gaussian"><mu>3</mu><sigma>1</sigma></indistribution>
        <outdistribution type="zipfian"><alpha>2.5</alpha></outdistribution>
      </target>
    </source>
    <source type="1">
      <target type="2" symbol="1">
        <outdistribution type="uniform"><min>1</min><max>1</max></outdistribution>
      </target>
    </source>
    <source type="2"><target type="3" symbol="1" multiplicity="1"/></source>
  </schema>
</generator>
"""
WORKLOAD = """
<queries>
<query>
  <metadata><number>0</number></metadata>
  <head><var>?x0</var><var>?x1</var></head>
  <bodies>
    <body>
      <conjunct src="?x0" trg="?x1"><star><disj>
        <concat><symbol>0</symbol><symbol inverse="true">0</symbol></concat>
        <concat><symbol>0</symbol><symbol inverse="true">0</symbol></concat>
      </disj></star></conjunct>
      <conjunct src="?x0" trg="?x2"><disj>
        <concat><symbol>0</symbol><symbol>1</symbol></concat><concat><symbol>0</symbol></concat>
      </disj></conjunct>
    </body>
    <body></body>
  </bodies>
</query>
<query>
  <metadata><number>7</number></metadata>
  <head></head>
  <bodies><body>
    <conjunct src="?x0" trg="?x1"><disj><concat><symbol>1</symbol></concat></disj></conjunct>
  </body></bodies>
</query>
</queries>
"""
GRAPH = "1 0 5\n2 0 5\n2 0 6\n2 0 6\n5 1 9\n"
LIMITS: dict[str, Any] = {"timeout": 60.0, "max_rows": 1_000_000}
MEMORY = 8_000_000_000


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A schema, a workload and a graph where the published data would be; the second schema is the first one."""
    place = tmp_path / "gmark"
    place.mkdir()
    for name in measure.SCHEMAS.values():
        (place / name).write_text(SCHEMA)
    (place / "test-workload.xml").write_text(WORKLOAD)
    with gzip.open(place / "test-graph.txt.gz", "wt") as stream:
        stream.write(GRAPH)
    return place


def instance(folder: Path, name: str = "test", nodes: int | None = None) -> dict[str, object]:
    return measure.Instance(str(folder), name, nodes, 7).as_json()


def step(text: str) -> Step:
    return Step(text.lstrip("^"), text.startswith("^"))


def regular(text: str) -> Regular:
    """A path from `a/^b|c` or, with a star, `(a|b)*`."""
    words = text.removeprefix("(").removesuffix(")*").split("|")
    return Regular(tuple(tuple(map(step, word.split("/"))) for word in words), text.endswith("*"))


def query(head: str, *conjuncts: str) -> Query:
    """A query from its head, as `xy`, and conjuncts, as `x a/b y`."""
    parts = [each.split() for each in conjuncts]
    return Query(0, tuple(head), (tuple(Conjunct(regular(path), x, y) for x, path, y in parts),))


# --- reading ---------------------------------------------------------------------------------------------------------


def test_a_workload_is_read(folder: Path) -> None:
    first, second = gmark.read_workload(folder / "test-workload.xml", {0: "wrote", 1: "heldIn"})
    conjuncts = Conjunct(regular("(wrote/^wrote)*"), "x0", "x1"), Conjunct(regular("wrote/heldIn|wrote"), "x0", "x2")
    # A word is there once, and a conjunction without conjuncts is left out.
    assert first == Query(0, ("x0", "x1"), (conjuncts,))
    assert (second.number, second.head, second.symbols, second.starred) == (7, (), {"heldIn"}, False)
    assert (first.symbols, first.starred) == ({"wrote", "heldIn"}, True)


def test_a_graph_is_read_with_each_edge_once(folder: Path) -> None:
    graph = gmark.read_graph(folder / "test-graph.txt.gz", {0: "wrote", 1: "heldIn", 2: "never"})
    assert {name: edges.tolist() for name, edges in graph.items()} == {
        "wrote": [[1, 5], [2, 5], [2, 6]],
        "heldIn": [[5, 9]],
        "never": [],
    }


# --- generating ------------------------------------------------------------------------------------------------------


def test_a_schema_gives_graphs_of_any_size(folder: Path) -> None:
    read = schema.read_schema(folder / "test.xml")
    assert read.symbols == {0: "wrote", 1: "heldIn"}
    for nodes in (100, 1000):
        people, papers, countries = 6 * nodes // 10, 2 * nodes // 10, round(0.2 * nodes)
        graph = schema.generate(read, nodes, 1)
        wrote, held = graph["wrote"], graph["heldIn"]
        assert 0 < len(wrote) <= 3.5 * papers
        assert (wrote[:, 0] < people).all()
        assert ((people <= wrote[:, 1]) & (wrote[:, 1] < people + papers)).all()
        cities = range(people + papers, people + papers + 4)
        inside = numpy.isin(held[:, 1], list(cities))
        assert inside.sum() == papers, "each paper in one city"
        assert (~inside).sum() == 4, "each city in one country"
        assert (held[~inside, 1] < cities.stop + countries).all(), "what no type claims is that of the last one"


def test_the_same_seed_gives_the_same_graph(folder: Path) -> None:
    read = schema.read_schema(folder / "test.xml")
    one, same, other = (schema.generate(read, 500, seed)["wrote"] for seed in (1, 1, 2))
    assert numpy.array_equal(one, same)
    assert not numpy.array_equal(one, other)


def test_a_quarter_of_a_zipfian_side_has_edges() -> None:
    drawn = schema.Distribution("zipfian", {"alpha": 2.5}).draw(100_000, numpy.random.default_rng(1))
    assert 0.25 < (drawn > 0).mean() < 0.26, "1 - 1 / zeta(2.5)"
    assert 0.7 < drawn.mean() < 1.3
    with pytest.raises(ValueError, match="unknown distribution pareto"):
        schema.Distribution("pareto", {}).draw(1, numpy.random.default_rng(1))


def test_generated_queries_are_walks_over_the_types(folder: Path) -> None:
    read = schema.read_schema(folder / "test.xml")
    ends = [(read.symbols[edge.symbol], edge.source, edge.target) for edge in read.edges]

    def follow(types: set[int], step: Step) -> set[int]:
        ways = [(t, s) if step.inverse else (s, t) for name, s, t in ends if name == step.symbol]
        return {last for first, last in ways if first in types}

    made = queries.generate(read, 40, 3)
    assert made == queries.generate(read, 40, 3)
    assert {len(one.bodies[0]) for one in made} == {3, 4}
    assert {len(one.head) for one in made} == {0, 1, 2, 3, 4}
    starred = [conjunct.path.star for one in made for conjunct in one.bodies[0]]
    assert 0.3 < sum(starred) / len(starred) < 0.7
    for one in made:
        for conjunct in one.bodies[0]:
            for word in conjunct.path.words:
                assert 2 <= len(word) <= 4
                types = set(read.types)
                for each in word:
                    types = follow(types, each)
                assert types


# --- translating -----------------------------------------------------------------------------------------------------


def test_variables_that_are_not_asked_for_are_projected_at_once() -> None:
    chain = query("x", "x a/b y", "y (b/^a|^b)* z", "x a w")
    assert translation.program(chain, "ab").splitlines()[2:] == [
        ".decl part0(x0: number)",
        ".decl part1(x0: number)",
        ".decl part2(x0: number)",
        ".decl answer(x0: number)",
        "part0(x) :- <a>(x, w).",
        "part1(y) :- <(b/^a|^b)*>(y, z).",
        "part2(x) :- <a/b>(x, y), part1(y).",
        "answer(x) :- part0(x), part2(x).",
    ]


def test_a_question_without_variables_has_a_view_without_columns() -> None:
    assert translation.program(query("", "x a y"), "a").splitlines()[-3:] == [
        "part0(y) :- <a>(x, y).",
        "part1() :- part0(y).",
        "answer() :- part1().",
    ]


def test_a_variable_that_meets_three_others_stays() -> None:
    star = query("xyz", "m a x", "m a y", "m a z")
    assert [view.name for view in translation.plan(star)] == ["answer"]


def test_sql_and_rules_spell_paths_out() -> None:
    found = translation.definitions(query("x", "x (a/^b)* y"), "ab")
    assert [(each.name, each.closure) for each in found] == [
        ("node", None),
        ("path0_step", None),
        ("path0", "path0_step"),
        ("part0", None),
        ("answer", None),
    ]
    assert peers.sql(found[1]) == (
        'CREATE TABLE "path0_step" AS SELECT DISTINCT t0.c0 AS c0, t1.c0 AS c1 FROM "a" AS t0, "b" AS t1 '
        "WHERE t0.c1 = t1.c1"
    )
    assert peers.nemo_rules(found[1]) == "path0_step(?x, ?y) :- a(?x, ?z1), b(?y, ?z1) .\n"
    assert "WITH RECURSIVE" in peers.sql(found[2])
    assert peers.nemo_rules(found[2]).count(":-") == 3


# --- what a query means ----------------------------------------------------------------------------------------------


def pairs(path: Regular, graph: dict[str, set[tuple[int, int]]]) -> set[tuple[int, int]]:
    nodes = {node for edges in graph.values() for edge in edges for node in edge}
    once = set()
    for word in path.words:
        reached = {(node, node) for node in nodes}
        for each in word:
            edges = {(y, x) for x, y in graph[each.symbol]} if each.inverse else graph[each.symbol]
            reached = {(x, z) for x, y in reached for other, z in edges if y == other}
        once |= reached
    if not path.star:
        return once
    found = {(node, node) for node in nodes}
    while more := {(x, z) for x, y in found for other, z in once if y == other} - found:
        found |= more
    return found


def answers(asked: Query, graph: dict[str, set[tuple[int, int]]]) -> set[tuple[int, ...]]:
    nodes = {node for edges in graph.values() for edge in edges for node in edge}
    found = set()
    for body in asked.bodies:
        meant = [(pairs(c.path, graph), c.source, c.target) for c in body]
        variables = sorted({v for _, x, y in meant for v in (x, y)})
        for values in product(nodes, repeat=len(variables)):
            bound = dict(zip(variables, values, strict=True))
            if all((bound[x], bound[y]) in some for some, x, y in meant):
                found.add(tuple(bound[v] for v in asked.head))
    return found


QUERIES = [
    query("xy", "x (a/^a)* y", "x (b|^a/b)* z"),
    query("x", "x a/b y", "y ^b/a z", "x ^a w", "w b z"),
    query("", "x a/b y", "y (a)* z"),
    query("yx", "x a|b m", "m a/^b|b y"),
    query("xyz", "m a x", "m b|^b y", "m (a|b)* z"),
]


@pytest.mark.parametrize("number", range(len(QUERIES)))
def test_all_engines_mean_the_same(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(number)
    asked = QUERIES[number]
    for _ in range(3):
        sets = {name: {(rng.randrange(5), rng.randrange(5)) for _ in range(rng.randint(1, 6))} for name in "ab"}
        graph: Graph = {name: numpy.array(sorted(edges), numpy.int64) for name, edges in sets.items()}
        one = measure.Case(asked, translation.program(asked, "ab"), graph, measure.Limits(**LIMITS))
        monkeypatch.setattr(measure, "case", lambda *_, one=one: one)
        want = answers(asked, sets)
        db = tidelog.connect()
        db.load(one.text)
        for name, edges in graph.items():
            db.insert(name, edges)
        db.commit()
        assert set(db["answer"]) == want
        sizes = [peers.duckdb_query({}, 0, LIMITS, MEMORY)["size"], peers.nemo_query({}, 0, LIMITS)["size"]]
        assert sizes == [len(want)] * 2


# --- measuring -------------------------------------------------------------------------------------------------------


def test_a_query_from_scratch(folder: Path) -> None:
    found = measure.evaluation(instance(folder), 0, LIMITS)
    # Both writers are authors of 5, and each node is reached from itself; a node without a paper is no x0.
    assert found["size"] == 4
    assert found["cpu"] > 0
    assert measure.evaluation(instance(folder), 7, LIMITS)["size"] == 1


def test_a_query_is_stopped_by_its_limits(folder: Path) -> None:
    few = {"timeout": 60.0, "max_rows": 2}
    assert measure.evaluation(instance(folder, nodes=1000), 0, few)["stopped"] == "E0502"
    assert measure.updates(instance(folder, nodes=1000), 0, few, [0.5], 2)["stopped"] == "E0502"


def test_symbols_and_edges_come_and_go(folder: Path) -> None:
    found = measure.updates(instance(folder, nodes=300), 0, LIMITS, [0.05, 1.0], 3)
    one, both = found["batches"]
    assert (len(one["symbols"]), sorted(both["symbols"])) == (1, ["heldIn", "wrote"])
    assert (one["touched"], both["touched"]) == (True, True)
    assert both["insert"]["impact"] > one["insert"]["impact"] > 0
    assert {"wall", "cpu", "fixpoint"} <= set(one["insert"]["fvm"])
    assert set(found["edges"]) == {"delete", "insert"}


def test_a_view_that_is_not_as_from_scratch_is_an_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "_change", lambda *_: {"cpu": 0.0})
    with pytest.raises(BenchmarkError, match=r"query 0: \d+ answers, from scratch \d+"):
        measure.updates(instance(folder, nodes=300), 0, LIMITS, [1.0], 0)


def test_peers_are_stopped(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped = processes.apart(peers.nemo_query, instance(folder), 0, LIMITS, seconds=0.01, memory=MEMORY)
    assert stopped["stopped"] == processes.TIME
    asked = query("xy", "x (a)* y")
    ring = numpy.array([(i, (i + 1) % 3000) for i in range(3000)])  # nine million pairs, one more edge in each round
    soon = measure.Limits(0.05, 1)
    monkeypatch.setattr(measure, "case", lambda *_: measure.Case(asked, "", {"a": ring}, soon))
    assert peers.duckdb_query({}, 0, {}, MEMORY)["stopped"] == processes.TIME
    late = measure.Limits(60, 1)
    monkeypatch.setattr(measure, "case", lambda *_: measure.Case(asked, "", {"a": ring}, late))
    assert peers.duckdb_query({}, 0, {}, 20_000_000)["stopped"] == processes.MEMORY


def test_a_process_that_fails_says_why(folder: Path) -> None:
    with pytest.raises(BenchmarkError, match=r"(?s)evaluation.* ended with 1: .*KeyError: 99"):
        processes.apart(measure.evaluation, instance(folder), 99, LIMITS, seconds=60, memory=MEMORY)


def test_closures_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "edges.txt"
    path.write_text("1\t2\n2\t3\n3\t1\n3\t4\n")
    assert closures.from_scratch(str(path), False)["pairs"] == 12
    assert closures.from_scratch(str(path), True)["pairs"] == 12
    assert closures.edges(str(path), 2)["pairs"] == 12
    assert closures.from_scratch(str(path), False, True)["pairs"] == 12
    assert closures.edges(str(path), 2, True)["pairs"] == 12


def test_rule_sets() -> None:
    assert closures.rule_set("RS1", 5, True)["pairs"] == 6 * 5 + 6 + 6 + 6 + 6 + 1
    recognised, plain = (closures.rule_set("RS2", 50, each)["pairs"] for each in (True, False))
    assert recognised == plain == 27_325 + 200


# --- showing ---------------------------------------------------------------------------------------------------------


def batch(share: float, ivm: float, fvm: float) -> dict[str, object]:
    change = {"cpu": ivm, "fvm": {"cpu": fvm, "fixpoint": fvm / 2}}
    return {"share": share, "symbols": ["a"], "touched": True, "rho": 0.1} | dict.fromkeys(
        ("insert", "again", "delete"), change
    )


def updated(ivm: float, edge: float) -> dict[str, Any]:
    edges = {kind: {"cpu": edge} for kind in ("delete", "insert")}
    return {"whole": {"cpu": 1.0}, "batches": [batch(0.05, ivm, 1.0), batch(0.1, ivm, 1.0)], "edges": edges}


def test_promises_about_updates() -> None:
    found = {0: updated(0.2, 0.01), 1: updated(0.4, 0.02), 2: updated(0.3, 0.5), 3: {"stopped": "E0502"}}
    few, many = (list(targets.of_updates("snb", nodes, found)) for nodes in (1000, 100_000))
    assert [(one.found, one.met) for one in few] == [(pytest.approx(0.3), True)]
    assert [(one.found, one.met) for one in many[1:]] == [(0.02, True)] * 2


def test_promises_about_the_workload() -> None:
    ours = {"cpu": 1.0}
    found: dict[int, dict[str, dict[str, Any]]] = {
        0: {"tidelog": ours, "duckdb": {"cpu": 4.0}, "nemo": {"cpu": 8.0, "stopped": "time"}},
        1: {"tidelog": ours, "duckdb": {"cpu": 1.0}, "nemo": {"stopped": "memory"}},
        2: {"tidelog": {"cpu": 9.0, "stopped": "E0501"}, "duckdb": {"cpu": 1.0}},
    }
    assert [(one.what.split()[3], one.found) for one in targets.of_workload(found)] == [
        ("duckdb's,", pytest.approx(0.5)),
        ("nemo's,", pytest.approx(0.125)),
    ]


def test_promises_about_closures() -> None:
    found = {
        "compressed": {"wall": 0.9, "peak": 4e8},
        "RS2": {"cpu": 0.3},
        "RS2 without recognition": {"cpu": 0.5},
    }
    assert [(one.found, one.unit, one.met) for one in targets.of_closures(found)] == [
        (0.9, "s", True),
        (0.4, "GB", True),
        (0.6, "x", False),
    ]


def squeezed(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines()]


def test_the_papers_tables_are_beside_ours() -> None:
    shown = squeezed(tables.updates("snb, 1,000 nodes", {0: updated(0.2, 0.01), 3: {"stopped": "E0502"}}))
    assert shown[0] == "snb, 1,000 nodes: 1 of 2 queries, milliseconds of CPU"
    assert shown[2] == "0.05 insert 1 10.0% 1 1000.00 200.00 800.00 80.0 80.0 500.00"
    assert shown[5] == "paper, SNB 10.9% 18.8 10.9 7.9 42.0"
    assert shown[-1].startswith("insert an edge: median query 10.00 ms, 0.0100 of FVM")
    assert set(paper.SHARES) == set(paper.TABLES["SNB"]) == set(paper.TABLES["WatDiv"])


def test_a_row_of_a_query_under_changes() -> None:
    row = {"size": 1200, "whole": {"cpu": 0.5}, "edges": {"delete": {"cpu": 0.001}}}
    said = "7 1,200 answers, from scratch 500.0 ms, delete an edge 1.00 ms"
    assert squeezed(tables.updates_row(7, row)) == [said]
    assert squeezed(tables.updates_row(7, {"stopped": "E0502"})) == ["7 out of rows"]


def test_a_row_of_the_workload() -> None:
    ours = {"size": 12, "cpu": 1.0, "wall": 2.0, "peak": 3e6}
    row: dict[str, dict[str, Any]] = {"tidelog": ours, "duckdb": {"cpu": 4.0}, "nemo": {"cpu": 8.0, "stopped": "time"}}
    assert squeezed(tables.workload_row(3, row)) == ["3 12 1.000 2.000 3 4.000 0.25 out of time 0.12"]
    stopped = {"tidelog": {"stopped": "E0501"}, "duckdb": {"stopped": "memory"}}
    assert squeezed(tables.workload_row(3, stopped)) == ["3 out of time out of memory"]


def ran(arguments: Iterable[str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[int, dict[str, object]]:
    monkeypatch.setenv("TIDELOG_DATA", str(folder))
    file = folder / "out/graphs.json"
    code = program.main([*arguments, "--json", str(file)])
    return code, json.loads(file.read_text())


def test_the_command_measures_and_writes(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(program, "apart", here)
    asked = ["--only", "workload", "--only", "updates", "--quick", "--schema", "test", "--nodes", "200", "--query", "0"]
    code, document = ran(asked, folder.parent, monkeypatch)
    shown = capsys.readouterr().out
    assert code == 0
    assert "test, the published graph: every query from scratch" in shown
    assert "test, 200 nodes: 1 of 1 queries" in shown
    assert "CPU seconds of nemo's, geometric mean of 1" in shown
    assert set(document) >= {"workload", "updates", "targets", "limits"}


def test_sizes_that_differ_are_a_failure(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sizes = iter((1, 1, 2))
    monkeypatch.setattr(program, "apart", lambda *_, **__: {"size": next(sizes), "cpu": 1.0, "wall": 1.0, "peak": 1})
    code, document = ran(["--only", "workload", "--query", "7"], folder.parent, monkeypatch)
    assert code == 1
    assert "WRONG: {'tidelog': 1, 'duckdb': 1, 'nemo': 2}" in capsys.readouterr().out
    assert document["failures"] == ["query 7 of test, the published graph: {'tidelog': 1, 'duckdb': 1, 'nemo': 2}"]


def test_without_data_the_command_says_what_it_needs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("TIDELOG_DATA", raising=False)
    assert program.main([]) == 2
    assert "TIDELOG_DATA" in capsys.readouterr().err
