"""The transitive closure of a graph as components and reach sets, maintained while edges change.

Two nodes x, y are a pair of the closure iff y's component is in the reach set of x's, or they share a component of
several nodes, or x = y and the node has a loop. `irreflexive` closures (`x != y` in their recursive rules) have a pair
(x, x) only for loops. An inserted edge joins components that are now on a cycle, and adds to the reach sets of the
components before it. A deleted edge parts its component if nothing else connects it. Then the components before it are
renewed from the nearest to the farthest, as long as something changes. Both record the pairs inserted or deleted.

One edge may take minutes. Kernels with the argument `stop` look whether they are `stopped`, and then return with lists
that are in order but mean nothing. What edges change of components and reach sets is noted (kernels/lists.py), so that
`take_back` undoes it, whether it is complete or not.

The state of a closure: `pool`, `lists`, `used` (kernels/lists.py); `component` of every node; `loops`, how many each
has; `scratch`, rows of n numbers; `marks` with its `clock`, rows of n stamps. Kernels return the pool, maybe a new one.
"""
# mypy: disable-error-code="no-untyped-def, assignment"

import heapq

import numpy

from tidelog.kernels.components import EVERY, INTO, MEMBER, ONE, OUT, REACH, ZERO, parts_of, still_leads
from tidelog.kernels.layout import ENTRIES, NOTED, SAVED
from tidelog.kernels.lists import LENGTH, START, append, assign, discard, end_notes, holds, note, replace, with_room
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
def build_components(pool, lists, used, component, scratch, marks, clock, stop):
    """Find the components of the whole graph; returns the pool and them, each behind those that it reaches."""
    n = len(component)
    component[:] = -1
    clock[0] += 1
    nodes = numpy.arange(n).astype(numpy.int32)
    order, ends = parts_of(pool, lists, component, nodes, numpy.int32(-1), scratch[0], marks, clock[0], stop)
    found = numpy.empty(len(ends), numpy.int32)
    start = 0
    for i in range(len(ends)):
        found[i] = order[start]
        for j in range(start, ends[i]):
            component[order[j]] = order[start]
        pool = assign(pool, lists, used, MEMBER, order[start], order[start : ends[i]], ends[i] - start)
        start = ends[i]
    return pool, found


@kernel
def build_reach(pool, lists, used, component, scratch, marks, clock, order, at, limit, stop):
    """Fill the reach sets of the components `order` from position `at` on until more than `limit` numbers are written;
    returns the pool and the position."""
    written = 0
    while at < len(order) and written <= limit and not stopped(stop):
        n = look_ahead(pool, lists, component, numpy.int64(order[at]), scratch, marks, clock, stop)
        pool = assign(pool, lists, used, REACH, order[at], scratch[0], n)
        written += n + lists[MEMBER, order[at], LENGTH]
        at += 1
    return pool, at


@kernel
def look_ahead(pool, lists, component, c, scratch, marks, clock, stop):
    """Write the components that c reaches, by its edges and the reach sets of those behind it, to scratch[0] in
    ascending order, and mark them in marks[2]; returns how many.

    A component behind c that another one behind c reaches adds nothing. The one that reaches most comes first, so that
    most of such are known when their turn comes.
    """
    clock[0] += 1
    now = clock[0]
    found, direct = scratch[0], scratch[1]
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
    for i in range(1, m):
        if lists[REACH, direct[i], LENGTH] > lists[REACH, direct[0], LENGTH]:
            direct[0], direct[i] = direct[i], direct[0]
    n = ZERO
    for d in direct[:m]:
        if marks[2, d] == now:
            continue
        if stopped(stop):
            break
        marks[2, d] = now
        found[n] = d
        n += 1
        start = lists[REACH, d, START]
        for e in pool[start : start + lists[REACH, d, LENGTH]]:
            if marks[2, e] != now:
                marks[2, e] = now
                found[n] = e
                n += 1
    if m > 1 or n > 1:
        sort_marked(found, n, marks[2], now)
    return n


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
def emit(pairs, n, pool, lists, c, d, stop):
    """Write the pairs of the nodes of c with those of d."""
    first, many = lists[MEMBER, c, START], lists[MEMBER, c, LENGTH]
    start, count = lists[MEMBER, d, START], lists[MEMBER, d, LENGTH]
    pairs = with_pairs(pairs, n, many * count)
    for x in pool[first : first + many]:
        if count > EVERY and stopped(stop):
            break
        for y in pool[start : start + count]:
            pairs[n, 0], pairs[n, 1] = x, y
            n += 1
    return pairs, n


