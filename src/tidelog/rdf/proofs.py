"""From the derivations that a search has found to a proof over triples.

Tuples of several relations may stand for one triple; it gets one step. The internal relations of lists get none: rules
over members have the triples of the list among their premises, and these become one axiom, such as `:A
owl:intersectionOf (:B :C)`.

`TableCheck` checks the steps of such a proof by the rules of the tables as W3C writes them. Nothing of the store is
asked: a rule of the table has to match the triple of the step and those of its premises. Lists are read off the
premises that have their cells. That two terms must differ is not looked at: the tables here say so only to leave out
that something is the same as itself.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from tidelog.database.database import Database
from tidelog.errors import wrong_argument
from tidelog.explain.checking import Checked, ViewTables, check_steps
from tidelog.explain.derivations import TupleDerivation
from tidelog.explain.proof import Proof
from tidelog.explain.questions import MOST_MEMBERS
from tidelog.explain.search import Found
from tidelog.explain.steps import BoundRule, Condition, OwnCheck, ProofStep, RowOf, Walk, conditions_of, with_witnesses
from tidelog.explain.walks import Key
from tidelog.rdf.derivations import TRIPLES, TripleSearch, TripleWording
from tidelog.rdf.literals import differ, is_outside, parts, value_of
from tidelog.rdf.matching import Binding, SchemaFacts, bindings, list_rules
from tidelog.rdf.names import HIDDEN
from tidelog.rdf.tables import (
    CELL,
    FALSE,
    LITERAL_RULES,
    MEMBER,
    RULE_SETS,
    TableRule,
    Triple,
    is_axiomatic,
    table,
)
from tidelog.rdf.terms import IS_LITERAL, IS_RESOURCE, LIST_FIRST, LIST_REST, NIL, SAME_AS, TYPE, ill_typed
from tidelog.semantics.values import Row


def follows(name: str, goal: Triple, premises: Iterable[Triple]) -> bool:
    """Return True if a triple, or a contradiction, follows from others by the rule of a table with this name."""
    given = dict.fromkeys(premises)
    if name == "axiom":
        return is_axiomatic(goal)
    if name in LITERAL_RULES:
        return _follows_from_literals(name, goal, given)
    facts = [*given, *members(given)]
    pairs: dict[str, list[tuple[str, str]]] = {}
    for triple in given:
        pairs.setdefault(triple.predicate, []).append((triple.subject, triple.object))
    rules = [rule for rules in RULE_SETS for rule in table(rules) if rule.name == name]
    rules += [rule for rule, _ in list_rules(SchemaFacts(pairs, frozenset())) if rule.name == name]
    return any(
        any(True for _ in _matches(rule.body, facts, binding))
        for rule in rules
        for binding in bindings(rule.head, goal, {})
    )


def _follows_from_literals(name: str, goal: Triple, given: Collection[Triple]) -> bool:
    """Return True if a rule about values of literals leads to a triple or contradiction: it needs the literals in the
    triples, and their values."""
    import pyarrow as pa

    one, other = goal.subject, goal.object
    if name == "dt-not-type":
        is_ill = one.startswith('"') and parts(one)[2] == other and bool(ill_typed(pa.array([one])))
        return (is_ill and any(triple.object == one for triple in given)) or (
            is_outside(one, other) and Triple(one, TYPE, other) in given
        )
    if name == "dt-diff":
        return differ(one, other) and Triple(one, SAME_AS, other) in given
    return value_of(one) is not None and value_of(one) == value_of(other)


def _matches(patterns: Sequence[Triple], facts: Sequence[Triple], binding: Binding) -> Iterator[Binding]:
    """Yield the bindings that turn all patterns into facts."""
    if not patterns:
        yield binding
        return
    for fact in facts:
        for more in bindings(patterns[0], fact, binding):
            yield from _matches(patterns[1:], facts, more)


def members(triples: Iterable[Triple]) -> Iterator[Triple]:
    """Yield for each list that is complete among some triples its members and its cells."""
    firsts: dict[str, set[str]] = {}
    rests: dict[str, set[str]] = {}
    for triple in triples:
        if triple.predicate in (LIST_FIRST, LIST_REST):
            (firsts if triple.predicate == LIST_FIRST else rests).setdefault(triple.subject, set()).add(triple.object)
    whole = {NIL}
    while more := {cell for cell in firsts if cell not in whole and rests.get(cell, set()) & whole}:
        whole |= more
    for head in whole - {NIL}:
        waiting, cells = [head], {head: None}
        while waiting:
            for cell in rests.get(waiting.pop(), ()):
                if cell in whole and cell != NIL and cell not in cells:
                    cells[cell] = None
                    waiting.append(cell)
        for cell in cells:
            yield Triple(head, CELL, cell)
            yield from (Triple(head, MEMBER, member) for member in firsts[cell])


@dataclass(frozen=True)
class TripleStep(ProofStep):
    """A step that shows a triple, a tuple of a program's own relation, or a contradiction."""

    label: str = ""
    """The tuple as text."""
    of_list: tuple[Triple, ...] = ()
    """The triples of an axiom with a list."""
    details: tuple[int, ...] = ()
    """Premises that the text of an axiom has already."""

    @property
    def triples(self) -> tuple[Triple, ...]:
        """Return the triples that it shows: one, those of a whole list, or none."""
        if self.sort == "axiom":
            return self.of_list
        return (Triple(*map(str, self.values)),) if self.relation == TRIPLES else ()

    @property
    def tuple_text(self) -> str:
        """Return the triple or tuple as text."""
        return self.label

    @property
    def direct(self) -> tuple[int, ...]:
        """Return the premises that are no tuples of witnesses, without those that the text has already."""
        return tuple(number for number in super().direct if number not in self.details)

    def to_dict(self) -> dict[str, Any]:
        """Return the step as JSON has it."""
        shown = {"text": self.label} | ({"triple": list(self.values)} if self.relation == TRIPLES else {})
        found = super().to_dict()
        return {**found, "rule_text": found["text"], **shown}


