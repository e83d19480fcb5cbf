"""Reading a closure: its pairs in the order of their first nodes, their number, the distance of their nodes, and the
differences between two closures of the same nodes."""
# mypy: disable-error-code="no-untyped-def"

import numpy

from tidelog.kernels.components import MEMBER, OUT, REACH
from tidelog.kernels.lists import LENGTH, START, holds
from tidelog.kernels.reach import before, with_pairs
from tidelog.kernels.words import kernel, stopped


@kernel
def count_pairs(pool, lists, component, loops, irreflexive, weights, counts, x, limit):
    """Write how many pairs each node begins, from node x on until more than `limit` components were counted or nodes
    looked at; returns the next node. `weights` are those that the reach sets of components have, -1 where unknown."""
    steps = 0
    while x < len(component) and steps <= limit:
        c = component[x]
        size = lists[MEMBER, c, LENGTH]
        if weights[c] < 0:
            start, total = lists[REACH, c, START], 0
            for d in pool[start : start + lists[REACH, c, LENGTH]]:
                total += lists[MEMBER, d, LENGTH]
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
        first = lists[REACH, c, START]
        for d in pool[first : first + lists[REACH, c, LENGTH]]:
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
    return c == d or holds(pool, lists, REACH, c, d)


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


@kernel
def mark_pairs(pool, lists, component, loops, irreflexive, x, stamps, now, queue):
    """Write the nodes that x is paired with to `queue` and stamp them; returns how many."""
    c, n = component[x], 0
    if loops[x] or (lists[MEMBER, c, LENGTH] > 1 and not irreflexive):
        queue[0], stamps[x], n = x, now, 1
    start = lists[MEMBER, c, START]
    for y in pool[start : start + lists[MEMBER, c, LENGTH]]:
        if y != x:
            queue[n], stamps[y] = y, now
            n += 1
    first = lists[REACH, c, START]
    for d in pool[first : first + lists[REACH, c, LENGTH]]:
        start = lists[MEMBER, d, START]
        for y in pool[start : start + lists[MEMBER, d, LENGTH]]:
            queue[n], stamps[y] = y, now
            n += 1
    return n


@kernel
def differences(old, new, loops_before, loops, irreflexive, scratch, marks, clock, stop):
    """Return the pairs of nodes that only `old` has and those that only `new` has; each is (pool, lists, component).
    Some are missing if the kernel was `stopped`."""
    died, born = numpy.empty((64, 2), numpy.int32), numpy.empty((64, 2), numpy.int32)
    gone = came = 0
    ahead, behind = scratch[0], scratch[1]
    for x in range(len(loops)):
        if stopped(stop):
            break
        clock[0] += 1
        now = clock[0]
        m = mark_pairs(old[0], old[1], old[2], loops_before, irreflexive, x, marks[0], now, ahead)
        n = mark_pairs(new[0], new[1], new[2], loops, irreflexive, x, marks[1], now, behind)
        died, born = with_pairs(died, gone, m), with_pairs(born, came, n)
        for y in ahead[:m]:
            if marks[1, y] != now:
                died[gone, 0], died[gone, 1] = x, y
                gone += 1
        for y in behind[:n]:
            if marks[0, y] != now:
                born[came, 0], born[came, 1] = x, y
                came += 1
    return died[:gone], born[:came]
