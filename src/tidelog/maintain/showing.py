"""Hyper-nodes with relations that show some of their candidates, whether these are selected or chosen.

The candidates are derived, die and are re-derived like all rows. What is shown follows them, after each round.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tidelog.maintain.machine import Inputs
from tidelog.maintain.update import Maintained, NodeUpdate
from tidelog.rules.core import HyperNode
from tidelog.storage.changes import bear_supported


class ShowingUpdate(NodeUpdate):
    """One update of such a hyper-node. Rows that die on the way may be re-derived."""

    def __init__(self, node: HyperNode, inputs: Inputs, maintained: Maintained, seconds: float) -> None:
        super().__init__(node, inputs, maintained, seconds)
        self.losing = self.winning = True  # What is shown follows in each run.
        for stored in self.derived.values():
            stored.repeats = True

    def bear(self, current: int, starts: Mapping[str, int] = MappingProxyType({})) -> None:
        """Re-derive the rows that have derivations left, except those that are shown: they follow their candidates.
        `starts` says from where on in the lists of deaths."""
        for name, stored in self.derived.items():
            if not is_shown(name, self.node):
                bear_supported(stored, current, starts.get(name, 0))

    def look_at_limits(self) -> None:
        """Raise if a limit has been reached. Rows that are shown for a while do not count for the size of a
        relation."""
        sizes, self.inputs.watch.sizes = self.inputs.watch.sizes, {}
        try:
            super().look_at_limits()
        finally:
            self.inputs.watch.sizes = sizes


def is_shown(name: str, node: HyperNode) -> bool:
    """Return True if a relation of a hyper-node shows a selection or a choice."""
    return any(name == each.shown for each in node.selects)
