"""A check ends at its time limit and at Ctrl-C, and leaves the database as it was."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import numpy
import pytest

import tidelog
from tests.suite import loaded
from tidelog.certificate import Certificate, program_text
from tidelog.certificate.folder import Layout
from tidelog.certificate.session import interrupted_statements
from tidelog.language import Checker, read
from tidelog.language import check as check_program
from tidelog.limits.watch import Watch, defer_interrupts
from tidelog.rules import compile_program
from tidelog.storage.dictionary import Dictionary

PROGRAM = """\
.decl e(x: number, y: number)
.decl t(x: number, y: number)
.decl s(x: number, n: number)
e(1, 2). e(2, 1). e(5, 6).
t(x, y) :- e+(x, y).
s(x, n) :- t(x, _), n = sum y : { t(x, y), y + x > 0 }.
"""
ENDLESS = "SELECT count(*) FROM range(1000000000) a, range(1000000000) b WHERE (a.range * b.range) % 7 = 8"


def same(number: int) -> int:
    """Python function that DuckDB calls."""
    return number


@contextmanager
def started(timer: threading.Timer) -> Iterator[None]:
    timer.start()
    try:
        yield
    finally:
        timer.join()


def test_the_option_timeout_limits_a_check() -> None:
    db = loaded(PROGRAM)
    db.options(timeout=1e-9)
    with pytest.raises(tidelog.LimitError) as raised:
        db.check()
    (problem,) = raised.value.problems
    assert (problem.code, problem.hint) == ("E0501", "raise `timeout`; the check has not reached a result")
    assert problem.message.startswith("the check was stopped after 0.")
    assert problem.message.endswith(" s, its limit is 1e-09 s")
    db.options(timeout=60)
    db.check()
    db.insert("e", [(6, 1)])
    db.commit()
    db.check()
    assert (5, 2) in set(db["t"])


def test_a_folder_has_a_timeout_of_its_own(tmp_path: Path) -> None:
    loaded(PROGRAM).save_certificate(tmp_path / "sound")
    tidelog.check_certificate(tmp_path / "sound", timeout=60)
    with pytest.raises(tidelog.LimitError) as raised:
        tidelog.check_certificate(tmp_path / "sound", timeout=1e-9)
    assert raised.value.code == "E0501"


def in_sql(connection: duckdb.DuckDBPyConnection) -> object:
    return connection.execute(ENDLESS).fetchall()


def in_functions(connection: duckdb.DuckDBPyConnection) -> object:
    connection.create_function("asked", same, ["BIGINT"], "BIGINT")
    return connection.execute("SELECT max(asked(range)) FROM range(1000000000)").fetchall()


@pytest.mark.parametrize("work", [in_sql, in_functions])
def test_a_statement_under_way_is_interrupted(work: Callable[[duckdb.DuckDBPyConnection], object]) -> None:
    with duckdb.connect() as connection:
        with pytest.raises(tidelog.LimitError) as raised, interrupted_statements(connection, Watch(0.2)):
            work(connection)
        assert raised.value.code == "E0501"
        assert connection.execute("SELECT 42").fetchall() == [(42,)]


@pytest.mark.parametrize("work", [in_sql, in_functions])
def test_ctrl_c_ends_a_statement(work: Callable[[duckdb.DuckDBPyConnection], object]) -> None:
    handler = signal.getsignal(signal.SIGINT)
    watch = Watch()
    timer = threading.Timer(0.2, signal.raise_signal, [signal.SIGINT])
    with duckdb.connect() as connection:
        with (
            pytest.raises(KeyboardInterrupt),
            defer_interrupts(watch),
            started(timer),
            interrupted_statements(connection, watch),
        ):
            work(connection)
        assert connection.execute("SELECT 42").fetchall() == [(42,)]
    assert signal.getsignal(signal.SIGINT) is handler


def test_ctrl_c_ends_a_check() -> None:
    """The closure of a ring is there at once, its check is not."""
    db = tidelog.connect()
    db.load(".decl e(x: number, y: number)\n.decl t(x: number, y: number)\nt(x, y) :- e+(x, y).")
    size = 1_500
    db.insert("e", [(i, (i + 1) % size) for i in range(size)])
    db.commit()
    timer = threading.Timer(0.1, signal.raise_signal, [signal.SIGINT])
    with pytest.raises(KeyboardInterrupt), started(timer):
        db.check()
    db.delete("e", [(0, 1)])
    db.commit()
    assert len(db["t"]) == size * (size - 1) // 2


def test_another_thread_is_not_disturbed() -> None:
    """Python's signals belong to the main thread; a check elsewhere has its time limit all the same."""
    db = loaded(PROGRAM)
    db.options(timeout=1e-9)
    codes: list[str | None] = []

    def checked() -> None:
        try:
            db.check()
        except tidelog.LimitError as error:
            codes.append(error.code)

    thread = threading.Thread(target=checked)
    thread.start()
    thread.join()
    assert codes == ["E0501"]


# --- loops that data make long -------------------------------------------------------------------------------------


def forged_folder(folder: Path, declarations: str, facts: str, rule: str) -> Path:
    """A certificate without the views that follow by a rule, which nobody has evaluated."""
    loaded(f"{declarations}\n{facts}").save_certificate(folder)
    checker = Checker()
    checker.check(read(f"{declarations}\n{rule}\n"))
    (folder / "program.dl").write_text(program_text(checker.programs))
    (folder / "manifest.json").write_text(json.dumps(Layout.of(load_program(folder)).manifest("0")))
    return folder


def load_program(folder: Path) -> Certificate:
    """A certificate without data, for the program in a folder."""
    program = compile_program(check_program(read(folder / "program.dl")))
    return Certificate(program, Dictionary(), "", lambda _: numpy.empty((0, 0)), lambda _: ())  # type: ignore[arg-type,return-value]


ENDLESS_RANGES = {
    "numbers": "x = range(0, 9223372036854775807), x < 0",
    "unsigned": "y = range(as(0, unsigned), 18446744073709551615), x = as(y, number), x < 0",
    "floats": "f = range(0.0, 1.0e300, 1.0e280), f < 0.0, x = 1",
    "ranges of ranges": "x = range(0, 1000000), y = range(0, x), y < 0",
}


@pytest.mark.parametrize("body", ENDLESS_RANGES.values(), ids=list(ENDLESS_RANGES))
def test_a_range_ends_with_the_time(tmp_path: Path, body: str) -> None:
    declarations = ".decl e(x: number)\n.decl v(x: number)"
    folder = forged_folder(tmp_path / "forged", declarations, "e(1).", f"v(x) :- e(_), {body}.")
    with pytest.raises(tidelog.LimitError) as raised:
        tidelog.check_certificate(folder, timeout=0.5)
    assert raised.value.code == "E0501"
