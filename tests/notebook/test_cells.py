"""`%%tidelog` cells, in IPython's shell and in a kernel as notebooks start it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell

import tidelog
from tests.notebook.kernel import started

CELL = """%%tidelog
.decl edge(x: number, y: number)
.decl path(x: number, y: number)
edge(1, 2). edge(2, 3).
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""


@pytest.fixture
def shell() -> Iterator[InteractiveShell]:
    InteractiveShell.clear_instance()
    found = InteractiveShell.instance()
    found.run_line_magic("load_ext", "tidelog")
    yield found
    InteractiveShell.clear_instance()


def run(shell: InteractiveShell, text: str, cell: str | None = None) -> object:
    done = shell.run_cell(text, cell_id=cell)
    return done.error_before_exec or done.error_in_exec


def test_a_cell_makes_a_database_and_shows_the_change(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(shell, CELL) is None
    assert sorted(shell.user_ns["db"]["path"]) == [(1, 2), (1, 3), (2, 3)]
    assert "<Change: edge +2 -0, path +3 -0;" in capsys.readouterr().out


def test_the_same_cell_again_replaces_its_rules_and_facts(shell: InteractiveShell) -> None:
    run(shell, CELL, "first")
    edited = CELL.replace("edge(2, 3).", "edge(2, 4).").replace("path(x, y) :- edge", "path(y, x) :- edge")
    assert run(shell, edited, "first") is None
    db = shell.user_ns["db"]
    assert sorted(db["edge"]) == [(1, 2), (2, 4)]
    assert len(db.rules) == 2
    assert sorted(db["path"]) == [(2, 1), (2, 2), (2, 4), (4, 2), (4, 4)]


def test_another_cell_adds_to_it(shell: InteractiveShell) -> None:
    run(shell, CELL, "first")
    assert run(shell, "%%tidelog\nedge(3, 4).\n", "second") is None
    assert len(shell.user_ns["db"]["path"]) == 6


def test_a_cell_names_its_database(shell: InteractiveShell) -> None:
    run(shell, CELL.replace("%%tidelog", "%%tidelog roads"))
    assert isinstance(shell.user_ns["roads"], tidelog.Database)
    assert "db" not in shell.user_ns


def test_another_value_is_no_database(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    run(shell, "db = 3")
    assert isinstance(run(shell, CELL), tidelog.UsageError)
    assert capsys.readouterr().out.startswith("error[E0635]")


def test_an_error_is_one_message_and_changes_nothing(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    run(shell, CELL, "first")
    run(shell, "db.insert('edge', [(7, 8)])")
    capsys.readouterr()
    assert isinstance(run(shell, CELL.replace("path(x, y) :-", "pat(x, y) :-"), "first"), tidelog.ProgramError)
    shown = capsys.readouterr().out
    assert "Traceback" not in shown
    assert "error[E0201]" in shown
    assert len(shown.splitlines()) < 10
    db = shell.user_ns["db"]
    assert len(db.rules) == 2
    assert db.has_pending
    assert sorted(db.commit()["path"].inserted) == [(7, 8)]


def test_a_commit_that_fails_takes_the_cell_back(shell: InteractiveShell) -> None:
    run(shell, CELL, "first")
    run(shell, "db.options(max_rows=1)")
    assert isinstance(run(shell, CELL.replace("edge(2, 3).", "edge(2, 3). edge(3, 4). edge(4, 5)."), "first"),
                      tidelog.LimitError)  # fmt: skip
    db = shell.user_ns["db"]
    assert not db.has_pending
    assert sorted(db["edge"]) == [(1, 2), (2, 3)]


def test_other_interrupts_and_errors_look_as_before(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    run(shell, "raise KeyboardInterrupt('mine')")
    assert "Traceback (most recent call last)" in capsys.readouterr().out
    run(shell, "1 / 0")
    assert "ZeroDivisionError" in capsys.readouterr().out


@pytest.mark.parametrize(("begun", "names"), [("path(x) :- ed", ["edge"]), ("", ["edge", "path"]), ("q(p", ["path"])])
def test_names_of_relations_are_completed(shell: InteractiveShell, begun: str, names: list[str]) -> None:
    run(shell, CELL)

    def completed(text: str) -> list[str]:
        with provisionalcompleter():
            return [each.text for each in shell.Completer.completions(text, len(text)) if each.type == "relation"]

    assert completed(f"%%tidelog\n{begun}") == names
    assert completed(f"x\n{begun}") == []


LONG = """%%tidelog
.decl count(n: number)
count(0).
count(n + 1) :- count(n), n < 1000000000000.
"""


def test_an_interrupt_in_a_kernel_leaves_the_database_as_it_was() -> None:
    with started() as kernel:

        def interrupt(message: dict[str, Any]) -> None:
            if message["msg_type"] == "display_data":  # It is a bar: the commit is under way.
                kernel.manager.interrupt_kernel()

        assert kernel.run("%load_ext tidelog").status == "ok"
        assert "<caption>path: +3 -0</caption>" in kernel.run(CELL).shown[-1]["text/html"]
        stopped = kernel.run(LONG, interrupt)
        bars = [each["text/html"] for each in stopped.shown]
        assert re.fullmatch(r'<progress value="1" max="2"></progress> the epoch, count, [\d,]+ tuples, \d+ s', bars[0])
        assert bars[-1] == ""  # It has ended.
        assert (stopped.status, stopped.error["ename"]) == ("error", "KeyboardInterrupt")
        assert stopped.error["traceback"] == ["tidelog: interrupted; an epoch that has not ended changes nothing"]
        state = kernel.run("db.relations, sorted(db['path']), db.has_pending").shown[-1]["text/plain"]
        assert state == "(('edge', 'path'), [(1, 2), (1, 3), (2, 3)], False)"
        assert "edge: +1 -0" in kernel.run("%%tidelog\nedge(3, 4).\n").shown[-1]["text/html"]
