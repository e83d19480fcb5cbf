"""Random change scripts over all constructs of the language, mixed: see `tests/scripts.py`.

    script = mixture_for(seed)
    problem = run(script, "update")       # "" or what is wrong, after every epoch

Rules are drawn from pools, one for each stratum, so that every choice of them is stratified: equivalences, selections,
relations with choice-domains, inline relations, terms of an algebraic type, aggregates with witnesses or with groups
through the recursion, functors with several values, counters, components, functors and aggregates in Python (of
`tests/functions.py`). Numbers of counters are compared up to their names (`renamed`), and never come back. After each
epoch the views are those of the naive evaluation of the whole program, the changes are exact, a certificate is
accepted (for a `sparing` run, after the last epoch), and no bootstrap happened where `strategy` is "update".
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from pathlib import Path

import tidelog
from tests import functions
from tests.generate import Row
from tests.scripts import Script, WrongError, change_in, scripted, without_need
from tidelog.functions.callables import GivenFunctions, collect_functions
from tidelog.language import Checker, read
from tidelog.reference import naive

DECLARATIONS = {
    "tree": ".type Tree = Leaf { value: number } | Fork { left: Tree, right: Tree } | Nothing {}\n.decl tree(t: Tree)",
    "chain": """\
.comp Chain {
  .decl step(x: number, y: number)
  .decl way(x: number, y: number)
  way(x, y) :- step(x, y).
  way(x, z) :- way(x, y), step(y, z).
}
.init chain = Chain""",
    "plus": ".functor plus(state: number, x: number): number",
    "divisors": ".functor divisors(x: number): number",
    "folded": ".functor folded(x: number): number",
    "total": ".aggregate total(x: number): number",
    "joined": ".aggregate joined(text: symbol): symbol",
    "e": ".decl e(x: number, y: number)",
    "f": ".decl f(x: number, y: number)",
    "n": ".decl n(x: number)",
    "word": ".decl word(w: symbol)",
    "same": ".decl same(x: number, y: number) eqrel",
    "t": ".decl t(x: number, y: number)",
    "hop": ".decl hop(x: number, y: number) inline",
    "near": ".decl near(x: number, y: number) inline",
    "d": ".decl d(x: number, c: number) min(c)",
    "b": ".decl b(x: number, c: number) max(c)",
    "q": """\
