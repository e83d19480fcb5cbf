"""The reports of the last epochs, hyper-node by hyper-node."""

from __future__ import annotations

from typing import Any

from tidelog.workspace.change import Change

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
