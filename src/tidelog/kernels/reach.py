"""The transitive closure of a graph as components and reach sets, maintained while edges change.

Two nodes x, y are a pair of the closure iff y's component is in the reach set of x's, or they share a component of
several nodes, or x = y and the node has a loop. `irreflexive` closures (`x != y` in their recursive rules) have a pair
(x, x) only for loops. An inserted edge joins components that are now on a cycle, and adds to the reach sets of the
components before it. A deleted edge parts its component if nothing else connects it. Then the components before it are
renewed from the nearest to the farthest, as long as something changes. Reach sets are runs (kernels/runs.py), and all
of this works on runs. Nothing here looks at single pairs: kernels/differences.py compares what was with what is.

One edge may take minutes. Kernels with the argument `stop` look whether they are `stopped`, and then return with lists
that are in order but mean nothing. What edges change of components and reach sets is noted (kernels/lists.py), so that
`take_back` undoes it, whether it is complete or not.

The state of a closure: `pool`, `lists`, `used` (kernels/lists.py); `component` of every node; the `label` of every
node, no two alike, of which each component has that of one of its nodes; `loops`, how many each node has; `scratch`,
rows of n + 1 numbers; `marks` with its `clock`, rows of n stamps. Kernels return the pool, maybe a new one.
"""
# mypy: disable-error-code="no-untyped-def, assignment"

import heapq

import numpy

from tidelog.kernels.components import INTO, MEMBER, ONE, OUT, REACH, ZERO, parts_of, still_leads
from tidelog.kernels.layout import ENTRIES, NOTED, SAVED
from tidelog.kernels.lists import LENGTH, START, append, assign, discard, end_notes, note, replace
from tidelog.kernels.runs import (
    contains,
    equal,
    gathered,
    reaches,
    runs_of,
    size_of,
    spread,
    united,
    with_itself,
    without,
)
from tidelog.kernels.words import kernel, stopped


@kernel
def take_edges(pool, lists, used, loops, edges, gone):
    """Add `edges` to the adjacency, or remove those `gone` from it, and leave the closure for later."""
    for i in range(len(edges)):
        u, v = edges[i, 0], edges[i, 1]
        if u == v:
            loops[u] += -1 if gone else 1
        elif gone:
            discard(pool, lists, OUT, u, v)
            discard(pool, lists, INTO, v, u)
        else:
            pool = append(pool, lists, used, OUT, u, v)
            pool = append(pool, lists, used, INTO, v, u)
    return pool


@kernel
def take_back(pool, lists, used, component):
    """Restore the components and their reach sets as they were when they were noted."""
    noted = used[NOTED]
    end_notes(lists, used, True)
    for i in range(noted):
        if used[ENTRIES + i] % SAVED == MEMBER % SAVED:
            c = used[ENTRIES + i] // SAVED
            start = lists[MEMBER, c, START]
            for x in pool[start : start + lists[MEMBER, c, LENGTH]]:
                component[x] = c


@kernel
def build_components(pool, lists, used, component, label, scratch, marks, clock, stop):
    """Find the components of the whole graph and number them from 0 on, each behind those that it reaches; returns the
    pool and how many there are. Nodes get the labels that fit to these numbers."""
    n = len(component)
    component[:] = -1
    clock[0] += 1
    nodes = numpy.arange(n).astype(numpy.int32)
    order, ends = parts_of(pool, lists, component, nodes, numpy.int32(-1), scratch[0], marks, clock[0], stop)
    start, free = 0, len(ends)
    for i in range(len(ends)):
        for j in range(start, ends[i]):
            component[order[j]] = i
            label[order[j]] = i if j == start else free
            free += j != start
        pool = assign(pool, lists, used, MEMBER, i, order[start : ends[i]], ends[i] - start)
        start = ends[i]
    return pool, len(ends)


@kernel
def build_reach(pool, lists, used, component, scratch, marks, clock, c, count, limit, stop):
    """Fill the reach sets of the components from `c` to before `count`, in the order of their numbers, until more than
    `limit` numbers are written; returns the pool and the next component."""
    written = 0
    while c < count and written <= limit and not stopped(stop):
        row, n = look_ahead(pool, lists, component, numpy.int64(c), scratch, marks, clock, stop)
        pool = assign(pool, lists, used, REACH, c, row, n if n > 1 else ZERO)
        written += n + lists[MEMBER, c, LENGTH]
        c += 1
    return pool, c


