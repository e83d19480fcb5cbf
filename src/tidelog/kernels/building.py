"""A closure from all of its edges at once: the adjacency laid out by degrees, and components by search.

`take_edges` and `parts_of` do the same for graphs that have edges already, and for edges with a direction; they touch
memory in no order. Here each list gets its room before it is written, and a symmetric graph is searched once.
"""
# mypy: disable-error-code="no-untyped-def, assignment"

import numpy

from tidelog.kernels.components import EVERY, INTO, MEMBER, OUT
from tidelog.kernels.layout import USED
from tidelog.kernels.lists import LENGTH, START, assign, with_room
from tidelog.kernels.words import kernel, stopped


@kernel
def fill_edges(pool, lists, used, loops, edges, symmetric):
    """Lay out `edges` as the adjacency of a graph that has none; in a `symmetric` one each leads both ways."""
    many = lists.shape[1]
    out, into = numpy.zeros(many, numpy.int64), numpy.zeros(many, numpy.int64)
    for i in range(len(edges)):
        u, v = edges[i, 0], edges[i, 1]
        if u == v:
            loops[u] += 1
        elif symmetric:
            out[u] += 1
            out[v] += 1
        else:
            out[u] += 1
            into[v] += 1
    if symmetric:
        into = out.copy()
    needed = used[USED] + out.sum() + into.sum()
    if needed > len(pool):
        more = numpy.empty(needed + needed // 2, numpy.int32)
        for i in range(used[USED]):
            more[i] = pool[i]
        pool = more
    pool = _with_rooms(pool, lists, used, OUT, out)
    pool = _with_rooms(pool, lists, used, INTO, into)
    for i in range(len(edges)):
        u, v = edges[i, 0], edges[i, 1]
        if u == v:
            continue
        pool[out[u]] = v
        out[u] += 1
        if symmetric:
            pool[out[v]] = u
            out[v] += 1
        else:
            pool[into[v]] = u
            into[v] += 1
    if symmetric:
        for k in range(many):  # Each edge leads both ways, so the nodes before a node are those behind it.
            start, source = lists[INTO, k, START], lists[OUT, k, START]
            for i in range(lists[OUT, k, LENGTH]):
                pool[start + i] = pool[source + i]
    return pool


@kernel
def _with_rooms(pool, lists, used, family, lengths):
    """Let each list of a family have its length, and put where it starts in the place of the length."""
    for k in range(len(lengths)):
        pool = with_room(pool, lists, used, family, k, lengths[k])
        lists[family, k, LENGTH] = lengths[k]
        lengths[k] = lists[family, k, START]
    return pool


@kernel
def label_components(pool, lists, used, component, stop):
    """Find the components of a symmetric graph by search. None reaches another one. Some are missing where the kernel
    was `stopped`."""
    n = len(component)
    component[:] = -1
    order = numpy.empty(n, numpy.int32)
    head = 0
    for root in range(n):
        if component[root] >= 0:
            continue
        first = tail = head
        component[root] = order[tail] = root
        tail += 1
        while head < tail:
            if head % EVERY == 0 and stopped(stop):
                return pool
            x = order[head]
            head += 1
            start = lists[OUT, x, START]
            for i in range(start, start + lists[OUT, x, LENGTH]):
                y = pool[i]
                if component[y] < 0:
                    component[y] = root
                    order[tail] = y
                    tail += 1
        pool = assign(pool, lists, used, MEMBER, root, order[first:tail], tail - first)
    return pool
