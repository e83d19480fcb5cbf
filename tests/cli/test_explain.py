"""`tidelog explain`, and `tidelog run --explain`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tidelog
from tests.explain.lean_checker import conclusions
from tests.explain.test_proofs import FACTS, PROGRAM, PROOFS
from tidelog.cli.entry import main

GOAL = 'r("a", "d")'


@pytest.fixture
def store(tmp_path: Path) -> str:
    folder = tmp_path / "views.tide"
    with tidelog.connect(folder) as db:
        db.load(PROGRAM)
        for name, rows in FACTS.items():
            db.insert(name, rows)
        db.commit()
    return str(folder)


def test_a_proof_is_printed(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", store, GOAL]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("   [")[0] for line in lines] == [
        line.split("   [")[0] for line in PROOFS["r", ("a", "d")].splitlines()
    ]


def test_other_explanations_are_printed(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", store, GOAL, "--all", "2"]) == 0
    assert capsys.readouterr().out.count(GOAL) == 2
    assert main(["explain", store, 'r("d", "b")', "--not"]) == 0
    assert "does not hold" in capsys.readouterr().out
    assert main(["explain", store, GOAL, "--blame"]) == 0
    assert capsys.readouterr().out.startswith('r("a", "d") holds since epoch 1\n')
    assert main(["explain", store, GOAL, "--ways-to-remove", "1"]) == 0
    assert capsys.readouterr().out == 'e("c", "d")\n'
    assert main(["explain", store, 'closed("zz", "b")', "--ways-to-derive", "1"]) == 0
    assert capsys.readouterr().out == 'e("zz", "b")\n'
    assert main(["explain", store, 'r("d", "b")', "--ways-to-derive", "1"]) == 0
    assert capsys.readouterr().out == "nothing found\n"


def test_explanations_as_json(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", store, GOAL, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["explanations"][0]["steps"][-1]["tuple"] == ["a", "d"]
    assert main(["explain", store, GOAL, "--ways-to-remove", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["explanations"] == [[["e", ["c", "d"]]]]


def test_a_proof_is_written(store: str, tmp_path: Path) -> None:
    page, graph = tmp_path / "proof.html", tmp_path / "proof.dot"
    assert main(["explain", store, GOAL, "--html", str(page)]) == 0
    assert main(["explain", store, GOAL, "--draw", str(tmp_path / "proof.svg")]) == 0
    assert "<svg" in (tmp_path / "proof.svg").read_text(encoding="utf-8")
    assert 'r(\\"a\\", \\"d\\")' in page.read_text(encoding="utf-8")
    assert main(["explain", store, GOAL, "--dot", str(graph)]) == 0
    assert graph.read_text(encoding="utf-8").startswith("digraph proof {")
    lean = tmp_path / "proof.json"
    assert main(["explain", store, 'far("a", "a")', "--lean", str(lean)]) == 0
    assert conclusions(lean.read_text(encoding="utf-8"))[-1] == ("far", ('"a"', '"a"'))


def test_what_another_checker_cannot_read_is_not_written(store: str, tmp_path: Path) -> None:
    path = tmp_path / "proof.json"
    assert main(["explain", store, GOAL, "--lean", str(path)]) == 2
    assert not path.exists()


def test_all_members_are_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(tmp_path / "store")
    with tidelog.connect(folder) as db:
        db.load(".decl e(x: number) .decl c(n: number) c(n) :- n = count : { e(_) }.")
        db.insert("e", [(i,) for i in range(5)])
        db.commit()
    assert main(["explain", folder, "c(5)"]) == 0
    assert "[5 members: e(0), e(1), e(2), …]" in capsys.readouterr().out
    assert main(["explain", folder, "c(5)", "--members"]) == 0
    assert "[5 members: e(0), e(1), e(2), e(3), e(4)]" in capsys.readouterr().out
    page = tmp_path / "proof.html"
    assert main(["explain", folder, "c(5)", "--members", "--html", str(page)]) == 0
    assert "[5 members: e(0), e(1), e(2), e(3), e(4)]" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("sort", ["--not", "--blame", "--all=2", "--ways-to-remove=1", "--ways-to-derive=1"])
@pytest.mark.parametrize("form", ["--html", "--dot", "--draw", "--lean"])
def test_files_have_proofs_only(
    store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], sort: str, form: str
) -> None:
    path = tmp_path / "proof.svg"
    with pytest.raises(SystemExit, match="2"):
        main(["explain", store, GOAL, sort, form, str(path)])
    assert "write one proof" in capsys.readouterr().err
    assert not path.exists()


def test_the_hint_for_a_tuple_that_does_not_hold_names_the_option(
    store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", store, 'r("d", "b")', "--ways-to-remove", "1"]) == 2
    assert "hint: ask with --not for the reason" in capsys.readouterr().err
    assert main(["explain", store, 'r("d", "b")', "--not"]) == 0
    reason = capsys.readouterr().out
    assert main(["explain", store, 'r("d", "b")']) == 0
    assert capsys.readouterr().out == reason
    assert main(["explain", store, 'r("d", "b")', "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["explanations"]
    assert (found["relation"], found["tuple"]) == ("r", ["d", "b"])
    assert found["attempts"]


def test_a_search_that_is_cut_short_prints_its_answers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(tmp_path / "store")
    with tidelog.connect(folder) as db:
        db.load(".decl q(x: number, y: number) .decl r(y: number) .decl p(x: number) p(x) :- q(x, y), r(y).")
        db.insert("q", [(0, y) for y in range(201)])
        db.commit()
    assert main(["explain", folder, "p(0)", "--ways-to-derive", "1000"]) == 3
    shown = capsys.readouterr()
    assert shown.out.count("r(") == 200
    assert "E0505" in shown.err
    assert main(["explain", folder, "p(0)", "--not", "--timeout", "0.000000001"]) == 3
    assert not capsys.readouterr().out


@pytest.mark.parametrize(
    ("goal", "code", "status"),
    [
        ('r("a", x)', "E0673", 2),
        ('r("a", "b"), e("a", "b")', "E0673", 2),
        ('<e+>("a", "b")', "E0673", 2),
        ('nobody("a")', "E0201", 1),
        ("r(", "E0101", 1),
    ],
)
def test_what_is_no_tuple_to_explain(
    store: str, capsys: pytest.CaptureFixture[str], goal: str, code: str, status: int
) -> None:
    assert main(["explain", store, goal]) == status
    assert f"[{code}]" in capsys.readouterr().err


def test_a_tuple_of_one_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "p.dl"
    program.write_text(
        ".decl e(x: number, y: number)\n.input e\n.decl t(x: number, y: number)\n.output t\n"
        "one: t(x, y) :- e(x, y).\ntwo: t(x, z) :- t(x, y), e(y, z).\n"
    )
    (tmp_path / "e.facts").write_text("1\t2\n2\t3\n")
    arguments = ["run", str(program), "-F", str(tmp_path), "-D", str(tmp_path / "out"), "--explain"]
    assert main([*arguments, "t(1, 3)"]) == 0
    assert capsys.readouterr().out.splitlines()[0].startswith("t(1, 3)   [")
    assert not (tmp_path / "out").exists()
    assert main([*arguments, "t(3, 1)"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "t(3, 1) does not hold: no rule derives it",
        f"  [one at {program}:5:1]",
        "    fails: e(3, 1)",
        f"  [two at {program}:6:1]",
        "    fails: t(3, y)",
    ]
    assert main([*arguments, "t(3, 1)", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["explanations"][0]["attempts"]) == 2
