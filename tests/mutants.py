"""Do the tests notice? `python tests/mutants.py [COUNT] [SEED] [ROOM…]` plants faults at random and lists survivors.

A mutant is one change of one place in the source: a comparison, a number, a condition, an operator, or a statement that
is left out, in the body of a function or in a constant of a module. The tests of its room run once, traced, to see
which of them reach the places of the mutants. Then each mutant is planted in a fork of that process, and the tests that
reach it run there, the quick ones first, until one fails. A mutant that no test reaches has survived. Kernels run
without compilation, because each mutant would have to be compiled anew.

Not every survivor is a gap: some mutants mean the same, or only cost time. A person has to look. docs/testing.md has
the figures of a run.
"""

from __future__ import annotations

import ast
import functools
import gc
import os
import random
import resource
import signal
import subprocess
import sys
import threading
import time
import types
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, TextIO

import pytest
from _pytest.runner import runtestprotocol

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src/tidelog"
LONG, ENOUGH = 5.0, 30.0
"""Seconds of CPU. A test function with parameters gets no more of them after `LONG`; a mutant no more tests after
`ENOUGH`."""

SPARE = 8 << 30
"""The bytes that a mutant may take."""

ROOMS: dict[str, tuple[str, ...]] = {
    "kernels": (
        "tests/changes_uncompiled.py",
        "tests/engine/test_programs.py",
        "tests/kernels/test_lists.py",
        "tests/kernels/test_runs.py",
        "tests/maintain/test_choice.py::test_few_changes_are_counted",
        "tests/maintain/test_choice.py::test_many_changes_are_counted_by_a_sample",
        "tests/maintain/test_choice.py::test_counting_stops_at_twice_the_derivations_there_are",
        "tests/maintain/test_failing_again.py::test_failing_commits_leave_nothing_that_grows",
        "tests/maintain/test_closures_probed.py::test_readers_follow_what_changes",
        "tests/maintain/test_closures_probed.py::test_ways_to_probe",
        "tests/maintain/test_scans.py",
        "tests/maintain/test_selections.py::test_values_of_every_kind_have_their_order",
        "tests/maintain/test_taken_back.py",
        "tests/maintain/test_undoing.py",
        "tests/maintain/test_unmaintained.py",
        "tests/storage/test_changes.py",
        "tests/storage/test_closure.py",
        "tests/storage/test_closure_shapes.py",
        "tests/storage/test_closure_sieve.py",
        "tests/storage/test_closure_taken_back.py::test_nodes_that_are_numbered_anew_keep_their_pairs",
    ),
    "storage": ("tests/storage", "tests/io/test_dictionary.py", "tests/maintain", "tests/database"),
    "limits": ("tests/limits", "tests/maintain", "tests/database"),
    "maintain": ("tests/maintain", "tests/database", "tests/engine/test_programs.py"),
    "certificate": ("tests/certificate",),
    "network": ("tests/network", "tests/cli/test_network.py"),
    "durable": ("tests/durable", "tests/store", "tests/network/test_journal.py"),
    "store": ("tests/store", "tests/cli/test_stores.py"),
}
"""Where to plant, and the tests that have to notice."""

OTHER = {
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.In: "not in",
    ast.NotIn: "in",
    ast.Is: "is not",
    ast.IsNot: "is",
    ast.Add: "-",
    ast.Sub: "+",
    ast.BitOr: "&",
    ast.BitAnd: "|",
    ast.And: "or",
    ast.Or: "and",
}
"""The operator that stands in for another one."""

NUMBERS = (ast.BinOp, ast.UnaryOp, ast.Constant, ast.Name, ast.operator, ast.unaryop, ast.expr_context)
"""What constants of modules are written with."""


@dataclass(frozen=True)
class Mutant:
    """`text` in place of what stands from `start` to `end`, offsets in the bytes of a file of the package."""

    file: str
    line: int
    start: int
    end: int
    text: str
    lines: range
    """The lines of the statement; without those of its body, if it has one."""
    inside: bool
    """Whether it is in a function."""

    def apply(self, source: bytes) -> bytes:
        """Return the source with the fault."""
        return source[: self.start] + self.text.encode() + source[self.end :]

    def show(self, source: bytes) -> str:
        """Return the place, and what it says before and after."""
        before = " ".join(source[self.start : self.end].decode().split())
        return f"{self.file}:{self.line}: `{before}` -> `{' '.join(self.text.split()).replace(before, '…')}`"