@kernel
def emit_one(pairs, n, x):
    """Write the pair of a node with itself."""
    pairs = with_pairs(pairs, n, ONE)
    pairs[n, 0] = pairs[n, 1] = x
    return pairs, n + 1


@kernel
def with_pairs(pairs, n, more):
    """Return the pairs with room for more of them."""
    if n + more <= len(pairs):
        return pairs
    larger = numpy.empty((2 * (n + more), 2), numpy.int32)
    larger[:n] = pairs[:n]
    return larger


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
def add_edges(pool, lists, used, component, loops, scratch, marks, clock, irreflexive, edges, at, pairs, limit, stop):
    """Add `edges` from position `at` on until more than `limit` pairs were written or components looked at; return the
    pool, the position, the inserted pairs and their number."""
    n = looked = ZERO
    while at < len(edges) and n + looked <= limit and not stopped(stop):
        u, v = edges[at, 0], edges[at, 1]
        at += 1
        if u == v:
            loops[u] += 1
            if loops[u] == 1 and (irreflexive or lists[MEMBER, component[u], LENGTH] == 1):
                pairs, n = emit_one(pairs, n, u)
            continue
        pool = append(pool, lists, used, OUT, u, v)
        pool = append(pool, lists, used, INTO, v, u)
        a, b = numpy.int64(component[u]), numpy.int64(component[v])
        if a == b or holds(pool, lists, REACH, a, b):
            continue
        pool, pairs, n, steps = join(
            pool, lists, used, component, loops, scratch, marks, clock, irreflexive, a, b, pairs, n, stop
        )
        looked += steps
    return pool, at, pairs, n


@kernel
def join(pool, lists, used, component, loops, scratch, marks, clock, irreflexive, a, b, pairs, n, stop):
    """Let component a, and the components before it, reach b and the components that b reaches; components on a cycle
    become one."""
    clock[0] += 1
    now = clock[0]
    gained, queue, row = scratch[1], scratch[2], scratch[0]
    cycle = holds(pool, lists, REACH, b, a)
    start, more = lists[REACH, b, START], lists[REACH, b, LENGTH]
    gained[0] = b
    for i in range(more):
        gained[i + 1] = pool[start + i]
    more += 1
    sort(gained, more)
    if cycle:
        for d in gained[:more]:
            marks[1, d] = now
    queue[0] = a
    marks[2, a] = now
    i, m = ZERO, ONE
    while i < m and not stopped(stop):
        x = numpy.int64(queue[i])
        i += 1
        if not holds(pool, lists, REACH, x, b):
            start, length = lists[REACH, x, START], lists[REACH, x, LENGTH]
            j, end, k = start, start + length, ZERO
            for d in gained[:more]:
                while j < end and pool[j] < d:
                    row[k] = pool[j]
                    j, k = j + 1, k + 1
                row[k] = d
                k += 1
                if j < end and pool[j] == d:
                    j += 1
                elif d != x:
                    pairs, n = emit(pairs, n, pool, lists, x, numpy.int64(d), stop)
                elif lists[MEMBER, x, LENGTH] == 1 and not irreflexive and loops[pool[lists[MEMBER, x, START]]] == 0:
                    pairs, n = emit_one(pairs, n, pool[lists[MEMBER, x, START]])
            row[k : k + end - j] = pool[j:end]
            pool = replace(pool, lists, used, REACH, x, row, k + end - j)
        elif not cycle:
            continue
        m = before(pool, lists, component, x, queue, m, marks[2], now)
    if cycle:
        pool = merge(pool, lists, used, component, gained[:more], queue[:m], row, marks, now, stop)
    return pool, pairs, n, m


