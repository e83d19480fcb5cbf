"""`tidelog init`, `apply`, `show`, and `check` of a store."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.texts import cases_of, python


@pytest.fixture
def store(closure: Path, tidelog: Run) -> Path:
    """The store `s` with e = {(1, 2), (2, 3)} and its closure t."""
    assert tidelog("init", "s", "closure.dl").code == 0
    (closure / "more.facts").write_text("3\t4\n")
    return closure


def test_a_new_store(closure: Path, tidelog: Run) -> None:
    outcome = tidelog("init", "s", "closure.dl", "-F", ".")
    assert (outcome.code, outcome.out, outcome.err) == (0, "s: 2 relations, 5 tuples\n", "")
    assert not (closure / "t.csv").exists()


def test_a_new_store_as_json_with_stats(closure: Path, tidelog: Run) -> None:
    document = json.loads(tidelog("init", "s", "closure.dl", "--json", "--stats").out)
    assert {key: document[key] for key in ("ok", "store", "relations")} == {
        "ok": True, "store": "s", "relations": {"e": 2, "t": 3},
    }  # fmt: skip
    assert document["stats"]["report"]["bootstraps"] == 1


@pytest.mark.parametrize(
    ("program", "code", "status"),
    [
        (".decl e(x: number)  .input e", "E0410", 1),
        ("a(x) :- b(x).", "E0201", 1),
        (".decl n(x: number)  n(1).  n(x + 1) :- n(x).", "E0502", 3),
    ],
)
def test_a_store_that_cannot_be_made_leaves_nothing(
    folder: Path, tidelog: Run, program: str, code: str, status: int
) -> None:
    (folder / "wrong.dl").write_text(program)
    outcome = tidelog("init", "s", "wrong.dl", "--max-rows", "1000")
    assert (outcome.code, outcome.out) == (status, "")
    assert f"error[{code}]" in outcome.err
    assert os.listdir(folder) == ["wrong.dl"]


def test_a_store_is_not_made_twice(store: Path, tidelog: Run) -> None:
    outcome = tidelog("init", "s", "closure.dl")
    assert outcome.code == 2
    assert "error[E0653]: the folder contains a store already" in outcome.err


def test_facts_come_and_go(store: Path, tidelog: Run) -> None:
    outcome = tidelog("apply", "s", "+e=more.facts")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.splitlines()[2:] == ["e                1        0", "t                3        0"]
    outcome = tidelog("apply", "s", "-e=more.facts", "--changes", "-")
    assert outcome.out.splitlines() == ["- e(3, 4)", "- t(1, 4)", "- t(2, 4)", "- t(3, 4)"]
    assert tidelog("apply", "s", "-e=more.facts").out == "nothing has changed\n"


def test_facts_from_standard_input(store: Path, tidelog: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"3\t1\n")))
    assert tidelog("apply", "s", "+e=-", "--changes", "-").out.splitlines()[0] == "+ e(3, 1)"


def test_rules_come_and_go(store: Path, tidelog: Run) -> None:
    (store / "loops.dl").write_text(".decl loop(x: number)\nloops: loop(x) :- t(x, x).\n")
    (store / "back.facts").write_text("3\t1\n")
    tidelog("apply", "s", "--add-rules", "loops.dl", "+e=back.facts")
    assert tidelog("show", "s", "loop").out.splitlines()[4:7] == ["1", "2", "3"]
    outcome = tidelog("apply", "s", "--remove-rule", "loops", "--stats")
    assert outcome.out.splitlines()[2:] == ["loop             0        3"]
    assert "it lost its last rule" in outcome.err


def test_an_instance_is_replaced(store: Path, tidelog: Run) -> None:
    (store / "one.dl").write_text(".comp One { .decl own(x: number) own(1). }\n.init part = One\n")
    (store / "two.dl").write_text(".comp Two { .decl own(x: number) own(2). }\n.init part = Two\n")
    tidelog("apply", "s", "--add-rules", "one.dl")
    tidelog("apply", "s", "--remove-instance", "part", "--add-rules", "two.dl")
    assert tidelog("show", "s", "part.own").out.splitlines()[4:5] == ["2"]


def test_changes_as_files(store: Path, tidelog: Run) -> None:
    document = json.loads(tidelog("apply", "s", "+e=more.facts", "--changes", "out", "--json").out)
    assert document["changes"] == {"e": {"inserted": 1, "deleted": 0}, "t": {"inserted": 3, "deleted": 0}}
    assert sorted(document["files"]) == sorted(f"out/{name}" for name in os.listdir(store / "out"))
    assert (store / "out/t.inserted.csv").read_text() == "1\t4\n2\t4\n3\t4\n"
    assert (store / "out/t.deleted.csv").read_text() == ""


@pytest.mark.parametrize(
    "options", ["", ", rfc4180=true, headers=true", ', delimiter=";", headers=true', ', columns="2:0"']
)
def test_changes_as_files_read_back(folder: Path, tidelog: Run, options: str) -> None:
    """By `apply` on another store, with the options of the declaration; as JSON where text cannot have them."""
    (folder / "r.dl").write_text(f'.decl r(x: symbol, y: symbol)\n.input r(filename="none"{options})\n')
    (folder / "none").write_text("x;y\n" if ";" in options else "x,y\n" if "headers" in options else "")
    for store in "st":
        assert tidelog("init", store, "r.dl").code == 0
    for facts in (["a", "b"], ["two\\nlines", "a;b"]):
        fact = f'r("{facts[0]}", "{facts[1]}")'
        assert tidelog("apply", "s", f"+{fact}", "--changes", "out").err == ""
        (inserted,) = (folder / "out").glob("r.inserted.*")
        changed = tidelog("apply", "t", f"+r={inserted}", "--changes", "-")
        assert changed.out == tidelog("apply", "s", f"-{fact}", "--changes", "-").out.replace("- ", "+ ", 1)


def test_changes_as_json(store: Path, tidelog: Run) -> None:
    document = json.loads(tidelog("apply", "s", "-e=e.facts", "--changes", "-", "--json").out)
    assert document["changes"]["t"] == {"inserted": [], "deleted": [[1, 2], [1, 3], [2, 3]]}


@pytest.mark.parametrize(("arguments", "said"), cases_of(__file__, "a change that is wrong changes nothing", python))
def test_a_change_that_is_wrong_changes_nothing(
    store: Path, tidelog: Run, arguments: tuple[str, ...], said: str
) -> None:
    (store / "bad.facts").write_text("7\t8\n9\tx\n")
    outcome = tidelog("apply", "s", "+e=more.facts", *arguments)
    assert outcome.code in (1, 2)
    assert said in outcome.err
    document = json.loads(tidelog("show", "s", "--json").out)
    assert document == {"ok": True, "store": "s", "epoch": 1, "relations": {"e": 2, "t": 3}}


def test_what_is_in_a_store(store: Path, tidelog: Run) -> None:
    assert tidelog("show", "s").out.splitlines()[2:] == ["e              2", "t              3"]
    document = json.loads(tidelog("show", "s", "t", "--json").out)
    assert (document["columns"], document["tuples"]) == (["x", "y"], [[1, 2], [1, 3], [2, 3]])


def test_the_answer_to_a_query(store: Path, tidelog: Run) -> None:
    assert tidelog("show", "s", "t(1, x), e(x, y)").out.splitlines()[4:] == ["2\t3", "==============="]
    document = json.loads(tidelog("show", "s", "t(1, x)", "--json").out)
    assert (document["columns"], document["tuples"]) == (["x", "y"], [[1, 2], [1, 3]])
    wrong = tidelog("show", "s", "t(1, x), x > y")
    assert wrong.code == 1
    assert "<query>:1:14: error[E0217]" in wrong.err


def test_the_views_of_a_store_are_proved(store: Path, tidelog: Run) -> None:
    assert tidelog("check", "s").out == "s: the views follow from the facts and the rules (2 relations, 2 rules)\n"
    assert json.loads(tidelog("check", "s", "--json").out) == {"ok": True, "store": "s", "relations": 2, "rules": 2}


@pytest.mark.parametrize("command", [("apply", "nowhere"), ("show", "nowhere")])
def test_no_store(folder: Path, tidelog: Run, command: tuple[str, str]) -> None:
    outcome = tidelog(*command)
    assert outcome.code == 2
    assert "error[E0654]: the folder contains no store" in outcome.err
    assert os.listdir(folder) == []
