"""`tidelog run`: what is read, what is written, and what becomes of mistakes."""

from __future__ import annotations

import gzip
import io
import json
import re
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Run


def test_reads_facts_and_writes_outputs(closure: Path, process: Run) -> None:
    outcome = process("run", "closure.dl", "-F", ".", "-D", "out")
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "")
    assert sorted((closure / "out/t.csv").read_text().splitlines()) == ["1\t2", "1\t3", "2\t3"]
    assert [file.name for file in (closure / "out").iterdir()] == ["t.csv"]


def test_searches_for_garbage_pass_over_the_program(folder: Path, process: Run) -> None:
    marked = "@tidelog.functor('number -> number')\ndef frozen(x):\n    return int(gc.get_freeze_count() > x)\n"
    (folder / "own.py").write_text(f"import gc\nimport tidelog\n\n{marked}")
    (folder / "p.dl").write_text(
        ".functor frozen(x: number): number\n.decl r(x: number)\nr(@frozen(1000)).\n.output r\n"
    )
    assert process("run", "p.dl", "--functors", "own.py", "-D", "out").code == 0
    assert (folder / "out/r.csv").read_text() == "1\n"


def test_options_of_directives(folder: Path, tidelog: Run) -> None:
    (folder / "people.csv").write_text('name,age\nann,"30"\n"b, c",40\n')
    (folder / "p.dl").write_text(
        """
        .decl person(name: symbol, age: number)
        .input person(filename="people.csv", rfc4180=true, headers=true)
        .decl old(name: symbol)
        .output old(filename="old.txt.gz", compress=true)
        old(n) :- person(n, a), a > 35.
        """
    )
    assert tidelog("run", "p.dl", "-D", "out").code == 0
    with gzip.open(folder / "out/old.txt.gz", "rt") as stream:
        assert stream.read() == "b, c\n"


