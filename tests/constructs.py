"""One small program for each construct of the language, which every engine runs: the rows of a table in the reference.

    for construct in CONSTRUCTS:
        run(construct, embedded)      # "yes", or the code of the error that names the construct

The programs mark a location for each relation, which databases read and ignore. A program changes its facts, then its
rules; after each step the views are those of the naive evaluation.
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


CONSTRUCTS = (
    Construct(
        "rules, recursion",
        EDGE + ".decl t(@x: symbol, y: symbol)\nt(x, y) :- e(x, y).\nt(x, z) :- e(x, y), t(y, z).",
        {"e": EDGES},
        "t(y, x) :- e(x, y).",
    ),
    Construct(
        "several heads, disjunction",
        EDGE + '.decl p(@x: symbol)\n.decl q(@x: symbol)\np(x), q(y) :- e(x, y), (x = "a" ; y != "d").',
        {"e": EDGES},
        "p(y) :- e(_, y).",
    ),
    Construct(
        "negation",
        EDGE
        + ".decl t(@x: symbol, y: symbol)\n.decl o(@x: symbol)\nt(x, y) :- e(x, y).\nt(x, z) :- e(x, y), t(y, z).\n"
        "o(x) :- e(x, _), !t(x, x).",
        {"e": EDGES},
        "o(y) :- e(x, y), !e(y, x).",
    ),
    Construct(
        "facts of derived relations",
        EDGE + ".decl t(@x: symbol, y: symbol)\nt(x, y) :- e(x, y).\nt(x, y) :- t(x, y), t(y, x).",
        {"e": EDGES, "t": [("a", "b"), ("z", "y"), ("y", "z")]},
        "t(y, x) :- t(x, y).",
    ),
    Construct(
        "relations without attributes",
        EDGE + ".decl any()\n.decl p(@x: symbol)\nany() :- 1 < 2.\np(x) :- e(x, _), any().",
        {"e": EDGES},
        "p(y) :- e(_, y), any().",
    ),
    Construct(
        "regular paths",
        EDGE + ".decl p(@x: symbol, y: symbol)\np(x, y) :- <e+>(x, y).\np(x, z) :- e(x, y), <e/e>(y, z).",
        {"e": EDGES},
        "p(x, y) :- <e|^e>(x, y).",
    ),
    Construct(
        "arithmetic, conversions, `range`",
        WEIGHT + ".decl p(@x: symbol, n: number, f: float, u: unsigned)\n"
        "p(x, n * 2 - 1, itof(n) / 2.0, to_unsigned(n)) :- w(x, _, n), n % 2 = 1.\n"
        "p(x, i, 1.5, 3) :- w(x, _, n), i = range(0, n), i ^ 2 < 10.",
        {"w": WEIGHTS},
        "p(x, n band 3, itof(n), 0) :- w(x, _, n).",
    ),
    Construct(
        "functors and tests on texts",
        EDGE + ".decl s(@x: symbol, s: symbol)\n.decl p(@x: symbol, s: symbol)\n"
        's(x, cat(x, "-", y)) :- e(x, y).\np(x, part) :- s(x, t), part = split(t, "-"), !match("[c-d]", part).\n'
        'p(x, upper(t)) :- s(x, t), contains("a", t).\np(x, b) :- s(x, t), cat(x, "-", b) = t.',
        {"e": EDGES},
        "p(x, substr(t, 0, 2)) :- s(x, t), strlen(t) > 2.",
    ),
    Construct(
        "subtypes, `as`",
        ".type Town <: symbol\n.type Id <: number\n.decl e(@x: Town, n: Id)\n.decl p(@x: symbol, n: number)\n"
        "p(x, n) :- e(x, n), as(n, number) > 1.",
        {"e": [("a", 1), ("b", 2), ("c", 3)]},
        "p(x, -1) :- e(x, 1).",
    ),
    Construct(
        "records",
        ".type P = [s: symbol, n: number]\n" + WEIGHT + ".decl p(@x: symbol, p: P)\n.decl q(@x: symbol, n: number)\n"
        "p(x, [y, n]) :- w(x, y, n).\nq(x, n) :- p(x, [x2, n]), x2 != x.\np(x, nil) :- w(_, x, _).",
        {"w": WEIGHTS},
        "q(y, n) :- p(x, [y, n]).",
    ),
    Construct(
        "algebraic data types",
        ".type L = N {} | C { head: number, tail: L }\n" + WEIGHT + ".decl l(@x: symbol, l: L)\n"
        ".decl h(@x: symbol, n: number)\nl(x, $N) :- w(x, _, _).\nl(y, $C(n, t)) :- w(x, y, n), l(x, t), n < 3.\n"
        "h(x, n) :- l(x, $C(n, _)).",
        {"w": [row for row in WEIGHTS if row[0] != "c"]},
        "h(x, 0) :- l(x, $N).",
    ),
    Construct(
        "`count`, `sum`, `min`, `max`, `mean`",
        WEIGHT + ".decl p(@x: symbol, c: number, s: number)\n.decl m(@x: symbol, f: float)\n"
        "p(x, c, s) :- w(x, _, _), c = count : { w(x, _, _) }, s = sum n : { w(x, _, n) }.\n"
        "p(x, a, b) :- w(x, _, _), a = min n : { w(x, _, n) }, b = max n : { w(x, _, n) }.\n"
        "m(x, f) :- w(x, _, _), f = mean n : { w(x, _, n) }.",
        {"w": WEIGHTS},
        'p(x, 0, s) :- w(x, _, _), s = sum n : { w(x, y, n), y != "d" }.',
    ),
    Construct(
        "`median`, `any`, `collect`, `argmin`, `argmax`",
        WEIGHT + ".decl m(@x: symbol, f: float)\n.decl p(@x: symbol, s: symbol)\n"
        "m(x, f) :- w(x, _, _), f = median n : { w(x, _, n) }.\n"
        "p(x, s) :- w(x, _, _), s = any y : { w(x, y, _) }.\np(x, s) :- w(x, _, _), s = collect n : { w(x, _, n) }.\n"
        "p(x, s) :- w(x, _, _), s = argmin(y, n) : { w(x, y, n) }.",
        {"w": WEIGHTS},
        "p(x, s) :- w(x, _, _), s = argmax(y, n) : { w(x, y, n) }.",
    ),
    Construct(
        "groups that come through the recursion",
        ".decl talk(@p: symbol, s: number, e: number)\n.decl heard(@p: symbol, s: number, e: number)\n"
        "heard(p, s, e) :- talk(p, s, e), s = 1.\n"
        "heard(p, s, e) :- heard(p, _, now), s = min z : { talk(p, z, _), z >= now }, talk(p, s, e).",
        {"talk": [("a", 1, 3), ("a", 2, 6), ("a", 4, 5), ("a", 6, 9), ("a", 5, 7), ("b", 1, 2), ("b", 3, 4)]},
        "heard(p, s, e) :- talk(p, s, e), e = 6.",
    ),
    Construct(
        "witnesses of `min` and `max`",
        WEIGHT + ".decl p(@x: symbol, y: symbol)\np(x, y) :- w(x, _, _), 0 < min n : { w(x, y, n) }.",
        {"w": WEIGHTS},
        "p(x, y) :- w(x, _, _), 0 < max n : { w(x, y, n) }.",
    ),
    Construct(
        "`eqrel`",
        EDGE + '.decl s(@x: symbol, y: symbol) eqrel\ns(x, y) :- e(x, y), y != "d".',
        {"e": EDGES},
        's("f", y) :- e("f", _), e(y, _), y < "c".',
    ),
    Construct(
        "`inline`",
        EDGE + ".decl i(@x: symbol, y: symbol) inline\ni(x, y) :- e(x, y).\ni(x, y) :- e(y, x).\n"
        ".decl t(@x: symbol, y: symbol)\nt(x, y) :- i(x, y), x < y.",
        {"e": EDGES},
        "i(x, x) :- e(x, _).",
    ),
    Construct(
        "`min(c)`, `max(c)` in declarations and heads",
        WEIGHT + '.decl d(@x: symbol, n: number) min(n)\nd("a", 0).\nd(y, d + n) :- d(x, d), w(x, y, n), d + n < 9.',
        {"w": WEIGHTS},
        "d(x, min(100)) :- w(_, x, _).",
    ),
    Construct(
        "subsumption",
        WEIGHT + ".decl d(@x: symbol, n: number)\nd(x, n) :- w(_, x, n).\nd(x, n) <= d(x, m) :- m <= n.",
        {"w": WEIGHTS},
        "d(x, n) :- w(x, _, n).",
    ),
    Construct(
        "`choice-domain`",
        EDGE + ".decl tree(@x: symbol, y: symbol) choice-domain x\ntree(x, y) :- e(x, y).\n"
        ".decl p(@x: symbol)\np(x) :- tree(x, _).",
        {"e": EDGES},
        "tree(y, x) :- e(x, y).",
        hidden=frozenset(("tree",)),
    ),
    Construct(
        "components",
        EDGE + ".comp Closed {\n  .decl t(@x: symbol, y: symbol)\n  t(x, y) :- e(x, y).\n"
        "  t(x, z) :- e(x, y), t(y, z).\n}\n.init way = Closed\n"
        ".decl p(@x: symbol)\np(x) :- way.t(x, x).",
        {"e": EDGES},
        "way.t(y, x) :- e(x, y).",
    ),
    Construct(
        "counters: `autoinc()`, `$`",
        EDGE + ".decl id(@x: symbol, y: symbol, n: number)\n.decl twice(@x: symbol, n: number)\n"
        ".decl p(@x: symbol, y: symbol)\nid(x, y, autoinc()) :- e(x, y).\n"
        "twice(x, n) :- id(x, y, n), id(x, z, n), y != z.\np(x, y) :- id(x, y, n), !twice(x, n).",
        {"e": EDGES},
        "p(y, x) :- id(x, y, n), n >= 0.",
        hidden=frozenset(("id", "twice")),
    ),
    Construct(
        "functors in Python",
        ".functor scaled(x: number, by: number): number\n.functor label(x: number, text: symbol): symbol\n"
        ".functor letters(text: symbol): symbol\n.functor divisors(x: number): number\n"
        ".functor doubled(x: number): number\n" + WEIGHT + ".decl p(@x: symbol, n: number)\n"
        ".decl s(@x: symbol, s: symbol)\np(y, @scaled(n, 2)) :- w(x, y, n).\n"
        "p(x, d) :- p(x, n), d = @divisors(n).\np(x, @doubled(n)) :- w(x, _, n).\n"
        "s(x, @label(n, x)) :- p(x, n).\ns(x, l) :- s(x, t), l = @letters(t).",
        {"w": WEIGHTS},
        "p(x, n) :- w(x, _, _), w(_, x, m), n = @scaled(m, m).",
    ),
    Construct(
        "aggregates in Python",
        ".aggregate total(x: number): number\n.functor plus(state: number, x: number): number\n"
        + WEIGHT
        + ".decl p(@x: symbol, n: number)\np(x, n) :- w(x, _, _), n = total m : { w(x, _, m) }.\n"
        "p(x, n) :- w(x, _, _), n = @@plus m : -1, { w(x, _, m) }.",
        {"w": WEIGHTS},
        "p(x, n) :- w(x, _, _), n = total m * m : { w(x, _, m) }.",
    ),
)


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
