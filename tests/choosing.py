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
from pathlib import Path

import tidelog
from tests.generate import Row
from tests.scripts import Follower, Script, WrongError, error_of, families_of, scripted
from tests.suite import checked
from tidelog.language.syntax import CheckedProgram
from tidelog.reference import naive
from tidelog.reference.seminaive import CountedTable
from tidelog.rules.core import NodeSelection
from tidelog.rules.selections import candidates_of

FAMILIES = families_of(Path(__file__).with_suffix(".txt"))
GIVEN = "e(x: number, y: number, w: number) | s(x: number) | v(x: number) | g(x: number) | n(x: number, k: number)"


def script_for(seed: int, families: tuple[str, ...] = tuple(FAMILIES)) -> Script:
    """Return the script of a number."""
    rng = random.Random(f"choosing {seed}")
    return scripted_family(rng, families[seed % len(families)], seed)


def scripted_family(rng: random.Random, family: str, seed: int) -> Script:
    """Return a script over the rules of a family: facts of all relations come and go, and so do rules."""
    choosing, rules = FAMILIES[family]
    declarations = "\n".join(f".decl {each}" for each in [*choosing, *GIVEN.split(" | ")])
    nodes = rng.randint(3, 6)
    pool: dict[str, list[Row]] = {
        "e": [
            (rng.randrange(nodes), rng.randrange(nodes), rng.choice((0, 1, 1, 2))) for _ in range(rng.randint(6, 14))
        ],
        "s": [(0,), (rng.randrange(nodes),)],
    }
    for text in choosing:
        if family == "facts" or rng.random() < 0.4:
            arity = text.count(":")
            pool[text[0]] = [tuple(rng.randrange(nodes) for _ in range(arity)) for _ in range(6)]
    return replace(scripted(rng, declarations, rules, pool), seed=seed)


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