@kernel
def look_ahead(pool, lists, component, c, scratch, marks, clock, stop):
    """Return the components that c reaches, by its edges and the reach sets of those behind it, as a row and its
    length. The rows are those of `scratch` but for the third and fourth, and are valid until the next call.

    A component behind c that another one behind c reaches adds nothing. The one that reaches most comes first, so that
    most of such are known when their turn comes. Few others, or such with long runs, are united with it one by one.
    That would read the union again for each of many others, so that these mark its members.
    """
    clock[0] += 1
    now = clock[0]
    row, direct, more, other = scratch[0], scratch[1], scratch[4], scratch[5]
    marks[1, c] = now
    m = 0
    start = lists[MEMBER, c, START]
    for x in pool[start : start + lists[MEMBER, c, LENGTH]]:
        first = lists[OUT, x, START]
        for y in pool[first : first + lists[OUT, x, LENGTH]]:
            d = component[y]
            if marks[1, d] != now:
                marks[1, d] = now
                direct[m] = d
                m += 1
    if m == 0:
        row[0] = 0
        return row, ONE
    for i in range(1, m):
        if size_of(pool, lists, direct[i]) > size_of(pool, lists, direct[0]):
            direct[0], direct[i] = direct[i], direct[0]
    most = numpy.int64(direct[0])
    k, written, reached = ONE, lists[REACH, most, LENGTH] + 1, size_of(pool, lists, most) + 1
    for d in direct[1:m]:
        if not reaches(pool, lists, most, d):
            direct[k] = d
            k += 1
            written += lists[REACH, d, LENGTH] + 1
            reached += size_of(pool, lists, d) + 1
    if (k - 1) * written * 4 > reached:
        return row, mark_ahead(pool, lists, direct[:k], row, more, marks[2], now, stop)
    n = with_itself(row, pool, lists, most)
    for d in direct[1:k]:
        if stopped(stop):
            break
        if not contains(row, ONE, n, d):
            length = with_itself(more, pool, lists, numpy.int64(d))
            n = united(other, row, ONE, n, more, ONE, length)
            row, other = other, row
    return row, n


@kernel
def mark_ahead(pool, lists, direct, row, found, stamps, now, stop):
    """Write the components `direct`, and those that they reach, to `row`; returns its length."""
    many = ZERO
    for d in direct:
        if stamps[d] == now:
            continue
        if stopped(stop):
            break
        stamps[d] = now
        found[many] = d
        many += 1
        i, end = runs_of(lists, d)
        while i < end:
            e = pool[i]
            i += 1
            if e >= 0:
                if stamps[e] != now:
                    stamps[e] = now
                    found[many] = e
                    many += 1
            else:
                for each in range(numpy.int64(pool[i - 2]) + 1, numpy.int64(~e) + 1):
                    if stamps[each] != now:
                        stamps[each] = now
                        found[many] = each
                        many += 1
    sort_marked(found, many, stamps, now)
    return gathered(row, found, many)


@kernel
def sort_marked(found, n, stamps, now):
    """Put the first `n` of `found`, those stamped `now`, in ascending order."""
    if n * 16 < len(stamps):
        sort(found, n)
        return
    i = 0
    for d in range(len(stamps)):
        if stamps[d] == now:
            found[i] = d
            i += 1


