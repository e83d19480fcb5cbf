"""From the derivations that a search has found to a proof over triples.

Tuples of several relations may stand for one triple; it gets one step. The internal relations of lists get none: rules
over members have the triples of the list among their premises, and these become one axiom, such as
`:A owl:intersectionOf (:B :C)`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from tidelog.database.database import Database
from tidelog.errors import wrong_argument
from tidelog.explain.batches import TupleDerivation
from tidelog.explain.checking import Checked, ViewTables, check_steps
from tidelog.explain.conditions import conditions_of, with_witnesses
from tidelog.explain.proof import Proof
from tidelog.explain.questions import MOST_MEMBERS
from tidelog.explain.search import Found
from tidelog.explain.steps import BoundRule, Condition, RowOf, Walk
from tidelog.explain.walks import Key
from tidelog.rdf.derivations import TripleSearch
from tidelog.rdf.names import LITERAL_FACTS
from tidelog.rdf.table_checks import FIRST, NIL, REST_OF, AxiomCheck, TableCheck, TripleStep, follows, goal_of
from tidelog.rdf.tables import AXIOM, CELL, MEMBER, TableRule, Triple
from tidelog.rdf.terms import IS_LITERAL, IS_RESOURCE
from tidelog.rdf.wording import TRIPLES, TripleWording
from tidelog.semantics.values import Row

Numbers = tuple[int, ...]


@dataclass(frozen=True, repr=False)
class TripleProof(Proof):
    """Why a triple holds, a tuple of a program's own relation, or a contradiction."""

    @cached_property
    def triples(self) -> tuple[tuple[str, str, str], ...]:
        """The asserted triples that the proof uses, axioms among them."""
        facts = (step.values for step in self.steps if step.sort == "fact" and step.relation == TRIPLES)
        return tuple((str(s), str(p), str(o)) for s, p, o in facts)

    def check(self, store: Any = None) -> Checked:
        """Check each step by itself, see `Proof.check`: a rule of OWL 2 RL or RDFS has to lead, as W3C writes it, from
        the premises to the triple. With the `store`, look up also facts, and the rules of its programs with their
        conditions. Raise ProofRejected (E0820)."""
        if not (store is None or hasattr(store, "checking")):
            raise wrong_argument("the store of a proof", "a store of triples", store)
        return check_steps(self.steps, None if store is None else store.checking())


class TripleViews(ViewTables):
    """The triples of a store and the relations of its programs, as proofs show them."""

    def __init__(self, database: Database, wording: TripleWording) -> None:
        super().__init__(database)
        self._wording = wording
        self._triples: set[RowOf] = set()
        self._facts: set[RowOf] = set()
        for name, rows in self.tables.tables.items():
            self._triples.update(wording.row(name, row) for row in rows)
            self._facts.update(wording.row(name, row) for row in database.asserted(name))
        self._names = {name for name, _ in self._triples}

    @cached_property
    def texts(self) -> dict[str, str]:
        """The texts of the rules, by their names, as proofs show them."""
        return {name: self._wording.renamed(text) for name, text in super().texts.items()}

    def knows(self, name: str) -> bool:
        """Return True if there is such a relation."""
        return name in self._names

    def shows(self, name: str, values: Row) -> bool:
        """Return True if a relation has a tuple, or there is a triple."""
        return (name, values) in self._triples

    def is_fact(self, name: str, values: Row) -> bool:
        """Return True if a tuple is an asserted fact."""
        return (name, values) in self._facts


