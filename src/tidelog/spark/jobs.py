"""Descriptions of Spark jobs, which Spark's UI, its REST interface and event logs show.

The verbs of a database and pipelines open a block for a session (`described`), and the work inside of them says more
and more precisely what it does (`step`). A job has the texts of all blocks around it: "tidelog: epoch 12, rules r1, r2
of hyper-node 3, round 4". Jobs that users start with frames of tidelog have the description that their thread has.

Over Spark Connect, where jobs are not the client's, operations have the text as a tag beside those of the user. A tag
must not have commas, so these are semicolons.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from tidelog.spark.failures import letting_go
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
def described(session: SparkSession, text: str) -> Iterator[None]:
    """Describe the jobs that this thread starts in a session inside the block. Afterwards jobs have the description
    that they had before, which may be the caller's."""
    before = _BLOCK.get()
    with _within(_Block(session, (*(before.texts if before else ()), text)), before):
        yield


@contextmanager
def step(text: str) -> Iterator[None]:
    """Add a text to the description of the jobs inside the block; without a block of a session around it, do
    nothing."""
    before = _BLOCK.get()
    if before is None:
        yield
        return
    with _within(_Block(before.session, (*before.texts, text)), before):
        yield


@contextmanager
def _within(block: _Block, before: _Block | None) -> Iterator[None]:
    token = _BLOCK.set(block)
    try:
        with _tagged(block, before) if is_connect(block.session) else _shown(block):
            yield
    finally:
        _BLOCK.reset(token)


@contextmanager
def _tagged(block: _Block, before: _Block | None) -> Iterator[None]:
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
def _shown(block: _Block) -> Iterator[None]:
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
        with letting_go():
            context.setLocalProperty(_PROPERTY, text)  # None removes it.
            return
