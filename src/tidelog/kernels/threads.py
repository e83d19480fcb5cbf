"""Plans whose rows several threads scan at the same time, and heads into which they insert at the same time.

Each thread takes the next rows of the scan from a common counter, and runs the plan on them with registers of its own.
Nothing that it reads changes meanwhile, except the slots of the heads, which only get more rows, born in this round. A
new row is written under a number that the thread has reserved, and is there for others once a slot has that number;
`fill_shared32` sees to it that one thread only fills an empty slot. Counts are added atomically. So sets, counts and
rounds are those of one thread; only the order of the rows within a round differs. docs/theory.md has the argument.
In rounds of updates, threads insert new rows in the same way, and defer all other changes of the head (`deferred`).
"""
# mypy: disable-error-code="no-untyped-def"

from tidelog.kernels.deferred import defer, ledgers_full
from tidelog.kernels.grids import drop_known
from tidelog.kernels.joins import step
from tidelog.kernels.layout import (
    CHARGE,
    DONE,
    GROW_RELATION,
    INSERT,
    MOST_COUNTED,
    O_EMITTED,
    O_NEXT,
    P_HEAD,
    PAUSED,
    R_ARITY,
    R_BIRTH,
    R_CAPACITY,
    R_COUNT,
    R_GRID,
    R_MASK,
    R_NEW,
    R_ROWS,
    R_SLOTS,
    R_SUPPORT,
    RESERVED,
    S_CURSOR,
    S_IN,
    S_LEVEL,
    S_LEVELS,
    S_ROUND,
    T_CHUNK,
    T_CURSOR,
    T_END,
    T_ROWS,
    T_STOP,
    T_TASK,
    T_THREADS,
    T_USED,
)
from tidelog.kernels.registers import copy_head
from tidelog.kernels.reserving import next_row
from tidelog.kernels.sets import hash_rows, same_row
from tidelog.kernels.slots import may_name, slot_of
from tidelog.kernels.words import (
    add_shared,
    add_shared32,
    fill_shared32,
    hash_row,
    kernel,
    load,
    load32,
    load64,
    load_shared,
    load_shared32,
    store,
    store32,
    store64,
)


@kernel
def count_one(counts, r):
    """Add one to count `r`, unless it is the most that can be counted."""
    if load32(counts, r) < MOST_COUNTED and add_shared32(counts, r, 1) >= MOST_COUNTED:
        add_shared32(counts, r, -1)


@kernel
def insert_shared(D, relation, buffer, m, since, hashes, own, shared, w):
    """Insert `m` rows of `buffer`, for which there is room, while other threads insert theirs; the rest as in
    `insert_batch`."""
    rows, k = D[relation, R_ROWS], D[relation, R_ARITY]
    slots, mask, counts = D[relation, R_SLOTS], D[relation, R_MASK], D[relation, R_COUNT]
    supports, new = D[relation, R_SUPPORT], 0
    if counts == 0:
        since = 1 << 62
    hash_rows(D, relation, buffer, m, since, hashes, w)
    for i in range(m):
        h = load64(hashes, i)
        s = (h >> 32) & mask
        while True:
            v = load_shared32(slots, s)
            if v == 0:
                n = next_row(D, relation, own, shared, w)
                for j in range(k):
                    store(rows, n * k + j, load(buffer, i * k + j, w), w)
                if counts != 0:
                    store32(counts, n, 1)
                if supports != 0:
                    store32(supports, n, 1)
                v = fill_shared32(slots, s, slot_of(n, h, mask))
                if v == 0:
                    own[O_NEXT] = n + 1
                    new += 1
                    break
            # Another thread may have filled the slot just now, maybe with the same row.
            if may_name(v, h, mask):
                r = (v & mask) - 1
                if same_row(rows, r, buffer, i, k, w):
                    if r >= since:
                        count_one(counts, r)
                    if supports != 0:
                        count_one(supports, r)
                    break
            s = (s + 1) & mask
    add_shared(shared, T_USED, new)


@kernel
def has_room(D, relation, shared, size):
    """Return True if a batch of each thread fits into the head, whatever the others do meanwhile."""
    threads = load64(shared, T_THREADS)
    return load64(shared, T_TASK) == CHARGE or (
        load_shared(shared, T_ROWS) + 2 * threads * RESERVED <= D[relation, R_CAPACITY]
        and (load_shared(shared, T_USED) + threads * size) * 10 <= D[relation, R_MASK] * 7
    )


@kernel
def run_share(D, plan, st, registers, scratch, buffer, hashes, own, shared, size, w):
    """Run a plan on rows of its scan that no other thread has taken, until all are taken. Return DONE, or another
    status where this thread, or with PAUSED another one, wants something; call again with the same arrays to go on."""
    head, task = load64(plan, P_HEAD), load64(shared, T_TASK)
    k, end, chunk = D[head, R_ARITY], load64(shared, T_END), load64(shared, T_CHUNK)
    while True:
        if load_shared(shared, T_STOP) != 0:
            return PAUSED
        if not has_room(D, head, shared, size):
            store64(shared, T_STOP, 1)
            return GROW_RELATION
        if task != INSERT and ledgers_full(own, shared, size):
            store64(shared, T_STOP, 1)
            return PAUSED
        if st[S_LEVEL] < 0:
            low = add_shared(shared, T_CURSOR, chunk)
            if low >= end:
                return DONE
            st[S_LEVEL], st[S_LEVELS + S_CURSOR], st[S_LEVELS + S_IN] = 0, low, min(end, low + chunk)
        status, n = step(D, plan, st, registers, scratch, size, w)
        if status != DONE:
            return status
        if n == 0:
            continue
        if task == INSERT:
            copy_head(plan, k, n, registers, buffer, size, w)
            left = n if D[head, R_GRID] == 0 else drop_known(D, head, buffer, n, w)
            insert_shared(D, head, buffer, left, D[head, R_NEW], hashes, own, shared, w)
        else:
            defer(D, plan, n, st[S_ROUND], registers, buffer, hashes, own, shared, size, w)
        own[O_EMITTED] += n


@kernel
def move_rows(D, relation, sources, targets, m, w):
    """Give `m` rows the numbers of gaps: `sources` and `targets` are addresses of int64 arrays."""
    rows, k, slots, mask = D[relation, R_ROWS], D[relation, R_ARITY], D[relation, R_SLOTS], D[relation, R_MASK]
    counts, births, supports = D[relation, R_COUNT], D[relation, R_BIRTH], D[relation, R_SUPPORT]
    for i in range(m):
        r, n = load64(sources, i), load64(targets, i)
        h = hash_row(rows, r, k, w)
        s = (h >> 32) & mask
        while load32(slots, s) != slot_of(r, h, mask):
            s = (s + 1) & mask
        store32(slots, s, slot_of(n, h, mask))
        for j in range(k):
            store(rows, n * k + j, load(rows, r * k + j, w), w)
        if counts != 0:
            store32(counts, n, load32(counts, r))
        if births != 0:
            store32(births, n, load32(births, r))
        if supports != 0:
            store32(supports, n, load32(supports, r))
