"""Do the tests notice? `python tests/mutants.py [COUNT] [SEED] [ROOM…]` plants faults at random and lists survivors.

A mutant is one change of one place in the source: a comparison, a number, a condition, an operator, or a statement that
is left out. The tests of its room run on a copy of the package; a mutant survives when all of them pass. Kernels run
without compilation, by change scripts (`plant_faults`), because each of them would have to be compiled anew.

Not every survivor is a gap: some mutants mean the same, or only cost time. A person has to look. docs/testing.md has
the figures of a run.
"""

from __future__ import annotations

import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src/tidelog"
SECONDS = 600.0
"""After that, the tests of a mutant are stopped. It may run for ever, or the machine may be busy."""

SCRIPTS = 150
"""Change scripts for a mutant of the kernels."""

ROOMS: dict[str, tuple[str, ...]] = {
    "kernels": (),
    "storage": ("tests/storage", "tests/io/test_dictionary.py", "tests/maintain", "tests/database"),
    "maintain": ("tests/maintain", "tests/database", "tests/engine/test_programs.py"),
    "certificate": ("tests/certificate",),
    "network": ("tests/network",),
    "store": ("tests/store", "tests/cli/test_stores.py"),
}
"""Where to plant, and the tests that have to notice; none stand for change scripts."""

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


@dataclass(frozen=True)
class Mutant:
    """`text` in place of what stands from `start` to `end`, offsets in the bytes of a file of the package."""

    file: str
    line: int
    start: int
    end: int
    text: str

    def apply(self, source: bytes) -> bytes:
        """Return the source with the fault."""
        return source[: self.start] + self.text.encode() + source[self.end :]

    def show(self, source: bytes) -> str:
        """Return the place, and what it says before and after."""
        before = " ".join(source[self.start : self.end].decode().split())
        return f"{self.file}:{self.line}: `{before}` -> `{' '.join(self.text.split())}`"


class Finder(ast.NodeVisitor):
    """Collects the mutants of a file. Annotations, messages of errors and what is for the type checker stay."""

    def __init__(self, file: str, source: bytes) -> None:
        self.file = file
        self.source = source
        self.lines = [0]
        for line in source.splitlines(keepends=True):
            self.lines.append(self.lines[-1] + len(line))
        self.found: list[Mutant] = []

    def add(self, start: int, end: int, text: str, line: int) -> None:
        self.found.append(Mutant(self.file, line, start, end, text))

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self.lines[node.lineno - 1] + node.col_offset, self.lines[node.end_lineno - 1] + node.end_col_offset

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
            self.add(*self.span(node.test), "True", node.lineno)
            self.add(*self.span(node.test), "False", node.lineno)
            self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call):
            self.add(*self.span(node), "pass", node.lineno)
            self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.add(*self.span(node), "pass", node.lineno)
        self.generic_visit(node)

    def visit_Delete(self, node: ast.Delete) -> None:
        self.add(*self.span(node), "pass", node.lineno)

    def visit_Raise(self, node: ast.Raise) -> None:
        self.add(*self.span(node), "pass", node.lineno)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        if node.name not in ("__repr__", "__str__"):
            for statement in node.body:
                self.visit(statement)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_Assert(self, node: ast.Assert) -> None:
        """Assertions are for the reader and the type checker."""

    def visit_Call(self, node: ast.Call) -> None:
        if not (isinstance(node.func, ast.Name) and node.func.id in ("Problem", "field", "TypeVar")):
            self.generic_visit(node)


def _spelled(operator: ast.AST) -> str:
    names = {ast.In: "in", ast.NotIn: "not in", ast.Is: "is", ast.IsNot: "is not", ast.And: "and", ast.Or: "or"}
    signs = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
    signs |= {ast.Add: "+", ast.Sub: "-", ast.BitOr: "|", ast.BitAnd: "&"}
    return {**names, **signs}.get(type(operator), "\0")


def mutants(room: str) -> list[Mutant]:
    """Return all mutants of a room."""
    found = []
    for path in sorted((SOURCE / room).rglob("*.py")):
        source = path.read_bytes()
        finder = Finder(str(path.relative_to(SOURCE)), source)
        finder.visit(ast.parse(source))
        found += [mutant for mutant in finder.found if _compiles(mutant.apply(source))]
    return found


def _compiles(source: bytes) -> bool:
    try:
        compile(source, "mutant", "exec", dont_inherit=True)
    except SyntaxError:
        return False
    return True


def chosen(count: int, seed: int, rooms: list[str]) -> Iterator[tuple[str, Mutant]]:
    """Choose mutants, from each room in turn."""
    rng = random.Random(seed)
    pools = {room: mutants(room) for room in rooms}
    for number in range(count):
        room = rooms[number % len(rooms)]
        yield room, rng.choice(pools[room])


def verdict(room: str, mutant: Mutant, copy: Path) -> str:
    """Run the tests of the room on the copy with the fault: "killed", "survives" or, if they were stopped, "no end"."""
    target = copy / "tidelog" / mutant.file
    environment = os.environ | {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *ROOMS[room]]
    if not ROOMS[room]:
        environment["NUMBA_DISABLE_JIT"] = "1"
        command = [sys.executable, str(ROOT / "tests/plant_faults.py"), "--in-copy", str(SCRIPTS)]
    try:
        target.write_bytes(mutant.apply((SOURCE / mutant.file).read_bytes()))
        ran = subprocess.run(
            command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return "no end"
    finally:
        shutil.copy2(SOURCE / mutant.file, target)  # with its time stamp, so that compiled kernels are found again
    passed = ran.returncode == 0 and (bool(ROOMS[room]) or "not by" in ran.stdout)
    return "survives" if passed else "killed"


def main(count: int = 30, seed: int = 1, *rooms: str) -> None:
    """Plant mutants, say what became of each, and list those that were not killed."""
    verdicts: Counter[str] = Counter()
    left = []
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        shutil.copytree(SOURCE, copy / "tidelog", ignore=shutil.ignore_patterns("__pycache__"))
        for number, (room, mutant) in enumerate(chosen(count, seed, list(rooms) or list(ROOMS)), 1):
            started = time.monotonic()
            found = verdict(room, mutant, copy)
            verdicts[found] += 1
            line = f"{found:8}  {mutant.show((SOURCE / mutant.file).read_bytes())}"
            left += [line] if found != "killed" else []
            sys.stdout.write(f"{number:4} {time.monotonic() - started:6.1f} s  {line}\n")
            sys.stdout.flush()
    sys.stdout.write(f"\n{verdicts['killed']} of {count} killed\n" + "".join(f"{line}\n" for line in left))


if __name__ == "__main__":
    numbers = [int(each) for each in sys.argv[1:3]]
    main(*numbers, *sys.argv[3:])
