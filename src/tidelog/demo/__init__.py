"""The demos. The first asks questions about Python's standard library: Spark reads source files, tidelog derives views
and pictures. The second is in `edge`.

facts       source files to facts, on Spark's workers program.dl  the questions, as rules report      the answers as a
table and a page;  drawing  one answer as a picture story       everything in order: the work of `tidelog demo` edge
a wind farm of nodes: the work of `tidelog demo edge`
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tidelog.demo.story import run

__all__ = ["run"]


def __getattr__(name: str) -> object:
    """Load `run` when it is first used: it needs Spark, and the other demo does not."""
    if name == "run":
        from tidelog.demo.story import run

        return run
    raise AttributeError(f"module 'tidelog.demo' has no attribute {name!r}")
