"""The rounds of a hyper-node, all of them in one call that returns only when Python is needed.

Semi-naive evaluation: each round enters the rows of the round before into the indexes and runs every plan once; the
plans append derived rows to the heads, so that "born in this round" is "row number >= R_NEW". A round in which nothing
is born ends the fixpoint. With ten tuples a round, as on long chains, the cost of a round decides, and it is
microseconds.
"""
# mypy: disable-error-code="no-untyped-def"

from tidelog.kernels.counting import begin_counting
from tidelog.kernels.grids import drop_known
from tidelog.kernels.indexes import extend, rows_to_enter
from tidelog.kernels.joins import begin, step
from tidelog.kernels.layout import (
    DELTA,
    DONE,
    GROW_LOG,
    GROW_RELATION,
    I_DONE,
    I_RELATION,
    INSERT_WAITING,
    N_INSIDE,
    N_LOG,
    N_LOG_CAPACITY,
    N_OBJECT,
    N_PHASE,
    N_POSITION,
    N_ROUND,
    N_SHARE,
    P_HEAD,
    P_SHARED,
    P_SOURCE,
    P_VERSION,
    R_ARITY,
    R_EMITTED,
    R_GRID,
    R_N,
    R_NEW,
    R_OLD,
    R_REPLAN,
    R_WAITING,
    R_WAITING_N,
    R_WAITING_ROOM,
    REPLAN,
    S_HELD,
    SHARE_INDEXES,
    SHARE_PLAN,
)
from tidelog.kernels.registers import copy_head
from tidelog.kernels.sets import full, insert_batch
from tidelog.kernels.words import kernel, load64, row_at, store64


@kernel
def emit(D, plan, n, registers, buffer, hashes, size, w):
    """Insert a batch into the head, or let it wait; a row born in this round counts one derivation more."""
    head = load64(plan, P_HEAD)
    waits = D[head, R_WAITING] != 0
    if waits:
        buffer = row_at(D[head, R_WAITING], D[head, R_WAITING_N], D[head, R_ARITY], w)
    copy_head(plan, D[head, R_ARITY], n, registers, buffer, size, w)  # called once, so that it is inlined
    left = n if D[head, R_GRID] == 0 else drop_known(D, head, buffer, n, w)
    if waits:
        D[head, R_WAITING_N] += left
        D[head, R_EMITTED] += n - left  # The others count when they are inserted.
        return
    insert_batch(D, head, buffer, left, D[head, R_NEW], hashes, w)
    D[head, R_EMITTED] += n


@kernel
def run_plan(D, plan, st, registers, scratch, buffer, hashes, size, w):
    """Run the plan under way to its end; a status other than DONE names the reason to pause."""
    head = load64(plan, P_HEAD)
    while True:
        n = st[S_HELD]
        if n == 0:
            status, n = step(D, plan, st, registers, scratch, size, w)
            if status != DONE:
                return status
            if n == 0:
                return DONE
            st[S_HELD] = n
        if D[head, R_WAITING] != 0:
            if D[head, R_WAITING_N] + n > D[head, R_WAITING_ROOM]:
                return INSERT_WAITING
        elif full(D, head, n):
            return GROW_RELATION
        st[S_HELD] = 0
        emit(D, plan, n, registers, buffer, hashes, size, w)


@kernel
def run_rounds(D, plans, relations, indexes, node, st, rounds, registers, scratch, buffer, hashes, size, w):
    """Run `plans` (addresses) round by round to the fixpoint, or to round `rounds`.

    `relations` are those that the hyper-node derives, `indexes` those on them. Returns DONE, or a status with the
    object concerned in node[N_OBJECT]; call again with the same arrays to continue. Work that threads can share is left
    to the caller: SHARE_INDEXES up to the row in field node[N_OBJECT], and SHARE_PLAN for the rest of plan number
    node[N_POSITION], which the caller then skips.
    """
    while True:
        if node[N_PHASE] == 0:
            if node[N_SHARE] > 0 and rows_to_enter(D, indexes, R_NEW) >= node[N_SHARE]:
                node[N_OBJECT] = R_NEW
                return SHARE_INDEXES
            while node[N_POSITION] < len(indexes):
                index = indexes[node[N_POSITION]]
                high = D[D[index, I_RELATION], R_NEW]
                if D[index, I_DONE] < high:
                    status = extend(D, index, high, hashes, w)
                    if status != DONE:
                        node[N_OBJECT] = index
                        return status
                node[N_POSITION] += 1
            node[N_PHASE], node[N_POSITION], node[N_INSIDE] = 1, 0, 0
        if node[N_PHASE] == 1:
            while node[N_POSITION] < len(plans):
                plan = plans[node[N_POSITION]]
                if node[N_INSIDE] == 0:
                    source = load64(plan, P_SOURCE)
                    low = D[source, R_OLD] if load64(plan, P_VERSION) == DELTA else 0
                    if low == D[source, R_NEW]:
                        node[N_POSITION] += 1
                        continue
                    begin(D, plan, st)
                    begin_counting(D, plan, st)
                    node[N_INSIDE] = 1
                    if load64(plan, P_SHARED) == 1 and 0 < node[N_SHARE] <= D[source, R_NEW] - low:
                        return SHARE_PLAN
                status = run_plan(D, plan, st, registers, scratch, buffer, hashes, size, w)
                if status != DONE:
                    node[N_OBJECT] = load64(plan, P_HEAD)
                    return status
                node[N_POSITION] += 1
                node[N_INSIDE] = 0
            for i in range(len(relations)):
                if D[relations[i], R_WAITING_N] > 0:
                    node[N_OBJECT] = relations[i]
                    return INSERT_WAITING
            node[N_PHASE] = 2
        if node[N_ROUND] == node[N_LOG_CAPACITY]:
            return GROW_LOG
        go, outgrown = False, False
        for i in range(len(relations)):
            r = relations[i]
            D[r, R_OLD], D[r, R_NEW] = D[r, R_NEW], D[r, R_N]
            store64(node[N_LOG], node[N_ROUND] * len(relations) + i, D[r, R_N])
            go |= D[r, R_OLD] < D[r, R_NEW]
            outgrown |= D[r, R_NEW] >= D[r, R_REPLAN]
        node[N_ROUND] += 1
        node[N_PHASE], node[N_POSITION] = 0, 0
        if not go or node[N_ROUND] == rounds:
            return DONE
        if outgrown:
            return REPLAN
