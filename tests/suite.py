"""One suite for all engines: what programs mean, checked on golden and on random programs.

An engine is a function from a program text and facts to the relations of its model. A test module makes the suite run
on an engine by deriving a class from `Suite`:

    class TestEmbedded(Suite):
        evaluate = staticmethod(embedded)

The golden programs are the files of tests/programs: NAME.dl is a program with its facts, NAME.txt the views expected of
it, as lines `relation = {…}` of Python literals (records are tuples, nil is None, 1e999 is infinity, values with
branches are calls of their names).

Of every CHECKED states of a database that tests make, one is checked (tidelog.certificate), and all of them with
TIDELOG_TEST_CHECKED=1.

Random programs come from tests/generate.py, one for each number from FIRST_SEED on; set TIDELOG_TEST_SEED to begin
elsewhere. A failure shows the seed, the program and the facts.
"""

from __future__ import annotations

import ast
import os
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar
from zlib import crc32

import tidelog
from tests.depth import cases
from tests.generate import Case, Clause, Row, generate
from tidelog.errors import ProgramError
from tidelog.language import check, read
from tidelog.language.branches import branch_class
from tidelog.language.syntax import CheckedProgram
from tidelog.reference import naive, seminaive
from tidelog.reference.seminaive import CountedTable
from tidelog.rules import compile_program
from tidelog.rules.core import CoreProgram

Facts = Mapping[str, Iterable[Row]]
Views = dict[str, set[Row]]
Evaluate = Callable[[str, Facts], Views]
Thing = TypeVar("Thing")

PROGRAMS = Path(__file__).parent / "programs"
FIRST_SEED = int(os.environ.get("TIDELOG_TEST_SEED", "1"))
CHECKED = int(os.environ.get("TIDELOG_TEST_CHECKED", "100"))


# --- engines ---------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=32)
def checked(text: str) -> CheckedProgram:
    return check(read(text))


@lru_cache(maxsize=32)
def compiled(text: str) -> CoreProgram:
    return compile_program(checked(text))


def evaluate_naive(text: str, facts: Facts) -> Views:
    return naive.evaluate(checked(text), facts)


def evaluate_seminaive(text: str, facts: Facts) -> Views:
    tables = seminaive.evaluate(compiled(text), facts)
    return {name: set(tables[name]) for name in checked(text).relations}


def evaluate_embedded(text: str, facts: Facts) -> Views:
    return views(loaded(text, facts))


def loaded(text: str, *batches: Facts, **options: object) -> tidelog.Database:
    """A database in memory with the program, each batch of facts committed by itself."""
    db = tidelog.connect()
    db.options(**options)
    db.load(text)
    for facts in batches or ({},):
        for name, rows in facts.items():
            db.insert(name, list(rows))
        db.commit()
    check_now_and_then(db, text)
    return db


def check_now_and_then(db: Any, state: str) -> None:
    """Check the certificate of a database for one of CHECKED names of states."""
    if crc32(state.encode()) % CHECKED == 0:
        db.check()


def views(db: tidelog.Database) -> Views:
    return {name: set(db[name]) for name in db.relations}


def births_in_reference(text: str, facts: Facts) -> dict[str, CountedTable]:
    return births_by_node(compiled(text), seminaive.evaluate(compiled(text), facts).__getitem__)


def births_in_embedded(text: str, facts: Facts) -> dict[str, CountedTable]:
    return births_by_node(compiled(text), loaded(text, facts, closures=False).births)


def births_by_node(
    core: CoreProgram, births: Callable[[str], Mapping[Row, tuple[int, int]]]
) -> dict[str, CountedTable]:
    """Birth and count of the derived tuples, births counted from the first of each hyper-node.

    An engine may number the rounds of all nodes in one row.
    """
    found: dict[str, CountedTable] = {}
    for node in core.nodes:
        tables = {name: births(name) for name in node.relations if not core.relations[name].auxiliary}
        first = min((birth for table in tables.values() for birth, _ in table.values()), default=0)
        for name, table in tables.items():
            found[name] = {row: (birth - first, count) for row, (birth, count) in table.items()}
    return found


# --- programs --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Golden:
    name: str
    text: str
    expected: Views


def golden_programs() -> list[Golden]:
    return [
        Golden(path.stem, path.read_text(encoding="utf-8"), expectations(path.with_suffix(".txt")))
        for path in sorted(PROGRAMS.glob("*.dl"))
    ]


def expectations(path: Path) -> Views:
    """The views of a NAME.txt."""
    module = ast.parse(path.read_text(encoding="utf-8"))
    found: Views = {}
    for statement in module.body:
        assert isinstance(statement, ast.Assign), f"{path.name} has a line that is no view"
        (target,) = statement.targets
        found[ast.unparse(target)] = value_of(statement.value)
    return found


def value_of(node: ast.expr) -> Any:
    """The value of a literal, in which calls make values with branches."""
    match node:
        case ast.Call(func=func, keywords=parts) if (name := ast.unparse(func)) != "set":
            fields = tuple(str(part.arg) for part in parts)
            return branch_class(name, fields)(*(value_of(part.value) for part in parts))
        case ast.Set(elts=parts):
            return set(map(value_of, parts))
        case ast.Tuple(elts=parts):
            return tuple(map(value_of, parts))
    return ast.literal_eval(node)


