"""Explanations as JSON, and back: what a server sends, and what its clients make of it.

The form of `to_dict` says all that a proof shows. Another process can check the proof by itself if it knows the program
and the instances of rules as well: for each step by a rule its number among the flat rules, and the values of the
variables that the program has not written; for each walk its automaton.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from tidelog.explain.absence import Absence, RuleAttempt
from tidelog.explain.blame import Blame
from tidelog.explain.instances import FlatRule, flat_rules
from tidelog.explain.proof import Proof
from tidelog.explain.steps import BoundRule, Condition, Facts, ProofStep, Removal, RowOf, Walk
from tidelog.explain.walks import Automaton, WalkEdge
from tidelog.io.json_values import value_of_json
from tidelog.language.syntax import CheckedProgram, Kind, Rule, Value
from tidelog.storage.record_text import row_text


def proof_document(proof: Proof) -> dict[str, Any]:
    """Return a proof as JSON has it, with the instances of its steps."""
    document = proof.to_dict()
    for step, found in zip(proof.steps, document["steps"], strict=True):
        match step.instance:
            case BoundRule(flat=flat, values=values):
                rest = {name: value for name, value in values.items() if name not in step.variables}
                found["instance"] = {"rule": flat.number, "variables": rest}
            case Walk(automaton=automaton):
                silent = {str(state): sorted(others) for state, others in automaton.silent.items()}
                edges = [list(edge) for edge in automaton.edges]
                found["instance"] = {"edges": edges, "silent": silent, "ends": sorted(automaton.ends)}
    return document


def blame_document(blame: Blame) -> dict[str, Any]:
    """Return an answer to `blame` as JSON has it, with its proof."""
    return {**blame.to_dict(), "proof": proof_document(blame.proof)}


class ExplanationReader:
    """Makes explanations of their documents, for the program that they are about."""

    def __init__(self, program: CheckedProgram) -> None:
        self.program = program

    @cached_property
    def _flat_rules(self) -> Mapping[int, FlatRule]:
        """The flat rules by their numbers."""
        return {flat.number: flat for rules in flat_rules(self.program).values() for flat in rules}

    @cached_property
    def _rules(self) -> Mapping[str | None, Rule]:
        """The rules by name, as they are written, and those of declarations."""
        return {rule.name: rule for rule in (*self.program.rules, *self.program.texts)}

    @cached_property
    def _kinds(self) -> Mapping[str, Sequence[Kind]]:
        """The kinds of the columns of relations, and of the ends of paths."""
        atoms = (atom for flat in self._flat_rules.values() for atom in flat.needed_premises)
        declared = self.program.relations.items()
        return {atom.relation: atom.kinds for atom in atoms} | {
            name: [column.kind for column in relation.columns] for name, relation in declared
        }

    def _value(self, item: Any, kind: Kind) -> Value:
        value: Value = value_of_json(item, kind, self.program.records)
        return value

    def _values(self, relation: str, items: Iterable[Any]) -> tuple[Value, ...]:
        return tuple(map(self._value, items, self._kinds[relation]))

    def _row(self, document: Sequence[Any]) -> RowOf:
        relation, items = document
        return relation, self._values(relation, items)

    def facts(self, document: Iterable[Sequence[Any]]) -> Facts:
        return tuple(map(self._row, document))

    def removal(self, document: Iterable[Any]) -> Removal:
        """Return the facts, or the names of rules, without which a tuple would not hold."""
        parts = list(document)
        names = tuple(part for part in parts if isinstance(part, str))
        return Removal(self.facts(part for part in parts if not isinstance(part, str)), names)

    # --- proofs --------------------------------------------------------------------------------------------------

    def proof(self, document: Mapping[str, Any]) -> Proof:
        """Return the proof of a `proof_document`."""
        return Proof(tuple(map(self._step, document["steps"])))

    def _step(self, document: Mapping[str, Any]) -> ProofStep:
        relation, better, name = document["relation"], document.get("better"), document["rule"]
        instance, kinds = self._instance(document)
        rule = self._rules.get(name)
        return ProofStep(
            relation,
            self._values(relation, document["tuple"]),
            document["sort"],
            name,
            document["text"],
            None if rule is None else rule.span,
            {each: self._value(item, kinds[each]) for each, item in document["variables"].items()},
            tuple(document["premises"]),
            tuple(map(self._condition, document["conditions"])),
            document["height"],
            is_candidate="better" in document,
            better=None if better is None else self._values(relation, better),
            rivals=document.get("rivals", 0),
            first_rivals=tuple(self._values(relation, row) for row in document.get("first_rivals", ())),
            instance=instance,
            gap=document.get("gap"),
        )

    def _instance(self, document: Mapping[str, Any]) -> tuple[BoundRule | Walk | None, Mapping[str, Kind]]:
        found = document.get("instance")
        if found is None:
            return None, {}
        if "edges" in found:
            edges = tuple(WalkEdge(*edge) for edge in found["edges"])
            silent = {int(state): frozenset(others) for state, others in found["silent"].items()}
            return Walk(document["relation"], Automaton(edges, silent, frozenset(found["ends"]))), {}
        flat = self._flat_rules[found["rule"]]
        items = {**document["variables"], **found["variables"]}
        values = {name: self._value(items[name], flat.kinds[name]) for name in flat.variables}
        return BoundRule(flat, values), flat.kinds

    def _condition(self, document: Mapping[str, Any]) -> Condition:
        absent = document.get("absent")
        return Condition(
            document["sort"],
            document["text"],
            document.get("members"),
            tuple(document.get("first", ())),
            tuple(document.get("witness", ())),
            None if absent is None else self._row(absent),
        )

    # --- the others ----------------------------------------------------------------------------------------------

    def absence(self, document: Mapping[str, Any]) -> Absence:
        """Return the absence of an `Absence.to_dict`."""
        relation, better = document["relation"], document.get("better")
        values = self._values(relation, document["tuple"])
        preferred = None if better is None else self._values(relation, better)
        return Absence(
            relation,
            values,
            tuple(map(self._attempt, document["attempts"])),
            tuple(document["near"]),
            row_text(relation, values),
            document.get("above", False),
            document.get("candidate", False),
            preferred,
            "" if preferred is None else row_text(relation, preferred),
        )

    def _attempt(self, document: Mapping[str, Any]) -> RuleAttempt:
        rule, below = self._rules.get(document["rule"]), document["below"]
        return RuleAttempt(
            document["rule"],
            document["text"],
            None if rule is None else rule.span,
            tuple(document["met"]),
            document["failed"],
            document["bindings"],
            tuple(document["near"]),
            None if below is None else self.absence(below),
            document["open"],
        )

    def blame(self, document: Mapping[str, Any]) -> Blame:
        """Return the answer of a `blame_document`."""
        return Blame(
            or_before=document["or_before"],
            facts=self.facts(document["facts"]),
            rules=tuple(document["rules"]),
            proof=self.proof(document["proof"]),
            epoch=document["epoch"],
        )