.decl q(x: number, c: number, h: number)
front: q(x, c1, h1) <= q(x, c2, h2) :- c2 <= c1, h2 <= h1.""",
    "k": ".decl k(x: number, y: number) choice-domain x",
    "m": ".decl m(x: number, y: number) choice-domain x, y",
    "u": ".decl u(x: number, y: number)",
    "v": ".decl v(x: number, y: number)",
    "w": ".decl w(x: number, y: number)",
    "g": ".decl g(x: number)",
    "part": ".decl part(p: symbol)",
    "num": ".decl num(x: number, y: number, i: number)",
    "mark": ".decl mark(x: number, y: number, i: number)",
    "pair": ".decl pair(i: number, j: number)",
}
"""The declarations of each relation, component and function, by its name."""

FIRST = (
    "same(x, y) :- e(x, y).",
    "same(x, y) :- t(x, y), n(x).",
    "same(y, z) :- same(x, w), f(x, y), f(w, z).",
    "t(x, y) :- same(x, y), f(x, _).",
    "t(x, z) :- t(x, y), e(y, z).",
    "t(x, y) :- hop(x, y), n(y).",
    "hop(x, z) :- e(x, y), f(y, z).",
    "hop(x, y) :- e(y, x), x < y.",
    "near(x, y) :- e(x, y), y < 3.",
    "near(x, y) :- f(y, x), !n(y).",
    "chain.step(x, y) :- e(x, y), !n(x).",
    "chain.step(x, y) :- chain.way(y, x), f(x, y).",
    "t(x, y) :- chain.way(x, y), f(y, _).",
    "d(x, c) :- e(x, c).",
    "d(x, min(c)) :- t(x, c), n(c).",
    "d(y, c + 1) :- d(x, c), e(x, y), c < 6.",
    "b(x, c) :- f(x, c).",
    "b(y, min(c, z)) :- b(x, c), e(x, y), f(y, z).",
    "q(x, 0, 0) :- n(x).",
    "q(y, c + z, h + 1) :- q(x, c, h), e(x, y), f(y, z), h < 4.",
    "t(x, c) :- d(x, c), b(c, _).",
    "same(x, y) :- d(x, c), d(y, c), n(x).",
    "k(x, y) :- e(x, y).",
    "k(y, x) :- k(x, _), f(x, y).",
    "k(x, y) :- same(x, y), n(y).",
    "t(x, y) :- k(y, x), k(x, _).",
    "m(x, y) :- k(x, y), n(x).",
    "m(x, y) :- f(x, y).",
    "tree($Leaf(x)) :- n(x).",
    "tree($Nothing) :- e(_, _).",
    "tree($Fork($Leaf(x), $Leaf(y))) :- tree($Leaf(x)), tree($Leaf(y)), e(x, y).",
    "tree(l) :- tree($Fork(l, _)), l != $Nothing.",
    "t(x, y) :- tree($Fork($Leaf(x), $Leaf(y))), x != y.",
    'part(p) :- word(w), p = split(w, "-").',
    'part(upper(p)) :- part(p), word(cat(p, "-", p)).',
    "t(y, z) :- t(z, x), e(x, y), 1 < count : { f(w, _), w >= z }.",
    "d(x, min(m)) :- d(x, c), m = max z : { n(z), z < c }.",
)
SECOND = (
    "u(x, y) :- t(x, y), !same(x, y).",
    "u(x, z) :- u(x, y), u(y, z).",
    "u(x, y) :- hop(x, y), !near(y, x).",
    "u(x, m) :- n(x), m = min y : { t(x, y) }.",
    "u(x, m) :- n(x), m = max y : { same(x, y) }, m != 5.",
    "u(x, z) :- e(x, y), z = range(x, y).",
    "u(w, m) :- m = min y : { t(w, y), y != w }.",
    "v(w, m) :- n(x), m = max y : { d(w, y), w >= x }.",
    "v(x, c) :- n(x), c = count : { hop(x, _) }.",
    "v(x, c) :- n(x), c = sum y : { near(x, y) }.",
    'v(x, strlen(p)) :- part(p), x = index_of(p, "b").',
    "v(x, y) :- tree($Leaf(x)), !tree($Fork($Leaf(x), _)), f(x, y).",
    "u(x, c) :- d(x, c), !n(c).",
    "v(x, c) :- b(x, c), !d(x, c).",
    "v(x, c) :- n(x), c = count : { q(x, _, _) }.",
    "u(x, y) :- m(x, y), !k(x, y).",
    "v(x, c) :- n(x), c = count : { k(_, x) }.",
    "g(x) :- q(x, c, h), c > h.",
    "g(x) :- n(x), !chain.way(x, x).",
    "g(x) :- same(x, y), x < y, !e(x, y).",
    "u(x, y) :- g(x), g(y), same(x, y).",
    "u(x, y) :- n(x), _ = max y : { hop(x, y) }.",
    "g(x) :- e(x, _), _ = min y : { near(x, y), y > 0 }.",
    "u(x, m) :- u(_, x), m = min z : { n(z), !g(z), z > x }.",
    "u(x, y) :- n(x), y = total z : { t(x, z) }.",
    "u(x, y) :- d(x, c), y = @divisors(c).",
    "u(x, @folded(y)) :- t(x, y), !n(y).",
    "g(x) :- q(x, c, _), @folded(c) > 2.",
)
THIRD = (
    "w(x, c) :- g(x), c = count : { u(x, _) }.",
    "w(x, y) :- v(x, y), !g(y).",
    "w(x, z) :- w(x, y), same(y, z).",
    "w(x, s) :- n(x), s = sum y : { u(x, y), !v(x, y) }.",
    "w(x, y) :- f(x, y), !<u+>(x, y).",
    "w(x, c) :- n(x), c = count : { pair(i, _), num(x, _, i) }.",
    "w(x, y) :- g(x), y = total z : { u(x, z), !v(z, x) }.",
    "w(x, y) :- n(x), y = @@plus z : 1, { v(x, z) }.",
    "w(x, strlen(y)) :- n(x), y = joined to_string(z) : { u(x, z), v(z, _) }.",
)
COUNTED = (
    "num(x, y, $) :- u(x, y), !g(y).",
    "mark(x, y, i) :- g(x), i = autoinc(), y = min z : { v(_, z) }, y < 3.",
    "pair(i, j) :- num(x, y, i), num(y, _, j), !mark(x, _, i).",
    "pair(i, j) :- mark(x, _, i), num(x, _, j), x < 3.",
)
POOLS: tuple[Sequence[str], ...] = (FIRST, SECOND, THIRD, COUNTED)
GIVEN = GivenFunctions()
for function in collect_functions(functions):
    GIVEN.give(function)
WORDS = ("a", "b", "a-b", "b-b", "a-b-a", "-", "")


def mixture_for(seed: int) -> Script:
    """Return a script with much of every pool; the same seed gives the same one."""
    rng = random.Random(f"mixture {seed}")
    rules = [rule for pool in POOLS for rule in rng.sample(pool, rng.randint(len(pool) // 3, len(pool)))]
    return _script(rng, DECLARATIONS, rules, seed)


def small_mixture_for(seed: int) -> Script:
    """Return a script with a few rules, and the declarations that they need: a run of it takes a tenth of the time, so
    that many are possible. The same seed gives the same one."""
    rng = random.Random(f"small mixture {seed}")
    sizes = (rng.randint(2, 6), rng.randint(0, 3), rng.randint(0, 2), rng.choice((0, 0, 0, 1, 2)))
    rules = [rule for pool, size in zip(POOLS, sizes, strict=True) for rule in rng.sample(pool, size)]
    words = set(re.findall(r"\w+", " ".join(rules)))
    return _script(rng, {name: text for name, text in DECLARATIONS.items() if name in words}, rules, seed)


def _script(rng: random.Random, declarations: Mapping[str, str], rules: list[str], seed: int) -> Script:
    """Return a script over facts of the relations that are declared."""
    pairs = {name: [(rng.randrange(4), rng.randrange(4)) for _ in range(7)] for name in ("e", "f")}
    some = {
        "t": [(rng.randrange(4), rng.randrange(4)) for _ in range(3)],
        "same": [(0, rng.randrange(4)), (5, 6)],
        "d": [(1, 3), (2, 0)],
        "m": [(0, 1), (1, 1), (3, 2)],
    }
    pool: dict[str, list[Row]] = {**pairs, **some, "n": [(i,) for i in range(4)], "word": [(each,) for each in WORDS]}
    pool = {name: rows for name, rows in pool.items() if name in declarations}
    return replace(scripted(rng, "\n".join(declarations.values()), rules, pool), seed=seed)


class MixtureFollower:
    """A database that goes through a script. A `sparing` one checks the certificate of the last epoch only."""

    def __init__(self, script: Script, strategy: str, folder: Path | None = None, *, sparing: bool = False) -> None:
        self.script, self.strategy, self.folder = script, strategy, folder
        self.certified = range(len(script.epochs), len(script.epochs) + 1) if sparing else range(len(script.epochs) + 1)
        """After how many epochs certificates are checked."""
        self.epochs = 0
        self.active = list(script.active)
        self.facts = {name: set(rows) for name, rows in script.facts.items()}
        self.db = tidelog.connect(functors=functions) if folder is None else tidelog.connect(folder, functors=functions)
        self.db.options(strategy=strategy)
        self.db.load(script.text())
        for name, rows in script.facts.items():
            self.db.insert(name, sorted(rows, key=repr))
        self.db.commit()
        self.updates = 0
        self.used: dict[object, object] = {}
        """The numbers that counters have given, and for which substitutions."""
        self.check({})

    def follow(self) -> None:
        """Go through all epochs."""
        for number in range(len(self.script.epochs)):
            self.step(number)

    def step(self, number: int) -> None:
        """Go through one epoch; some are taken back first, as if they had never been."""
        epoch, before = self.script.epochs[number], self.views()
        if number % 5 == 3:
            self.change(number)
            self.db.rollback()
        self.change(number)
        change = self.db.commit()
        for name, rows in epoch.delete.items():
            self.facts.setdefault(name, set()).difference_update(rows)
        for name, rows in epoch.insert.items():
            self.facts.setdefault(name, set()).update(rows)
        self.active = [name for name in self.active if name not in epoch.remove] + list(epoch.add)
        self.updates += change.report.updates
        self.epochs += 1
        if self.strategy == "update" and any(map(without_need, change.report.nodes)):
            raise WrongError(f"a bootstrap happened: {change.report}")
        self.check(before, change)

    def reopen(self) -> None:
        """Close the store and open it again, with the same views."""
        assert self.folder is not None
        before = self.views()
        self.db.close()
        self.db = tidelog.connect(self.folder, functors=functions)
        self.db.options(strategy=self.strategy)
        self.check(before)

    def change(self, number: int) -> None:
        """Make the changes of an epoch, uncommitted."""
        change_in(self.db, self.script, self.script.epochs[number])

    def views(self) -> dict[str, set[Row]]:
        """Return the tuples of all relations."""
        return {name: set(self.db[name]) for name in self.db.relations}

    def follow_numbers(self, found: Views, before: Views) -> None:
        """Raise WrongError for a number that is used again, or that a tuple has instead of the one that it had."""
        known = {number: name for name, number in names_of_numbers(before).items()}
        for number, name in names_of_numbers(found).items():
            if self.used.setdefault(number, name) != name or (name in known and known[name] != number):
                raise WrongError(f"the number {number} of {name} was that of {self.used[number]}")
            if number in names_of_numbers(before) or not before:
                continue
            last = max((n for n in names_of_numbers(before) if isinstance(n, int)), default=-1)
            if isinstance(number, int) and number <= last:
                raise WrongError(f"the number {number} of {name} has been used before")

    def check(self, before: dict[str, set[Row]], change: tidelog.Change | None = None) -> None:
        """Raise WrongError unless views, net changes and certificate are right."""
        program = Checker(GIVEN).check(read(self.script.text(tuple(self.active))))
        found = self.views()
        # For choices there is no one right answer: the reference says whether this one is.
        model: Views = naive.evaluate(program, self.facts, choices=found)
        expected = {**model, **renamed(model)}
        self.follow_numbers(found, before)
        for name, rows in found.items():
            rows = renamed(found).get(name, rows)
            if rows != expected[name]:
                raise WrongError(f"{name}: {rows - expected[name]} too many, {expected[name] - rows} missing")
            if change is not None:
                net = set(change[name].inserted), set(change[name].deleted)
                if net != (found[name] - before[name], before[name] - found[name]):
                    raise WrongError(f"{name}: the change is {net}")
        if self.epochs in self.certified:
            self.db.check()


Views = Mapping[str, Set[tuple[object, ...]]]


def names_of_numbers(views: Views) -> dict[object, object]:
    """Return the substitution that each number in `num` and `mark` belongs to."""
    return {row[-1]: (name, *row[:-1]) for name in ("num", "mark") for row in views.get(name, ())}


def renamed(views: Views) -> dict[str, set[tuple[object, ...]]]:
    """Return the relations with numbers, which have substitutions in their places."""
    names = names_of_numbers(views)
    places = {"num": (2,), "mark": (2,), "pair": (0, 1)}
    return {
        name: {tuple(names.get(part, part) if i in own else part for i, part in enumerate(row)) for row in views[name]}
        for name, own in places.items()
        if name in views
    }


def run(script: Script, strategy: str = "auto", *, sparing: bool = False) -> str:
    """Return the error of a script, or ""; an exception is an error, too."""
    try:
        MixtureFollower(script, strategy, sparing=sparing).follow()
    except Exception as error:
        return f"{strategy}: {type(error).__name__}: {error}"
    return ""