@kernel
def merge(pool, lists, used, component, gained, leading, row, marks, now, stop):
    """Make one component of those that are both `gained` (stamped in marks[1]) and `leading` there (in marks[2])."""
    one = leading[0]
    for x in leading:
        if marks[1, x] == now and lists[MEMBER, x, LENGTH] > lists[MEMBER, one, LENGTH]:
            one = x
    note(lists, used, MEMBER, one)
    for x in leading:
        if stopped(stop):
            break
        if marks[1, x] != now:
            start, length = lists[REACH, x, START], lists[REACH, x, LENGTH]
            note(lists, used, REACH, x)
            pool = with_room(pool, lists, used, REACH, x, length)
            first = k = lists[REACH, x, START]
            for i in range(start, start + length):
                d = pool[i]
                if d == one or marks[1, d] != now or marks[2, d] != now:
                    pool[k] = d
                    k += 1
            lists[REACH, x, LENGTH] = k - first
        elif x != one:
            note(lists, used, MEMBER, x)
            note(lists, used, REACH, x)
            start, length = lists[MEMBER, x, START], lists[MEMBER, x, LENGTH]
            for i in range(length):
                y = pool[start + i]
                component[y] = one
                pool = append(pool, lists, used, MEMBER, one, y)
            lists[MEMBER, x, LENGTH] = lists[REACH, x, LENGTH] = 0
    k = ZERO
    for d in gained:
        if marks[2, d] != now:
            row[k] = d
            k += 1
    return replace(pool, lists, used, REACH, one, row, k)


@kernel
def remove_edges(
    pool, lists, used, component, loops, scratch, marks, clock, irreflexive, edges, at, pairs, limit, stop
):
    """Remove `edges`, all there, from position `at` on until more than `limit` pairs were written or components looked
    at; return the pool, the position, the deleted pairs and their number."""
    n = looked = ZERO
    while at < len(edges) and n + looked <= limit and not stopped(stop):
        u, v = edges[at, 0], edges[at, 1]
        at += 1
        if u == v:
            loops[u] -= 1
            if loops[u] == 0 and (irreflexive or lists[MEMBER, component[u], LENGTH] == 1):
                pairs, n = emit_one(pairs, n, u)
            continue
        discard(pool, lists, OUT, u, v)
        discard(pool, lists, INTO, v, u)
        a, b = numpy.int64(component[u]), numpy.int64(component[v])
        if a != b:
            if not leads(pool, lists, component, a, b):
                heap = [(lists[REACH, a, LENGTH], numpy.int64(a))]
                pool, pairs, n, steps = look_again(
                    pool, lists, used, component, scratch, marks, clock, heap, scratch[3][:0], pairs, n, stop
                )
                looked += steps
            continue
        clock[0] += 1
        if still_leads(pool, lists, component, u, v, scratch[0], scratch[1], marks, clock[0], stop):
            continue
        pool, pairs, n, steps = part(
            pool, lists, used, component, loops, scratch, marks, clock, irreflexive, a, pairs, n, stop
        )
        looked += steps
    return pool, at, pairs, n


@kernel
def leads(pool, lists, component, a, b):
    """Return True if component a has an edge to b or to something that reaches b."""
    start = lists[MEMBER, a, START]
    for x in pool[start : start + lists[MEMBER, a, LENGTH]]:
        first = lists[OUT, x, START]
        for y in pool[first : first + lists[OUT, x, LENGTH]]:
            d = component[y]
            if d == b or (d != a and holds(pool, lists, REACH, d, b)):
                return True
    return False


