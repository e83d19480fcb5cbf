"""The matrix: programs that each engine reads, facts for all, and what a process takes."""

from __future__ import annotations

from pathlib import Path

import pytest

import tidelog
from benchmarks.matrix import changes, engines, inputs, programs
from benchmarks.matrix.engines import Engine
from benchmarks.matrix.programs import WORKLOADS
from benchmarks.matrix.usage import Usage, agree, cell


@pytest.mark.parametrize("workload", WORKLOADS)
def test_programs_are_right_and_have_facts(workload: str) -> None:
    work = WORKLOADS[workload]
    db = tidelog.connect()
    db.load(programs.tidelog(work))
    assert set(work.sizes) <= set(db.relations)
    assert workload == "galen" or workload in inputs._MAKERS


def test_least_tuples_in_the_words_of_each_engine() -> None:
    work = WORKLOADS["shortest paths"]
    assert ".decl Dist(x: number, d: number) min(d)\n" in programs.tidelog(work)
    assert "Dist(y, min(d + w)) :- Dist(x, d), Road(x, y, w).\n" in programs.flowlog(work)
    assert programs.souffle(work).endswith("Dist(x, c) <= Dist(x, d) :- d <= c.\n")
    assert programs.datatoad(work, Path("facts")) is None
    assert "Cc(x, min(c)) :- Cc(y, c), Edge(x, y).\n" in programs.flowlog(WORKLOADS["components"])


def test_a_process_is_measured_and_its_sizes_read(tmp_path: Path) -> None:
    (tmp_path / "E.csv").write_text("1,2\n2,3\n1,3\n3,4\n")
    usage = engines.evaluate(engines.engines(1)["tidelog"], "triangles", tmp_path, tmp_path)
    assert usage is not None
    assert usage.sizes == {"Tri": 1}
    assert usage.cpu > 0
    assert usage.peak > 10 << 20


def test_a_process_that_fails_has_no_sizes(tmp_path: Path) -> None:
    engine = Engine(lambda *_: ["sh", "-c", "echo Tri 3; exit 1"], r"NAME (\d+)")
    failed = engines.evaluate(engine, "triangles", tmp_path, tmp_path)
    assert failed is not None
    assert failed.sizes == {}
    assert not agree({"one": failed})


def test_sizes_that_differ_are_told() -> None:
    one, other = (Usage(1.0, 1.0, 1 << 20, {"Tri": size}) for size in (3, 4))
    assert agree({"one": one, "other": one})
    assert not agree({"one": one, "other": other})
    assert cell({"tidelog": one, "other": other}, "other") == "1.00; 1 (1.00 x)"


def test_a_process_with_changes_ends_where_its_facts_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "ROWS", 5)
    facts = tmp_path / "facts"
    facts.mkdir()
    (facts / "Edge.csv").write_text("".join(f"{i},{i + 1}\n" for i in range(100)))
    changes.write("components", facts, tmp_path / "changes")
    present = {(i, i + 1) for i in range(100)}
    for number in range(changes.TRANSACTIONS):
        rows = {}
        for each in ("deleted", "inserted"):
            text = (tmp_path / "changes" / f"{number}.{each}.csv").read_text()
            rows[each] = {(int(x), int(y)) for x, y in (line.split(",") for line in text.splitlines())}
        assert len(rows["deleted"]) == 5
        assert rows["deleted"] <= present
        assert not rows["inserted"] & present
        present = present - rows["deleted"] | rows["inserted"]
    engine = changes._engines(1, tmp_path / "changes", changes.TRANSACTIONS)["tidelog"]
    usage = engines.evaluate(engine, "components", facts, tmp_path)
    assert usage is not None
    assert usage.sizes["Cc"] == len({node for edge in present for node in edge})


def test_an_engine_that_says_what_each_transaction_adds(tmp_path: Path) -> None:
    said = "t=0 Cc=7 Roots=2\nt=1 Cc=-3 Roots=2\nt=0 Roots=2"
    engine = Engine(lambda *_: ["echo", said.replace("Roots=2\nt=1", "\nt=1")], r"(t=\d+ NAME=-?\d+)", adds=True)
    usage = engines.evaluate(engine, "components", tmp_path, tmp_path)
    assert usage is not None
    assert usage.sizes == {"Cc": 4, "Roots": 2}
