"""Since when a tuple of a network holds: the answer of an embedded database whose facts and rules have stamps in the
place of epochs, in the words of the network."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import numpy

from tidelog.database.database import Database
from tidelog.explain.blame import Blame, BlameAnswer
from tidelog.explain.proof import Proof
from tidelog.explain.steps import ProofStep
from tidelog.io import encode
from tidelog.language.syntax import Value
from tidelog.network.program import LocatedProgram, NodeRow
from tidelog.network.rulebook import Rulebook
from tidelog.network.values import shown_row
from tidelog.storage.epochs import RowEpochs


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


def dated(db: Database, facts: Mapping[str, Mapping[NodeRow, int]], program: LocatedProgram) -> Database:
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

    def placed(step: ProofStep) -> ProofStep:
        if step.sort == "fact":
            return replace(step, node=node_of(step.relation, step.values))
        return replace(step, version=versions.get(step.rule or "", 0))

    return NetworkBlame(
        since=moment(found.epoch) if found.epoch else 0,
        or_before=found.or_before and found.epoch != 0,
        facts=found.facts,
        rules=found.rules,
        proof=Proof(tuple(map(placed, found.proof.steps))),
        nodes=tuple(node_of(*fact) or "" for fact in found.facts),
        versions=tuple(versions.get(name, 0) for name in found.rules),
    )
