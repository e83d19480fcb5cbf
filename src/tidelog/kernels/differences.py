"""The pairs that a change of a closure has removed and added, found by comparing reach sets, and written when needed.

The lists that a change replaces stay where they were (kernels/lists.py), so both the closure before and that of now
can be read. Only components that are noted can begin a changed pair: all whose reach set has changed, and all that
reach one whose members have changed. Two reach sets are compared run by run, so that 225 million pairs of a chain that
is cut take a run for each node.

A component is `touched` if its members have changed. Numbers of touched components say different things before and now.
So they are replaced by `fragments`: the nodes that were in one component and are in one component now. A fragment has a
number; those of a touched component of before are consecutive.

Differences are `records` of int32: a source, which is a component or the complement of a fragment; 1 if the targets are
fragments, or else 0 for components; how many values follow; and runs (kernels/runs.py), of which the first value is the
number of targets.
"""
# mypy: disable-error-code="no-untyped-def, assignment"

import numpy

from tidelog.kernels.components import MEMBER, ONE, REACH, ZERO
from tidelog.kernels.layout import SAVED
from tidelog.kernels.lists import LENGTH, ROOM, START
from tidelog.kernels.reach import sort
from tidelog.kernels.runs import apart, last_of, put, runs_of
from tidelog.kernels.words import kernel, stopped

SOURCE, FRAGMENTS, VALUES, HEAD = numpy.arange(4)
"""Places in a record, and where its runs begin."""


@kernel
def former(lists, family, c):
    """Return (start, length) of list c as it was before it was noted, if it is."""
    if lists[family + SAVED, c, ROOM] > 0:
        return lists[family + SAVED, c, START], lists[family + SAVED, c, LENGTH]
    return lists[family, c, START], lists[family, c, LENGTH]


@kernel
def changed(
    old_pool, old_lists, pool, lists, noted, everything, component, loops, irreflexive, came, gone, scratch, stop
):  # fmt: skip
    """Compare a closure with what it was before the edges `came` and `gone`. Its `noted` components are as in `used`;
    with `everything`, all components have other numbers than before.

    Return (nodes of fragments, one after the other; where each fragment begins, and the end; records of the pairs that
    died; of those that were born; nodes that are paired with themselves no more; those that are from now on; number of
    pairs that died; that were born). Some are missing if the kernel was `stopped`.
    """
    touched, sources = numpy.empty(0, numpy.int64), numpy.empty(0, numpy.int64)
    if everything:
        touched = numpy.arange(len(component))
    elif len(noted) > 0:
        touched, sources = noted_ones(noted)
    nodes, begins, old_firsts, new_firsts, new_fragments, owners, new_owners, sizes, sources = regrouped(
        old_pool, old_lists, touched, component, sources, scratch[0]
    )
    died, born = differences(
        old_pool, old_lists, pool, lists, sources, touched, old_firsts, new_firsts, new_fragments, owners, new_owners,
        scratch, stop,
    )  # fmt: skip
    fewer, more = themselves(nodes, sizes, came, gone, lists, component, loops, irreflexive, scratch[0], scratch[1])
    lost = count_changed(died, lists, begins) + len(fewer)
    return nodes, begins, died, born, fewer, more, lost, count_changed(born, lists, begins) + len(more)


@kernel
def noted_ones(noted):
    """Return the components of which the members are noted, ascending, and those of which the reach sets are."""
    touched, sources = numpy.empty(len(noted), numpy.int64), numpy.empty(len(noted), numpy.int64)
    m = n = ZERO
    for entry in noted:
        if entry % SAVED == MEMBER % SAVED:
            touched[m] = entry // SAVED
            m += 1
        else:
            sources[n] = entry // SAVED
            n += 1
    sort(touched, m)
    return touched[:m], sources[:n]