class Finder(ast.NodeVisitor):
    """Collects the mutants of a file. Annotations, messages of errors and what is for the type checker stay."""

    def __init__(self, file: str, source: bytes) -> None:
        self.file = file
        self.source = source
        self.lines = [0]
        for line in source.splitlines(keepends=True):
            self.lines.append(self.lines[-1] + len(line))
        self.found: list[Mutant] = []
        self.lines_now = range(0)
        self.inside = False

    def visit(self, node: ast.AST) -> None:
        """Remember the statement."""
        before = self.lines_now
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            end = body[0].lineno if body else (node.end_lineno or node.lineno) + 1
            self.lines_now = range(node.lineno, max(end, node.lineno + 1))
        super().visit(node)
        self.lines_now = before

    def add(self, start: int, end: int, text: str, line: int) -> None:
        self.found.append(Mutant(self.file, line, start, end, text, self.lines_now, self.inside))

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self.lines[node.lineno - 1] + node.col_offset, self.lines[node.end_lineno - 1] + node.end_col_offset

    def text(self, node: ast.expr | ast.stmt) -> str:
        start, end = self.span(node)
        return self.source[start:end].decode()

    def between(self, left: ast.expr, right: ast.expr, operator: ast.AST) -> None:
        """An operator between two operands, other than a type's `|`."""
        start, end = self.span(left)[1], self.span(right)[0]
        gap = self.source[start:end].decode()
        word = _spelled(operator)
        if type(operator) in OTHER and gap.count(word) == 1:
            self.add(start, end, gap.replace(word, OTHER[type(operator)]), left.lineno)

    def visit_Compare(self, node: ast.Compare) -> None:
        operands = [node.left, *node.comparators]
        for left, operator, right in zip(operands, node.ops, operands[1:], strict=False):
            self.between(left, right, operator)
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        self.between(node.left, node.right, node.op)
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        for left, right in zip(node.values, node.values[1:], strict=False):
            self.between(left, right, node.op)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not):
            self.add(*self.span(node), f"bool({ast.unparse(node.operand)})", node.lineno)
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool):
            self.add(*self.span(node), str(not node.value), node.lineno)
        elif isinstance(node.value, int):
            self.add(*self.span(node), str(node.value + 1), node.lineno)

    def visit_If(self, node: ast.If) -> None:
        if ast.unparse(node.test) != "TYPE_CHECKING":
            test = self.text(node.test)
            self.add(*self.span(node.test), f"True or ({test})", node.lineno)  # with all names that it had
            self.add(*self.span(node.test), f"False and ({test})", node.lineno)
            self.generic_visit(node)

    def leave_out(self, node: ast.stmt) -> None:
        self.add(*self.span(node), f"if False: {self.text(node)}", node.lineno)

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call):
            self.leave_out(node)
            self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.leave_out(node)
        self.generic_visit(node)

    def visit_Delete(self, node: ast.Delete) -> None:
        self.leave_out(node)

    def visit_Raise(self, node: ast.Raise) -> None:
        self.leave_out(node)

    def visit_Module(self, node: ast.Module) -> None:
        """Functions, and constants that are written with numbers only."""
        for each in node.body:
            if isinstance(each, ast.FunctionDef | ast.ClassDef) or _is_number(each):
                self.visit(each)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for each in node.body:
            if isinstance(each, ast.FunctionDef | ast.ClassDef):
                self.visit(each)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        if node.name not in ("__repr__", "__str__"):
            before, self.inside = self.inside, True
            for statement in node.body:
                self.visit(statement)
            self.inside = before

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_Assert(self, node: ast.Assert) -> None:
        """Assertions are for the reader and the type checker."""

    def visit_Call(self, node: ast.Call) -> None:
        if not (isinstance(node.func, ast.Name) and node.func.id in ("Problem", "field", "TypeVar")):
            self.generic_visit(node)


def _is_number(node: ast.stmt) -> bool:
    """Return True if it is a constant that is written with numbers only."""
    value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
    return value is not None and all(isinstance(part, NUMBERS) for part in ast.walk(value))


_SPELLINGS: dict[type[ast.AST], str] = {
    ast.In: "in",
    ast.NotIn: "not in",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.And: "and",
    ast.Or: "or",
    ast.Add: "+",
    ast.Sub: "-",
    ast.BitOr: "|",
    ast.BitAnd: "&",
}


def _spelled(operator: ast.AST) -> str:
    return _SPELLINGS.get(type(operator), "\0")


