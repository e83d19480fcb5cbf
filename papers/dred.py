"""DRed: delete and re-derive (Gupta, Mumick and Subrahmanian, *Maintaining Views Incrementally*, 1993, Section 7).

The ZodiacEdge paper describes it in Section 5. First come the deletions, an overestimate, as some of the deleted facts
can still be inferred from others. These come back in the second step, and the last step makes the new inferences. DRed
needs no numbers beside the tuples. Strata are the hyper-nodes of the core program, in order. In each:

1. over-delete: a derived tuple goes when any derivation of it uses a tuple that went or denies one that came; 2.
re-derive: a tuple that went comes back when it has a derivation from the rest; 3. insert: add the consequences of the
tuples that came, and of negated ones that went.

A tuple may be an input of the stratum, for instance a fact asserted for a derived relation. It stays in the view when
its derivations go, so nothing else goes on its account. Aggregates are inputs, computed from the whole group relation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from papers.joins import (
    Fact,
    Rows,
    Source,
    Tables,
    Visits,
    aggregated,
    all_given,
    as_tables,
    derivations,
    edited,
    heads_bound,
    holds,
    negatives,
    plain_rules,
    positives,
    through_atoms,
    through_negations,
)
from tidelog.rules.core import CoreProgram, CoreRule
from tidelog.semantics.values import Row

Sets = Mapping[str, set[Row]]


class DRed:
    """The views of a program, updated by one `epoch` after the other."""

    def __init__(self, core: CoreProgram, facts: Mapping[str, Iterable[Row]]) -> None:
        self.core = core
        self._visits = Visits()
        self._facts: dict[str, set[Row]] = {name: set() for name in core.relations}
        self._strata = [Stratum(plain_rules(node), self._visits) for node in core.nodes]
        self.views: dict[str, set[Row]] = {}
        self._change(all_given(core, facts))

    @property
    def visited(self) -> int:
        """Return the number of derivations looked at since the beginning."""
        return self._visits.total

    def epoch(self, insert: Mapping[str, Iterable[Row]], delete: Mapping[str, Iterable[Row]]) -> None:
        """Delete the facts `delete` and insert `insert`; facts in both are inserted."""
        self._change(edited(self.core, self._facts, insert, delete))

    def _change(self, facts: dict[str, set[Row]]) -> None:
        before, views = {**self.views}, {name: set(rows) for name, rows in facts.items()}
        for node, stratum in zip(self.core.nodes, self._strata, strict=True):
            for name, row in aggregated(node.rules, views):
                views[name].add(row)
            inputs = {name: self._facts[name] for name in node.relations}
            if stratum.rules:
                stratum.update({**before, **inputs}, views)
                for name in node.relations:
                    views[name] |= stratum.derived.get(name, set())
        self._facts, self.views = facts, views


class Stratum:
    """The rules of a stratum, and their derived tuples for inputs that change; inputs may have tuples of the derived
    relations too.

    `derived` is the least set that holds everything the rules derive from the inputs and from itself.
    """

    def __init__(self, rules: Iterable[CoreRule], visits: Visits) -> None:
        self.rules = list(rules)
        self.derived: dict[str, set[Row]] = {}
        self._visits = visits

    @property
    def reads(self) -> set[str]:
        """Return the relations in the rules."""
        return {atom.relation for rule in self.rules for atom in (rule.head, *positives(rule), *negatives(rule))}

    def update(self, old: Sets, new: Sets) -> None:
        """Update `derived` from the inputs `old` to the inputs `new`. Other relations than the rules' do not matter."""
        minus = {name: Rows(old.get(name, set()) - new.get(name, set())) for name in self.reads}
        plus = {name: Rows(new.get(name, set()) - old.get(name, set())) for name in self.reads}
        if not any(minus.values()) and not any(plus.values()):
            return
        lost = self._over_delete(old, minus, plus)
        for name, row in lost:
            self.derived[name].discard(row)
        left = {name: old.get(name, set()) - minus[name].rows for name in self.reads}
        view = {name: Rows(left[name] | self.derived.get(name, set())) for name in self.reads}
        self._re_derive(lost, view, (view, minus, plus))
        self._insert(minus, plus, view)

    def _over_delete(self, old: Sets, minus: Tables, plus: Tables) -> set[Fact]:
        """Step 1: return all tuples reached from the change by derivations that held before."""
        before = {name: Rows(old.get(name, set()) | self.derived.get(name, set())) for name in self.reads}
        stays = {name: Rows(old.get(name, set()) - minus[name].rows) for name in self.reads}
        lost: set[Fact] = set()
        gone = {name: Rows() for name in self.reads}
        found: set[Fact] = set()
        for rule in self.rules:
            sources = [Source(before[atom.relation]) for atom in positives(rule)]
            found.update(self._visits(through_negations(rule, plus, sources, (before,))))
        changed: Tables = minus
        while True:
            for rule in self.rules:
                # What denies a tuple that came is lost already: a negated atom may match nothing of before and plus.
                found.update(self._visits(through_atoms(rule, changed, before, (before, plus), gone)))
            for name in self.reads:
                for row in changed.get(name, ()):
                    gone[name].add(row)
            new = {fact for fact in found if self._derives(fact)} - lost
            if not new:
                return lost
            lost |= new
            changed = as_tables(fact for fact in new if not holds(gone, fact) and not holds(stays, fact))
            found = set()

    def _re_derive(self, lost: set[Fact], view: dict[str, Rows], absent: tuple[Tables, ...]) -> None:
        """Step 2: add tuples of `lost` to `view` and `derived` that have a derivation that held before and holds
        now."""
        back: set[Fact] = set()
        for rule in self.rules:
            sources = [Source(view[atom.relation]) for atom in positives(rule)]
            rows = [row for name, row in lost - back if name == rule.head.relation]
            for start in heads_bound(rule, rows):
                # One derivation is enough.
                for fact in self._visits(derivations(rule, sources, absent, start=[start])):
                    back.add(fact)
                    break
        self._close(back, view, absent, lambda fact: fact in lost)

    def _insert(self, minus: Tables, plus: Tables, view: dict[str, Rows]) -> None:
        """Step 3: add the tuples to `view` and `derived` that follow from the changes of the inputs."""
        came = as_tables((name, row) for name in self.reads for row in plus[name] if row not in view[name])
        for name, rows in came.items():
            for row in rows:
                view[name].add(row)
        found: set[Fact] = set()
        for rule in self.rules:
            sources = [Source(view[atom.relation]) for atom in positives(rule)]
            found.update(self._visits(through_negations(rule, minus, sources, (view,))))
            found.update(self._visits(through_atoms(rule, came, view, (view, minus))))
        self._close(found, view, (view,), lambda fact: True)

    def extend(self, rules: Iterable[CoreRule], inputs: Sets) -> None:
        """Add rules: evaluate them over the view as it is, then continue from the new tuples."""
        added = list(rules)
        self.rules += added
        view = {name: Rows(inputs.get(name, set()) | self.derived.get(name, set())) for name in self.reads}
        found: set[Fact] = set()
        for rule in added:
            sources = [Source(view[atom.relation]) for atom in positives(rule)]
            found.update(self._visits(derivations(rule, sources, (view,))))
        self._close(found, view, (view,), lambda fact: True)

    def _close(
        self, found: set[Fact], view: dict[str, Rows], absent: tuple[Tables, ...], wanted: Callable[[Fact], bool]
    ) -> None:
        """Add `found` to `derived` and to `view`, and all `wanted` consequences, semi-naively."""
        while found:
            for name, row in found:
                self.derived.setdefault(name, set()).add(row)
            changed = as_tables(fact for fact in found if not holds(view, fact))
            for name, rows in changed.items():
                for row in rows:
                    view[name].add(row)
            heads = {fact for rule in self.rules for fact in self._visits(through_atoms(rule, changed, view, absent))}
            found = {fact for fact in heads if wanted(fact) and not self._derives(fact)}

    def _derives(self, fact: Fact) -> bool:
        relation, row = fact
        return row in self.derived.get(relation, ())