@kernel
def themselves(nodes, sizes, came, gone, lists, component, loops, irreflexive, net, former_size):
    """Return the nodes that are paired with themselves no more, and those that are from now on. The components of
    `nodes` had other `sizes`; `net` and `former_size` are rows of scratch."""
    most = len(nodes)
    for edges in (came, gone):
        for i in range(len(edges)):
            x = edges[i, 0]
            if x == edges[i, 1]:
                net[x], former_size[x] = 0, lists[MEMBER, component[x], LENGTH]
                most += 1
    for i in range(len(nodes)):
        net[nodes[i]], former_size[nodes[i]] = 0, sizes[i]
    candidates, n = numpy.empty(most, numpy.int32), len(nodes)
    candidates[:n] = nodes
    for edges, sign in ((came, 1), (gone, -1)):
        for i in range(len(edges)):
            x = edges[i, 0]
            if x == edges[i, 1]:
                net[x] += sign
                candidates[n] = x
                n += 1
    fewer, more = numpy.empty(most, numpy.int32), numpy.empty(most, numpy.int32)
    m = n = 0
    for x in candidates:
        if former_size[x] > 0:
            before = loops[x] - net[x] > 0 or (former_size[x] > 1 and not irreflexive)
            now = loops[x] > 0 or (lists[MEMBER, component[x], LENGTH] > 1 and not irreflexive)
            if before and not now:
                fewer[m] = x
                m += 1
            elif now and not before:
                more[n] = x
                n += 1
            former_size[x] = 0  # It has been looked at.
    return fewer[:m], more[:n]


@kernel
def regrouped(pool, lists, touched, component, sources, place):
    """Return how the nodes of `touched` components, ascending, were and are distributed, and which of the `sources` are
    no touched components. `pool` and `lists` have the members of before; `place` is a row of scratch.

    Return (nodes, their fragments one after the other; where each fragment begins, and the end; the arrays old_firsts,
    new_firsts, new_fragments, owners and new_owners of `differences`; the size of the component in which each node was;
    sources).
    """
    many = len(touched)
    for c in sources:
        place[c] = -1
    total = 0
    for i in range(many):
        place[touched[i]] = i
        total += former(lists, MEMBER, touched[i])[1]
    kept = numpy.empty(len(sources), numpy.int64)
    n = 0
    for c in sources:
        if place[c] < 0:
            kept[n] = c
            n += 1
    # First the nodes are sorted by their component of now; then, in this order, by that of before.
    ends = numpy.zeros(many + 1, numpy.int64)
    for c in touched:
        start, length = former(lists, MEMBER, c)
        for x in pool[start : start + length]:
            ends[place[component[x]] + 1] += 1
    for i in range(many):
        ends[i + 1] += ends[i]
    line, was = numpy.empty(total, numpy.int32), numpy.empty(total, numpy.int64)
    for i in range(many):
        start, length = former(lists, MEMBER, touched[i])
        for x in pool[start : start + length]:
            at = ends[place[component[x]]]
            line[at], was[at] = x, i
            ends[place[component[x]]] += 1
    firsts = numpy.zeros(many + 1, numpy.int64)
    for i in range(many):
        firsts[i + 1] = firsts[i] + former(lists, MEMBER, touched[i])[1]
    ends[:many] = firsts[:many]
    nodes, sizes = numpy.empty(total, numpy.int32), numpy.empty(total, numpy.int64)
    for at in range(total):
        i = was[at]
        nodes[ends[i]], sizes[ends[i]] = line[at], firsts[i + 1] - firsts[i]
        ends[i] += 1
    begins, owners = numpy.empty(total + 1, numpy.int64), numpy.empty(total, numpy.int64)
    new_owners = numpy.empty(total, numpy.int64)
    f = 0
    old_firsts, new_firsts = numpy.zeros(many + 1, numpy.int64), numpy.zeros(many + 1, numpy.int64)
    for i in range(many):
        for at in range(firsts[i], firsts[i + 1]):
            now = place[component[nodes[at]]]
            if at == firsts[i] or now != new_owners[f - 1]:
                begins[f], owners[f], new_owners[f] = at, i, now
                new_firsts[now + 1] += 1
                f += 1
        old_firsts[i + 1] = f
    begins[f] = total
    for i in range(many):
        new_firsts[i + 1] += new_firsts[i]
    ends[:many] = new_firsts[:many]
    new_fragments = numpy.empty(f, numpy.int64)
    for g in range(f):
        new_fragments[ends[new_owners[g]]] = g
        ends[new_owners[g]] += 1
    return (
        nodes, begins[: f + 1], old_firsts, new_firsts, new_fragments, owners[:f], new_owners[:f], sizes, kept[:n]
    )  # fmt: skip


