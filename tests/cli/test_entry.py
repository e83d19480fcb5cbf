"""Behaviour of all commands: usage, version, interruptions, closed pipes, faults of tidelog."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.cli.conftest import Run, without_progress
from tidelog.cli import check, programs

LARGE = ".decl n(x: number)\n.output n\nn(x) :- x = range(0, 200000).\n"


def test_version(tidelog: Run) -> None:
    assert tidelog("--version").out == f"tidelog {version('tidelog')}\n"


def test_help_names_every_command(tidelog: Run) -> None:
    outcome = tidelog("--help")
    assert outcome.code == 0
    for command in ("run", "check", "graph", "demo"):
        assert f"\n    {command} " in outcome.out


@pytest.mark.parametrize(
    "arguments",
    [
        ("fly",),
        ("run",),
        ("check", "a.dl", "b.dl"),
        ("run", "a.dl", "--timeout", "-1"),
        ("run", "a.dl", "--max-rows", "x"),
    ],
)
def test_wrong_usage(tidelog: Run, arguments: tuple[str, ...]) -> None:
    outcome = tidelog(*arguments)
    assert outcome.code == 2
    assert outcome.err.startswith("usage: tidelog")


@pytest.mark.parametrize("command", ["apply", "format", "rdf serve"])
def test_wrong_usage_of_a_command_shows_its_usage(tidelog: Run, command: str) -> None:
    outcome = tidelog(*command.split(), "some", "--colour")
    assert outcome.code == 2
    assert outcome.err.startswith(f"usage: tidelog {command} ")
    assert outcome.err.endswith("error: unrecognized arguments: --colour\n")


def test_closed_pipe_is_no_error(folder: Path) -> None:
    (folder / "p.dl").write_text(LARGE)
    with subprocess.Popen(
        [sys.executable, "-m", "tidelog", "run", "p.dl", "-D", "-"],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "---------------\n"
        process.stdout.close()
        assert without_progress(process.stderr.read()) == ""
        assert process.wait() == 0


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize(("arguments", "code"), [("run p.dl -D out", 0), ("run p.dl -D -", 0), ("check none.dl", 1)])
def test_streams_may_be_closed(folder: Path, arguments: str, code: int, closed: str) -> None:
    (folder / "p.dl").write_text(".decl e(x: number)\n.output e\ne(1). e(2).\n")
    line = f"{sys.executable} -m tidelog {arguments} {closed}"
    done = subprocess.run(["sh", "-c", line], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == code
    assert "Traceback" not in done.stderr
    assert "E0901" not in done.stderr
    if "out" in arguments:
        assert (folder / "out/e.csv").read_text() == "1\n2\n"


def test_interruption_leaves_no_output(folder: Path) -> None:
    (folder / "p.dl").write_text(".decl n(x: number)\n.output n\nn(0).\nn((x + 1) % 1000000000000) :- n(x).\n")
    script = (
        "import os, signal, sys, threading, tidelog.database.database\n"
        "from tidelog.cli.entry import main\n"
        "commit = tidelog.database.database.Database.commit\n"
        "def interrupted(db):\n"
        "    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
        "    return commit(db)\n"
        "tidelog.database.database.Database.commit = interrupted\n"
        "sys.exit(main(['run', 'p.dl', '-D', 'out']))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "tidelog: interrupted\n")
    assert not (folder / "out").exists()


def test_interruption_during_start_up(tidelog: Run, closure: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(arguments: object) -> int:
        signal.raise_signal(signal.SIGINT)
        return 0

    monkeypatch.setattr(check, "execute", interrupt)
    outcome = tidelog("check", "closure.dl")
    assert (outcome.code, outcome.err) == (130, "tidelog: interrupted\n")


@pytest.mark.parametrize("command", [("serve", "s"), ("rdf", "serve")])
def test_an_interrupt_ends_a_server_as_it_should(folder: Path, command: tuple[str, ...]) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "tidelog", *command, "--port", "0"],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stderr is not None
        address = re.search(r"http://[0-9.:]+", process.stdout.readline())
        assert address is not None
        with urlopen(f"{address[0]}/", timeout=30) as page:  # The server runs.
            assert page.status == 200
        process.send_signal(signal.SIGINT)
        assert (process.wait(), without_progress(process.stderr.read())) == (0, "")


def test_a_fault_of_our_own_asks_for_a_report(tidelog: Run, closure: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(arguments: object) -> int:
        raise KeyError("lost")

    monkeypatch.setattr(programs, "execute_graph", fail)
    outcome = tidelog("graph", "closure.dl", "-o", "g.svg")
    assert outcome.code == 1
    assert outcome.err.splitlines()[0] == "error[E0901]: KeyError: 'lost'"
    assert "report" in outcome.err
    assert "Traceback" not in outcome.err
    monkeypatch.setenv("TIDELOG_DEBUG", "1")
    with pytest.raises(KeyError):
        tidelog("graph", "closure.dl", "-o", "g.svg")


def test_out_of_memory_is_a_limit(tidelog: Run, closure: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(arguments: object) -> int:
        raise MemoryError

    monkeypatch.setattr(check, "execute", fail)
    outcome = tidelog("check", "closure.dl")
    assert outcome.code == 3
    assert outcome.err.startswith("error[E0503]: the machine ran out of memory")


def test_few_searches_for_garbage(closure: Path) -> None:
    code = """
import gc
from tidelog.cli.entry import main
phases = []
gc.callbacks.append(lambda phase, info: phases.append(phase))
main(["run", "closure.dl", "-D", "out"])
gc.callbacks.clear()
print(phases.count("start"))
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=closure, capture_output=True, text=True, check=True)
    assert int(done.stdout) < 5


@pytest.mark.parametrize(("program", "code"), [("closure.dl", 0), ("missing.dl", 1)])
def test_a_process_ends_without_tearing_the_interpreter_down(closure: Path, program: str, code: int) -> None:
    # A thread that takes Python's lock while the interpreter goes would abort the process.
    script = """
import atexit, sys, threading
from tidelog.cli import run_process
class Kept:
    def __del__(self):
        print("torn down")
kept = Kept()
atexit.register(print, "at exit")
threading.Thread(target=lambda: (threading.main_thread().join(), print("thread"))).start()
sys.argv = ["tidelog", "check", sys.argv[1]]
run_process()
"""
    done = subprocess.run(
        [sys.executable, "-c", script, program], cwd=closure, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.splitlines()[-2:]) == (code, ["thread", "at exit"])


def test_duckdb_does_not_complain_of_objects_that_are_left(closure: Path, process: Run) -> None:
    outcome = process("run", "closure.dl", "--check")
    assert (outcome.code, outcome.err) == (0, "")


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_an_output_without_room_is_an_error(closure: Path, form: list[str]) -> None:
    command = [sys.executable, "-m", "tidelog", "check", "closure.dl", *form]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, cwd=closure, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("error[E0412]: the output cannot be written: No space left on device")
