"""The demos. The first asks questions about Python's standard library, from source files through Spark into views and
pictures; the second is in `edge`.

facts       source files to facts, on Spark's workers
program.dl  the questions, as rules
report      the answers as a table and a page;  drawing  one answer as a picture
story       everything in order: what `tidelog demo` runs
edge        a wind farm of nodes: what `tidelog demo edge` runs
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tidelog.demo.story import run

__all__ = ["run"]


def __getattr__(name: str) -> object:
    """`run` is loaded when first used: it needs Spark, which the other demo does not."""
    if name == "run":
        from tidelog.demo.story import run

        return run
    raise AttributeError(f"module 'tidelog.demo' has no attribute {name!r}")
