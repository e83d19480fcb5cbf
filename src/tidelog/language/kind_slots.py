"""Slots: the kinds that variables and terms of a rule may have, as far as they are known."""

from __future__ import annotations

from dataclasses import dataclass

from tidelog.common.source import Span
from tidelog.language.syntax import Kind


@dataclass(frozen=True)
class Reason:
    """Why a slot has its kind: a clause without the kind ("column `x` of `a`"), its place, and a declaration if any."""

    text: str
    span: Span | None
    declared: Span | None = None
    literal: bool = False


@dataclass(eq=False)
class Slot:
    """The kind of a term, the kinds that are allowed where none is known, and why."""

    kind: Kind | None = None
    allowed: frozenset[Kind] | None = None
    reason: Reason | None = None
    parent: Slot | None = None

    def root(self) -> Slot:
        """Return the slot that stands for this one and all that were merged with it."""
        slot = self
        while slot.parent is not None:
            if slot.parent.parent is not None:
                slot.parent = slot.parent.parent
            slot = slot.parent
        return slot
