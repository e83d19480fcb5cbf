"""Resources to undo or to end an epoch, allocated before anything changes.

An epoch is undone when memory, time or the disk are exhausted. To load or compile kernels at that moment would need all
three.
"""

from __future__ import annotations

from functools import cache, partial

import numpy

from tidelog.kernels.calling import at_each_stage
from tidelog.storage.catalog import Catalog
from tidelog.storage.changes import change_facts
from tidelog.storage.closure import Closure
from tidelog.storage.stored import StoredRelation


@cache
def make_ready(bits: int) -> None:
    """Let all kernels be there that take changes of relations back or make them last: now, and whenever more kernels
    become machine code; once per process and size of words."""
    _change_relation(bits)
    at_each_stage(partial(_change_relation, bits))


@cache
def make_closures_ready() -> None:
    """Let all kernels be there that take changes of closures back, as `make_ready` does."""
    _change_closure()
    at_each_stage(_change_closure)


def _change_relation(bits: int) -> None:
    """Take a change of a small relation back, and make one last."""
    stored = StoredRelation(Catalog(bits), 2)
    stored.insert(numpy.array([[1, 2], [3, 4]]))
    stored.index((0,))
    stored.settle()
    for end in (stored.take_back, stored.close):
        stored.open()
        change_facts(stored, numpy.array([0]), numpy.array([[5, 6]]))
        stored.settle()
        end()


def _change_closure() -> None:
    """Take a change of a small closure back, and keep one."""
    graph = Closure()
    graph.build([numpy.array([[1, 2], [2, 3]])])
    graph.change(numpy.array([[2, 3]]), numpy.array([[3, 1]]), float("inf"))
    graph.take_back(list)
    graph.keep()