def test_one_relation_reads_the_standard_input(folder: Path, tidelog: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second one would find nothing left."""
    program = ".decl a(x: number) .decl b(x: number)\n.input a(IO=stdin)\n.printsize a, b\n"
    (folder / "p.dl").write_text(program)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"3\n4\n")))
    assert tidelog("run", "p.dl").out == "a\t2\nb\t0\n"
    (folder / "p.dl").write_text(f"{program}.input b(IO=stdin)\n")
    outcome = tidelog("run", "p.dl")
    assert outcome.code == 1
    assert "p.dl:4:8: error[E0413]: `a` and `b` both read the standard input" in outcome.err
    assert "p.dl:2:8: note: `a` reads it to its end" in outcome.err


PAIR = """\
.decl a(x: number) .decl b(x: number)
a(1). b(2).
"""


def test_two_outputs_of_one_file_are_an_error_before_the_run(folder: Path, tidelog: Run) -> None:
    for outputs, message in (
        (
            '.output a(filename="a.txt")\n.output b(filename="./a.txt")\n',
            "`a` and `b` are both written to the file a.txt",
        ),
        ('.output a\n.output b(filename="a.csv")\n', "`a` and `b` are both written to the file a.csv"),
        (
            '.output a(IO=sqlite, dbname="a.db")\n.output b(IO=json, filename="a.db")\n',
            "are both written to the file a.db",
        ),
        ('.output a\n.output a(delimiter=";")\n', "`a` is written to the file a.csv twice, with different options"),
    ):
        (folder / "p.dl").write_text(PAIR + outputs)
        for command in (("run", "p.dl", "-D", "out"), ("run", "p.dl", "-D", "out", "--json"), ("check", "p.dl")):
            outcome = tidelog(*command)
            assert outcome.code == 1, command
            if "--json" not in command:
                assert re.match(r"p\.dl:4:\d+: error\[E0413\]: ", outcome.err)
                assert message in outcome.err
                assert re.search(r"^p\.dl:3:\d+: note: the other `.output` of this file", outcome.err, re.M)
        assert not (folder / "out").exists()


def test_outputs_that_lose_nothing_may_share_a_file(folder: Path, tidelog: Run) -> None:
    for outputs in (
        '.output a, b(IO=sqlite, dbname="both.db")\n',
        ".output a, b(IO=stdout)\n",
        ".output a\n.output a\n",
    ):
        (folder / "p.dl").write_text(PAIR + outputs)
        assert tidelog("run", "p.dl", "-D", "out").code == 0, outputs
        assert tidelog("check", "p.dl").code == 0, outputs
    (folder / "p.dl").write_text(f'{PAIR}.output a, b(filename="a.txt")\n')
    assert tidelog("run", "p.dl", "-D", "-").code == 0  # Nothing is written to files.


def test_json(closure: Path, tidelog: Run) -> None:
    outcome = tidelog("run", "closure.dl", "-D", "-", "--json")
    document = json.loads(outcome.out)
    assert document.pop("seconds") > 0
    assert document == {
        "ok": True,
        "program": "closure.dl",
        "outputs": {"t": {"rows": 3, "columns": ["x", "y"], "file": None, "tuples": [[1, 2], [1, 3], [2, 3]]}},
        "sizes": {},
        "warnings": [],
    }


def test_json_of_files(closure: Path, tidelog: Run) -> None:
    document = json.loads(tidelog("run", "closure.dl", "-D", "out", "--json").out)
    assert document["outputs"] == {"t": {"rows": 3, "columns": ["x", "y"], "file": "out/t.csv"}}


def test_json_has_special_values_as_text(folder: Path, tidelog: Run) -> None:
    (folder / "p.dl").write_text(
        ".type P = [a: number, p: P]\n.decl a(x: float, p: P, u: unsigned)\n.output a\n"
        'a(to_float("inf"), [1, [2, nil]], 18446744073709551615) :- true.\n'
    )
    document = json.loads(tidelog("run", "p.dl", "-D", "-", "--json").out)
    assert document["outputs"]["a"]["tuples"] == [["inf", [1, [2, None]], 18446744073709551615]]


def test_values_with_branches_in_all_outputs(folder: Path, tidelog: Run) -> None:
    (folder / "b.dl").write_text(
        ".type L = N {} | C { x: number, l: L }\n.decl a(l: L, p: symbol)\n.input a\n.decl b(l: L)\n.output b\n"
        "b($C(0, l)) :- a(l, _).\n"
    )
    (folder / "a.facts").write_text("$C( 1 ,$N )\tx\n$N()\ty\n")
    assert tidelog("run", "b.dl", "-D", "-").out.splitlines()[4:6] == ["$C(0, $C(1, $N))", "$C(0, $N)"]
    document = json.loads(tidelog("run", "b.dl", "-D", "-", "--json").out)
    assert document["outputs"]["b"]["tuples"] == [[["$C", 0, ["$C", 1, ["$N"]]]], [["$C", 0, ["$N"]]]]
    (folder / "a.facts").write_text("$N\tx\n$C(1,\n$N)\ty\n")
    outcome = tidelog("run", "b.dl", "-D", "-")
    assert outcome.code == 1
    assert "a.facts:2:1: error[E0405]: expected 2 columns, found 1" in outcome.err
    (folder / "a.facts").write_text("$N\tx\n$C(1, $M)\ty\n")
    assert "a.facts:2:7: error[E0401]: in the value '$C(1, $M)': a L has no branch M" in tidelog("run", "b.dl").err


def test_stats_name_the_rules_and_sizes(closure: Path, tidelog: Run) -> None:
    outcome = tidelog("run", "closure.dl", "--stats")
    assert outcome.out == ""
    lines = outcome.err.splitlines()
    assert lines[0].split() == ["rules", "strategy", "reason", "seconds", "impact"]
    assert lines[2].split()[:4] == ["r1", "r2", "bootstrap", "new"]
    assert any(line.split()[:2] == ["relations.t", "3"] for line in lines)


def test_stats_as_json(closure: Path, tidelog: Run) -> None:
    stats = json.loads(tidelog("run", "closure.dl", "--stats", "--json").out)["stats"]
    assert (stats["report"]["bootstraps"], stats["report"]["updates"]) == (1, 0)
    node = stats["report"]["nodes"][0]
    assert (node["rules"], node["relations"]) == (["r1", "r2"], ["t"])
    assert (node["strategy"], node["reason"], node["impact"]) == ("bootstrap", "new", 3)


def test_time_limit(folder: Path, tidelog: Run) -> None:
    (folder / "p.dl").write_text(".decl n(x: number)\n.output n\nn(0).\nn((x + 1) % 1000000000) :- n(x).\n")
    outcome = tidelog("run", "p.dl", "--timeout", "0.2", "--json")
    assert outcome.code == 3
    document = json.loads(outcome.out)
    assert (document["ok"], document["exit"], document["errors"][0]["code"]) == (False, 3, "E0501")


def test_what_only_outputs_need_is_derived_on_demand(folder: Path, tidelog: Run) -> None:
    (folder / "p.dl").write_text(
        ".decl parent(x: number, y: number)\n.input parent\n.decl sg(x: number, y: number)\n.decl q(y: number)\n"
        ".output q\nsg(x, x) :- parent(x, _).\nsg(x, x) :- parent(_, x).\n"
        "sg(x, y) :- parent(a, x), sg(a, b), parent(b, y).\nq(y) :- sg(5, y).\n"
    )
    (folder / "parent.facts").write_text("".join(f"{x // 2}\t{x}\n" for x in range(2, 2048)))
    document = json.loads(tidelog("run", "p.dl", "-D", "-", "--check", "--stats", "--json").out)
    assert document["outputs"]["q"]["tuples"] == [[4], [5], [6], [7]]
    assert document["stats"]["sizes"]["relations"]["sg"] == 7  # of 1,398,101
    assert document["stats"]["sizes"]["derivations"] < 2200
    assert "new; on demand" in [node["reason"] for node in document["stats"]["report"]["nodes"]]


def test_what_few_facts_ask_for_is_derived_on_demand(folder: Path, tidelog: Run) -> None:
    (folder / "p.dl").write_text(
        ".decl parent(x: number, y: number)\n.decl who(x: number)\n.input parent, who\n"
        ".decl sg(x: number, y: number)\n.decl q(y: number)\n.output q\nsg(x, x) :- parent(x, _).\n"
        "sg(x, x) :- parent(_, x).\nsg(x, y) :- parent(a, x), sg(a, b), parent(b, y).\nq(y) :- who(x), sg(x, y).\n"
    )
    (folder / "parent.facts").write_text("".join(f"{x // 2}\t{x}\n" for x in range(2, 512)))
    for asked, tuples in ([5], 7), (range(2, 512), 87_381):
        (folder / "who.facts").write_text("".join(f"{x}\n" for x in asked))
        document = json.loads(tidelog("run", "p.dl", "-D", "-", "--check", "--stats", "--json").out)
        assert document["stats"]["sizes"]["relations"]["sg"] == tuples
        assert len(document["outputs"]["q"]["tuples"]) == (4 if tuples == 7 else 510)


def test_a_profile_is_a_page_or_data(closure: Path, tidelog: Run) -> None:
    assert tidelog("run", "closure.dl", "--profile", "run.json").code == 0
    document = json.loads((closure / "run.json").read_text())
    assert len(document["epochs"]) == 1
    assert document["rules"][0]["text"]
    assert tidelog("run", "closure.dl", "--profile", "run.html").code == 0
    assert "<h1>Profile</h1>" in (closure / "run.html").read_text()
