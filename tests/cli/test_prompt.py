"""`tidelog` without a command: statements in a pipe and at the prompt, and scripts for shells."""

from __future__ import annotations

import io
import subprocess
from pathlib import Path

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from tests.cli.conftest import Outcome, Run
from tidelog.cli.entry import parser
from tidelog.cli.prompt import Session, _read_and_run, prompt_session, reader, statements
from tidelog.errors import TidelogError

PROGRAM = """\
.decl edge(x: number, y: number)
.decl path(x: number,
           y: number)
// what follows from it
edge(1, 2). edge(2, 3).
path(x, y) :- edge(x, y).
more: path(x, z) :-
  path(x, y), edge(y, z).
"""


@pytest.fixture
def session() -> Session:
    session = Session()
    for statement in statements(PROGRAM.splitlines()):
        session.execute(statement)
    return session


def piped(text: str, tidelog: Run, monkeypatch: pytest.MonkeyPatch) -> Outcome:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    monkeypatch.setattr("sys.argv", ["tidelog"])
    return tidelog()


def test_statements_of_a_pipe_print_what_changes(folder: Path, tidelog: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = piped(f"{PROGRAM}path(1, y), y > 2\n.quit\nnever(\n", tidelog, monkeypatch)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.splitlines() == [
        "+ edge(1, 2)", "+ edge(2, 3)", "+ path(1, 2)", "+ path(2, 3)", "+ path(1, 3)", "y", "-", "3"
    ]  # fmt: skip


def test_an_error_ends_a_pipe(folder: Path, tidelog: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = piped("edge(1, 2).\n.help\n", tidelog, monkeypatch)
    assert (outcome.code, outcome.out) == (1, "")
    assert "error[E0201]" in outcome.err


def test_lines_become_statements() -> None:
    assert list(statements(["a(x) :-", "b(x).", "", "// no", "a(1).", "a(x", ")", ".rules", "a(y) :- b(y)"])) == [
        "a(x) :-\nb(x).", "a(1).", "a(x\n)", ".rules", "a(y) :- b(y)"
    ]  # fmt: skip


def test_commands(session: Session, tmp_path: Path) -> None:
    assert session.execute(".rules").splitlines()[0] == "r1: path(x, y) :- edge(x, y)."
    assert "edge(2, 3)   [fact]" in session.execute(".explain path(1, 3)")
    assert "does not hold" in session.execute(".why-not path(3, 1)")
    assert session.execute(".ways-to-remove path(1, 2)") == "edge(1, 2)"
    assert session.execute(".delete edge(1, _)") == "- edge(1, 2)\n- path(1, 2)\n- path(1, 3)"
    assert session.execute("path(1, y)") == "nothing found"
    assert session.execute(".remove r1").startswith("- path(2, 3)")
    (tmp_path / "p.dl").write_text("edge(7, 8).\n")
    assert session.execute(f".load {tmp_path / 'p.dl'}") == "+ edge(7, 8)"
    assert ".why-not" in session.execute(".help")
    assert session.execute(".profile").splitlines()[1].split()[:2] == ["seconds", "share"]


def test_a_rule_with_a_name_can_be_typed_again(session: Session) -> None:
    assert session.execute("more: path(y, x) :- edge(x, y).") == "- path(1, 3)\n+ path(2, 1)\n+ path(3, 2)"


def test_an_error_changes_nothing(session: Session) -> None:
    for wrong in ("path(x) :- edge(x, _).", "edge(1", ".explain nothing(1)", ".load nowhere.dl", ".unknown"):
        with pytest.raises(TidelogError):
            session.execute(wrong)
        assert not session.db.has_pending
    assert len(session.db.rules) == 2


def test_many_changes_are_cut(session: Session) -> None:
    lines = session.execute("edge(x, x + 1) :- x = range(10, 60).").splitlines()
    assert len(lines) == 21
    assert lines[-1].startswith("  and 1,")


def test_the_prompt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], session: Session
) -> None:
    monkeypatch.setenv("TIDELOG_CACHE_DIR", str(tmp_path / "cache"))
    with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
        prompt = prompt_session(session)
        keys.send_text("edge(3, 4).\rnothing(1).\rback: path(y, x) :-\r edge(x, y).\r.quit\r")
        assert _read_and_run(session, prompt.prompt) == 0
    out = capsys.readouterr().out
    assert "+ path(1, 4)" in out
    assert "error[E0201]" in out
    assert "+ path(4, 3)" in out
    assert "+.quit" in (tmp_path / "cache/prompt_history").read_text()
    assert prompt.completer is not None
    for typed, completed in (("path(x, y) :- ed", "edge"), (".remove mo", "more"), ("qu", "quit"), (".wh", ".why-not")):
        found = prompt.completer.get_completions(Document(typed), CompleteEvent())
        assert [each.text for each in found] == [completed]


def test_the_prompt_without_packages_is_that_of_python(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], session: Session
) -> None:
    monkeypatch.setattr("tidelog.cli.prompt.is_installed", lambda module: module != "prompt_toolkit")
    monkeypatch.setattr("sys.stdin", io.StringIO("help\nedge(3,\n4).\nexit\nedge(5, 6).\n"))
    assert _read_and_run(session, reader(session)) == 0
    out = capsys.readouterr().out
    assert ".why-not path(3, 1)" in out
    assert "... + edge(3, 4)\n" in out
    assert "edge(5, 6)" not in out


def test_the_first_lines_can_be_typed(
    folder: Path, tidelog: Run, monkeypatch: pytest.MonkeyPatch, session: Session
) -> None:
    """A program without statements, too, says what to try."""
    outcome = piped("\n// nothing\n", tidelog, monkeypatch)
    assert (outcome.code, outcome.out) == (0, "")
    here, program, store = (line[19:] for line in outcome.err.splitlines()[1:4])
    assert Session().execute(here) == "+ edge(1, 2)"
    for command in (program, store):
        assert parser().parse_args(command.split()[1:]).execute
    assert piped("help\nquit\nnever(\n", tidelog, monkeypatch).out.startswith("edge(1, 2). ")
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    assert tidelog().out.startswith(outcome.err)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_for_a_shell(tidelog: Run, shell: str) -> None:
    outcome = tidelog("completion", shell)
    assert (outcome.code, outcome.err) == (0, "")
    assert "why-not" not in outcome.out
    assert "watch" in outcome.out


def test_bash_completes_commands(tidelog: Run, tmp_path: Path) -> None:
    (tmp_path / "script").write_text(tidelog("completion", "bash").out)
    asked = "source ./script; COMP_WORDS=(tidelog wa); COMP_CWORD=1; _shtab_tidelog; echo ${COMPREPLY[@]}"
    done = subprocess.run(["bash", "-c", asked], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == {"warm", "watch"}
