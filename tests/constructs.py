"""One small program for each construct of the language, which every engine runs: the rows of a table in the reference.

    for construct in CONSTRUCTS:
        run(construct, embedded)      # "yes", or the code of the error that names the construct

`constructs.txt` has them: a name, the facts and the relations that may differ, the rule of the third step, and the
program. It marks a location for each relation, which databases read and ignore. Its facts change, then its rules; after
each step the views are those of the naive evaluation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from tests import functions
from tests.suite import difference
from tidelog.errors import TidelogError
from tidelog.functions.callables import GivenFunctions
from tidelog.language import Checker, read
from tidelog.reference.naive import evaluate

PAGE = Path(__file__).parents[1] / "docs/reference/language.md"
EDGES = [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("d", "e"), ("f", "f")]
WEIGHTS = [("a", "b", 4), ("a", "c", 1), ("b", "d", 2), ("c", "d", 9), ("c", "b", 1), ("d", "a", 3)]
EDGE = ".decl e(@x: symbol, y: symbol)\n"
WEIGHT = ".decl w(@x: symbol, y: symbol, n: number)\n"


@dataclass(frozen=True)
class Construct:
    """A row of the table: a program, its facts, of which every other one goes in the second step, and a rule that comes
    in the third one."""

    name: str
    text: str
    facts: Mapping[str, Sequence[tuple[Any, ...]]]
    rule: str
    hidden: frozenset[str] = frozenset()
    """The relations that may differ from the naive evaluation."""


class Engine(Protocol):
    """What runs a program: a database or a network."""

    def __init__(self, text: str) -> None: ...

    def insert(self, relation: str, rows: Sequence[Any]) -> None: ...

    def delete(self, relation: str, rows: Sequence[Any]) -> None: ...

    def add(self, rule: str) -> None: ...

    def settle(self) -> None:
        """Commit, or let a network come to rest."""

    def view(self, relation: str) -> set[Any]: ...

    def close(self) -> None: ...


def construct_of(paragraph: str) -> Construct:
    """Return the construct of a paragraph: its name, its facts and hidden relations, its rule, and the program."""
    name, values, rule, text = paragraph.split("\n", 3)
    facts, hidden = eval(f"({values}, ())") if values.endswith("}") else eval(values)
    return Construct(name, text, facts, rule, frozenset(hidden))


_TEXT = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8")
CONSTRUCTS = tuple(map(construct_of, _TEXT.rstrip("\n").split("\n\n")))


def run(construct: Construct, engine: Callable[[str], Engine]) -> str:
    """Return "yes" if an engine has the views of the naive evaluation after each step, or the code of its error."""
    facts = {name: list(rows) for name, rows in construct.facts.items()}
    try:
        db = engine(construct.text)
    except TidelogError as error:
        return error.code
    try:
        for name, rows in facts.items():
            db.insert(name, rows)
        db.settle()
        compare(db, construct, construct.text, facts)
        for name, rows in facts.items():
            db.delete(name, rows[::2])
            db.settle()
            db.insert(name, rows[:1])
            facts[name] = [row for row in rows if row == rows[0] or row not in rows[::2]]
        db.settle()
        compare(db, construct, construct.text, facts)
        db.add(construct.rule)
        db.settle()
        compare(db, construct, f"{construct.text}\n{construct.rule}", facts)
    except TidelogError as error:
        return error.code
    finally:
        db.close()
    return "yes"


def compare(db: Engine, construct: Construct, text: str, facts: Mapping[str, Sequence[Any]]) -> None:
    """Raise AssertionError where views differ from the naive evaluation, or are all empty."""
    checked = Checker(GivenFunctions.of(functions)).check(read(f"{text}\n"))
    wanted = {name: set(rows) for name, rows in evaluate(checked, facts).items() if seen(checked.relations[name])}
    wanted = {name: rows for name, rows in wanted.items() if name not in construct.hidden}
    problem = difference({name: db.view(name) for name in wanted}, wanted)
    assert not problem, f"{problem}\n{text}"
    assert all(rows for name, rows in wanted.items())


def seen(relation: Any) -> bool:
    """Return True if a relation has tuples that a network shows."""
    return "inline" not in relation.qualifiers and bool(relation.columns)


COLUMNS = ("in memory", "store", "Spark, embedded", "Spark, cluster", "nodes")


def cells(column: str) -> dict[str, str]:
    """Return a column of the table in the reference, by construct."""
    _, _, rest = PAGE.read_text("utf-8").partition("## Other engines")
    lines = [line for line in rest.splitlines() if line[:1] == "|"]
    rows = [[part.strip() for part in line.split("|")[1:-1]] for line in lines]
    assert tuple(rows[0][1:]) == COLUMNS
    return {row[0]: row[1 + COLUMNS.index(column)] for row in rows[2:]}
