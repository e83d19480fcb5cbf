"""The candidates of a hyper-node that selects, from scratch, once a search has found the best rows.

A row is born in the round in which the search read it. The row that it follows from was read before, in an earlier
round. So one pass counts all derivations from best rows, in any order, and no rounds are needed to find the births
(docs/theory.md). A row that got the same value again, from a row that was read once more, may be older than the row
that it follows from. Then it has no derivation that counts, and the births are not taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy

from tidelog.arrays import AnyWords
from tidelog.kernels import layout
from tidelog.maintain.assemble import Sight
from tidelog.maintain.bootstrap import internal_atoms
from tidelog.maintain.machine import Inputs, Interpreter, Job
from tidelog.maintain.statistics import LiveStatistics
from tidelog.maintain.update import states_of
from tidelog.rules.core import CoreAtom, CoreLiteral, CoreRule, HyperNode
from tidelog.rules.plans import plan_full
from tidelog.storage.marks import Marks
from tidelog.storage.stored import StoredRelation

_WORK_BEFORE_LOOK = 1_000_000
_BEST = "#best."


def credit_best(
    node: HyperNode, inputs: Inputs, facts: Mapping[str, AnyWords], best: Mapping[str, StoredRelation]
) -> int | None:
    """Fill the relations of `node`, which are open and empty, with the `best` rows and all that facts and rules derive
    from them; return the number of rounds. Return None, with empty relations, if some best row has no derivation from
    rows that were born before it. Raise WidenError, LimitError, KeyboardInterrupt."""
    rules = [rule for rule in node.rules if isinstance(rule, CoreRule)]
    internal = frozenset(node.relations)
    if any(len(internal_atoms(rule, internal)) > 1 for rule in rules):
        return None  # The search may have joined a row with one that it had found but not yet read.
    run = _Crediting(node, inputs, best)
    run.copy()
    for name, words in facts.items():
        run.assert_facts(name, words)
    run.derive([run.over_best(rule) for rule in rules])
    if run.founded():
        for name in node.relations:
            inputs.watch.look_at(name, inputs.relations[name].rows)
        return run.last - inputs.round
    for name in node.relations:
        inputs.relations[name].forget()
        inputs.relations[name].open()
    return None


class _Crediting:
    """One pass over the rules of a hyper-node. Candidates that are not shown are born in round `last`."""

    def __init__(self, node: HyperNode, inputs: Inputs, best: Mapping[str, StoredRelation]) -> None:
        self.inputs = inputs
        self.best = best
        self.candidates = {each.shown: each.candidates for each in node.selects}
        self.shown = {each.candidates: each.shown for each in node.selects}
        self.derived = {name: inputs.relations[name] for name in node.relations}
        self.last = max(inputs.round, *(found.marks.youngest for found in best.values())) + 1

    def copy(self) -> None:
        """Enter the best rows: those that are shown, and with births but without derivations those that rules
        derive."""
        for name, found in self.best.items():
            words, births = found.words(), found.marks.births()
            none = numpy.zeros(len(words), numpy.int32)
            derived = self.derived[self.candidates.get(name, name)]
            derived.ensure(max(found.rows, found.emitted))
            derived.insert(words)
            derived.marks.become(Marks(none, births, none, True))
            if name in self.candidates:
                shown = self.derived[name]
                shown.ensure(len(words))
                shown.insert(words)
                shown.marks.become(Marks(none + 1, births, None, True))

    def assert_facts(self, name: str, words: AnyWords) -> None:
        """Give a derivation to each of these facts."""
        from tidelog.kernels.credits import credit_rows

        catalog, stored, done = self.inputs.catalog, self.derived[name], 0
        buffer = catalog.stage(words)
        while done < len(words):
            done = credit_rows(catalog.table, stored.number, buffer.address, done, len(words), self.last, catalog.tag)
            if done < len(words):
                stored.ensure()

    def over_best(self, rule: CoreRule) -> CoreRule:
        """Return a rule that reads the best rows in the place of relations of the hyper-node."""

        def read(literal: CoreLiteral) -> CoreLiteral:
            if not isinstance(literal, CoreAtom) or literal.relation not in self.derived:
                return literal
            return replace(literal, relation=f"{_BEST}{self.shown.get(literal.relation, literal.relation)}")

        return replace(rule, body=tuple(map(read, rule.body)))

    def derive(self, rules: list[CoreRule]) -> None:
        """Credit all derivations by rules over the best rows to their heads."""
        from tidelog.kernels.credits import run_credits

        inputs = self.inputs
        rows = {f"{_BEST}{name}": found for name, found in self.best.items()}
        relations = {**inputs.relations, **rows}
        statistics, internal = LiveStatistics(relations, frozenset()), frozenset(rows)
        jobs = [Job(plan_full(rule, statistics), _sight(rule, internal)) for rule in rules]
        machine = Interpreter(inputs.catalog, inputs.dictionary, relations, [*rows, *self.derived], jobs)
        for name, stored in relations.items():
            if name not in self.derived:
                stored.settle()
        machine.levels[layout.S_BUDGET] = _WORK_BEFORE_LOOK
        numbers, state = numpy.empty(0, numpy.int64), numpy.zeros(layout.N_FIELDS, numpy.int64)
        machine.converse(run_credits, "", numbers, state, (self.last,), self.look)

    def look(self) -> None:
        """Raise if a limit has been reached."""
        self.inputs.watch.look(sum(stored.rows for stored in self.derived.values()))

    def founded(self) -> bool:
        """Return True if each of the best rows has a derivation from rows that were born before it."""
        return all(
            bool((self.derived[self.candidates.get(name, name)].marks.counts_in_place()[: found.rows] > 0).all())
            for name, found in self.best.items()
        )


def _sight(rule: CoreRule, internal: frozenset[str]) -> Sight:
    """Return the sight of a plan that evaluates a rule over all live rows, and takes note of births."""
    return Sight(
        layout.NOW, tuple(states_of(rule, lambda _: layout.NOW, lambda _: layout.NOW, lambda _: layout.NOW, internal))
    )
