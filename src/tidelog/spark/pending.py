"""Pending changes as rows for an engine, and a snapshot of a relation as the difference to its facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tidelog.common.arrays import Words
from tidelog.language.syntax import RelationType
from tidelog.maintain.protocol import Engine, RowChange, net_changes
from tidelog.spark.embedded import Embedded
from tidelog.spark.frames.collect import collect_words
from tidelog.spark.frames.translation import Translation
from tidelog.spark.rows import Rows, SparkRows, driver_change
from tidelog.spark.sources.facts import FactFrame, PendingFacts, local_facts


def net_rows(
    engine: Engine[Rows],
    relations: Mapping[str, RelationType],
    pending: Sequence[PendingFacts],
    translation: Translation,
) -> dict[str, RowChange[Rows]]:
    """Return the rows that come and go, of several changes about a fact the last one, in a form that suits the
    engine."""
    if engine.name == "embedded":
        calls = [(each.relation, each.asserts, _on_driver(relations, each, translation)) for each in pending]
        return {name: driver_change(net.inserted, net.deleted) for name, net in net_changes(calls).items()}
    names = dict.fromkeys(change.relation for change in pending)
    told = {name: [(c.asserts, c.facts) for c in pending if c.relation == name] for name in names}
    return {name: translation.net(relations[name].columns, own) for name, own in told.items()}


def _on_driver(relations: Mapping[str, RelationType], change: PendingFacts, translation: Translation) -> Words:
    if isinstance(change.facts, FactFrame):
        return collect_words(change.facts, relations[change.relation].columns, translation.dictionary)
    return change.facts.local()


def difference(
    engine: Engine[Rows], relation: RelationType, wanted: Sequence[PendingFacts], translation: Translation
) -> list[PendingFacts]:
    """Return the changes after which a relation, which the engine knows, has these asserted facts and no others."""
    name, columns = relation.name, relation.columns
    asserted = engine.facts(name)
    if asserted.is_surely_empty:
        return list(wanted)
    local = [each.facts.held for each in wanted if each.facts.held is not None]
    if isinstance(engine, Embedded) and len(local) == len(wanted):
        words = np.concatenate([np.empty((0, len(columns)), np.int64), *local])
        came, gone = engine.compared(name, words)
        return [local_facts(name, False, gone), local_facts(name, True, came)]
    change = translation.net(columns, [(True, each.facts) for each in wanted])
    there, new = (SparkRows(translation.frame(each), len(columns)) for each in (asserted, change.inserted))
    count = sum(each.count for each in wanted)
    return [PendingFacts(name, False, there.without(new), 0), PendingFacts(name, True, new.without(there), count)]
