"""Progress of commands: a bar on a terminal, nothing in a pipe; and the function of `tidelog.progress`."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import tidelog as library
from tests.cli.conftest import Run

_SECONDS = 60.0
LONG = """\
.decl zero(x: number)
.decl start(x: number)
.decl count(x: number)
.output start
zero(0).
start(x) :- zero(x).
count(x) :- start(x).
count(x + 1) :- count(x), x < 1000000000000.
"""


def test_a_terminal_shows_a_bar_that_goes_at_the_end(folder: Path) -> None:
    (folder / "long.dl").write_text(LONG)
    command = [sys.executable, "-m", "tidelog", "run", "long.dl", "-D", "-"]
    controller, terminal = pty.openpty()
    with subprocess.Popen(command, stdout=terminal, stderr=terminal, env={**os.environ, "TERM": "xterm"}) as process:
        os.close(terminal)
        shown = ""
        while " tuples" not in shown:
            part = _read(controller)
            assert part, shown  # The command has ended.
            shown += part
        process.send_signal(signal.SIGINT)
        while part := _read(controller):
            shown += part
        assert process.wait(60) == 130
    os.close(controller)
    assert "the epoch" in shown
    assert "1/2" in shown
    erased = shown.rindex("\x1b[2K")
    assert "the epoch" not in shown[erased:]
    assert "tidelog: interrupted" in shown[erased:]


def _read(terminal: int) -> str:
    assert select.select([terminal], [], [], _SECONDS)[0], "the command writes nothing"
    try:
        return os.read(terminal, 65536).decode(errors="replace")
    except OSError:  # Linux says so when the last process has closed its end.
        return ""


def test_a_pipe_gets_none(folder: Path) -> None:
    (folder / "long.dl").write_text(LONG)
    command = [sys.executable, "-m", "tidelog", "run", "long.dl", "-D", "-", "--timeout", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == ""
    assert done.stderr.startswith("error[E0501]")
    assert "\x1b" not in done.stderr


ENDLESS = """\
.decl even(x: number)
.decl odd(x: number)
.output even
even(0).
odd(x + 1) :- even(x).
even(x + 1) :- odd(x).
"""


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Long work begins at once."""
    monkeypatch.setattr("tidelog.limits.progress.LOGGED_AFTER", 0.0)


@pytest.mark.usefixtures("impatient")
def test_lines_name_the_relations_that_grow(tidelog: Run, folder: Path) -> None:
    (folder / "endless.dl").write_text(ENDLESS)
    found = tidelog("run", "endless.dl", "-D", "-", "--max-rows", "100")
    assert found.code == 3
    shown, _, _ = found.err.partition("error[E0502]")
    for line in shown.splitlines():
        assert line.startswith("tidelog: the epoch has run for ")
        sizes = {name: int(rows) for name, rows in re.findall(r"`(\w+)` has (\d+) tuples", line)}
        rounds = re.search(r" after (\d+) rounds$", line)
        assert rounds is not None
        assert sizes.keys() == {"even", "odd"}
        assert abs(sum(sizes.values()) - int(rounds[1])) <= 1
    assert shown


@pytest.mark.usefixtures("impatient")
def test_the_library_logs_and_prints_nothing(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    with library.connect() as db:
        db.load(ENDLESS)
        db.options(max_rows=100)
        with pytest.raises(library.LimitError):
            db.commit()
        assert caplog.records == []
        with caplog.at_level("INFO", "tidelog.progress"), pytest.raises(library.LimitError):
            db.commit()
    assert {record.name for record in caplog.records} == {"tidelog.progress"}
    assert "`even` has" in caplog.messages[-1]
    assert capsys.readouterr() == ("", "")


def test_a_function_hears_of_long_work_and_of_its_end() -> None:
    heard: list[library.Progress] = []

    def hear(state: library.Progress) -> None:
        heard.append(state)
        if sum(each.step == "count" for each in heard) == 3:
            raise KeyError("enough")

    with library.connect() as db:
        db.load(LONG)
        with library.progress(hear), pytest.raises(KeyError, match="enough"):
            db.commit()
        assert db.has_pending  # An exception of the function ends the work, and nothing has changed.
        known = len(heard)
        db.options(timeout=0.5)
        with pytest.raises(library.LimitError):
            db.commit()
        assert len(heard) == known  # The block has ended.
    assert [state.ended for state in heard] == [False] * (known - 1) + [True]
    first, second, third, last = heard[-4:]
    assert {(state.work, state.step, state.done, state.of) for state in (first, second, third, last)} == {
        ("the epoch", "count", 1, 2)
    }
    assert first.rows < second.rows < third.rows
    assert first.seconds < second.seconds < third.seconds <= last.seconds


def test_of_many_mutually_recursive_relations_a_step_names_three() -> None:
    heard: list[library.Progress] = []
    with library.connect() as db, library.progress(heard.append):
        rules = [f"{name}(x + 1) :- {of}(x)." for name, of in zip("abcde", "eabcd", strict=True)]
        db.load("\n".join([*(f".decl {name}(x: number)" for name in "abcde"), *rules, "a(0)."]))
        db.options(timeout=1.5)
        with pytest.raises(library.LimitError):
            db.commit()
    steps = {state.step for state in heard if state.step}
    assert len(steps) == 1
    assert re.fullmatch(r"[a-e], [a-e], [a-e], 2 others", steps.pop())


def test_short_work_calls_nobody() -> None:
    heard: list[library.Progress] = []
    with library.connect() as db, library.progress(heard.append):
        db.load(".decl a(x: number) a(1).")
        db.options(timeout=60)
        db.commit()
    assert [state for state in heard if state.seconds < 0.1] == []


def test_files_of_facts_are_steps(tidelog: Run, closure: Path) -> None:
    heard: list[library.Progress] = []
    with library.progress(heard.append):
        assert tidelog("run", "closure.dl", "-D", "-").code == 0
    assert [(state.work, state.done, state.of, state.ended) for state in heard[:2]] == [
        ("reading e", 0, 1, False),
        ("reading e", 0, 1, True),
    ]


def test_opening_a_store_is_a_step(tidelog: Run, closure: Path) -> None:
    assert tidelog("init", "store", "closure.dl").code == 0
    heard: list[library.Progress] = []
    with library.progress(heard.append):
        assert tidelog("show", "store", "t").code == 0
    assert [(state.work, state.ended) for state in heard][:1] == [("opening store", False)]
    assert heard[-1].ended
