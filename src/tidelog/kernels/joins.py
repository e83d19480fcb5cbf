"""The batched plan interpreter: a plan is a list of levels, each of which turns a batch of bindings into the next.

A binding is a row across registers, a batch is up to `size` bindings. Level 0 scans rows; probes and ranges multiply
bindings; all other levels filter a batch in place. Nothing larger than a batch is ever built, and kernels prefetch the
memory that a batch is going to touch. `step` runs until the last level has a batch and can stop anywhere: the state
array has the current position.
"""
# mypy: disable-error-code="no-untyped-def"

from tidelog.kernels.closed import expand_closed, look_nodes_up, member_closed
from tidelog.kernels.counting import count_level, end_counting, time_of_sample
from tidelog.kernels.layout import (
    ABSENT_CLOSED,
    ABSENT_LIVE,
    CALL,
    CALL_OUT,
    CHECK_CLOSED,
    CHECK_LIVE,
    COMPARE,
    COMPUTE,
    DELTA,
    DONE,
    IN,
    L_COLUMNS,
    L_EXTRA,
    L_KIND,
    L_LISTS,
    L_OBJECT,
    LOOK,
    N_BEGAN,
    N_SHARE,
    NOW,
    OUT,
    P_LEVEL,
    P_LEVELS,
    P_SHARED,
    P_SOURCE,
    P_VERSION,
    PROBE,
    PROBE_CLOSED,
    PROBE_LIVE,
    R_ARITY,
    R_COUNT,
    R_IN_HIGH,
    R_IN_LOW,
    R_N,
    R_NEW,
    R_OLD,
    R_OUT_HIGH,
    R_OUT_LOW,
    R_ROWS,
    RANGE,
    RESERVED,
    ROUTE,
    S_BUDGET,
    S_COUNTS,
    S_CURSOR,
    S_IN,
    S_INNER,
    S_LEVEL,
    S_LEVELS,
    S_NEXT,
    S_WORK,
    SCAN,
    SCAN_LIVE,
    SHORTEST,
    WIDEN,
)
from tidelog.kernels.live import expand_live, member_live, scan_live
from tidelog.kernels.probes import expand, look_up, member, route
from tidelog.kernels.ranges import expand_range
from tidelog.kernels.registers import keep, register
from tidelog.kernels.scalars import compute, select
from tidelog.kernels.shortest import expand_shortest, find_shortest
from tidelog.kernels.words import kernel, load, load32, load64, store, store64


@kernel
def begin(D, plan, st):
    """Start a plan: the cursor of level 0 stands on the first row of its version."""
    source = D[load64(plan, P_SOURCE)]
    st[S_LEVEL] = 0
    st[S_LEVELS + S_CURSOR], st[S_LEVELS + S_IN] = bounds(source, load64(plan, P_VERSION))


@kernel
def bounds(source, version):
    """Return the start and the end of a version of a relation: rows, or positions in a list."""
    if version == DELTA:
        return source[R_OLD], source[R_NEW]
    if version == OUT:
        return source[R_OUT_LOW], source[R_OUT_HIGH]
    if version == IN:
        return source[R_IN_LOW], source[R_IN_HIGH]
    return 0, source[R_N] if version == NOW else source[R_NEW]


@kernel
def worth_sharing(D, plan, node, st, size):
    """Return True if threads can share the plan under way from here on, and it is likely to make so many bindings more
    that this pays: as many for each row of the scan as so far. Threads cannot take over bindings in larger batches than
    they have."""
    made = st[S_WORK] - node[N_BEGAN]
    if node[N_SHARE] == 0 or made < node[N_SHARE] or load64(plan, P_SHARED) == 0 or size > RESERVED:
        return False
    low, _ = bounds(D[load64(plan, P_SOURCE)], load64(plan, P_VERSION))
    at = st[S_LEVELS + S_CURSOR]
    return (st[S_LEVELS + S_IN] - at) * made >= node[N_SHARE] * (at - low) and at < st[S_LEVELS + S_IN]


@kernel
def scan(D, level, st, registers, chosen, size, w):
    """Read the next live rows into registers."""
    relation = load64(level, L_OBJECT)
    rows, k, counts = D[relation, R_ROWS], D[relation, R_ARITY], D[relation, R_COUNT]
    r, high, m = st[S_LEVELS + S_CURSOR], st[S_LEVELS + S_IN], 0
    while r < high and m < size:
        store64(chosen, m, r)
        m += counts == 0 or load32(counts, r) > 0
        r += 1
    st[S_LEVELS + S_CURSOR] = r
    for c in range(load64(level, L_COLUMNS)):
        column, target = load64(level, L_LISTS + 2 * c), register(registers, level, 2 * c + 1, size, w)
        if m > 0 and load64(chosen, m - 1) - load64(chosen, 0) == m - 1:
            first = load64(chosen, 0) * k + column
            for i in range(m):
                store(target, i, load(rows, first + i * k, w), w)
        else:
            for i in range(m):
                store(target, i, load(rows, load64(chosen, i) * k + column, w), w)
    return m


