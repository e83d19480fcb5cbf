"""Descriptions of Spark jobs, which Spark's UI, its REST interface and event logs show.

The verbs of a database and pipelines open a block for a session (`described`), and the work inside of them says more
and more precisely what it does (`step`). A job has the texts of all blocks around it: "tidelog: epoch 12, rules r1, r2
of hyper-node 3, round 4". Jobs that users start with frames of tidelog have the description that their thread has.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from pyspark import SparkContext
from pyspark.sql import SparkSession

from tidelog.spark.failures import letting_go
from tidelog.spark.sessions import is_connect

_PROPERTY = "spark.job.description"


@dataclass(frozen=True)
class _Block:
    """The texts of the blocks around, and the context of their session."""

    context: SparkContext
    texts: tuple[str, ...]

    def __str__(self) -> str:
        return f"tidelog: {', '.join(self.texts)}"


_BLOCK: ContextVar[_Block | None] = ContextVar("tidelog-jobs", default=None)


@contextmanager
def described(session: SparkSession, text: str) -> Iterator[None]:
    """Describe the jobs that this thread starts in a session inside the block. Afterwards jobs have the description
    that they had before, which may be the caller's. Do nothing for a session of Spark Connect."""
    if is_connect(session):  # It cannot describe jobs.
        yield
        return
    before = _BLOCK.get()
    with _within(_Block(session.sparkContext, (*(before.texts if before else ()), text))):
        yield


@contextmanager
def step(text: str) -> Iterator[None]:
    """Add a text to the description of the jobs inside the block; without a block of a session around it, do
    nothing."""
    before = _BLOCK.get()
    if before is None:
        yield
        return
    with _within(_Block(before.context, (*before.texts, text))):
        yield


@contextmanager
def _within(block: _Block) -> Iterator[None]:
    token = _BLOCK.set(block)
    own = block.context.getLocalProperty(_PROPERTY)
    block.context.setJobDescription(str(block))
    try:
        yield
    finally:
        _BLOCK.reset(token)
        _restore(block.context, own)


def _restore(context: SparkContext, text: str | None) -> None:
    """Give jobs the description that they had. A call that Ctrl-C has ended may leave a connection on which one more
    call fails, so there are two."""
    for _ in range(2):
        with letting_go():
            context.setLocalProperty(_PROPERTY, text)  # type: ignore[arg-type]  # None removes it
            return
