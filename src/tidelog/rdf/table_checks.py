"""Steps of proofs over triples, checked by the rules of the tables as W3C writes them.

Nothing of the store is asked: a rule of the table has to match the triple of the step and those of its premises. Lists
are read off the premises that have their cells. That two terms must differ is not looked at: the tables here say so
only to leave out that something is the same as itself.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tidelog.explain.steps import OwnCheck, ProofStep
from tidelog.rdf.datatypes import ill_typed
from tidelog.rdf.lists import list_rules
from tidelog.rdf.matching import Binding, SchemaFacts, bindings
from tidelog.rdf.tables import CELL, FALSE, LITERAL_RULES, MEMBER, RULE_SETS, Triple, is_axiomatic, table
from tidelog.rdf.terms import RDF, SAME_AS, TYPE
from tidelog.rdf.values import differ, is_outside, parts, value_of
from tidelog.rdf.wording import TRIPLES

FIRST, REST_OF, NIL = f"{RDF}first", f"{RDF}rest", f"{RDF}nil"


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
        if triple.predicate in (FIRST, REST_OF):
            (firsts if triple.predicate == FIRST else rests).setdefault(triple.subject, set()).add(triple.object)
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