@kernel
def first_at_least(values, i, number):
    """Return the first place from `i` on with a value that is not less than `number`. Looks near `i` first."""
    step = 1
    low = high = i
    while high < len(values) and values[high] < number:
        low = high + 1
        high += step
        step *= 2
    high = min(high, len(values))
    while low < high:
        middle = (low + high) >> 1
        if values[middle] < number:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def stretches_of(numbers, firsts):
    """Return the stretches of consecutive numbers in several lists, and where those of each list begin, and the end.

    The i-th list has the `numbers` from `firsts[i]` to before `firsts[i + 1]`, ascending. A stretch is its first number
    in the upper 32 bits and its last one in the lower bits.
    """
    stretches, begins = numpy.empty(len(numbers), numpy.int64), numpy.empty(len(firsts), numpy.int64)
    n = ZERO
    for i in range(len(firsts) - 1):
        begins[i] = n
        for number in numbers[firsts[i] : firsts[i + 1]]:
            if n > begins[i] and last_in(stretches[n - 1]) == number - 1:
                stretches[n - 1] += 1
            else:
                stretches[n] = number << 32 | number
                n += 1
    begins[len(firsts) - 1] = n
    return stretches[:n], begins


@kernel
def last_in(stretch):
    """Return the last number of a stretch."""
    return stretch & 0xFFFFFFFF


@kernel
def fragments_before(row, pool, i, end, own, touched, firsts):
    """Write the fragments of the touched components in a range of runs, and of the one at position `own`, if that is
    one, to `row`; returns its length. Those of before: the i-th component has all from `firsts[i]` on."""
    row[0] = 0
    n, at, waits = ONE, ZERO, own >= 0
    while i < end and at < len(touched):
        low = numpy.int64(pool[i])
        high, i = last_of(pool, i, end)
        at = first_at_least(touched, at, low)
        until = first_at_least(touched, at, high + 1)
        if until > at:
            if waits and own < until:
                waits = False
                if own < at:
                    n = put(row, n, firsts[own], firsts[own + 1] - 1)
            n = put(row, n, firsts[at], firsts[until] - 1)
            at = until
    return put(row, n, firsts[own], firsts[own + 1] - 1) if waits else n


@kernel
def fragments_now(row, pool, i, end, own, touched, stretches, begins, found):
    """As `fragments_before`, but those of now: the i-th component has the stretches from `begins[i]` on. `found` has
    room for twice as many stretches."""
    n, at, ascending = ZERO, ZERO, True
    if own >= 0:
        for stretch in stretches[begins[own] : begins[own + 1]]:
            found[n] = stretch
            n += 1
    while i < end and at < len(touched):
        low = numpy.int64(pool[i])
        high, i = last_of(pool, i, end)
        at = first_at_least(touched, at, low)
        until = first_at_least(touched, at, high + 1)
        for stretch in stretches[begins[at] : begins[until]]:
            ascending = ascending and (n == 0 or found[n - 1] < stretch)
            found[n] = stretch
            n += 1
        at = until
    if not ascending:
        sort(found, n)
    row[0] = 0
    m = ONE
    for stretch in found[:n]:
        m = put(row, m, stretch >> 32, last_in(stretch))
    return m


@kernel
def untouched(row, n, touched, lasts, target):
    """Write a row of length `n` without `touched` components to `target`; returns its length. The i-th touched one is
    in a stretch of consecutive components that ends at position `lasts[i]`."""
    target[0] = 0
    m, at, i = ONE, 0, ONE
    while i < n:
        low = numpy.int64(row[i])
        high, i = last_of(row, i, n)
        at = first_at_least(touched, at, low)
        while at < len(touched) and touched[at] <= high:
            if low < touched[at]:
                m = put(target, m, low, numpy.int64(touched[at]) - 1)
            low = numpy.int64(touched[lasts[at]]) + 1
            if low > high:
                break
            at = lasts[at] + 1
        if low <= high:
            m = put(target, m, low, high)
    return m


