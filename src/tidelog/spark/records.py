"""Records in the log "tidelog.spark" of `logging`: one of level INFO for each epoch, batch of a stream, and run of a
pipeline. Their fields are attributes of the record, so that formatters can write them as JSON
(docs/how-to/operations.md lists them)."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

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


def record_epoch(epoch: int, engine: str, changed: int, seconds: dict[str, float], *, opened: bool) -> None:
    """Record an epoch in which so many derived tuples `changed`, or that a database has `opened` its state folder,
    whose last epoch this is."""
    fields = {"event": "open" if opened else "epoch", "epoch": epoch, "engine": engine, "changed": changed}
    _record(f"{'opened at ' * opened}epoch {epoch} on the {engine} engine: {changed:,} tuples changed", fields, seconds)


def record_batch(stream: str, batch: int, epoch: int, counts: Mapping[str, int], seconds: dict[str, float]) -> None:
    """Record a micro-batch of a stream, which is an epoch, with the numbers of its rows as in `Counts`."""
    fields = {"event": "batch", "stream": stream, "batch": batch, "epoch": epoch, **counts}
    _record(f"batch {batch} of stream {stream}: {_text(counts)}", fields, seconds)


def record_run(epoch: int, counts: Mapping[str, int], seconds: dict[str, float]) -> None:
    """Record a run of a pipeline, which is an epoch, with the numbers of rows of all sources."""
    _record(f"pipeline, epoch {epoch}: {_text(counts)}", {"event": "run", "epoch": epoch, **counts}, seconds)


def _record(text: str, fields: Mapping[str, object], seconds: dict[str, float]) -> None:
    total = sum(seconds.values())
    _LOGGER.info("%s, %.3f s", text, total, extra={**fields, "seconds": {**seconds, "total": round(total, 4)}})


def _text(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{counts[name]:,} {name}" for name in ("read", "accepted", "quarantined")) + " rows"
