"""Random change scripts: a program, and epochs that insert and delete facts and add and remove rules.

    script = script_for(seed)             # the same seed gives the same script
    problem = run(script, "update")       # "" or what is wrong, after every epoch: see `Follower`
    small = shrunk(script, reductions, fails)  # a smaller one that still fails

One script in eight runs over a program of tests/generate.py, three over random programs of rules over numbers only,
which merge and split hyper-nodes freely, one over closures and what shows, reads or spoils them, and three over
programs written by hand. Facts come from small pools, so that a script inserts what is there, deletes what is not,
and meets the same tuple again; facts are asserted for derived relations, too.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

import tidelog
from tests.generate import Row
from tests.recount import mistakes, state_of
from tests.suite import check_now_and_then, evaluate_naive, random_cases
from tidelog.database.transaction import RuleSet
from tidelog.maintain.protocol import NodeReport, Report
from tidelog.reference.seminaive import CountedTable

Facts = Mapping[str, frozenset[Row]]


@dataclass(frozen=True)
class Epoch:
    """One transaction: deletions, then insertions, then rules (by name) to remove and to add."""

    delete: Facts
    insert: Facts
    remove: tuple[str, ...] = ()
    add: tuple[str, ...] = ()

    def __str__(self) -> str:
        facts = [f"-{name}{row}" for name, rows in self.delete.items() for row in sorted(rows, key=repr)]
        facts += [f"+{name}{row}" for name, rows in self.insert.items() for row in sorted(rows, key=repr)]
        return (
            " ".join([*facts, *(f"-{name}" for name in self.remove), *(f"+{name}" for name in self.add)]) or "nothing"
        )


@dataclass(frozen=True)
class Script:
    """`rules` maps names to texts; those in `active` are there from the start, together with `facts`."""

    declarations: str
    rules: Mapping[str, str]
    active: tuple[str, ...]
    facts: Facts
    epochs: tuple[Epoch, ...]
    seed: int | None = None

    def text(self, active: tuple[str, ...] | None = None) -> str:
        """The program with some of the rules."""
        names = self.active if active is None else active
        return "\n".join([self.declarations, *(self.rules[name] for name in names)])

    def __str__(self) -> str:
        others = [f"{text}   // not at first" for name, text in self.rules.items() if name not in self.active]
        facts = Epoch({}, self.facts)
        return "\n".join([f"seed {self.seed}", self.text(), *others, f"facts: {facts}", *map(str, self.epochs)])


# --- making ----------------------------------------------------------------------------------------------------------

HAND = {
    "linear": "t(x, y) :- e(x, y). | t(x, z) :- t(x, y), e(y, z).",
    "non-linear": "t(x, y) :- e(x, y). | t(x, z) :- t(x, y), t(y, z).",
    "both": "t(x, y) :- e(x, y). | t(x, z) :- t(x, y), t(y, z). | t(x, z) :- e(x, y), t(y, z)."
    " | t(x, z) :- t(x, y), e(y, w), e(w, z).",
    "mutual": "t(x, y) :- e(x, y). | u(x, z) :- t(x, y), f(y, z). | t(x, z) :- u(x, y), e(y, z). | u(x, y) :- t(y, x).",
    "same generation": "t(x, y) :- e(z, x), e(z, y). | t(x, y) :- e(a, x), t(a, b), e(b, y).",
    "twice": "t(x, y) :- e(x, z), e(z, y). | t(x, y) :- t(x, z), t(y, z). | g(x) :- t(x, y), t(y, x)."
    " | t(x, x) :- g(x), e(x, y).",
    "given negated": "t(x, y) :- e(x, y), !n(y). | t(x, z) :- t(x, y), t(y, z), !n(x)."
    " | u(x, y) :- n(x), n(y), !t(x, y). | u(x, z) :- u(x, y), t(y, z)."
    " | g(x) :- t(x, y), !u(y, x). | g(x) :- n(x), !f(x, _).",
    "derived negated": "t(x, y) :- e(x, y). | t(x, z) :- t(x, y), e(y, z). | u(x, y) :- f(x, y), !t(x, y)."
    " | u(x, z) :- u(x, y), u(y, z). | g(x) :- u(x, y), !t(y, x), !f(y, y). | u(x, x) :- g(x), e(x, x).",
    "galen": "t(x, z) :- t(x, y), t(y, z). | q(x, r, z) :- t(x, y), q(y, r, z)."
    " | t(x, z) :- t(y, w), k(w, r, z), q(x, r, y). | t(x, z) :- c(y, w, z), t(x, w), t(x, y)."
    " | q(x, s, z) :- q(x, r, z), e(r, s). | q(x, a, o) :- q(x, y, z), k(y, u, a), q(z, u, o).",
    "rule set 2": "t(x, y) :- e(x, y). | u(x, z) :- t(x, y), f(y, z). | v(x, z) :- u(x, y), e(y, z)."
    " | t(x, z) :- v(x, y), f(y, z). | w(x, z) :- v(x, y), v(y, z). | w(x, z) :- w(x, y), u(y, z)."
    " | g(x) :- w(x, x).",
    "rule set 3": "t(x, z) :- e(x, y), e(y, z). | t(x, z) :- t(x, y), t(y, z). | u(x, y) :- t(x, y), f(x, y)."
    " | u(x, z) :- u(x, y), t(y, z). | v(x, y) :- u(y, x). | v(x, z) :- v(x, y), v(y, z)."
    " | t(x, y) :- v(x, y). | w(x, y) :- v(x, y), !e(x, y). | g(x) :- w(x, _).",
    "aggregates": "t(x, z) :- e(x, z). | t(x, z) :- t(x, y), e(y, z). | u(x, c) :- e(x, _), c = count : { t(x, _) }."
    " | u(x, s) :- f(x, _), s = sum y : { t(x, y), !f(x, y) }."
    " | v(x, m) :- u(x, _), m = max y : { t(x, y), y != x }. | w(x, m) :- m = min y : { v(y, x) }, v(_, x)."
    " | g(x) :- u(x, c), c >= 2, !v(x, x).",
    "products": "t(x, y) :- n(x), g(y). | t(x, x) :- !n(x), g(x). | u(x, 1) :- n(x), e(1, _). | g(x) :- f(x, x)."
    " | t(x, y) :- t(y, x), n(_). | v(0, 1) :- !g(2). | v(x, y) :- n(x), n(y), t(_, _).",
    "projections": "t(x, y) :- e(x, y), f(x, _), k(x, _, _). | g(x) :- e(x, _), e(x, _), f(_, x)."
    " | u(x, y) :- e(x, y), f(y, a), e(a, b), f(b, y). | t(x, y) :- t(x, z), e(z, y), t(y, _), k(_, y, _)."
    " | g(x) :- n(x), e(a, b), f(b, a), k(a, b, _). | v(x, y) :- e(x, y), !g(y), t(x, z), z > 1, f(y, _)."
    " | g(x) :- u(x, _), g(y), e(y, _), n(_). | v(x, y) :- k(x, y, _), k(x, y, a), a < 3, t(x, _), v(_, y).",
    "closures": "t(x, y) :- e(x, y). | t(x, z) :- t(x, y), t(y, z). | t(x, y) :- t(y, x). | u(x, y) :- f(y, x)."
    " | u(x, z) :- u(x, y), f(z, y), x != z. | v(x, y) :- <e+>(x, y). | w(x, y) :- <(e|f)*>(x, y)."
    " | w(x, z) :- w(x, y), v(y, z). | u(x, z) :- e(x, y), u(y, z). | g(x) :- t(x, y), !u(y, x). | v(x, x) :- g(x).",
    "merging": "t(x, y) :- e(x, y). | u(x, y) :- t(x, y), f(x, y). | v(x, y) :- u(x, y). | w(x, y) :- v(x, z), v(z, y)."
    " | t(x, z) :- t(x, y), t(y, z). | v(x, z) :- v(x, y), e(y, z). | t(x, y) :- w(x, y), f(y, x)."
    " | u(x, y) :- v(y, x). | t(x, y) :- u(y, x). | w(x, z) :- w(x, y), t(y, z).",
}
ARITIES = {"e": 2, "f": 2, "n": 1, "c": 3, "k": 3, "t": 2, "u": 2, "v": 2, "w": 2, "g": 1, "q": 3}


def script_for(seed: int) -> Script:
    rng = random.Random(f"script {seed}")
    make = (generated, numeric, numeric, closed, numeric, by_hand, by_hand, by_hand)[seed % 8]
    return replace(make(rng, seed), seed=seed)


def by_hand(rng: random.Random, seed: int) -> Script:
    rules = HAND[list(HAND)[(seed - seed // 8 * 5) % len(HAND)]].split(" | ")
    text = " ".join(rules)
    arities = {name: arity for name, arity in ARITIES.items() if f"{name}(" in text}
    given = [name for name in arities if name in "efnck"]
    return over_numbers(rng, arities, given, rules, 3 if "q" in arities else rng.randint(3, 5))


def numeric(rng: random.Random, seed: int) -> Script:
    """Random rules of atoms over few numbers, in levels, so that whatever is negated is below."""
    levels = {f"p{i}": rng.randint(1, 3) for i in range(rng.randint(1, 4))}
    levels |= {f"e{i}": 0 for i in range(rng.randint(1, 2))}
    arities = {name: rng.choice((1, 2, 2, 2, 3) if level == 0 else (1, 2, 2, 2)) for name, level in levels.items()}
    rules = [numeric_rule(rng, levels, arities) for _ in range(rng.randint(2, 8))]
    given = [name for name, level in levels.items() if level == 0]
    return over_numbers(rng, arities, given, list(dict.fromkeys(rules)), rng.randint(3, 5))


def numeric_rule(rng: random.Random, levels: Mapping[str, int], arities: Mapping[str, int]) -> str:
    head = rng.choice([name for name, level in levels.items() if level])
    variables = "xyzw"[: rng.randint(2, 4)]
    readable = [name for name, level in levels.items() if level <= levels[head]]
    body = []
    for _ in range(rng.choice((1, 2, 2, 2, 3))):
        name = rng.choice(readable)
        args = [rng.choice(variables) if rng.random() < 0.93 else str(rng.randrange(4)) for _ in range(arities[name])]
        body.append(f"{name}({', '.join(args)})")
    bound = sorted({name for name in variables if any(name in atom[2:] for atom in body)}) or ["1"]
    if rng.random() < 0.3:
        name = rng.choice([name for name, level in levels.items() if level < levels[head]])
        args = [rng.choice(bound) if rng.random() < 0.85 else "_" for _ in range(arities[name])]
        body.insert(rng.randint(0, len(body)), f"!{name}({', '.join(args)})")
    if rng.random() < 0.1 and len(bound) > 1:
        body.append(f"{bound[0]} {rng.choice(('!=', '<', '<='))} {bound[-1]}")
    args = [rng.choice(bound) if rng.random() < 0.96 else str(rng.randrange(4)) for _ in range(arities[head])]
    return f"{head}({', '.join(args)}) :- {', '.join(body)}."


def closed(rng: random.Random, seed: int) -> Script:
    """Closures of relations, of paths and of closures; each has rules that make it another or none, and readers."""
    rules = closure_rules(rng, "t", ("e", "f", "<e/f>", "<^f+>"))
    if rng.random() < 0.5:
        rules += closure_rules(rng, "u", ("t", "t", "f", "<t/e>"))
    rules += rng.sample(READERS, rng.randint(1, 5))
    return over_numbers(rng, CLOSED, ["e", "f", "n"], list(dict.fromkeys(rules)), rng.randint(4, 7))


CLOSED = {"e": 2, "f": 2, "n": 1, "t": 2, "u": 2, "v": 2, "w": 2, "g": 1}
READERS = [
    *(
        "v(x, y) :- <e+>(x, y).",
        "v(x, y) :- <(e|f)*>(x, y).",
        "v(x, y) :- <(e|^e)+>(x, y).",
        "v(x, z) :- v(x, y), e(y, z).",
    ),
    *("w(x, y) :- <e+>(x, y).", "w(x, y) :- v(x, y), f(y, x).", "w(x, c) :- n(x), c = count : { t(x, _) }."),
    *("w(x, y) :- v(x, y).", "w(x, y) :- f(x, y), !t(x, y).", "w(x, y) :- <t*>(x, y).", "w(x, z) :- w(x, y), w(y, z)."),
    *("g(x) :- t(x, x).", "g(x) :- n(x), !v(x, _).", "g(x) :- <e+>(x, x).", "g(y) :- t(2, y), u(y, _)."),
]


def closure_rules(rng: random.Random, name: str, edges: Sequence[str]) -> list[str]:
    """Rules of `name`, of which some are a closure."""
    some = rng.sample(edges, rng.choice((1, 1, 2)))
    rules = [f"{name}({rng.choice(('x, y', 'x, y', 'y, x'))}) :- {edge}(x, y)." for edge in some]
    rules += [f"{name}(x, x) :- n(x).", f"{name}(x, y) :- f(x, y), x < y.", f"{name}(x, y) :- e(x, y), !n(y)."]
    rules = [rule for i, rule in enumerate(rules) if i < len(some) or rng.random() < 0.25]
    unequal = ", x != z" if rng.random() < 0.25 else ""
    backwards = rng.random() < 0.2
    step = f"{some[0]}(z, y)" if backwards else f"{some[0]}(y, z)"
    steps = [f"{name}(x, y), {name}(y, z)", f"{name}(x, y), {step}", f"{step.translate(BEFORE)}, {name}(y, z)"]
    rules += [f"{name}(x, z) :- {body}{unequal}." for body in rng.sample(steps, rng.choice((1, 1, 2)))]
    if rng.random() < 0.3:
        rules.append(f"{name}(x, y) :- {name}(y, x).")
    if rng.random() < 0.2:
        rules.append(f"{name}(x, z) :- {name}(x, y), f(y, z), n(z).")
    return rules


BEFORE = str.maketrans("yz", "xy")


def over_numbers(
    rng: random.Random, arities: Mapping[str, int], given: list[str], rules: list[str], domain: int
) -> Script:
    columns = {name: ", ".join(f"x{i}: number" for i in range(arity)) for name, arity in arities.items()}
    declarations = "\n".join(f".decl {name}({text})" for name, text in columns.items())
    some = [name for name in arities if name in given or rng.random() < (1.0 if name in "tq" and domain == 3 else 0.3)]
    pool = {name: [tuple(rng.randrange(domain) for _ in range(arities[name])) for _ in range(9)] for name in some}
    return scripted(rng, declarations, rules, pool)


def generated(rng: random.Random, seed: int) -> Script:
    (case,) = random_cases(1, 9_000_000 + seed)
    pool = {name: sorted(rows, key=repr) for name, rows in case.facts.items() if rows}
    model = evaluate_naive(case.text, case.facts)
    for name in case.derived:
        if model[name] and rng.random() < 0.4:
            pool.setdefault(name, []).extend(rng.sample(sorted(model[name], key=repr), min(len(model[name]), 4)))
    rules = [str(replace(clause, name=None)) for clause in case.clauses if clause.body]
    return scripted(rng, "\n".join(case.declarations), rules, pool)


def families_of(file: Path) -> dict[str, tuple[list[str], list[str]]]:
    """The families of rules in a text, by name: what each declares, and its rules, one in a line."""
    found = {}
    for paragraph in file.read_text(encoding="utf-8").rstrip("\n").split("\n\n"):
        name, *lines = paragraph.split("\n")
        declared = [line for line in lines if line.startswith(".decl ")]
        found[name] = [line.removeprefix(".decl ") for line in declared], lines[len(declared) :]
    return found


def scripted(rng: random.Random, declarations: str, rules: list[str], pool: Mapping[str, list[Row]]) -> Script:
    """A script over some rules: the facts at the start, and the changes of the epochs."""
    named = {f"r{i}": f"r{i}: {text}" for i, text in enumerate(rules)}
    every = rng.random() < 0.3
    start = tuple(name for name in named if every or rng.random() < 0.7)
    share = rng.choice((0.3, 0.6, 0.9))
    facts = {name: frozenset(row for row in rows if rng.random() < share) for name, rows in pool.items()}
    often = rng.choice((0.0, 0.2, 0.5))
    active, epochs = set(start), []
    for _ in range(rng.randint(5, 20 if rng.random() < 0.1 else 7)):
        size = rng.choice((1, 1, 2, 4))
        delete, insert = (some_of(rng, pool, size if rng.random() < 0.65 else 0) for _ in range(2))
        flip = [name for name in named if rng.random() < 0.3] if rng.random() < often else []
        remove, add = tuple(n for n in flip if n in active), tuple(n for n in flip if n not in active)
        active = active - set(remove) | set(add)
        epochs.append(Epoch(delete, insert, remove, add))
    return Script(declarations, named, start, facts, tuple(epochs))


def some_of(rng: random.Random, pool: Mapping[str, list[Row]], size: int) -> Facts:
    found: dict[str, set[Row]] = {}
    for _ in range(rng.randint(0, size) if pool else 0):
        name = rng.choice(list(pool))
        if pool[name]:
            found.setdefault(name, set()).add(rng.choice(pool[name]))
    return {name: frozenset(rows) for name, rows in found.items()}


# --- running ---------------------------------------------------------------------------------------------------------


class WrongError(AssertionError):
    """The database is not what the script makes of it."""


class Follower:
    """A database that goes through a script, and what it ought to hold; every epoch is checked, or WrongError.

    By its seed a script is followed with hyper-nodes that are closures evaluated as such, or like all others; with all
    early projections, or without; and with a profile, which has to be readable after each epoch, or without one.

    Checked are: the asserted facts; the views, births and counts (tests/recount.py); the exact net changes; and that no
    bootstrap happened where `strategy` is "update".
    """

    def __init__(self, script: Script, strategy: str = "auto", switch: float = 0.2, folder: Path | None = None) -> None:
        self.script = script
        self.strategy = strategy
        self.switch = switch
        self.db = tidelog.connect() if folder is None else tidelog.connect(folder)
        self.db.load(script.text())
        self.active = list(script.active)
        self.epochs = 0
        for name, rows in script.facts.items():
            self.db.insert(name, sorted(rows, key=repr))
        self.facts = {name: set(rows) for name, rows in script.facts.items()}
        self.tables: dict[str, CountedTable] = {name: {} for name in self.db.engine.program.relations}
        self.set_options()
        self.check(self.db.commit())

    def set_options(self) -> None:
        """Let the database evaluate as the seed and the test say."""
        seed = self.script.seed or 0
        self.db.options(
            strategy=self.strategy,
            switch=self.switch,
            closures=seed // 8 % 2 == 0,
            profile=seed // 16 % 4 == 0,
            early_projection="always" if seed // 3 % 2 else "auto",
        )

    def follow(self, epoch: Epoch) -> Report:
        """Go through one epoch."""
        change = self.commit(epoch)
        self.note(epoch)
        self.check(change)
        str(self.db.profile())
        return change.report

    def commit(self, epoch: Epoch) -> tidelog.Change:
        """One epoch of the database alone."""
        with self.db.transaction() as transaction:
            change_in(transaction, self.script, epoch)
        assert transaction.change is not None
        return transaction.change

    def note(self, epoch: Epoch) -> None:
        """Note the expected state after an epoch."""
        for name, rows in epoch.delete.items():
            self.facts.setdefault(name, set()).difference_update(rows)
        for name, rows in epoch.insert.items():
            self.facts.setdefault(name, set()).update(rows)
        self.active = [name for name in self.active if name not in epoch.remove] + list(epoch.add)

    def check(self, change: tidelog.Change) -> None:
        before, self.tables = self.tables, state_of(self.db)
        problem = mistakes(self.db, self.tables, self.facts)
        if problem:
            raise WrongError(problem)
        changed = set(change)
        for name in self.db.relations:
            old, new = before.get(name, {}).keys(), self.tables[name].keys()
            if old != new or name in changed:
                found = set(change[name].inserted), set(change[name].deleted)
                if found != (new - old, old - new) or len(found[0]) + len(found[1]) == 0:
                    raise WrongError(f"{name}: the change is {found}, not {(new - old, old - new)}")
        self.epochs += 1
        check_now_and_then(self.db, f"{self.script.seed}, {self.strategy}, {self.epochs}")
        if self.strategy == "update" and any(without_need(node) for node in change.report.nodes):
            raise WrongError(f"a bootstrap happened: {change.report}")

    def check_naive(self) -> None:
        """The views are those of the naive evaluation of the rules and facts that there are now."""
        expected = evaluate_naive(self.script.text(tuple(self.active)), self.facts)
        for name, rows in expected.items():
            if rows != set(self.tables[name]):
                raise WrongError(f"{name}: differs from naive evaluation in {rows ^ set(self.tables[name])}")


def without_need(node: NodeReport) -> bool:
    """Return True if a node was bootstrapped that could have been updated: not one that negation splits, nor one whose
    rules have ceased to be those of a closure."""
    return node.strategy == "bootstrap" and not node.reason.startswith(
        ("its hyper-node could not be kept", "its closure could not be kept")
    )


class Changing(Protocol):
    """A transaction, or a database: facts and rules come and go."""

    def insert(self, relation: str, data: Any, /) -> object: ...

    def delete(self, relation: str, data: Any, /) -> object: ...

    @property
    def rules(self) -> RuleSet: ...


def change_in(transaction: Changing, script: Script, epoch: Epoch) -> None:
    for name, rows in epoch.delete.items():
        transaction.delete(name, sorted(rows, key=repr))
    for name, rows in epoch.insert.items():
        transaction.insert(name, sorted(rows, key=repr))
    for name in epoch.remove:
        transaction.rules.remove(name)
    if epoch.add:
        transaction.rules.add("\n".join(script.rules[name] for name in epoch.add))


AnyFollower = TypeVar("AnyFollower", bound=Follower)


def run(script: Script, strategy: str = "auto", switch: float = 0.2) -> str:
    """Return the error of a script, or ""; an exception is an error, too."""
    return error_of(lambda: Follower(script, strategy, switch), script, strategy, lambda end: end.check_naive())


def error_of(
    start: Callable[[], AnyFollower],
    script: Script,
    strategy: str,
    finish: Callable[[AnyFollower], None] = lambda _: None,
) -> str:
    """Return the error of a script that a follower goes through, or ""; an exception is an error, too."""
    place = "at the start"
    try:
        follower = start()
        for number, epoch in enumerate(script.epochs):
            place = f"in epoch {number}"
            follower.follow(epoch)
        finish(follower)
    except Exception as error:
        return f"{strategy}, {place}: {type(error).__name__}: {error}"
    return ""


# --- making smaller --------------------------------------------------------------------------------------------------


def reductions(script: Script) -> Iterator[Script]:
    """The script without one of its parts."""
    epochs = script.epochs
    for i in reversed(range(len(epochs))):
        if not (epochs[i].add or epochs[i].remove):
            yield replace(script, epochs=epochs[:i] + epochs[i + 1 :])
        if i == len(epochs) - 1:
            yield replace(script, epochs=epochs[:i])
    for name in script.rules:
        yield without_rule(script, name)
    for facts in fewer(script.facts):
        yield replace(script, facts=facts)
    for i, epoch in enumerate(epochs):
        for delete in fewer(epoch.delete):
            yield replace(script, epochs=(*epochs[:i], replace(epoch, delete=delete), *epochs[i + 1 :]))
        for insert in fewer(epoch.insert):
            yield replace(script, epochs=(*epochs[:i], replace(epoch, insert=insert), *epochs[i + 1 :]))


def without_rule(script: Script, name: str) -> Script:
    epochs = tuple(
        replace(
            epoch,
            remove=tuple(each for each in epoch.remove if each != name),
            add=tuple(each for each in epoch.add if each != name),
        )
        for epoch in script.epochs
    )
    rules = {each: text for each, text in script.rules.items() if each != name}
    return replace(script, rules=rules, active=tuple(each for each in script.active if each != name), epochs=epochs)


def fewer(facts: Facts) -> Iterator[Facts]:
    for name, rows in facts.items():
        yield {**facts, name: frozenset()} if len(rows) > 1 else {k: v for k, v in facts.items() if k != name}
        for row in sorted(rows, key=repr) if len(rows) > 1 else ():
            yield {**facts, name: rows - {row}}
