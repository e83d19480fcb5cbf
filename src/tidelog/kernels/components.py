"""Strongly connected components of a graph whose edges change: Tarjan's algorithm, and a test that one is still
connected.

Nodes are numbers below n; a component has the number of one of its nodes. `marks` are rows of n stamps: something is
marked where its stamp is the clock of now.
"""
# mypy: disable-error-code="no-untyped-def"

import numpy

from tidelog.kernels.lists import LENGTH, START
from tidelog.kernels.words import kernel, stopped

OUT, INTO, MEMBER, REACH = numpy.arange(4)
"""Families of lists: the nodes behind and before a node, the nodes of a component, the components that it reaches."""
EVERY = 1_024
"""So many nodes are visited between two looks."""
ZERO, ONE = numpy.arange(2)
"""Numbers of type int64: for 0 and 1 themselves numba would compile what they are passed to once more."""


@kernel
def parts_of(pool, lists, component, nodes, within, low, marks, clock, stop):
    """Run Tarjan's algorithm (1972), without recursion, over `nodes` and the edges among those of component `within`.

    Returns (nodes, ends): the nodes, part by part, each part behind those that it reaches, and where the parts end.
    Some are missing where the kernel was `stopped`.
    """
    n = len(nodes)
    order, ends = numpy.empty(n, numpy.int32), numpy.empty(n, numpy.int64)
    stack, path = numpy.empty(n, numpy.int32), numpy.empty(n, numpy.int32)
    number, edge = numpy.empty(n, numpy.int32), numpy.empty(n, numpy.int64)
    done = parts = height = count = 0
    for root in nodes:
        depth, ahead = 0, root if marks[0, root] != clock else -1
        while depth or ahead >= 0:
            if ahead >= 0:
                if count % EVERY == 0 and stopped(stop):
                    return order[:done], ends[:parts]
                marks[0, ahead] = clock
                low[ahead] = number[depth] = count
                path[depth], edge[depth] = ahead, 0
                stack[height] = ahead
                depth, height, count = depth + 1, height + 1, count + 1
            x, i = path[depth - 1], edge[depth - 1]
            start, length = lists[OUT, x, START], lists[OUT, x, LENGTH]
            ahead = -1
            while i < length and ahead < 0:
                y = pool[start + i]
                i += 1
                if component[y] == within:
                    if marks[0, y] != clock:
                        ahead = y
                    elif low[y] >= 0:
                        low[x] = min(low[x], low[y])
            edge[depth - 1] = i
            if ahead >= 0:
                continue
            depth -= 1
            if low[x] == number[depth]:
                y = -1
                while y != x:
                    height -= 1
                    y = stack[height]
                    low[y] = -1
                    order[done] = y
                    done += 1
                ends[parts] = done
                parts += 1
            elif depth:
                low[path[depth - 1]] = min(low[path[depth - 1]], low[x])
    return order[:done], ends[:parts]


@kernel
def still_leads(pool, lists, component, u, v, ahead, behind, marks, clock, stop):
    """Return True if there is a way from u to v inside their component. Search from both ends in turn, so that a short
    way, or an end with few nodes around it, is quick. `ahead` and `behind` have room for the component."""
    within = component[u]
    ahead[0], behind[0] = u, v
    marks[0, u] = marks[1, v] = clock
    i = j = 0
    m = n = 1
    while i < m and j < n:
        if (i + j) % EVERY == 0 and stopped(stop):
            return True
        family, x, mine, others = (OUT, ahead[i], 0, 1) if m - i <= n - j else (INTO, behind[j], 1, 0)
        start = lists[family, x, START]
        for y in pool[start : start + lists[family, x, LENGTH]]:
            if component[y] == within and marks[mine, y] != clock:
                if marks[others, y] == clock:
                    return True
                marks[mine, y] = clock
                if mine == 0:
                    ahead[m] = y
                    m += 1
                else:
                    behind[n] = y
                    n += 1
        if mine == 0:
            i += 1
        else:
            j += 1
    return False