@kernel
def look_again(pool, lists, used, component, scratch, marks, clock, heap, parts, pairs, n, stop):
    """Renew the reach sets of the components in `heap`, (size of the reach set, component), and of those before a
    component that changes. By the order of their old sizes, each comes behind all that it reaches. `parts` are the
    components that replace parts[0]. Without them the heap has one component, and all others lose only what it loses.
    Return the pool, the lost pairs and their number, and the number of renewed components."""
    clock[0] += 1
    now, queue, gone, steps = clock[0], scratch[3], scratch[2], 0
    for entry in heap:
        marks[3, entry[1]] = now
    several = len(parts) > 0
    most = -1
    while len(heap) and not stopped(stop):
        _, x = heapq.heappop(heap)
        steps += 1
        length = lists[REACH, x, LENGTH]
        m = ZERO
        if several or most < 0 or most * 32 > length:
            k = look_ahead(pool, lists, component, x, scratch, marks, clock, stop)
            start = lists[REACH, x, START]
            for d in pool[start : start + length]:
                if marks[2, d] != clock[0]:
                    pairs, n = emit(pairs, n, pool, lists, x, numpy.int64(d), stop)
                    if most < 0:
                        gone[m] = d
                    m += 1
            for d in parts[1:]:
                if marks[2, d] != clock[0]:
                    pairs, n = emit(pairs, n, pool, lists, x, numpy.int64(d), stop)
            if not several and m == 0:
                continue
            most = m if most < 0 else most
            pool = replace(pool, lists, used, REACH, x, scratch[0], k)
        else:
            for i in range(most):
                if stopped(stop):
                    break
                d = numpy.int64(gone[i])
                if holds(pool, lists, REACH, x, d) and not leads(pool, lists, component, x, d):
                    pairs, n = emit(pairs, n, pool, lists, x, d, stop)
                    scratch[0][m] = d
                    m += 1
            if m == 0:
                continue
            pool = without(pool, lists, used, x, scratch[0], m)
        m = before(pool, lists, component, x, queue, ZERO, marks[3], now)
        for d in queue[:m]:
            heapq.heappush(heap, (lists[REACH, d, LENGTH], numpy.int64(d)))
    return pool, pairs, n, steps


@kernel
def without(pool, lists, used, x, values, m):
    """Take the ascending `values`, all there, out of the reach set of x."""
    start, length = lists[REACH, x, START], lists[REACH, x, LENGTH]
    note(lists, used, REACH, x)
    pool = with_room(pool, lists, used, REACH, x, length - m)
    i, j = lists[REACH, x, START], 0
    for at in range(start, start + length):
        if j < m and pool[at] == values[j]:
            j += 1
        else:
            pool[i] = pool[at]
            i += 1
    lists[REACH, x, LENGTH] = length - m
    return pool


@kernel
def part(pool, lists, used, component, loops, scratch, marks, clock, irreflexive, c, pairs, n, stop):
    """Take component c apart, which has lost an edge that held it together."""
    start, many = lists[MEMBER, c, START], lists[MEMBER, c, LENGTH]
    nodes = pool[start : start + many].copy()
    start = lists[REACH, c, START]
    reached = pool[start : start + lists[REACH, c, LENGTH]].copy()
    clock[0] += 1
    order, ends = parts_of(pool, lists, component, nodes, c, scratch[0], marks, clock[0], stop)
    if len(order) < many:
        return pool, pairs, n, len(ends)
    parts = numpy.empty(len(ends), numpy.int32)
    first = 0
    for i in range(len(ends)):
        # A component has the number of one of its nodes, and the part with node c keeps that one.
        own = order[first : ends[i]]
        parts[i] = own[0]
        for x in own:
            if x == c:
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
        k = look_ahead(pool, lists, component, p, scratch, marks, clock, stop)
        for d in reached:
            if marks[2, d] != clock[0]:
                pairs, n = emit(pairs, n, pool, lists, p, numpy.int64(d), stop)
        for d in parts:
            if d != p and marks[2, d] != clock[0]:
                pairs, n = emit(pairs, n, pool, lists, p, numpy.int64(d), stop)
        if lists[MEMBER, p, LENGTH] == 1 and not irreflexive and loops[pool[lists[MEMBER, p, START]]] == 0:
            pairs, n = emit_one(pairs, n, pool[lists[MEMBER, p, START]])
        pool = replace(pool, lists, used, REACH, p, scratch[0], k)
        m = before(pool, lists, component, p, queue, m, marks[3], now)
    for d in queue[:m]:
        heap.append((lists[REACH, d, LENGTH], numpy.int64(d)))
    heapq.heapify(heap)
    parts[parts == c] = parts[0]
    parts[0] = c
    pool, pairs, n, steps = look_again(pool, lists, used, component, scratch, marks, clock, heap, parts, pairs, n, stop)
    return pool, pairs, n, steps + len(parts)