def mutants(room: str) -> list[Mutant]:
    """Return all mutants of a room."""
    found = []
    for path in sorted((SOURCE / room).rglob("*.py")):
        file = str(path.relative_to(SOURCE))
        source = _source(file)
        finder = Finder(file, source)
        finder.visit(ast.parse(source))
        found += [mutant for mutant in finder.found if _compiles(mutant.apply(source))]
    return found


_sources: dict[str, bytes] = {}


def _source(file: str) -> bytes:
    """The source of a file when it was first asked for: somebody may go on with it."""
    if file not in _sources:
        _sources[file] = (SOURCE / file).read_bytes()
    return _sources[file]


def _compiles(source: bytes) -> bool:
    try:
        compile(source, "mutant", "exec", dont_inherit=True)
    except SyntaxError:
        return False
    return True


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _codes(each)


def plant(mutant: Mutant) -> bool:
    """Put the fault into the functions and constants of this process, and forget what they have kept. Return False
    where a function has other variables of its surroundings then, which cannot be."""
    path = str(SOURCE / mutant.file)
    code = compile(mutant.apply(_source(mutant.file)), path, "exec", dont_inherit=True)
    codes = {(each.co_qualname, each.co_firstlineno): each for each in _codes(code)}
    for each in gc.get_objects():
        if isinstance(each, types.FunctionType) and each.__code__.co_filename == path:
            found = codes.get((each.__code__.co_qualname, each.__code__.co_firstlineno), each.__code__)
            if found.co_freevars != each.__code__.co_freevars:
                return False
            each.__code__ = found
        elif isinstance(each, functools._lru_cache_wrapper):
            each.cache_clear()
    if not mutant.inside:
        name = "tidelog." + mutant.file.removesuffix(".py").replace("/", ".")
        changed: dict[str, Any] = {"__name__": name, "__file__": path, "__package__": name.rpartition(".")[0]}
        exec(code, changed)  # only the constants of it are used
        before = dict(vars(sys.modules[name]))
        numbers = {key: each for key, each in changed.items() if type(each) in (int, float) and each != before[key]}
        for names in [vars(module) for key, module in sys.modules.items() if key.startswith(("tidelog.", "tests."))]:
            names.update({key: each for key, each in numbers.items() if names.get(key) is before[key]})
    return True


