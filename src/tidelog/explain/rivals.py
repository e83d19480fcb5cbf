"""The tuples that a relation which selects prefers to others, and those that it passed over.

A *candidate* that is not shown has been beaten by another one. A tuple that a choice shows may have had *rivals*: the
candidates that agree with it in a choice-domain. Both are read off the relation of candidates.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy

from tidelog.explain.derivations import TupleDerivations
from tidelog.explain.instances import Question
from tidelog.explain.views import EngineViews
from tidelog.explain.walks import Key
from tidelog.language.selections import Selection, selections_of
from tidelog.language.syntax import Anonymous, Atom, Comparison, Kind, Literal, Rule, Value, Variable
from tidelog.language.trees import rename
from tidelog.limits.watch import Watch
from tidelog.queries.bodies import GIVEN
from tidelog.reference.selections import order_of
from tidelog.rules.selections import BEATS, candidates_of


class Rivals:
    """The competition between the candidates of relations, over the views of an engine."""

    def __init__(self, derivations: TupleDerivations) -> None:
        self.derivations = derivations

    @cached_property
    def selections(self) -> dict[str, Selection]:
        """The selections of the program, by relation."""
        checked = self.derivations.checked
        return selections_of(checked.relations, checked.rules, checked.subsumptions)

    def better(self, views: EngineViews, key: Key, watch: Watch) -> tuple[Value, ...] | None:
        """Return the tuple that beats a candidate which is not shown: the first one by values, one that is shown if
        there is one."""
        selection = self.selections[self.derivations.shown(key.relation)]
        if selection.form == "dominance":
            found = self._dominating(views, selection, key, watch)
        else:
            found = [each for each in self._near(views, selection, key) if self._beats(selection, each, key)]
        shown = [each for each in found if self.derivations.holds(views, Key(selection.relation, each.words))]
        rows = map(self.derivations.values, shown or found)
        return min(rows, key=order_of, default=None)

    def rivals(self, views: EngineViews, key: Key) -> list[tuple[Value, ...]]:
        """Return the other candidates that agree with a tuple of a choice in one of its domains, by their values."""
        selection = self.selections.get(key.relation)
        if selection is None or selection.form != "choice":
            return []
        found = dict.fromkeys(self._near(views, selection, key))
        return sorted(map(self.derivations.values, found), key=order_of)

    def _near(self, views: EngineViews, selection: Selection, key: Key) -> Iterator[Key]:
        """Yield the other candidates that compete with a tuple."""
        name = candidates_of(selection.relation)
        if name not in views.state.program.relations:
            name = selection.relation
        for domain in selection.domains or (selection.keys,):
            columns = tuple(sorted(domain))
            group = numpy.array([[key.words[column] for column in columns]], numpy.int64)
            rows = views.near(name, columns, group)
            yield from (each for row in rows.tolist() if (each := Key(name, tuple(row))).words != key.words)

    def _beats(self, selection: Selection, one: Key, other: Key) -> bool:
        """Return True if a tuple is better than another one of its key."""
        if selection.form == "choice":
            return True
        costs = [self._costs(selection, each) for each in (one, other)]
        if selection.form == "best":
            return costs[0] < costs[1]
        return all(better <= worse for better, worse in zip(*costs, strict=True))

    def _costs(self, selection: Selection, key: Key) -> tuple[float, ...]:
        values: Sequence[Value] = self.derivations.values(key)
        return tuple(values[i] if op == "min" else -values[i] for i, op in selection.orders)  # type: ignore[operator,misc]  # Numbers.

    def _dominating(self, views: EngineViews, selection: Selection, key: Key, watch: Watch) -> list[Key]:
        """Return the candidates that dominate one by subsumption rules, without being dominated by it."""
        better = self._pairs(views, selection, key, watch, (0, 1))
        worse = set(self._pairs(views, selection, key, watch, (1, 0)))
        return [each for each in better if each not in worse]

    def _pairs(
        self, views: EngineViews, selection: Selection, key: Key, watch: Watch, order: tuple[int, int]
    ) -> list[Key]:
        """Return the candidates that stand in the second head of a subsumption rule where a tuple stands in the first
        one, in this order of the heads."""
        found: dict[Key, None] = {}
        for rule in selection.rules:
            given = numpy.array([key.words], numpy.int64)
            renamed = views.candidates_read(f"{BEATS}{selection.relation}")
            rows = self._question(selection.relation, rule, order, renamed).answers(views, given, watch)
            found |= dict.fromkeys(Key(key.relation, tuple(row)) for row in rows.tolist())
        return list(found)

    def _question(self, name: str, rule: Rule, order: tuple[int, int], renamed: Mapping[str, str]) -> Question:
        """Return the question for the tuples in one head of a subsumption rule, with the other head given. The rule
        reads the candidates of the relations `renamed`."""
        checked = self.derivations.checked
        relation, candidates = checked.relations[name], candidates_of(name)
        rule = rename(rule, lambda each: renamed.get(each, each), str, str)
        kinds: dict[str, Kind] = dict(rule.kinds)
        equations: list[Literal] = []

        def columns_of(head: Atom, stem: str) -> tuple[Variable, ...]:
            found = tuple(Variable(f"#{stem}{i}") for i in range(len(head.args)))
            for variable, term, column in zip(found, head.args, relation.columns, strict=True):
                kinds[variable.name] = column.kind
                if not isinstance(term, Anonymous):
                    equations.append(Comparison("=", variable, term, kind=column.kind))
            return found

        given = columns_of(rule.heads[order[0]], "given")
        other = columns_of(rule.heads[order[1]], "other")
        body = (Atom(GIVEN, given), Atom(candidates, other), *equations, *rule.body)
        shown = [each.name for each in other]
        read = {own: replace(checked.relations[each], name=own) for each, own in renamed.items()}
        return Question(body, shown, relation.columns, kinds, checked, read)
