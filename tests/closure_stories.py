"""Stories of hyper-nodes that are closures in the engine, for tests of what becomes of them.

A `Story` goes from commit to commit. After each, the views are those of naive evaluation, the recount finds no mistake,
the certificate is accepted (every third time), and the change before, read only now, is the exact difference of its
epoch.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest

import tidelog
from tests.generate import Row
from tests.recount import asserted_in, mistakes, state_of
from tests.suite import evaluate_naive, views
from tidelog.storage.closed_relation import ClosedRelation

DECLARATIONS = "".join(f".decl {name}(x: number, y: number)\n" for name in "eftuvw") + ".decl n(x: number)\n"
EDGES = [(1, 2), (2, 3), (3, 4), (6, 6)]
CLOSED = {(1, 2), (1, 3), (1, 4), (2, 3), (2, 4), (3, 4), (6, 6)}
BASE, COMPOSED = "base: t(x, y) :- e(x, y).", "step: t(x, z) :- t(x, y), t(y, z)."
LINEAR, SHOWN = "step: t(x, z) :- t(x, y), e(y, z).", "shown: v(x, y) :- e+(x, y)."
Facts = Mapping[str, list[Row]]


class Story:
    """A database with everything that has happened to it."""

    def __init__(self, rules: str, strategy: str = "update", declarations: str = DECLARATIONS, **facts: list[Row]):
        self.declarations = declarations
        self.db = tidelog.connect()
        self.db.load(declarations + rules)
        self.db.options(strategy=strategy)
        self.looked = 0
        for name, rows in facts.items():
            self.db.insert(name, rows)
        self.change = self.db.commit()
        self.held = {name: self.db[name] for name in self.db.relations}
        self.before = self.right()
        self.expected: dict[str, tuple[set[Row], set[Row]]] = {
            name: (rows, set()) for name, rows in self.before.items() if rows
        }

    def step(
        self, add: str = "", remove: str = "", insert: Facts | None = None, delete: Facts | None = None
    ) -> dict[str, str]:
        """One epoch; the strategy of each relation that was looked at."""
        with self.db.transaction() as transaction:
            for name, rows in (delete or {}).items():
                transaction.delete(name, rows)
            for name, rows in (insert or {}).items():
                transaction.insert(name, rows)
            for name in remove.split():
                transaction.rules.remove(name)
            if add:
                transaction.rules.add(add)
        self.read()
        assert transaction.change is not None
        self.change = transaction.change
        now = self.right()
        self.expected, self.before = differences(self.before, now), now
        assert not any("#" in name for node in self.change.report.nodes for name in node.relations)
        return {name: node.strategy for node in self.change.report.nodes for name in node.relations}

    def read(self) -> None:
        """The last change, however late, is what its epoch did."""
        found = {name: (set(self.change[name].inserted), set(self.change[name].deleted)) for name in self.change}
        assert found == self.expected

    def right(self) -> dict[str, set[Row]]:
        """The views, which are those of the rules and facts that there are."""
        facts = asserted_in(self.db)
        found = views(self.db)
        text = self.declarations + "\n".join(self.db.rules[name] for name in self.db.rules)
        assert found == evaluate_naive(text, {name: facts[name] for name in self.db.relations})
        assert {name: set(rows) for name, rows in self.held.items()} == {name: found[name] for name in self.held}
        assert mistakes(self.db, state_of(self.db), facts) == ""
        self.looked += 1
        if self.looked % 3 == 0:
            self.db.check()
        return found

    @property
    def closures(self) -> set[str]:
        """The relations that are kept as closures."""
        return set(self.db.engine.closures)

    @property
    def unwritten(self) -> set[str]:
        """The relations without rows."""
        return {name for name, stored in self.db.engine.views.items() if isinstance(stored, ClosedRelation)}

    @property
    def mirrors(self) -> dict[str, str]:
        """The relations that show the closure of a path."""
        return dict(self.db.engine.mirrors)

    def reason(self, name: str) -> str:
        (reason,) = [node.reason for node in self.change.report.nodes if name in node.relations]
        return reason


def differences(before: dict[str, set[Row]], now: dict[str, set[Row]]) -> dict[str, tuple[set[Row], set[Row]]]:
    return {name: (rows - before[name], before[name] - rows) for name, rows in now.items() if rows != before[name]}


STRATEGIES = pytest.mark.parametrize("strategy", ["update", "bootstrap", "auto"])
RULES = pytest.mark.parametrize(
    "rules",
    [
        f"{BASE} {COMPOSED}",
        f"{BASE} {LINEAR}",
        f"{BASE} {COMPOSED} t(x, y) :- t(y, x).",
        f"{BASE} t(x, z) :- t(x, y), t(y, z), x != z. t(x, x) :- n(x).",
        f"{BASE} {COMPOSED} t(x, y) :- f(x, y), x < y.",
        SHOWN,
    ],
    ids=["composed", "linear", "symmetric", "irreflexive", "base", "path"],
)