def goal_of(step: ProofStep) -> Triple:
    """Return the triple of a step, or the terms of its contradiction."""
    if step.relation == TRIPLES:
        return Triple(*map(str, step.values))
    return Triple(str(step.values[1]), FALSE, *map(str, step.values[2:]))


@dataclass(frozen=True)
class TableCheck(OwnCheck):
    """The check of a step by a rule of a table: it needs nothing but the tables."""

    def wrong(self, step: ProofStep, below: Sequence[ProofStep]) -> str:
        """Return what is wrong with a step that has these premises, "" if nothing is."""
        if step.sort != "rule" or (step.relation != TRIPLES and step.rule != step.values[0]):
            return f"rule {step.rule} finds no such triple or contradiction"
        premises = [triple for each in below if isinstance(each, TripleStep) for triple in each.triples]
        if step.rule is None or not follows(step.rule, goal_of(step), premises):
            return f"rule {step.rule} does not derive it from its premises"
        return ""


@dataclass(frozen=True)
class AxiomCheck(OwnCheck):
    """The check of an axiom with a list: that its premises are the triples that it shows."""

    def wrong(self, step: ProofStep, below: Sequence[ProofStep]) -> str:
        """Return what is wrong with a step that has these premises, "" if nothing is."""
        found = {triple for each in below if isinstance(each, TripleStep) for triple in each.triples}
        shown = {Triple(*map(str, step.values)), *step.triples} if isinstance(step, TripleStep) else set()
        return "" if step.sort == "axiom" and shown == found else "its premises are not the triples of its list"


# --- proofs ----------------------------------------------------------------------------------------------------------


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
        if not (store is None or hasattr(store, "proof_views")):
            raise wrong_argument("the store of a proof", "a store of triples", store)
        return check_steps(self.steps, None if store is None else store.proof_views())


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
        return {name: self._wording.turtle_text(text) for name, text in super().texts.items()}

    def knows(self, name: str) -> bool:
        return name in self._names

    def shows(self, name: str, values: Row) -> bool:
        return (name, values) in self._triples

    def is_fact(self, name: str, values: Row) -> bool:
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
        self._internal = {self.derivations.names.properties.get(iri, "") for iri in HIDDEN}

    def proof(self, goal: Key, found: Found) -> TripleProof:
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
        return self._needed_steps(self._numbers[goal])

    def _needed_steps(self, goal: int) -> TripleProof:
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
        name, values = self.derivations.selection_of(key.relation), self.derivations.values(key)
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
                premises = self._needed_premises(name, step, premises)
            premises, text = self._with_list_axioms(premises), self.wording.rule(chosen.flat).text
            return replace(step, sort="rule", rule=name, text=text, premises=premises, instance=TableCheck())
        return self._of_program(step, chosen)

    def _in_order(self, chosen: TupleDerivation) -> Numbers:
        return tuple(self._numbers[premise] for premise in chosen.premises)

    def _of_program(self, step: TripleStep, chosen: TupleDerivation) -> TripleStep:
        flat = chosen.flat
        assert flat is not None
        decode, words = self.derivations.dictionary.decode, zip(flat.variables, chosen.words, strict=True)
        bound = {name: decode(word, flat.kinds[name]) for name, word in words}
        rule, below = self.wording.rule(flat), self._in_order(chosen)
        conditions = tuple(map(self._in_words, conditions_of(flat, chosen.words, bound, self.search, MOST_MEMBERS)))
        instance = BoundRule(flat, bound, self.wording.row, self._in_words)
        return replace(
            step,
            sort="rule",
            rule=rule.name,
            text=rule.text,
            span=rule.span,
            variables=instance.source_values,
            premises=below,
            conditions=with_witnesses(conditions, flat, below),
            instance=instance,
        )

    def _in_words(self, condition: Condition) -> Condition:
        first, text = tuple(map(self.wording.turtle_text, condition.first)), self.wording.turtle_text(condition.text)
        for end, words in ((IS_RESOURCE, " is no literal"), (IS_LITERAL, " is a literal")):
            text = text.removesuffix(end) + words if text.endswith(end) else text
        return replace(condition, text=text, first=first, absent=None)

    def _needed_premises(self, name: str, step: TripleStep, numbers: Numbers) -> Numbers:
        """Return those of some premises that a rule of the table needs: rules about members ask for more."""
        goal, needed = goal_of(step), list(numbers)
        for number in numbers:
            rest = [each for each in needed if each != number]
            if follows(name, goal, [triple for each in rest for triple in self.steps[each].triples]):
                needed = rest
        return tuple(needed)

    # --- lists -------------------------------------------------------------------------------------------------------

    def _with_list_axioms(self, numbers: Numbers) -> Numbers:
        """Return premises with one axiom in the place of a triple about a list and the triples of that list."""
        cells: dict[str, dict[str, int]] = {LIST_FIRST: {}, LIST_REST: {}}
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
            if number in of_cells or step.relation != TRIPLES or head not in cells[LIST_REST]:
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
        while cell != NIL and cell in cells[LIST_FIRST] and cell in cells[LIST_REST]:
            first, rest = cells[LIST_FIRST][cell], cells[LIST_REST][cell]
            if rest in parts:
                break
            members.append(str(self.steps[first].values[2]))
            parts += [first, rest]
            cell = str(self.steps[rest].values[2])
        return members, parts

    def _axiom(self, number: int, members: list[str], parts: list[int]) -> int:
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