def chunks(first: int, count: int, size: int) -> list[range]:
    """Return the seeds of `count` random cases at depth 1, from `first` on, in parts of at most `size`."""
    seeds = range(first, first + cases(count))
    return [seeds[place : place + size] for place in range(0, len(seeds), size)]


def random_cases(count: int, first: int = FIRST_SEED) -> Iterator[Case]:
    """One case for each seed, refused programs drawn again."""
    for seed in range(first, first + count):
        rng = random.Random(seed)
        case = generate(rng, seed)
        while refused(case):
            case = generate(rng, seed)
        yield case


def refused(case: Case) -> bool:
    """Return True if the program has the one fault that the generator does not avoid: a recursion that asks for its
    groups."""
    try:
        compiled(case.text)
    except ProgramError as error:
        if {problem.code for problem in error.problems} == {"E0303"}:
            return True
        raise
    return False


def shuffled(case: Case, rng: random.Random) -> Case:
    """The same program with its clauses and the literals of each body in another order."""
    clauses = [replace(clause, body=tuple(rng.sample(clause.body, len(clause.body)))) for clause in case.clauses]
    return replace(case, clauses=tuple(rng.sample(clauses, len(clauses))))


def halves(facts: Facts, rng: random.Random) -> tuple[dict[str, list[Row]], dict[str, list[Row]]]:
    """The facts dealt out at random to two batches."""
    first: dict[str, list[Row]] = {}
    second: dict[str, list[Row]] = {}
    for name, rows in facts.items():
        for row in sorted(rows, key=repr):
            rng.choice((first, second)).setdefault(name, []).append(row)
    return first, second


# --- comparing -------------------------------------------------------------------------------------------------------


def difference(found: Mapping[str, Any], expected: Mapping[str, Any]) -> str:
    """Return the error in the relations `found`, or "" if they are as `expected`; do not look at others."""
    lines = []
    for name, rows in expected.items():
        got = found.get(name, set())
        if same(got, rows):
            continue
        lines += [f"{name}: missing {row!r}" for row in sorted(set(rows) - set(got), key=repr)[:10]]
        lines += [f"{name}: unexpected {row!r}" for row in sorted(set(got) - set(rows), key=repr)[:10]]
        if isinstance(got, Mapping) and isinstance(rows, Mapping):
            both = [row for row in rows if row in got and got[row] != rows[row]]
            lines += [f"{name}: {row!r} has {got[row]}, not {rows[row]}" for row in sorted(both, key=repr)[:10]]
        if not lines:
            lines.append(f"{name}: values of other types in {sorted(got, key=repr)[:10]}")
    return "\n".join(lines)


def same(found: Any, expected: Any) -> bool:
    """Return True if two relations are equal and their values have equal types (1 is not 1.0)."""
    return bool(found == expected) and sorted(map(repr, found)) == sorted(map(repr, expected))


def disagreement(case: Case, evaluate: Evaluate, reference: Evaluate = evaluate_naive) -> str:
    """Return the error of `evaluate` on a case by the judgement of `reference`, or ""; an exception is an error,
    too."""
    expected = reference(case.text, case.facts)
    try:
        return difference(evaluate(case.text, case.facts), expected)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def shrunk(thing: Thing, reductions: Callable[[Thing], Iterator[Thing]], fails: Callable[[Thing], bool]) -> Thing:
    """A smaller case or script that still fails: parts of it are left out as long as that is so."""
    while (smaller := next(filter(fails, reductions(thing)), None)) is not None:
        thing = smaller
    return thing


def reductions(case: Case) -> Iterator[Case]:
    """The case without one of its parts."""
    for i, clause in enumerate(case.clauses):
        others = case.clauses[:i], case.clauses[i + 1 :]
        yield replace(case, clauses=(*others[0], *others[1]))
        smaller: list[Clause] = [
            replace(clause, body=clause.body[:j] + clause.body[j + 1 :]) for j in range(len(clause.body))
        ]
        if len(clause.heads) > 1:
            smaller += [replace(clause, heads=(head,)) for head in clause.heads]
        for each in smaller:
            yield replace(case, clauses=(*others[0], each, *others[1]))
    for name, rows in case.facts.items():
        if rows:
            yield replace(case, facts={**case.facts, name: frozenset()})
        for row in sorted(rows, key=repr):
            yield replace(case, facts={**case.facts, name: frozenset(rows - {row})})
    for i in range(len(case.declarations)):
        kept = case.declarations[:i] + case.declarations[i + 1 :]
        facts = {name: rows for name, rows in case.facts.items() if any(f".decl {name}(" in each for each in kept)}
        yield replace(case, declarations=kept, facts=facts)


# --- the suite -------------------------------------------------------------------------------------------------------


class Suite:
    """The random cases that every engine has to get right; tests/engine/test_golden.py has the golden programs."""

    evaluate: Evaluate
    random_programs = cases(240)

    def test_random_programs(self) -> None:
        for case in random_cases(self.random_programs):
            problem = disagreement(case, self.evaluate)
            assert not problem, f"{problem}\n{case}"

    def test_order_of_rules_and_literals_does_not_matter(self) -> None:
        for case in random_cases(self.random_programs // 2, FIRST_SEED + 1_000_000):
            other = shuffled(case, random.Random(case.seed))
            problem = difference(self.evaluate(other.text, other.facts), self.evaluate(case.text, case.facts))
            assert not problem, f"{problem}\n{case}\n--- shuffled\n{other.text}"