@kernel
def lasts_of(touched):
    """Return for each of the numbers, ascending, the position of the last one of its stretch of consecutive numbers."""
    lasts = numpy.empty(len(touched), numpy.int64)
    for back in range(len(touched)):
        i = len(touched) - 1 - back
        follows = back > 0 and touched[i + 1] == touched[i] + 1
        lasts[i] = lasts[i + 1] if follows else i
    return lasts


@kernel
def record(records, used, source, kind, row, n):
    """Add a record with a row of length `n`; returns the records, which may be new, and how many values they have."""
    if used + HEAD + n > len(records):
        larger = numpy.empty(2 * (used + HEAD + n), numpy.int32)
        for i in range(used):
            larger[i] = records[i]
        records = larger
    records[used + SOURCE], records[used + FRAGMENTS], records[used + VALUES] = source, kind, n
    for i in range(n):
        records[used + HEAD + i] = row[i]
    return records, used + HEAD + n


@kernel
def differences(
    old_pool, old_lists, pool, lists, sources, touched, old_firsts, new_firsts, new_fragments, owners, new_owners,
    scratch, stop,
):  # fmt: skip
    """Return the records of the pairs that only the closure before has, and of those that only the present one has.
    Pairs of a node with itself are not among them. Some are missing if the kernel was `stopped`.

    `sources` are the untouched components that may begin a changed pair. The touched ones, ascending, have fragments:
    for the i-th one, those of before are from `old_firsts[i]` to before `old_firsts[i + 1]`, and those of now are in
    `new_fragments` from `new_firsts[i]` on. Fragment f was in the `owners[f]`-th, and is in the `new_owners[f]`-th one.
    """
    died, born = numpy.empty(64, numpy.int32), numpy.empty(64, numpy.int32)
    gone, came = ZERO, ZERO
    row, spare, other, before, after = scratch[0], scratch[1], scratch[2], scratch[3], scratch[4]
    stretches, begins = stretches_of(new_fragments, new_firsts)
    found, lasts = numpy.empty(2 * len(stretches), numpy.int64), lasts_of(touched)
    all_touched, new_own, known = len(touched) == lists.shape[1], -ONE, ONE
    for s in range(len(sources) + len(owners)):
        if stopped(stop):
            break
        # Fragments that are in one component now follow each other, and share the row `after`.
        f = numpy.int64(new_fragments[s - len(sources)]) if s >= len(sources) else -ONE
        source = sources[s] if f < 0 else ~f
        was = sources[s] if f < 0 else touched[owners[f]]
        now_in = sources[s] if f < 0 else touched[new_owners[f]]
        i, length = former(old_lists, REACH, was)
        end = i + length
        i += min(length, 1)
        j, until = runs_of(lists, now_in)
        if not all_touched:
            lost, gained = apart(row, other, old_pool, i, end, pool, j, until)
            if lost > 1 and len(touched) > 0:
                lost = untouched(row, lost, touched, lasts, spare)
                row, spare = spare, row
            if lost > 1:
                died, gone = record(died, gone, source, 0, row, lost)
            if gained > 1 and len(touched) > 0:
                gained = untouched(other, gained, touched, lasts, spare)
                other, spare = spare, other
            if gained > 1:
                born, came = record(born, came, source, 0, other, gained)
        if len(touched) == 0:
            continue
        own = owners[f] if f >= 0 else -ONE
        if f < 0 or new_owners[f] != new_own:
            new_own = new_owners[f] if f >= 0 else -ONE
            known = fragments_now(after, pool, j, until, new_own, touched, stretches, begins, found)
        n = fragments_before(before, old_pool, i, end, own, touched, old_firsts)
        lost, gained = apart(row, other, before, ONE, n, after, ONE, known)
        if lost > 1:
            died, gone = record(died, gone, source, 1, row, lost)
        if gained > 1:
            born, came = record(born, came, source, 1, other, gained)
    return died[:gone], born[:came]