class Hunt:
    """A plugin of pytest that runs each test once, and then those that reach a mutant with the mutant."""

    def __init__(self, room: str, planted: list[Mutant], out: TextIO) -> None:
        self.room = room
        self.mutants = planted
        self.out = out
        self.at: defaultdict[str, defaultdict[int, set[int]]] = defaultdict(lambda: defaultdict(set))
        for number, mutant in enumerate(planted):
            for line in mutant.lines:
                self.at[str(SOURCE / mutant.file)][line].add(number)
        self.reached: set[int] = set()
        self.tests: defaultdict[int, list[tuple[float, int, pytest.Item]]] = defaultdict(list)
        self.sound: dict[int, bool] = {}
        self.traced: dict[int, tuple[CodeType, bool]] = {}

    def pytest_configure(self) -> None:
        """Let tests that make up their input make up the same, however slow it is."""
        import hypothesis  # not before pytest looks for its plugin

        calm = hypothesis.settings(
            derandomize=True, database=None, deadline=None, suppress_health_check=list(hypothesis.HealthCheck)
        )
        hypothesis.settings.register_profile("mutants", calm)
        hypothesis.settings.load_profile("mutants")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run what has been collected; see the class."""
        spent: defaultdict[str, float] = defaultdict(float)
        for number, item in enumerate(session.items):
            function = item.nodeid.partition("[")[0]
            if spent[function] < LONG:
                spent[function] += self.look(number, item)
        self.out.write(f"{self.room}: {len(session.items)} tests, {sum(spent.values()):.0f} s\n")
        verdicts: Counter[str] = Counter()
        for number, mutant in enumerate(self.mutants, 1):
            verdict = self.verdict(number - 1)
            verdicts[verdict.split(" by ")[0]] += 1
            self.out.write(f"{number:4}  {mutant.show(_source(mutant.file))}  {verdict}\n")
            self.out.flush()
        self.out.write(f"{self.room}: {dict(verdicts)}\n\n")
        return True

    def look(self, number: int, item: pytest.Item) -> float:
        """Run a test, remember the mutants that it reaches, and return how long it took."""
        self.reached = set() if all(each.inside for each in self.mutants) else self._everywhere()
        started = time.process_time()
        threading.settrace(self._call)
        sys.settrace(self._call)
        passed = self._passes(item)
        sys.settrace(None)
        threading.settrace(None)
        took = time.process_time() - started
        if not passed:
            self.out.write(f"fails without a mutant: {item.nodeid}\n")
        for mutant in self.reached if passed else ():
            self.tests[mutant].append((took, number, item))
        return took

    def _everywhere(self) -> set[int]:
        return {number for number, mutant in enumerate(self.mutants) if not mutant.inside}

    def _call(self, frame: FrameType, event: str, argument: object) -> Any:
        code = frame.f_code
        if code.co_filename not in self.at:
            return None
        if id(code) not in self.traced:
            lines = self.at[code.co_filename]
            self.traced[id(code)] = code, any(line in lines for *_, line in code.co_lines())
        return self._line if self.traced[id(code)][1] else None

    def _line(self, frame: FrameType, event: str, argument: object) -> Any:
        self.reached |= self.at[frame.f_code.co_filename].get(frame.f_lineno, set())
        return self._line

    @staticmethod
    def _passes(item: pytest.Item) -> bool:
        return not any(report.failed for report in runtestprotocol(item, log=False, nextitem=None))

    def verdict(self, number: int) -> str:
        """Plant a mutant in a fork; return what became of it."""
        tests: list[tuple[float, int, pytest.Item]] = []
        total = 0.0
        for test in sorted(self.tests[number], key=lambda test: test[:2]):
            total += test[0]
            tests += [test] if total < ENOUGH or not tests else []
        if not tests:
            return "is not reached"
        while tests:
            found, killer = self.fork(tests, self.mutants[number])
            if killer is None or found == "no end":
                return f"{found} by {len(tests)} tests, {sum(test[0] for test in tests):.0f} s"
            name = tests[killer][2].nodeid
            again = tests[killer][1]
            if again not in self.sound:
                self.sound[again] = self.fork([tests[killer]], None)[0] == "survives"
            if self.sound[again]:
                return f"killed by {name}"
            del tests[killer]  # It fails in every fork.
        return "survives by 0 tests"

    def fork(self, tests: list[tuple[float, int, pytest.Item]], mutant: Mutant | None) -> tuple[str, int | None]:
        """Run tests in a fork: "survives", "killed" or, if they were stopped, "no end"; and the test that failed."""
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            try:
                most = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() + SPARE
                resource.setrlimit(resource.RLIMIT_AS, (most, resource.getrlimit(resource.RLIMIT_AS)[1]))
                if mutant is not None and not plant(mutant):
                    os._exit(2)
                for place, (took, _, item) in enumerate(tests):
                    os.write(writing, place.to_bytes(4, "big"))
                    signal.setitimer(signal.ITIMER_PROF, 5 + 10 * took)
                    signal.setitimer(signal.ITIMER_REAL, 120 + 100 * took)
                    if not self._passes(item):
                        os._exit(1)
                os._exit(0)
            finally:
                os._exit(1)
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            places = pipe.read()
        status = os.waitpid(child, 0)[1]
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGPROF, signal.SIGALRM):
            return "no end", int.from_bytes(places[-4:], "big")
        if os.waitstatus_to_exitcode(status) == 2:
            return "cannot be planted", None
        return ("killed", int.from_bytes(places[-4:], "big")) if status else ("survives", None)


def hunt(room: str, count: int, seed: int) -> None:
    """Plant mutants in a room, and say what became of each."""
    out = os.fdopen(os.dup(1), "w")
    rng = random.Random(seed)
    pool = mutants(room)
    plugin = Hunt(room, [rng.choice(pool) for _ in range(count)], out)
    os.chdir(ROOT)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:faulthandler"]
    pytest.main([*options, "-o", "python_files=test_*.py changes_uncompiled.py", *ROOMS[room]], plugins=[plugin])


def main(*rooms: str, count: int = 25, seed: int = 1) -> None:
    """Plant mutants in each room, in a process of its own."""
    for room in rooms or ROOMS:
        environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "NUMBA_DISABLE_JIT": str(int(room == "kernels"))}
        subprocess.run([sys.executable, __file__, "--room", str(count), str(seed), room], env=environment, check=False)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--room"]:
        hunt(sys.argv[4], int(sys.argv[2]), int(sys.argv[3]))
    else:
        numbers = zip(("count", "seed"), map(int, sys.argv[1:3]), strict=False)
        main(*sys.argv[3:], **dict(numbers))
