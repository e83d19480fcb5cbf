"""Descriptions of Spark jobs, and records of epochs in the log, for operators.

Spark's UI, its REST interface and event logs show the descriptions. The verbs of a database and pipelines open a block
for a session (`job_description`), and the work inside of them says more and more precisely what it does (`step`). A job
has the texts of all blocks around it: "tidelog: epoch 12, rules r1, r2 of hyper-node 3, round 4". Jobs that users start
with frames of tidelog have the description that their thread has.

Over Spark Connect, where jobs are not the client's, operations have the text as a tag beside those of the user. A tag
must not have commas, so these are semicolons.

The log "tidelog.spark" of `logging` has one record of level INFO for each epoch, batch of a stream, and run of a
pipeline (`Records`). Their fields are attributes of the record, so that formatters can write them as JSON
(docs/how-to/operations.md lists them).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeAlias

from pyspark.sql import SparkSession

from tidelog.spark.failures import ignore_stopped_session
from tidelog.spark.sessions import is_connect

_PROPERTY = "spark.job.description"


@dataclass(frozen=True)
class _Block:
    """The texts of the blocks around, and their session."""

    session: SparkSession
    texts: tuple[str, ...]

    def __str__(self) -> str:
        return f"tidelog: {', '.join(self.texts)}"

    @property
    def tag(self) -> str:
        return str(self).replace(",", ";")


_BLOCK: ContextVar[_Block | None] = ContextVar("tidelog-jobs", default=None)


@contextmanager
def job_description(session: SparkSession, text: str) -> Iterator[None]:
    """Describe the jobs that this thread starts in a session inside the block. Afterwards jobs have the description
    that they had before, which may be the caller's."""
    before = _BLOCK.get()
    with _in_block(_Block(session, (*(before.texts if before else ()), text)), before):
        yield


@contextmanager
def step(text: str) -> Iterator[None]:
    """Add a text to the description of the jobs inside the block; without a block of a session around it, do
    nothing."""
    before = _BLOCK.get()
    if before is None:
        yield
        return
    with _in_block(_Block(before.session, (*before.texts, text)), before):
        yield


@contextmanager
def _in_block(block: _Block, before: _Block | None) -> Iterator[None]:
    token = _BLOCK.set(block)
    try:
        with _with_tag(block, before) if is_connect(block.session) else _with_description(block):
            yield
    finally:
        _BLOCK.reset(token)


@contextmanager
def _with_tag(block: _Block, before: _Block | None) -> Iterator[None]:
    """Have the tag of a block in place of that of the block around it. Tags belong to the thread, and stay in this
    process until an operation takes them along."""
    session: Any = block.session
    around = [] if before is None or before.session is not session else [before.tag]
    for tag in around:
        session.removeTag(tag)
    session.addTag(block.tag)
    try:
        yield
    finally:
        session.removeTag(block.tag)
        for tag in around:
            session.addTag(tag)


@contextmanager
def _with_description(block: _Block) -> Iterator[None]:
    """Have the text of a block as the description of jobs."""
    context = block.session.sparkContext
    own = context.getLocalProperty(_PROPERTY)
    context.setJobDescription(str(block))
    try:
        yield
    finally:
        _restore(context, own)


def _restore(context: Any, text: str | None) -> None:
    """Give jobs the description that they had. A call that Ctrl-C has ended may leave a connection on which one more
    call fails, so there are two."""
    for _ in range(2):
        with ignore_stopped_session():
            context.setLocalProperty(_PROPERTY, text)  # None removes it.
            return


# --- records in the log ----------------------------------------------------------------------------------------------


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
        self._note_seconds()
        self._open.append(name)
        try:
            yield
        finally:
            self._note_seconds()
            self._open.pop()

    @property
    def seconds(self) -> dict[str, float]:
        """Return the seconds of each phase so far, in the order in which they began, to a tenth of a millisecond."""
        return {name: round(seconds, 4) for name, seconds in self._seconds.items()}

    def _note_seconds(self) -> None:
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
        record = {**fields, "seconds": {**seconds, "total": round(total, 4)}}
        _LOGGER.info("%s, %.3f s", text, total, extra=record)
        for watcher in self.watchers:
            watcher(record)


def _text(rows: Mapping[str, int]) -> str:
    return ", ".join(f"{rows[name]:,} {name}" for name in ("read", "accepted", "quarantined")) + " rows"
