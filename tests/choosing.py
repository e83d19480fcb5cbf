"""Random scripts over relations with choice-domains: trees, matchings, assignments, in recursion and beside it.

    script = script_for(seed)      # the same seed gives the same script
    problem = run(script)          # "" or what is wrong

The right answer is not unique. After each epoch the reference says for the tuples that are shown: whether they follow
from each other, whether another one could be shown, whether all are still shown that follow from those shown before,
and whether the oldest candidates have taken their places. From scratch they are those of the reference.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Set
from dataclasses import replace

import tidelog
from tests.generate import Row
from tests.scripts import Follower, Script, WrongError, error_of, scripted
from tests.suite import checked
from tidelog.language.syntax import CheckedProgram
from tidelog.reference import naive
from tidelog.reference.seminaive import CountedTable
from tidelog.rules.core import NodeSelection
from tidelog.rules.selections import candidates_of

FAMILIES: Mapping[str, tuple[str, str]] = {
    "tree": (
        "t(x: number, y: number) choice-domain x",
        "t(x, 9) :- s(x). | t(y, x) :- t(x, _), e(x, y, _). | g(x) :- s(x), !t(x, _)."
        " | n(x, k) :- t(_, x), k = count : { t(_, x) }. | t(y, x) :- t(x, z), t(z, _), e(y, x, 0).",
    ),
    "matching": (
        "m(x: number, y: number) choice-domain x, y",
        "m(x, y) :- e(x, y, _). | m(x, y) :- e(y, x, 1), s(x). | g(x) :- m(x, _). | n(x, y) :- m(x, y), !m(y, x).",
    ),
    "assignment": (
        "a(x: number, y: number, w: number) choice-domain x, (y, w)",
        "a(x, y, w) :- e(x, y, w). | a(y, z, w) :- a(x, y, w), e(y, z, _). | a(y, x, 0) :- a(x, y, w), w > 0."
        " | g(x) :- a(x, x, _).",
    ),
    "order": (
        "o(x: number, y: number) choice-domain x, y",
        "o(9, x) :- s(x). | o(x, y) :- o(_, x), v(y), !s(y). | v(x) :- e(x, _, _). | v(x) :- e(_, x, _)."
        " | g(x) :- v(x), !o(_, x).",
    ),
    "election": (
        "l(x: number, y: number) choice-domain x",
        "l(x, x) :- g(x), x > 0. | l(y, k) :- l(x, k), e(x, y, _). | g(x) :- s(x). | g(y) :- g(x), e(x, y, 1)."
        " | g(k) :- l(_, k), e(k, _, _). | n(x, k) :- l(x, k), s(k).",
    ),
    "two choices": (
        "p(x: number, y: number) choice-domain x | q(x: number, y: number) choice-domain y",
        "p(x, y) :- e(x, y, _). | q(x, y) :- p(y, x). | p(y, z) :- q(x, y), e(x, z, 1). | q(x, z) :- p(x, y), q(y, z)."
        " | g(x) :- p(x, y), q(y, _).",
    ),
    "one after the other": (
        "p(x: number, y: number) choice-domain x | q(x: number, y: number) choice-domain x, y",
        "p(x, y) :- e(x, y, _). | q(x, z) :- p(x, y), p(y, z). | q(y, z) :- q(x, y), p(x, z)."
        " | g(x) :- p(x, y), !q(x, y).",
    ),
    "beside a minimum": (
        "c(x: number, y: number) choice-domain x | d(x: number, w: number) min(w)",
        "d(x, 0) :- s(x). | d(y, k + w) :- d(x, k), e(x, y, w), k < 5. | c(y, x) :- d(y, _), e(x, y, _)."
        " | d(x, w) :- c(x, y), e(y, x, w), w < 2. | g(x) :- c(x, y), d(y, 0).",
    ),
    "facts": ("f(x: number, y: number) choice-domain y, x", "g(x) :- f(x, y), e(y, _, _). | n(x, y) :- f(x, y)."),
    "every column": (
        "k(x: number, y: number) choice-domain (x, y) | u(x: number) choice-domain x",
        "k(x, y) :- e(x, y, _). | k(x, z) :- k(x, y), k(y, z). | u(x) :- k(x, x).",
    ),
}
GIVEN = "e(x: number, y: number, w: number) | s(x: number) | v(x: number) | g(x: number) | n(x: number, k: number)"


def script_for(seed: int, families: tuple[str, ...] = tuple(FAMILIES)) -> Script:
    """Return the script of a number."""
    rng = random.Random(f"choosing {seed}")
    return scripted_family(rng, families[seed % len(families)], seed)


def scripted_family(rng: random.Random, family: str, seed: int) -> Script:
    """Return a script over the rules of a family: facts of all relations come and go, and so do rules."""
    choosing, rules = FAMILIES[family]
    declarations = "\n".join(f".decl {each}" for each in [*choosing.split(" | "), *GIVEN.split(" | ")])
    nodes = rng.randint(3, 6)
    pool: dict[str, list[Row]] = {
        "e": [
            (rng.randrange(nodes), rng.randrange(nodes), rng.choice((0, 1, 1, 2))) for _ in range(rng.randint(6, 14))
        ],
        "s": [(0,), (rng.randrange(nodes),)],
    }
    for text in choosing.split(" | "):
        if family == "facts" or rng.random() < 0.4:
            arity = text.count(":")
            pool[text[0]] = [tuple(rng.randrange(nodes) for _ in range(arity)) for _ in range(6)]
    return replace(scripted(rng, declarations, rules.split(" | "), pool), seed=seed)


class Judged(Follower):
    """A database that goes through a script over relations that choose, judged by the reference after every epoch."""

    def check(self, change: tidelog.Change) -> None:
        before = self.tables
        super().check(change)
        program = checked(self.script.text(tuple(self.active)))
        views: dict[str, Set[Row]] = {name: self.tables[name].keys() for name in self.db.relations}
        chosen = {each.shown: each for node in self.db.engine.nodes for each in node.selects if each.domains}
        problem = wrong_choice(program, self.facts, views)
        if self.epochs == 1:
            expected = naive.evaluate(program, self.facts)
            problem = next((f"{n}: {rows} from scratch" for n, rows in expected.items() if rows != views[n]), problem)
        else:
            former = {name: before[name].keys() for name in chosen if name in before}
            problem = problem or forgotten(program, self.facts, views, former)
            if self.strategy == "update" and not any(node.strategy == "bootstrap" for node in change.report.nodes):
                problem = problem or "".join(
                    each for selection in chosen.values() for each in younger(selection, before, self.tables)
                )
        if problem:
            raise WrongError(f"{problem}, of {views}")


def wrong_choice(program: CheckedProgram, facts: Mapping[str, Set[Row]], views: Mapping[str, Set[Row]]) -> str:
    """Return what is wrong with views under the choice that they show, or ""."""
    found = naive.evaluate(program, facts, choices=views)
    return next((f"{name}: {rows} follow" for name, rows in found.items() if rows != views[name]), "")


def forgotten(
    program: CheckedProgram,
    facts: Mapping[str, Set[Row]],
    views: Mapping[str, Set[Row]],
    former: Mapping[str, Set[Row]],
) -> str:
    """Return which of the tuples that were chosen, and follow from each other, are not chosen any more, or ""."""
    for group in naive.strata(program):
        own = {name: former[name] for name in group if name in former}
        if own:
            found = naive.evaluate(program, facts, choices={**views, **own})
            lost = {(name, row) for name in own for row in found[name] - views[name]}
            if lost:
                return f"{lost} could stay"
    return ""


def younger(
    selection: NodeSelection, before: Mapping[str, CountedTable], after: Mapping[str, CountedTable]
) -> Iterator[str]:
    """Yield the candidates that have waited, and in whose place only younger ones are shown."""
    name = selection.shown
    candidates = candidates_of(name)
    if name not in before:
        return
    last = max((birth for table in before.values() for birth, _ in table.values()), default=0)
    for row, (birth, _) in after[candidates].items():
        old = before[candidates].get(row)
        if row in after[name] or old is None or birth != old[0] or birth > last:
            continue
        rivals = [
            each for each in after[name] if any(all(each[i] == row[i] for i in domain) for domain in selection.domains)
        ]
        if any(each in before[name] for each in rivals):
            continue
        ages = {each: before[candidates][each][0] for each in rivals if each in before[candidates]}
        if not any((age, each) < (birth, row) for each, age in ages.items()):
            yield f"{name}: {row} has waited since {birth}, but {rivals} are shown"


def run(script: Script, strategy: str = "update") -> str:
    """Return the error of a script, or ""; an exception is an error, too."""
    return error_of(lambda: Judged(script, strategy), script, strategy)