@kernel
def count_changed(records, lists, begins):
    """Return the number of pairs of records; fragment f has the nodes from `begins[f]` to before `begins[f + 1]`."""
    total, at, steps = ZERO, 0, 0
    sums = numpy.empty(0, numpy.int64)
    while at < len(records):
        source, kind, end = numpy.int64(records[at + SOURCE]), records[at + FRAGMENTS], at + HEAD + records[at + VALUES]
        i, targets = at + HEAD + 1, ZERO
        while i < end:
            low = numpy.int64(records[i])
            high, i = last_of(records, i, end)
            if kind == 1:
                targets += begins[high + 1] - begins[low]
            elif len(sums) > 0:
                targets += sums[high + 1] - sums[low]
            else:
                steps += high - low + 1
                for d in range(low, high + 1):
                    targets += lists[MEMBER, d, LENGTH]
        total += targets * (lists[MEMBER, source, LENGTH] if source >= 0 else begins[~source + 1] - begins[~source])
        at = end
        if steps > lists.shape[1] and len(sums) == 0:
            # From here on sums cost less than members that are counted again and again.
            sums = numpy.zeros(lists.shape[1] + 1, numpy.int64)
            for c in range(lists.shape[1]):
                sums[c + 1] = sums[c] + lists[MEMBER, c, LENGTH]
    return total


@kernel
def write_changed(records, at, limit, pool, lists, family, nodes, begins, target, n):
    """Write the pairs of records from place `at` on as numbers of nodes to `target`, int64 of shape (m, 2), from row
    `n` on, until more than `limit` are written; returns the next place and the next row."""
    most = n + limit
    while at < len(records) and n <= most:
        source, kind, end = numpy.int64(records[at + SOURCE]), records[at + FRAGMENTS], at + HEAD + records[at + VALUES]
        first, many = lists[family, max(source, ZERO), START], lists[family, max(source, ZERO), LENGTH]
        members = pool[first : first + many] if source >= 0 else nodes[begins[~source] : begins[~source + 1]]
        for x in members:
            i = at + HEAD + 1
            while i < end:
                low = numpy.int64(records[i])
                high, i = last_of(records, i, end)
                if kind == 1:
                    for y in nodes[begins[low] : begins[high + 1]]:
                        target[n, 0], target[n, 1] = x, y
                        n += 1
                else:
                    for d in range(low, high + 1):
                        start = lists[family, d, START]
                        for y in pool[start : start + lists[family, d, LENGTH]]:
                            target[n, 0], target[n, 1] = x, y
                            n += 1
        at = end
    return at, n


@kernel
def ends_of(records, second, pool, lists, family, nodes, begins, seen):
    """Mark the nodes that are first, or `second`, in pairs of records in `seen`, bytes for all nodes."""
    components, fragments = numpy.zeros(lists.shape[1] + 1, numpy.int64), numpy.zeros(len(begins), numpy.int64)
    at = 0
    while at < len(records):
        source, kind, end = numpy.int64(records[at + SOURCE]), records[at + FRAGMENTS], at + HEAD + records[at + VALUES]
        if not second:
            low = source if source >= 0 else ~source
            depth = components if source >= 0 else fragments
            depth[low] += 1
            depth[low + 1] -= 1
        else:
            # So many runs begin before a number as `depth`, summed up, says: runs of many sources cost no more.
            depth = components if kind == 0 else fragments
            i = at + HEAD + 1
            while i < end:
                low = numpy.int64(records[i])
                high, i = last_of(records, i, end)
                depth[low] += 1
                depth[high + 1] -= 1
        at = end
    inside = 0
    for c in range(lists.shape[1]):
        inside += components[c]
        if inside > 0:
            start = lists[family, c, START]
            for x in pool[start : start + lists[family, c, LENGTH]]:
                seen[x] = 1
    inside = 0
    for f in range(len(begins) - 1):
        inside += fragments[f]
        if inside > 0:
            for x in nodes[begins[f] : begins[f + 1]]:
                seen[x] = 1


@kernel
def copied_members(pool, lists, family, kept):
    """Write the places that the members of all components have in one list to `kept`, lists of one family; returns the
    list."""
    total = 0
    for c in range(lists.shape[1]):
        kept[0, c, START], kept[0, c, LENGTH] = total, lists[family, c, LENGTH]
        total += lists[family, c, LENGTH]
    line, n = numpy.empty(total, numpy.int32), 0
    for c in range(lists.shape[1]):
        start = lists[family, c, START]
        for x in pool[start : start + lists[family, c, LENGTH]]:
            line[n] = x
            n += 1
    return line