@kernel
def filter_batch(D, level, st, m, registers, scratch, size, w):
    """Run a level that filters or computes in place; returns the bindings left, or -1 when a value does not fit."""
    kind, extra, chosen, second = load64(level, L_KIND), load64(level, L_EXTRA), scratch, scratch + size * 8
    if kind == COMPARE:
        a, b = register(registers, level, 0, size, w), register(registers, level, 1, size, w)
        n = select(load64(level, L_OBJECT), extra, a, b, m, chosen, w)
    elif kind == COMPUTE:
        a, b = register(registers, level, 0, size, w), register(registers, level, 1, size, w)
        target = register(registers, level, 3, size, w)
        n = compute(load64(level, L_OBJECT), extra, target, a, b, m, chosen, w)
    elif kind == ROUTE:
        n = route(D, level, m, registers, chosen, second, size, w)
    elif kind in (CHECK_LIVE, ABSENT_LIVE):
        n = member_live(D, level, st, m, registers, second, chosen, size, w)
    elif kind in (CHECK_CLOSED, ABSENT_CLOSED):
        n = member_closed(D, level, m, registers, chosen, size, w)
    else:
        n = member(D, level, m, registers, second, chosen, size, w)
    keep(level, n, m, registers, chosen, size, w)
    return n


@kernel
def step(D, plan, st, registers, scratch, size, w):
    """Advance a plan until its last level has a batch: return (status, bindings). DONE with 0 bindings means that the
    plan is finished. CALL_OUT, LOOK and WIDEN leave the level to continue from in st[S_LEVEL]."""
    last, depth, counts = load64(plan, P_LEVELS) - 1, st[S_LEVEL], st[S_COUNTS]
    while depth >= 0:
        if st[S_WORK] > st[S_BUDGET]:
            st[S_LEVEL] = depth
            return LOOK, 0
        level, at, room = plan + 8 * load64(plan, P_LEVEL + depth), S_LEVELS + 4 * depth, scratch + 24 * size * depth
        kind, n, before, began = load64(level, L_KIND), 0, st[at + S_CURSOR], 0
        if counts != 0:
            began = time_of_sample(counts)
        if kind == SCAN:
            n = scan(D, level, st, registers, room, size, w)
        elif kind == SCAN_LIVE:
            n = scan_live(D, plan, level, st, registers, room, size, w)
        elif kind in (PROBE, PROBE_LIVE):
            if st[at + S_CURSOR] < 0:
                index = load64(level, L_OBJECT)
                look_up(D, index, level, st[at + S_IN], registers, room, room + 8 * size, size, w)
                st[at + S_CURSOR], st[at + S_INNER] = 0, 0
            if kind == PROBE:
                n = expand(D, level, st, at, registers, room, room + 8 * size, size, w)
            else:
                n = expand_live(D, level, st, at, registers, room, room + 8 * size, room + 16 * size, size, w)
        elif kind == SHORTEST:
            if st[at + S_CURSOR] < 0:
                find_shortest(D, level, st[at + S_IN], registers, room, room + 8 * size, room + 16 * size, size, w)
                st[at + S_CURSOR], st[at + S_INNER] = 0, 0
            n = expand_shortest(D, level, st, at, registers, room, room + 8 * size, size, w)
        elif kind == PROBE_CLOSED:
            if st[at + S_CURSOR] < 0:
                look_nodes_up(D, level, st[at + S_IN], registers, room, size, w)
                st[at + S_CURSOR], st[at + S_INNER], st[at + S_NEXT] = 0, 0, 0
            n = expand_closed(D, level, st, at, registers, room, room + 8 * size, size, w)
        elif kind == RANGE:
            if st[at + S_CURSOR] < 0:
                st[at + S_CURSOR], st[at + S_INNER] = 0, 0
            n = expand_range(level, st, at, registers, size, w)
        elif kind == CALL:
            if st[at + S_CURSOR] == -1:
                st[S_LEVEL] = depth
                return CALL_OUT, st[at + S_IN]
            if st[at + S_CURSOR] == -2:  # Python has applied the function and left the number of bindings
                n = st[at + S_INNER]
            st[at + S_CURSOR] = 0
        elif st[at + S_CURSOR] < 0:
            n = filter_batch(D, level, st, st[at + S_IN], registers, room, size, w)
            st[at + S_CURSOR] = 0
        if n < 0:
            st[S_LEVEL] = depth
            return WIDEN, 0
        if counts != 0:
            tried = st[at + S_CURSOR] - before if depth == 0 else st[at + S_IN] if before < 0 else 0
            count_level(counts, depth, tried, n, began)
        st[S_WORK] += n + 1
        if n == 0:
            # Some scans and probes may come back empty-handed although there is more to look at.
            if kind not in (SCAN, SCAN_LIVE, PROBE_LIVE, PROBE_CLOSED, SHORTEST) or st[at + S_CURSOR] >= st[at + S_IN]:
                depth -= 1
            continue
        if depth == last:
            st[S_LEVEL] = depth
            return DONE, n
        depth += 1
        at = S_LEVELS + 4 * depth
        st[at + S_IN], st[at + S_CURSOR], st[at + S_INNER] = n, -1, 0
    st[S_LEVEL] = -1
    if counts != 0:
        end_counting(D, plan, counts)
    return DONE, 0
