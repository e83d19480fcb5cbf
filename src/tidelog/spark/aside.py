"""Evaluate for a database on the cluster what is beside its views: certificates, and paths that no rule asks for.

Partitions have births each of their own, which cannot be compared. So for a certificate the driver evaluates the
program once more, over the facts, and takes the births from there. They are hints: views and facts of the certificate
are the cluster's, and no births whatsoever make the checker accept views that do not follow from the facts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from tidelog.arrays import Words
from tidelog.certificate import Certificate, certificate_of
from tidelog.errors import Problem, UsageError
from tidelog.limits.watch import Watch, guarded
from tidelog.maintain.engine import evaluated
from tidelog.pattern import QUERY, Pattern, remaining
from tidelog.spark.embedded import Front
from tidelog.spark.engines import Draft, Engine, RowChange
from tidelog.spark.rows import DriverRows, Rows, no_rows
from tidelog.storage.catalog import Catalog
from tidelog.storage.stored import StoredRelation


class Aside:
    """Evaluations for the database of `front`; `another` makes a cluster engine."""

    def __init__(self, front: Front, another: Callable[[], Engine]) -> None:
        self._front = front
        self._another = another
        self._engines: list[Engine] = []

    def pairs(self, pattern: Pattern, engine: Engine, most: int, options: Mapping[str, Any]) -> Rows:
        """Return the pairs that the path of a pattern connects in the views of `engine`, at least those that match: on
        the driver where no more than `most` rows have to be read for it, else by a cluster engine that has them until
        `close`. Raises as `Engine.epoch`."""
        assert pattern.program is not None
        front = self._front
        asked = remaining(pattern, front.interned, front.committed, front.unchanged.core.relations)
        rows: dict[str, Rows] = {name: engine.relation(name) for name in asked.reads}
        rows |= {name: DriverRows(words) for name, words in asked.facts.items()}
        if sum(map(engine.size, asked.reads)) <= most:
            watch = Watch(options.get("timeout"), options.get("max_rows"))
            with guarded(watch):
                facts = {name: found.local() for name, found in rows.items()}
                return DriverRows(evaluated(front.interned, asked.core, facts, watch).views[QUERY].words())
        other = self._another()
        self._engines.append(other)
        changes = {name: RowChange(found, no_rows(found.arity)) for name, found in rows.items()}
        other.epoch(Draft((), pattern.program, asked.core), changes, options)
        return other.relation(QUERY)

    def certificate(self, engine: Engine, most: int, watch: Watch) -> Certificate:
        """Return the certificate of the last epoch of `engine`. Raises UsageError (E0688) where it has more than `most`
        rows, LimitError or KeyboardInterrupt."""
        draft, dictionary = self._front.unchanged, self._front.interned
        count = sum(map(engine.size, draft.checked.relations))
        if count > most:
            message = f"a certificate needs {count:,} rows at the driver, the embedded_limit is {most:,}"
            raise UsageError(
                Problem("E0688", message, hint="raise it with options(embedded_limit=…) if the driver has the memory")
            )
        facts = {name: engine.asserted(name).local() for name in draft.checked.relations}
        alone = certificate_of(evaluated(dictionary, draft.core, facts, watch), draft.checked)

        def view(name: str) -> tuple[Words, Words]:
            rows = engine.relation(name).local()
            return rows, _births(rows, *alone.view(name))

        return replace(alone, view=view)

    def close(self) -> None:
        """Let go of pairs."""
        while self._engines:
            self._engines.pop().close()


def _births(rows: Words, known: Words, births: Words) -> Words:
    """Return the births of rows by those of known ones; all others are younger than these."""
    stored = StoredRelation(Catalog(64), known.shape[1])
    stored.insert(known)
    return np.append(births, births.max(initial=0) + 1)[stored.find(rows)]
