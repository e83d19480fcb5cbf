"""The suite in a process of its own: a process cannot have a classic session and one of Spark Connect."""

from __future__ import annotations

from tests.spark.sessions.suite import Sessions


class TestEachSession(Sessions):
    pass
