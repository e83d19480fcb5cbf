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


def test_a_new_store_as_json_with_stats(closure: Path, tidelog: Run) -> None:
    document = json.loads(tidelog("init", "s", "closure.dl", "--json", "--stats").out)
    assert {key: document[key] for key in ("ok", "store", "relations")} == {
        "ok": True, "store": "s", "relations": {"e": 2, "t": 3},
    }  # fmt: skip
    assert document["stats"]["report"]["bootstraps"] == 1


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


@pytest.mark.parametrize(("asked", "tuples"), [("t", [[1, 2], [1, 3], [2, 3]]), ("t(1, x)", [[1, 2], [1, 3]])])
def test_tuples_as_json(store: Path, tidelog: Run, asked: str, tuples: list[list[int]]) -> None:
    document = json.loads(tidelog("show", "s", asked, "--json").out)
    assert (document["columns"], document["tuples"]) == (["x", "y"], tuples)