@kernel
def sort(values, n):
    """Put the first `n` values in ascending order: heap sort, which compiles ten times as fast as numpy's."""
    for size in range(n // 2 - 1, -n, -1):
        # First every node becomes a heap, from the last to the root; then the root goes to the end each time.
        root, end = size, n
        if size < 0:
            end = n + size
            values[0], values[end] = values[end], values[0]
            root = 0
        top = values[root]
        child = 2 * root + 1
        while child < end:
            if child + 1 < end and values[child + 1] > values[child]:
                child += 1
            if values[child] <= top:
                break
            values[root] = values[child]
            root, child = child, 2 * child + 1
        values[root] = top


@kernel
def before(pool, lists, component, c, queue, m, stamps, now):
    """Put the components with an edge into c that are not stamped at the end of `queue`; returns its length."""
    start = lists[MEMBER, c, START]
    for x in pool[start : start + lists[MEMBER, c, LENGTH]]:
        first = lists[INTO, x, START]
        for y in pool[first : first + lists[INTO, x, LENGTH]]:
            d = component[y]
            if stamps[d] != now:
                stamps[d] = now
                queue[m] = d
                m += 1
    return m


@kernel
def add_edges(pool, lists, used, component, loops, scratch, marks, clock, edges, at, limit, stop):
    """Add `edges` from position `at` on until more than `limit` pairs were gained or components looked at; return the
    pool, the position, and a number of pairs, at least so many of which were gained."""
    n = looked = ZERO
    while at < len(edges) and n + looked <= limit and not stopped(stop):
        u, v = edges[at, 0], edges[at, 1]
        at += 1
        if u == v:
            loops[u] += 1
            n += loops[u] == 1 and lists[MEMBER, component[u], LENGTH] == 1
            continue
        pool = append(pool, lists, used, OUT, u, v)
        pool = append(pool, lists, used, INTO, v, u)
        a, b = numpy.int64(component[u]), numpy.int64(component[v])
        if a == b or reaches(pool, lists, a, b):
            continue
        pool, gained, steps = join(pool, lists, used, component, scratch, marks, clock, a, b, stop)
        n += gained
        looked += steps
    return pool, at, n


@kernel
def join(pool, lists, used, component, scratch, marks, clock, a, b, stop):
    """Let component a, and the components before it, reach b and the components that b reaches; components on a cycle
    become one. Return the pool, how many pairs were gained at least, and how many components were looked at."""
    clock[0] += 1
    now = clock[0]
    row, gained, queue = scratch[0], scratch[1], scratch[2]
    cycle = reaches(pool, lists, b, a)
    more = with_itself(gained, pool, lists, b)
    if cycle:
        many = spread(scratch[4], gained, ONE, more)
        for d in scratch[4][:many]:
            marks[1, d] = now
    queue[0] = a
    marks[2, a] = now
    i, m, n = ZERO, ONE, ZERO
    while i < m and not stopped(stop):
        x = numpy.int64(queue[i])
        i += 1
        if not reaches(pool, lists, x, b):
            start, end = runs_of(lists, x)
            k = united(row, pool, start, end, gained, ONE, more)
            itself = 1 if cycle and marks[1, x] == now else 0
            n += lists[MEMBER, x, LENGTH] * (row[0] - size_of(pool, lists, x) - itself)
            pool = replace(pool, lists, used, REACH, x, row, k)
        elif not cycle:
            continue
        m = before(pool, lists, component, x, queue, m, marks[2], now)
    if cycle:
        pool = merge(pool, lists, used, component, gained, more, queue[:m], scratch, marks, now, stop)
    return pool, n, m


@kernel
def merge(pool, lists, used, component, gained, more, leading, scratch, marks, now, stop):
    """Make one component of those that are both in the row `gained` (stamped in marks[1]) and in `leading` (stamped in
    marks[2])."""
    row, others, found = scratch[0], scratch[4], scratch[5]
    one = leading[0]
    for x in leading:
        if marks[1, x] == now and lists[MEMBER, x, LENGTH] > lists[MEMBER, one, LENGTH]:
            one = x
    k = ZERO
    for x in leading:
        if marks[1, x] == now and x != one:
            found[k] = x
            k += 1
    sort(found, k)
    many = gathered(others, found, k)
    note(lists, used, MEMBER, one)
    for x in leading:
        if stopped(stop):
            break
        if marks[1, x] != now:
            start, end = runs_of(lists, x)
            n = without(row, pool, start, end, others, ONE, many)
            pool = replace(pool, lists, used, REACH, x, row, n)
        elif x != one:
            note(lists, used, MEMBER, x)
            note(lists, used, REACH, x)
            start, length = lists[MEMBER, x, START], lists[MEMBER, x, LENGTH]
            for i in range(length):
                y = pool[start + i]
                component[y] = one
                pool = append(pool, lists, used, MEMBER, one, y)
            lists[MEMBER, x, LENGTH] = lists[REACH, x, LENGTH] = 0
    many = spread(found, gained, ONE, more)
    k = ZERO
    for d in found[:many]:
        if marks[2, d] != now:
            found[k] = d
            k += 1
    n = gathered(row, found, k)
    return replace(pool, lists, used, REACH, one, row, n if n > 1 else ZERO)


@kernel
def remove_edges(pool, lists, used, component, label, loops, scratch, marks, clock, edges, at, limit, stop):
    """Remove `edges`, all there, from position `at` on until more than `limit` pairs were lost or components looked at;
    return the pool, the position, and a number of pairs, at least so many of which were lost."""
    n = looked = ZERO
    while at < len(edges) and n + looked <= limit and not stopped(stop):
        u, v = edges[at, 0], edges[at, 1]
        at += 1
        if u == v:
            loops[u] -= 1
            n += loops[u] == 0 and lists[MEMBER, component[u], LENGTH] == 1
            continue
        discard(pool, lists, OUT, u, v)
        discard(pool, lists, INTO, v, u)
        a, b = numpy.int64(component[u]), numpy.int64(component[v])
        if a != b:
            if not leads(pool, lists, component, a, b):
                heap = [(size_of(pool, lists, a), numpy.int64(a))]
                pool, lost, steps = look_again(pool, lists, used, component, scratch, marks, clock, heap, False, stop)
                n += lost
                looked += steps
            continue
        clock[0] += 1
        if still_leads(pool, lists, component, u, v, scratch[0], scratch[1], marks, clock[0], stop):
            continue
        pool, lost, steps = part(pool, lists, used, component, label, scratch, marks, clock, a, stop)
        n += lost
        looked += steps
    return pool, at, n


@kernel
def leads(pool, lists, component, a, b):
    """Return True if component a has an edge to b or to something that reaches b."""
    start = lists[MEMBER, a, START]
    for x in pool[start : start + lists[MEMBER, a, LENGTH]]:
        first = lists[OUT, x, START]
        for y in pool[first : first + lists[OUT, x, LENGTH]]:
            d = component[y]
            if d == b or (d != a and reaches(pool, lists, d, b)):
                return True
    return False


@kernel
def look_again(pool, lists, used, component, scratch, marks, clock, heap, parted, stop):
    """Renew the reach sets of the components in `heap`, (size of the reach set, component), and of those before a
    component that changes. By the order of their old sizes, each comes behind all that it reaches. If a component was
    `parted`, all that reached it are renewed. If not, the heap has one component, and all others lose only what it
    loses. Return the pool, how many pairs were lost at least, and the number of renewed components."""
    clock[0] += 1
    now, queue, gone, n, steps = clock[0], scratch[3], scratch[2], ZERO, ZERO
    for entry in heap:
        marks[3, entry[1]] = now
    most = -1
    while len(heap) and not stopped(stop):
        _, x = heapq.heappop(heap)
        steps += 1
        start, end = runs_of(lists, x)
        if parted or most < 0 or most * 32 > lists[REACH, x, LENGTH]:
            row, k = look_ahead(pool, lists, component, x, scratch, marks, clock, stop)
            if not parted:
                if equal(row, k, pool, lists, x):
                    continue
                if most < 0:
                    lost = scratch[1]  # The components behind x, which have been read.
                    length = without(lost, pool, start, end, row, ONE, k)
                    most = spread(gone, lost, ONE, length)
        else:
            row, k = sieved(pool, lists, component, x, gone[:most], scratch, stop)
            if k == 0:
                continue
        n += lists[MEMBER, x, LENGTH] * max(0, size_of(pool, lists, x) - row[0])
        pool = replace(pool, lists, used, REACH, x, row, k if k > 1 else ZERO)
        m = before(pool, lists, component, x, queue, ZERO, marks[3], now)
        for d in queue[:m]:
            heapq.heappush(heap, (size_of(pool, lists, d), numpy.int64(d)))
    return pool, n, steps


@kernel
def sieved(pool, lists, component, x, gone, scratch, stop):
    """Return the reach set of x without the components of `gone`, ascending, to which x leads no more, as a row and its
    length: 0 if x still leads to all of those that it reaches."""
    row, found, lost = scratch[0], scratch[1], scratch[4]
    m = ZERO
    for d in gone:
        if stopped(stop):
            break
        if reaches(pool, lists, x, d) and not leads(pool, lists, component, x, d):
            found[m] = d
            m += 1
    if m == 0:
        return row, ZERO
    length = gathered(lost, found, m)
    start, end = runs_of(lists, x)
    return row, without(row, pool, start, end, lost, ONE, length)


@kernel
def part(pool, lists, used, component, label, scratch, marks, clock, c, stop):
    """Take component c apart, which has lost an edge that held it together. Return the pool, how many pairs were lost
    at least, and the number of renewed components."""
    start, many = lists[MEMBER, c, START], lists[MEMBER, c, LENGTH]
    nodes = pool[start : start + many].copy()
    clock[0] += 1
    order, ends = parts_of(pool, lists, component, nodes, c, scratch[0], marks, clock[0], stop)
    if len(order) < many:
        return pool, ZERO, len(ends)
    parts = numpy.empty(len(ends), numpy.int32)
    first = 0
    for i in range(len(ends)):
        # A component has the label of one of its nodes, and the part with the label c keeps that one.
        own = order[first : ends[i]]
        parts[i] = label[own[0]]
        for x in own:
            if label[x] == c:
                parts[i] = c
        component[own] = parts[i]
        first = ends[i]
    first = 0
    for i in range(len(ends)):
        pool = replace(pool, lists, used, MEMBER, parts[i], order[first : ends[i]], ends[i] - first)
        first = ends[i]
    heap = [(numpy.int64(0), numpy.int64(0)) for _ in range(0)]
    clock[0] += 1
    now, queue = clock[0], scratch[3]
    for d in parts:
        marks[3, d] = now
    m = ZERO
    for i in range(len(parts)):
        if stopped(stop):
            break
        p = numpy.int64(parts[i])
        row, k = look_ahead(pool, lists, component, p, scratch, marks, clock, stop)
        pool = replace(pool, lists, used, REACH, p, row, k if k > 1 else ZERO)
        m = before(pool, lists, component, p, queue, m, marks[3], now)
    for d in queue[:m]:
        heap.append((size_of(pool, lists, d), numpy.int64(d)))
    heapq.heapify(heap)
    pool, n, steps = look_again(pool, lists, used, component, scratch, marks, clock, heap, True, stop)
    return pool, n, steps + len(parts)