class ProofOfTriples:
    """The steps of one proof, from what a search has found."""

    def __init__(self, search: TripleSearch, wording: TripleWording, table: tuple[TableRule, ...]) -> None:
        self.search = search
        self.derivations = search.derivations
        self.wording = wording
        self.table = table
        self.steps: list[TripleStep] = []
        self.numbers: dict[Key, int] = {}
        """The steps of tuples in the last proof."""
        self._numbers: dict[Key, int] = {}
        self._cells: dict[Key, Numbers] = {}
        """Of internal tuples about lists: the steps of the triples of the list."""
        self._open: set[Key] = set()
        """Internal tuples that a limit has left open."""
        self._shown: dict[object, int] = {}
        internal = (MEMBER, CELL, AXIOM, *LITERAL_FACTS)
        self._internal = {self.derivations.names.properties.get(iri, "") for iri in internal}

    def proof(self, goal: Key, found: Found) -> TripleProof:
        """Return the proof of a tuple."""
        waiting = [(goal, False)]
        while waiting:
            key, ready = waiting.pop()
            if key in self._numbers or key in self._cells:
                continue
            chosen = found.chosen.get(key)
            if not ready and chosen is not None:
                waiting.append((key, True))
                waiting += [(premise, False) for premise in reversed(chosen.premises)]
            else:
                self._add(key, chosen, is_open=key not in found.chosen)
        return self._pruned(self._numbers[goal])

    def _pruned(self, goal: int) -> TripleProof:
        """Return the proof with the steps that its goal needs."""
        needed = {goal}
        for number in range(goal, -1, -1):
            if number in needed:
                needed.update(self.steps[number].premises)
        numbers = {number: i for i, number in enumerate(sorted(needed))}
        self.numbers = {key: numbers[number] for key, number in self._numbers.items() if number in numbers}
        return TripleProof(
            tuple(
                replace(
                    self.steps[number],
                    premises=tuple(numbers[each] for each in self.steps[number].premises),
                    details=tuple(numbers[each] for each in self.steps[number].details),
                    conditions=tuple(
                        replace(each, witness=tuple(numbers[number] for number in each.witness))
                        for each in self.steps[number].conditions
                    ),
                )
                for number in numbers
            )
        )

    def _add(self, key: Key, chosen: TupleDerivation | None, *, is_open: bool) -> None:
        """Add the step of a tuple whose premises have theirs."""
        if key.relation in self._internal:
            self._cells[key] = self._all(() if chosen is None else chosen.premises)
            if is_open or (chosen is not None and not self._open.isdisjoint(chosen.premises)):
                self._open.add(key)
            return
        name, values = self.derivations.shown(key.relation), self.derivations.values(key)
        is_candidate = name != key.relation and not self.derivations.holds(self.search.views, Key(name, key.words))
        shown = self.wording.row(name, values)
        if (shown, is_candidate) not in self._shown:
            step = self._step(key, shown, chosen, is_open)
            self._shown[shown, is_candidate] = self._append(replace(step, is_candidate=is_candidate))
        self._numbers[key] = self._shown[shown, is_candidate]

    def _all(self, premises: tuple[Key, ...]) -> Numbers:
        """Return the steps of some premises, those of the triples of their list for internal ones."""
        found: dict[int, None] = {}
        for each in premises:
            found.update(dict.fromkeys(self._cells[each] if each in self._cells else (self._numbers[each],)))
        return tuple(found)

    def _append(self, step: TripleStep) -> int:
        below = max((self.steps[number].height for number in step.premises), default=0)
        self.steps.append(replace(step, height=below + (step.sort in ("rule", "walk"))))
        return len(self.steps) - 1

    def _step(self, key: Key, shown: tuple[str, Any], chosen: TupleDerivation | None, is_open: bool) -> TripleStep:
        relation, values = shown
        step = TripleStep(relation, values, "fact", label=self.wording.shown_text(*shown))
        if chosen is None:
            return replace(step, sort="open" if is_open else "fact")
        if chosen.flat is None:
            walk = Walk(relation, self.derivations.automaton(self.search.views, key.relation), self.wording.row)
            return replace(step, sort="walk", premises=self._in_order(chosen), instance=walk)
        name = self.derivations.table_rule(chosen.flat)
        if name is not None:
            if not self._open.isdisjoint(chosen.premises):
                return replace(step, sort="open")
            premises = self._all(chosen.premises)
            if any(each in self._cells for each in chosen.premises):
                premises = self._needed(name, step, premises)
            premises, text = self._folded(premises), self.wording.rule(chosen.flat).text
            return replace(step, sort="rule", rule=name, text=text, premises=premises, instance=TableCheck())
        return self._of_program(step, chosen)

    def _in_order(self, chosen: TupleDerivation) -> Numbers:
        return tuple(self._numbers[premise] for premise in chosen.premises)

    def _of_program(self, step: TripleStep, chosen: TupleDerivation) -> TripleStep:
        """Return the step by a rule of a program."""
        flat = chosen.flat
        assert flat is not None
        decode, words = self.derivations.dictionary.decode, zip(flat.variables, chosen.words, strict=True)
        bound = {name: decode(word, flat.kinds[name]) for name, word in words}
        rule, below = self.wording.rule(flat), self._in_order(chosen)
        conditions = tuple(map(self._worded, conditions_of(flat, chosen.words, bound, self.search, MOST_MEMBERS)))
        instance = BoundRule(flat, bound, self.wording.row, self._worded)
        return replace(
            step,
            sort="rule",
            rule=rule.name,
            text=rule.text,
            span=rule.span,
            variables=instance.written,
            premises=below,
            conditions=with_witnesses(conditions, flat, below),
            instance=instance,
        )

    def _worded(self, condition: Condition) -> Condition:
        """Return a condition in the words of the store."""
        first, text = tuple(map(self.wording.renamed, condition.first)), self.wording.renamed(condition.text)
        for end, words in ((IS_RESOURCE, " is no literal"), (IS_LITERAL, " is a literal")):
            text = text.removesuffix(end) + words if text.endswith(end) else text
        return replace(condition, text=text, first=first, absent=None)

    def _needed(self, name: str, step: TripleStep, numbers: Numbers) -> Numbers:
        """Return those of some premises that a rule of the table needs: rules about members ask for more."""
        goal, needed = goal_of(step), list(numbers)
        for number in numbers:
            rest = [each for each in needed if each != number]
            if follows(name, goal, [triple for each in rest for triple in self.steps[each].triples]):
                needed = rest
        return tuple(needed)

    # --- lists -------------------------------------------------------------------------------------------------------

    def _folded(self, numbers: Numbers) -> Numbers:
        """Return premises with one axiom in the place of a triple about a list and the triples of that list."""
        cells: dict[str, dict[str, int]] = {FIRST: {}, REST_OF: {}}
        for number in numbers:
            step = self.steps[number]
            if step.relation == TRIPLES and step.values[1] in cells:
                cells[str(step.values[1])].setdefault(str(step.values[0]), number)
        of_cells = [number for part in cells.values() for number in part.values()]
        found: list[int] = []
        used: set[int] = set()
        for number in numbers:
            step = self.steps[number]
            head = str(step.values[-1])
            if number in of_cells or step.relation != TRIPLES or head not in cells[REST_OF]:
                found.append(number)
                continue
            members, parts = self._list(head, cells)
            used.update(parts)
            found.append(self._axiom(number, members, parts))
        return tuple(number for number in found if number not in used)

    def _list(self, head: str, cells: Mapping[str, Mapping[str, int]]) -> tuple[list[str], list[int]]:
        """Return the members of a list, and the steps of its triples."""
        members: list[str] = []
        parts: list[int] = []
        cell = head
        while cell != NIL and cell in cells[FIRST] and cell in cells[REST_OF]:
            first, rest = cells[FIRST][cell], cells[REST_OF][cell]
            if rest in parts:
                break
            members.append(str(self.steps[first].values[2]))
            parts += [first, rest]
            cell = str(self.steps[rest].values[2])
        return members, parts

    def _axiom(self, number: int, members: list[str], parts: list[int]) -> int:
        """Return the step of an axiom with a list."""
        key = ("axiom", number, *parts)
        if key not in self._shown:
            step = self.steps[number]
            premises = (number, *parts)
            self._shown[key] = self._append(
                TripleStep(
                    TRIPLES,
                    step.values,
                    "axiom",
                    label=self.wording.axiom_text(Triple(*map(str, step.values)), members),
                    of_list=tuple(triple for each in premises for triple in self.steps[each].triples),
                    premises=premises,
                    details=tuple(each for each in premises if self.steps[each].sort == "fact"),
                    instance=AxiomCheck(),
                )
            )
        return self._shown[key]
