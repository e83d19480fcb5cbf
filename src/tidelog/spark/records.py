"""Records in the log "tidelog.spark" of `logging`: one of level INFO for each epoch, batch of a stream, and run of a
pipeline. Their fields are attributes of the record, so that formatters can write them as JSON
(docs/how-to/operations.md lists them)."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeAlias

RecordFields: TypeAlias = Mapping[str, Any]
_LOGGER = logging.getLogger("tidelog.spark")


class Phases:
    """The seconds of the phases of some work; while a phase inside of another one lasts, that one's clock stands."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}
        self._open: list[str] = []
        self._since = time.perf_counter()

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        """Count the seconds of the block to a phase."""
        self._settle()
        self._open.append(name)
        try:
            yield
        finally:
            self._settle()
            self._open.pop()

    @property
    def seconds(self) -> dict[str, float]:
        """Return the seconds of each phase so far, in the order in which they began, to a tenth of a millisecond."""
        return {name: round(seconds, 4) for name, seconds in self._seconds.items()}

    def _settle(self) -> None:
        now = time.perf_counter()
        if self._open:
            name = self._open[-1]
            self._seconds[name] = self._seconds.get(name, 0.0) + now - self._since
        self._since = now


class Records:
    """The records of a database. `watchers` get the fields of each record, by the thread that makes it."""

    def __init__(self) -> None:
        self.watchers: list[Callable[[RecordFields], object]] = []

    def epoch(self, epoch: int, engine: str, changed: int, seconds: Mapping[str, float], *, opened: bool) -> None:
        """Record an epoch in which so many derived tuples `changed`, or that a database has `opened` its state folder,
        whose last epoch this is."""
        fields = {"event": "open" if opened else "epoch", "epoch": epoch, "engine": engine, "changed": changed}
        text = f"{'opened at ' * opened}epoch {epoch} on the {engine} engine: {changed:,} tuples changed"
        self._record(text, fields, seconds)

    def rebuilt(self, reason: str) -> None:
        """Record that views are evaluated from all facts, because partitions in the state folder are no use."""
        _LOGGER.warning(
            "the partitions in the state folder are evaluated again: %s", reason, extra={"event": "rebuild"}
        )

    def batch(self, stream: str, batch: int, epoch: int, rows: Mapping[str, int], seconds: Mapping[str, float]) -> None:
        """Record a micro-batch of a stream, which is an epoch, with the numbers of its `rows` as in `Counts`."""
        fields = {"event": "batch", "stream": stream, "batch": batch, "epoch": epoch, **rows}
        self._record(f"batch {batch} of stream {stream}: {_text(rows)}", fields, seconds)

    def run(self, epoch: int, rows: Mapping[str, int], seconds: Mapping[str, float]) -> None:
        """Record a run of a pipeline, which is an epoch, with the numbers of `rows` of all sources."""
        self._record(f"pipeline, epoch {epoch}: {_text(rows)}", {"event": "run", "epoch": epoch, **rows}, seconds)

    def _record(self, text: str, fields: RecordFields, seconds: Mapping[str, float]) -> None:
        total = sum(seconds.values())
        told = {**fields, "seconds": {**seconds, "total": round(total, 4)}}
        _LOGGER.info("%s, %.3f s", text, total, extra=told)
        for watcher in self.watchers:
            watcher(told)


def _text(rows: Mapping[str, int]) -> str:
    return ", ".join(f"{rows[name]:,} {name}" for name in ("read", "accepted", "quarantined")) + " rows"
