"""The relations, the rules, the rule graph and the last epochs of a database as JSON has them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from tidelog.database.snapshots import Snapshot
from tidelog.io.json_values import columns_as_json, records_as_json
from tidelog.language.paths import readings
from tidelog.language.syntax import Atom, CheckedProgram, Rule
from tidelog.language.trees import walk
from tidelog.rules.core import CoreProgram, head_of
from tidelog.rules.outline import is_written, outline
from tidelog.workspace.change import Change

Described = TypeVar("Described")
Description = TypeVar("Description")


def relations_of(snapshot: Snapshot) -> dict[str, Any]:
    """Return all relations with their columns, their numbers of tuples and the names of their rules, and the types of
    records."""
    program = snapshot.program
    rules: dict[str, list[str]] = {}
    for rule in program.texts:
        for head in rule.heads:
            rules.setdefault(head.relation, []).append(str(rule.name))
    found = [
        {
            "name": name,
            "columns": columns_as_json(program.relations[name].columns),
            "size": len(snapshot[name]),
            "rules": rules.get(name, []),
        }
        for name in snapshot.relations
    ]
    records = records_as_json(program.records.values())
    return {"epoch": snapshot.epoch, "relations": found, "records": records}


def rules_of(snapshot: Snapshot) -> dict[str, Any]:
    """Return the rules with their names and texts, and the relations that they derive and read."""
    return {
        "epoch": snapshot.epoch,
        "rules": _RULES.of(snapshot.program),
        "hyper_nodes": [list(each) for each in snapshot.hyper_nodes],
    }


def _rules(program: CheckedProgram) -> list[dict[str, Any]]:
    return [
        {
            "name": rule.name,
            "text": str(rule),
            "heads": [head.relation for head in rule.heads],
            "reads": _reads(rule),
        }
        for rule in program.texts
    ]


def _reads(rule: Rule) -> list[str]:
    """Return the relations in the body of a rule."""
    atoms = [node for node in walk(rule.body) if isinstance(node, Atom)]
    names = [each.relation for atom in atoms for each in readings(atom)]
    return sorted(set(names))


def graph_of(core: CoreProgram, epoch: int, epochs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the rule graph: boxes of hyper-nodes and given relations, with the reports of the last `epochs`."""
    return {"epoch": epoch, **_GRAPHS.of(core), "epochs": list(epochs)}


def _graph(core: CoreProgram) -> dict[str, Any]:
    drawn = outline(core)
    boxes = [
        {
            "sort": box.sort,
            "titles": list(box.titles),
            "relations": list(dict.fromkeys(map(head_of, box.rules))) or list(box.titles),
            "rules": list(dict.fromkeys(str(rule.origin) for rule in box.rules if is_written(rule))),
            "recursive": box.recursive,
            "parts": [list(part) for part in box.parts],
        }
        for box in drawn.boxes
    ]
    arrows = [{"source": each.source, "target": each.target, "negative": each.negative} for each in drawn.arrows]
    return {"boxes": boxes, "arrows": arrows}


class LastDescription(Generic[Described, Description]):
    """The description of the object that was asked for last: clients ask for the same program again and again."""

    def __init__(self, describe: Callable[[Described], Description]) -> None:
        self._describe = describe
        self._last: tuple[Described, Description] | None = None

    def of(self, described: Described) -> Description:
        """Return the description of an object, which nobody changes."""
        last = self._last
        if last is None or last[0] is not described:
            last = self._last = described, self._describe(described)
        return last[1]


_RULES = LastDescription(_rules)
_GRAPHS = LastDescription(_graph)


REMEMBERED = 100
"""Epochs whose reports the server keeps."""


class EpochHistory:
    """The reports of the last epochs, by the relations of their hyper-nodes."""

    def __init__(self) -> None:
        self.epochs: list[dict[str, Any]] = []

    def note(self, epoch: int, change: Change) -> None:
        """Remember the report of an epoch."""
        nodes = [node.to_dict() | {"rounds": node.rounds} for node in change.report.visited if node.strategy != "skip"]
        sizes = {name: [len(change[name].inserted), len(change[name].deleted)] for name in change}
        entry = {"epoch": epoch, "seconds": change.report.seconds, "nodes": nodes, "changes": sizes}
        self.epochs = [*self.epochs[-REMEMBERED + 1 :], entry]
