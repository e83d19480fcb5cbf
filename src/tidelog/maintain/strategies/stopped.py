"""Why a hyper-node reached a limit: a cycle improves what it selects without end, or rules make new values."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from tidelog.errors import LimitError
from tidelog.maintain.endless import explained
from tidelog.maintain.epoch import EpochState
from tidelog.maintain.machine import Inputs
from tidelog.maintain.searching import best_of
from tidelog.rules.core import HyperNode


@contextmanager
def telling_limits(node: HyperNode, state: EpochState, inputs: Inputs) -> Iterator[None]:
    """Explain the limits that are reached inside the block, which evaluates a hyper-node into the relations of
    `inputs`."""
    try:
        yield
    except LimitError as error:
        raise _told(error, node, state, inputs) from None


def _told(error: LimitError, node: HyperNode, state: EpochState, inputs: Inputs) -> LimitError:
    """Return the error with its reason. A hyper-node that reads all candidates is explained like one that drops
    dominated tuples."""
    names = {*node.relations}
    others = (*state.program.dropping, *(each.dropping for each in state.program.obstacles.values() if each.dropping))
    selecting = node if node.selects else next((each for each in others if _is_whole(each, names)), None)
    if selecting is None or selecting.chooses:
        return explained(error, node, inputs)
    shown, candidates = ({(each.shown, each.candidates)[i] for each in selecting.selects} for i in range(2))
    read = names.intersection(selecting.relations) - (candidates if node.selects else shown)
    relations = {each.shown: inputs.relations[each.candidates] for each in selecting.selects} | {**inputs.relations}
    relations |= {name: state.views[name] for name in selecting.reads_set - relations.keys() if name in state.views}
    if not selecting.reads_set <= relations.keys():
        return explained(error, node, inputs)  # Parts of bodies that only the other hyper-node would read.
    inputs = replace(inputs, relations=relations)
    best = best_of(selecting, inputs, {name: relations[name].words() for name in read})
    return explained(error, selecting, inputs, best)


def _is_whole(selecting: HyperNode, names: set[str]) -> bool:
    return any(names == {*part.relations} for part in selecting.whole)
