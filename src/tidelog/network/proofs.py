"""From the reasons of nodes to a proof in the user's words: a step for each tuple of the user's relations.

Nodes that answer at different moments may give reasons that rest on each other. No tuple of a proof is below itself:
where it would be, it is open, as it is where no reason has come or the reasons show no instance of a rule.

`network_blame` says since when a tuple of a network holds: the answer of an embedded database whose facts and rules
have stamps in the place of epochs, in the words of the network.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import numpy

from tidelog.database.database import Database
from tidelog.errors import Problem, UsageError
from tidelog.explain.blame import Blame, BlameAnswer
from tidelog.explain.proof import Proof
from tidelog.explain.steps import BoundRule, ProofStep, Walk
from tidelog.functions.callables import GivenFunctions
from tidelog.io import encode
from tidelog.language.syntax import Value
from tidelog.network.inquiry import Asked, Inquiry
from tidelog.network.messages import NodeReason
from tidelog.network.program import LocatedProgram, NodeRow
from tidelog.network.rule_instances import Bases, DerivingInstance, PathWalk, UserRules, shown_fact
from tidelog.network.rulebook import Rulebook
from tidelog.network.values import shown_row
from tidelog.storage.extents import RowEpochs
from tidelog.storage.record_text import row_text


def proof_of(inquiry: Inquiry, given: GivenFunctions) -> Proof:
    """Return the proof that the reasons of an inquiry show; rules call the functions `given`. Raise UsageError (E0670)
    if the node of the tuple says that it does not hold."""
    node, fact = inquiry.goal
    reason = inquiry.reasons.get(inquiry.goal)
    if reason is not None and reason.sort == "missing":
        message = f"{row_text(*shown_fact(fact, inquiry.program))} does not hold at node {node}"
        raise UsageError(Problem("E0670", message, hint="ask again when the network is quiet"))
    return _Proving(inquiry, given).proof()


class _Proving:
    """One proof in the making."""

    def __init__(self, inquiry: Inquiry, given: GivenFunctions) -> None:
        self.goal = inquiry.goal
        self.program = inquiry.program
        self.bases = Bases(inquiry)
        self.instances = UserRules(inquiry.checked, inquiry.program, given)
        self.written = {rule.name: rule for rule in inquiry.checked.texts if rule.name is not None}
        self.steps: list[ProofStep] = []
        self.numbers: dict[Asked, int] = {}

    def proof(self) -> Proof:
        """Return the proof of the goal, premises first."""
        waiting: list[tuple[Asked, DerivingInstance | None]] = [(self.goal, None)]
        active: set[Asked] = set()
        while waiting:
            asked, instance = waiting.pop()
            if instance is not None:
                active.discard(asked)
                self.numbers[asked] = self._add_rule_step(asked, instance)
            elif asked not in self.numbers and asked not in active:
                found = self._instance(asked)
                if isinstance(found, ProofStep):
                    self.numbers[asked] = self._add(found)
                    continue
                active.add(asked)
                waiting.append((asked, found))
                waiting += [(premise, None) for premise in reversed([*found.needed_tuples])]
        return Proof(tuple(self.steps))

    def _instance(self, asked: Asked) -> DerivingInstance | ProofStep:
        """Return the instance that derives a tuple, or the step of a tuple that has none."""
        node, reason = self.bases.source(asked)
        relation, values = shown_fact(asked[1], self.program)
        if not isinstance(reason, NodeReason):
            return ProofStep(relation, values, "open", node=node, gap=reason)
        if reason.sort == "asserted":
            return ProofStep(relation, values, "fact", node=node)
        basis = self.bases.of(node, reason)
        gap = basis.gap or f"the reason that node {node} gives does not fit the rules"
        try:
            found = self.instances.of(self.program.rule_of[reason.rule].origin, relation, values, basis)
        except UsageError as error:
            found, gap = None, error.problems[0].message
        return found or ProofStep(relation, values, "open", node=node, gap=gap)

    def _add_rule_step(self, asked: Asked, instance: DerivingInstance) -> int:
        """Add the step of an instance whose premises have steps."""
        node, reason = self.bases.source(asked)
        assert isinstance(reason, NodeReason)
        premises = tuple(
            self._add_walk_step(each) if isinstance(each, PathWalk) else self._number(each)
            for each in instance.premises
        )
        flat, bound = instance.flat, BoundRule(instance.flat, instance.values)
        rule = self.written.get(flat.rule.name or "", flat.rule)
        step = ProofStep(
            *shown_fact(asked[1], self.program),
            "rule",
            flat.rule.name,
            str(rule),
            rule.span,
            bound.source_values,
            premises,
            instance.conditions,
            self._height(premises),
            instance=bound,
            node=node,
            version=reason.version,
        )
        return self._add(step)

    def _add_walk_step(self, path: PathWalk) -> int:
        premises, made = tuple(map(self._number, path.edges)), Walk(path.relation, path.automaton)
        height = self._height(premises)
        return self._add(ProofStep(path.relation, path.ends, "walk", premises=premises, height=height, instance=made))

    def _number(self, asked: Asked) -> int:
        """Return the number of the step of a premise. One without a step is above itself."""
        if asked in self.numbers:
            return self.numbers[asked]
        gap = "the reasons that nodes give rest on each other"
        return self._add(ProofStep(*shown_fact(asked[1], self.program), "open", node=asked[0], gap=gap))

    def _add(self, step: ProofStep) -> int:
        self.steps.append(step)
        return len(self.steps) - 1

    def _height(self, premises: Iterable[int]) -> int:
        return 1 + max((self.steps[number].height for number in premises), default=0)


@dataclass(frozen=True, repr=False, kw_only=True)
class NetworkBlame(BlameAnswer):
    """An answer of a network: the tuple holds `since` a change. That is its number in a simulation, its time on
    processes, and 0 for a tuple that holds since the beginning, by the program alone.

    `nodes` says for each of the `facts` at which node it lives, "" for one that every node has for itself. `versions`
    says for each of the `rules` in which version it has travelled, 0 for one of the program."""

    since: int | datetime
    nodes: tuple[str, ...]
    versions: tuple[int, ...]

    @property
    def moment(self) -> str:
        if self.since == 0:
            return "since the beginning"
        before = " or before" * self.or_before
        if isinstance(self.since, datetime):
            return f"since {self.since.replace(tzinfo=None).isoformat(' ', 'milliseconds')} UTC{before}"
        return f"since change {self.since}{before}"

    @property
    def fact_lines(self) -> tuple[str, ...]:
        pairs = zip(super().fact_lines, self.nodes, strict=True)
        return tuple(f"{text}   [node {node}]" if node else text for text, node in pairs)

    @property
    def rule_lines(self) -> tuple[str, ...]:
        pairs = zip(self.rules, self.versions, strict=True)
        return tuple(f"{name}   [version {version}]" if version else name for name, version in pairs)

    def to_dict(self) -> dict[str, Any]:
        since = self.since.isoformat() if isinstance(self.since, datetime) else self.since
        return {"since": since, **super().to_dict(), "nodes": list(self.nodes), "versions": list(self.versions)}


def with_stamps(db: Database, facts: Mapping[str, Mapping[NodeRow, int]], program: LocatedProgram) -> Database:
    """Return a database with these facts in its one epoch, after giving each fact its stamp in the place of the
    epoch."""
    for name, stamps in facts.items():
        stored = db.engine.asserted[db.engine.program.candidates.get(name, name)]
        rows = [shown_row(row, name, program) for row in stamps]
        epochs = numpy.zeros(stored.rows, numpy.int64)
        epochs[stored.find(encode(rows, db.workspace.relation(name), db.dictionary))] = list(stamps.values())
        stored.epochs = RowEpochs.of_rows(epochs)
    return db


def network_blame(found: Blame, book: Rulebook, moment: Callable[[int], int | datetime]) -> NetworkBlame:
    """Return the answer of a network for that of a database with stamps in the place of epochs."""
    versions = {name: change.version for name, change in book.changes.items() if change.text is not None}

    def node_of(relation: str, values: tuple[Value, ...]) -> str | None:
        location = book.program.places[relation].location
        return None if location is None else str(values[location])

    def locate_step(step: ProofStep) -> ProofStep:
        if step.sort == "fact":
            return replace(step, node=node_of(step.relation, step.values))
        return replace(step, version=versions.get(step.rule or "", 0))

    return NetworkBlame(
        since=moment(found.epoch) if found.epoch else 0,
        or_before=found.or_before and found.epoch != 0,
        facts=found.facts,
        rules=found.rules,
        proof=Proof(tuple(map(locate_step, found.proof.steps))),
        nodes=tuple(node_of(*fact) or "" for fact in found.facts),
        versions=tuple(versions.get(name, 0) for name in found.rules),
    )
