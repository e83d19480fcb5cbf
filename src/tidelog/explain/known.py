"""The derivations that searches have found since the last epoch: proofs of different tuples have most of their steps in
common, so that the next search begins with these.

Nothing of it depends on the order of questions. Between two derivations that births allow, a search decides by the
tuple alone (`ProofSearch.founded_in`), and it asks for derivations by the same budget whether they are known or not.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from tidelog.explain.batches import TupleDerivation
from tidelog.explain.views import EngineViews
from tidelog.explain.walks import Key
from tidelog.maintain.state import StateVersion

MOST_KNOWN = 100_000
"""Derivations that are kept for the next question, some 60 MB."""


@dataclass
class Known:
    """Answers about tuples of one state: whether they are asserted `facts`, and the derivation that births have
    `founded` from tuples born before them, None for an asserted fact."""

    stamp: object
    """Words have the same meaning as long as it is equal."""
    facts: dict[Key, bool] = field(default_factory=dict)
    founded: dict[Key, TupleDerivation | None] = field(default_factory=dict)


class KnownStates:
    """The answers about the states of engines, each for as long as its state lasts."""

    def __init__(self) -> None:
        self._states: WeakKeyDictionary[StateVersion, Known] = WeakKeyDictionary()

    def of(self, views: EngineViews) -> Known:
        """Return the answers about the state behind some views: none where words have got other meanings, or once there
        were too many."""
        state = views.state
        known = self._states.get(state.version)
        stamp = state.dictionary.stamp
        if known is None or known.stamp != stamp or len(known.facts) > MOST_KNOWN:
            known = self._states[state.version] = Known(stamp)
        return known
