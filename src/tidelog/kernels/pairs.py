"""Reading a closure: its pairs in the order of their first nodes, their number, and the distance of their nodes."""
# mypy: disable-error-code="no-untyped-def"

import numpy

from tidelog.kernels.components import MEMBER, OUT, REACH
from tidelog.kernels.lists import LENGTH, START
from tidelog.kernels.reach import before
from tidelog.kernels.runs import last_of, reaches, runs_of
from tidelog.kernels.words import kernel


@kernel
def count_pairs(pool, lists, component, loops, irreflexive, sums, weights, counts, x, limit):
    """Write how many pairs each node begins, from node x on until more than `limit` runs were counted or nodes looked
    at; returns the next node. `sums` has for each component the number of nodes of those before it in number. `weights`
    are those that the reach sets of components have, -1 where unknown."""
    steps = 0
    while x < len(component) and steps <= limit:
        c = component[x]
        size = lists[MEMBER, c, LENGTH]
        if weights[c] < 0:
            i, end = runs_of(lists, c)
            total = 0
            while i < end:
                low = pool[i]
                high, i = last_of(pool, i, end)
                total += sums[high + 1] - sums[low]
            weights[c] = total
            steps += lists[REACH, c, LENGTH]
        itself = 1 if loops[x] or (size > 1 and not irreflexive) else 0
        counts[x] = weights[c] + size - 1 + itself
        x += 1
        steps += 1
    return x


@kernel
def write_pairs(pool, lists, component, loops, irreflexive, words, nodes, target):
    """Write the pairs that begin with `nodes` as words to `target`, int32 or int64 of shape (m, 2)."""
    n = 0
    for x in nodes:
        c, word = component[x], words[x]
        if loops[x] or (lists[MEMBER, c, LENGTH] > 1 and not irreflexive):
            target[n, 0] = target[n, 1] = word
            n += 1
        start = lists[MEMBER, c, START]
        for y in pool[start : start + lists[MEMBER, c, LENGTH]]:
            if y != x:
                target[n, 0], target[n, 1] = word, words[y]
                n += 1
        i, end = runs_of(lists, c)
        while i < end:
            low = numpy.int64(pool[i])
            high, i = last_of(pool, i, end)
            for d in range(low, high + 1):
                start = lists[MEMBER, d, START]
                for y in pool[start : start + lists[MEMBER, d, LENGTH]]:
                    target[n, 0], target[n, 1] = word, words[y]
                    n += 1


@kernel
def is_pair(pool, lists, component, loops, irreflexive, x, y):
    """Return True if (x, y) is in the closure."""
    c, d = component[x], component[y]
    if x == y:
        return loops[x] > 0 or (lists[MEMBER, c, LENGTH] > 1 and not irreflexive)
    return c == d or reaches(pool, lists, c, d)


@kernel
def are_pairs(pool, lists, component, loops, irreflexive, ids):
    """Return a mask of those pairs of nodes, shape (n, 2), that are in the closure."""
    found = numpy.empty(len(ids), numpy.bool_)
    for i in range(len(ids)):
        found[i] = is_pair(pool, lists, component, loops, irreflexive, ids[i, 0], ids[i, 1])
    return found


@kernel
def nodes_before(pool, lists, component, loops, irreflexive, y, scratch, marks, clock):
    """Return the nodes that are paired with y."""
    clock[0] += 1
    queue, stamps = scratch[0], marks[0]
    c = component[y]
    queue[0], stamps[c] = c, clock[0]
    i, m, total = 0, 1, 0
    while i < m:
        total += lists[MEMBER, queue[i], LENGTH]
        m = before(pool, lists, component, queue[i], queue, m, stamps, clock[0])
        i += 1
    found, n = numpy.empty(total, numpy.int64), 0
    for d in queue[:m]:
        start = lists[MEMBER, d, START]
        for x in pool[start : start + lists[MEMBER, d, LENGTH]]:
            if x != y or is_pair(pool, lists, component, loops, irreflexive, y, y):
                found[n] = x
                n += 1
    return found[:n]


@kernel
def lengths(pool, lists, sources, ends, targets, distance, queue, result, i, limit):
    """Write the number of edges on a shortest way from each source to its targets, those up to its end in `ends`, from
    the i-th source on until more than `limit` edges were followed; returns the next source.

    `distance` is all -1 for every node, before and after.
    """
    at, steps = ends[i - 1] if i > 0 else 0, 0
    while i < len(sources) and steps <= limit:
        source = sources[i]
        head, tail = 0, 0
        x, far = source, 0
        while True:
            start = lists[OUT, x, START]
            steps += lists[OUT, x, LENGTH] + 1
            for y in pool[start : start + lists[OUT, x, LENGTH]]:
                if distance[y] < 0:
                    distance[y] = far + 1
                    queue[tail] = y
                    tail += 1
            if head == tail:
                break
            x = queue[head]
            far = distance[x]
            head += 1
        while at < ends[i]:
            result[at] = distance[targets[at]]
            at += 1
        for j in range(tail):
            distance[queue[j]] = -1
        i += 1
    return i
