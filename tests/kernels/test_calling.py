"""Python runs kernels until that takes too long; then machine code continues what it has begun."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numba
import pytest

from tests import choosing, scripts, selecting
from tests.depth import cases
from tests.suite import FIRST_SEED
from tidelog.kernels import calling, words
from tidelog.kernels.calling import Kernel

pytestmark = pytest.mark.skipif(
    numba.config.DISABLE_JIT,  # type: ignore[attr-defined]  # numba fills its config at run time
    reason="nothing is compiled",
)

MIX: Any = words.mix
CHAIN = """
import sys
import threading
import time
from tidelog.kernels import calling
calling.PATIENCE, calling.LONGEST = float(sys.argv[2]), float(sys.argv[3])
import tidelog
db = tidelog.connect()
db.load(".decl e(x: number, y: number) .decl t(x: number, y: number)"
        "t(x, y) :- e(x, y). t(x, z) :- t(x, y), e(y, z), x != 0.")
db.insert("e", [(i, i + 1) for i in range(int(sys.argv[1]))])
db.commit()
print(len(db["t"]), "llvmlite" in sys.modules)
"""


def chain(length: int, patience: float = 9.0, longest: float = 9.0, **variables: str) -> list[str]:
    """Return the size of a view and whether machine code was loaded, from a process that begins in Python."""
    command = [sys.executable, "-c", CHAIN, str(length), str(patience), str(longest)]
    environment = os.environ | {"TIDELOG_KERNELS": "auto", **variables}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.split()


def test_a_small_program_compiles_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    assert chain(20, NUMBA_CACHE_DIR=str(folder)) == ["191", "False"]
    assert not list(folder.rglob("*.kernel"))


def test_a_functor_over_few_rows_compiles_nothing() -> None:
    """A plan that calls functions makes room for a large batch, which is no sign of many rows."""
    program = (
        "import sys, tidelog; from tidelog.kernels import calling;"
        "calling.PATIENCE = calling.LONGEST = 9.0; calling.A_STEP = 0.01;"
        "db = tidelog.connect(); db.load('.decl a(x: symbol) .decl b(n: number) .decl c(n: number)'"
        "'b(strlen(x)) :- a(x). c(n) :- b(n), b(n + 1).');"
        "db.insert('a', [('x' * i,) for i in range(9)]); db.commit();"
        "print(len(db['b']), len(db['c']), 'llvmlite' in sys.modules)"
    )
    command = [sys.executable, "-c", program]
    environment = os.environ | {"TIDELOG_KERNELS": "auto"}
    found = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.split()
    assert found == ["9", "8", "False"]


def test_tests_run_machine_code() -> None:
    """However little they do, and however they were started: of a whole suite, some other test may have done much."""
    assert calling._pace.only == "compiled" or os.environ["TIDELOG_KERNELS"] != "compiled"


def test_many_rows_are_left_to_machine_code() -> None:
    assert chain(1_100, patience=0.02) == [str(1_100 + 1_099 * 1_098 // 2), "True"]


def test_machine_code_continues_once_python_has_taken_too_long() -> None:
    """Long after the facts are there, in the midst of the fixpoint."""
    assert chain(300, patience=0.03) == [str(300 + 299 * 298 // 2), "True"]


@pytest.fixture
def mixed(monkeypatch: pytest.MonkeyPatch) -> dict[str, set[bool]]:
    """Let chance decide for each call of a kernel whether Python runs it, and none is called in one way only; return
    how each was called."""
    rng, calls = random.Random(FIRST_SEED), dict[str, set[bool]]()

    def call(self: Kernel, *arguments: Any) -> Any:
        ways = calls.setdefault(self.function.__name__, set())
        plain = rng.random() < 0.5 if len(ways) != 1 else False in ways
        ways.add(plain)
        return (self.plain if plain else self.machine_code)(*arguments)

    monkeypatch.setattr(Kernel, "__call__", call)
    monkeypatch.setattr("tidelog.maintain.machine.until_look", lambda _, steps: rng.choice((1, 10, steps)))
    monkeypatch.setattr("tidelog.storage.closure.until_look", lambda _, steps: rng.choice((1, 10, steps)))
    return calls


@pytest.mark.parametrize("stories", [scripts, selecting, choosing])
def test_python_and_machine_code_take_turns(stories: Any, mixed: dict[str, set[bool]]) -> None:
    for seed in range(FIRST_SEED, FIRST_SEED + cases(40)):
        script = stories.script_for(seed)
        problem = stories.run(script)
        assert not problem, f"{problem}\n{script}"
    both = {name for name, ways in mixed.items() if len(ways) == 2}
    assert {"run_rounds", "run_changes", "insert_rows", "bury"} <= both


def test_what_has_to_be_ready_becomes_so_at_each_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    pace = calling._Pace()
    monkeypatch.setattr(calling, "_pace", pace)
    stages: list[int] = []
    calling.at_each_stage(lambda: stages.append(pace.stage))
    kernel = Kernel(MIX.function)
    assert calling.until_look(kernel, 10**6) == calling.FEW
    assert pace.follow() == calling.PLAIN
    calling.expect(calling.FEW)
    assert pace.follow() == calling.PLAIN
    calling.expect(int(2 * calling.PATIENCE / calling.A_STEP))
    assert [pace.follow(), pace.follow()] == [calling.KEPT, calling.KEPT]
    calling.expect(int(2 * calling.LONGEST / calling.A_STEP))
    assert [pace.follow(), pace.follow()] == [calling.COMPILED, calling.COMPILED]
    assert stages == [calling.KEPT, calling.COMPILED]
    assert calling.until_look(kernel, 10**6) == 10**6


def test_machine_code_runs_for_long_while_other_kernels_are_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = MIX.machine_code(3)  # It is compiled now, if it was not before.
    monkeypatch.setattr(calling, "_pace", calling._Pace())
    kernel: Any = Kernel(MIX.function)
    calling._pace.due = calling.PATIENCE + 0.1
    assert calling.until_look(kernel, 10**6) == calling.FEW
    assert kernel(3) == expected
    assert kernel.is_machine_code
    assert calling.until_look(kernel, 10**6) == 10**6


def test_a_kernel_that_waits_for_others_does_not_take_long(monkeypatch: pytest.MonkeyPatch) -> None:
    pace = calling._Pace()
    monkeypatch.setattr(calling, "_pace", pace)
    monkeypatch.setattr(calling, "PATIENCE", 0.01)

    def work() -> None:
        end = time.thread_time() + 2 * calling.PATIENCE
        while time.thread_time() < end:
            pass

    def wait() -> None:
        other = threading.Thread(target=work)
        other.start()
        other.join()

    Kernel(wait)()
    assert pace.stage == calling.PLAIN
    Kernel(work)()
    assert pace.stage == calling.KEPT
