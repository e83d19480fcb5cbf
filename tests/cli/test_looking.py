"""`tidelog query`, `watch`, and `show --rules`."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import tidelog as library
from tests.cli.conftest import Run
from tests.workbench.serving import serving
from tidelog.io import read_facts


@pytest.fixture
def store(closure: Path, tidelog: Run) -> Path:
    """The store `s` with e = {(1, 2), (2, 3)} and its closure t."""
    assert tidelog("init", "s", "closure.dl").code == 0
    return closure


def test_a_query_as_a_table(store: Path, tidelog: Run) -> None:
    outcome = tidelog("query", "s", "t(x, y), y > 2")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == "x  y\n-  -\n1  3\n2  3\n"


def test_a_query_as_csv_and_as_json(store: Path, tidelog: Run) -> None:
    assert tidelog("query", "s", "t(1, y)", "--csv").out == "x,y\n1,2\n1,3\n"
    document = json.loads(tidelog("query", "s", "t(1, y)", "--json").out)
    assert document == {"ok": True, "store": "s", "columns": ["x", "y"], "tuples": [[1, 2], [1, 3]]}


def test_a_query_of_texts_that_csv_has_to_quote(folder: Path, tidelog: Run) -> None:
    (folder / "p.dl").write_text('.decl n(x: symbol) n("a,b"). n("c\\"d").')
    tidelog("init", "s", "p.dl")
    assert tidelog("query", "s", "n(x)", "--csv").out == 'x\n"a,b"\n"c""d"\n'


def test_answers_read_back_or_are_rejected(folder: Path, tidelog: Run) -> None:
    rows = [("two\nlines", ""), ("a\tb", 'say "hi"'), (" nil ", "a\r"), ("\ufeff", "\0")]
    with library.connect(folder / "s") as db:
        db.load(".decl n(x: symbol, y: symbol)")
        db.insert("n", rows)
        db.commit()
    with library.connect() as db:
        db.load(".decl n(x: symbol, y: symbol)")
        relation = db.program.relations["n"]
        (folder / "n.csv").write_bytes(tidelog("query", "s", "n(x, y)", "--csv").out.encode())
        found = read_facts({"filename": "n.csv", "rfc4180": True, "headers": True}, folder, relation, db.dictionary)
        db.insert_words("n", found)
        db.commit()
        assert set(db["n"]) == set(rows)
    shown = tidelog("show", "s", "n")
    assert (shown.code, shown.out) == (1, "")
    assert "error[E0414]" in shown.err
    assert "hint: pass --json" in shown.err
    assert {tuple(row) for row in json.loads(tidelog("show", "s", "n", "--json").out)["tuples"]} == set(rows)


def test_a_query_for_records_that_json_cannot_nest(folder: Path, tidelog: Run) -> None:
    lists = "l(0, nil). l(n + 1, [n, x]) :- l(n, x), n < 3000."
    (folder / "p.dl").write_text(f".type L = [h: number, t: L] .decl l(n: number, x: L) {lists}")
    tidelog("init", "s", "p.dl")
    outcome = tidelog("query", "s", "l(3000, x)", "--json")
    assert (outcome.code, json.loads(outcome.out)["errors"][0]["code"]) == (1, "E0106")
    assert tidelog("query", "s", "l(3000, x)", "--csv").out.startswith('n,x\n3000,"[2999, [2998, ')


def test_a_query_of_a_server(tidelog: Run) -> None:
    with serving(None) as server:
        outcome = tidelog("query", server.address, "path(x, y), y > 3", "--csv")
    assert (outcome.code, outcome.out) == (0, "x,y\n1,4\n2,4\n3,4\n")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(("query", "s", "t(x"), 1), (("query", "nowhere", "t(x, y)"), 2), (("query", "http://127.0.0.1:1", "t(x, y)"), 2),
     (("query", "s", "u(x)"), 1)],
)  # fmt: skip
def test_wrong_queries(store: Path, tidelog: Run, arguments: tuple[str, ...], code: int) -> None:
    outcome = tidelog(*arguments)
    assert (outcome.code, outcome.out) == (code, "")
    assert "error[E" in outcome.err


def test_the_rules_of_a_store_with_the_sizes_of_their_views(store: Path, tidelog: Run) -> None:
    assert tidelog("show", "s", "--rules").out == (
        "rule  tuples  text\n"
        f"----  ------  {28 * chr(45)}\n"
        "r1         3  t(x, y) :- e(x, y).\n"
        "r2         3  t(x, z) :- t(x, y), e(y, z).\n"
    )
    rules = json.loads(tidelog("show", "s", "--rules", "--json").out)["rules"]
    assert rules[0] == {"name": "r1", "views": {"t": 3}, "text": "t(x, y) :- e(x, y)."}


def test_watch_prints_changes_of_a_server() -> None:
    with serving(None) as server:
        command = [sys.executable, "-m", "tidelog", "watch", server.address, "path", "edge", "-n", "3"]
        watching = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert watching.stderr is not None
        assert watching.stderr.readline() == "tidelog: watching path, edge; Ctrl-C ends this\n"
        with library.connect(server.address) as db:
            db.insert("edge", [(8, 9)])
            db.commit()
            db.delete("edge", [(8, 9)])
            db.commit()
        out, _ = watching.communicate(timeout=60)
    assert watching.returncode == 0
    lines = out.splitlines()
    assert len(lines) == 3
    assert set(lines) <= {"+ edge(8, 9)", "+ path(8, 9)", "- edge(8, 9)", "- path(8, 9)"}


def test_a_server_stops_a_query_that_needs_too_much_memory(store: Path) -> None:
    command = [sys.executable, "-m", "tidelog", "serve", str(store / "s"), "--port", "0", "--memory", "1MB"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        address = next(word for word in server.stdout.readline().split() if word.startswith("http:")).rstrip(";")
        with library.connect(address) as db:
            with pytest.raises(library.LimitError, match=r"E0503.*1\.0 MB"):
                db.query("t(x, y), t(y, z)")
            assert len(db["t"]) == 3
        server.send_signal(signal.SIGINT)
        assert server.wait(60) == 0


def test_a_server_with_a_new_store_reads_the_facts_of_its_program(closure: Path) -> None:
    (closure / "facts").mkdir()
    (closure / "e.facts").rename(closure / "facts" / "e.facts")
    command = [sys.executable, "-m", "tidelog", "serve", "new", "--program", "closure.dl", "-F", "facts", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=closure) as server:
        assert server.stdout is not None
        address = next(word for word in server.stdout.readline().split() if word.startswith("http:")).rstrip(";")
        with library.connect(address) as db:
            assert set(db["t"]) == {(1, 2), (2, 3), (1, 3)}
        server.send_signal(signal.SIGINT)
        assert server.wait(60) == 0


def test_watch_of_a_folder_says_what_to_do(store: Path, tidelog: Run) -> None:
    outcome = tidelog("watch", "s")
    assert outcome.code == 2
    assert "error[E0610]" in outcome.err
    assert "tidelog serve" in outcome.err


def test_watch_of_an_unknown_relation(tidelog: Run) -> None:
    with serving(None) as server:
        outcome = tidelog("watch", server.address, "nothing")
    assert outcome.code == 2
    assert "error[E0601]" in outcome.err
