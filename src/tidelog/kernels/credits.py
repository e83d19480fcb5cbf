"""The derivations from rows that are known to be in the views, with known births: each is counted, in any order.

A relation has these rows from the beginning, without derivations. A derivation counts if its largest birth is below
that of its head, as in `changes`. Other rows are born last, so that all of their derivations count.
"""
# mypy: disable-error-code="no-untyped-def"

from tidelog.kernels.joins import begin, step
from tidelog.kernels.layout import (
    DONE,
    GROW_RELATION,
    MOST_COUNTED,
    N_INSIDE,
    N_OBJECT,
    N_POSITION,
    P_ARGUMENTS,
    P_HEAD,
    R_ARITY,
    R_BIRTH,
    R_COUNT,
    R_EMITTED,
    R_MASK,
    R_N,
    R_ROWS,
    R_SLOTS,
    R_SUPPORT,
    R_USED,
)
from tidelog.kernels.registers import copy_head
from tidelog.kernels.sets import full, hash_marked_rows, same_row
from tidelog.kernels.words import (
    HIGH,
    LOW,
    hash_row,
    kernel,
    load,
    load32,
    load64,
    store,
    store32,
    store64,
    width,
)


@kernel
def credit(D, relation, buffer, i, h, birth, last, w):
    """Add one derivation, with the largest birth `birth`, to row `i` of `buffer`, for which there is room. One that is
    new is born in round `last`."""
    slots, mask, rows, k = D[relation, R_SLOTS], D[relation, R_MASK], D[relation, R_ROWS], D[relation, R_ARITY]
    counts, births, supports = D[relation, R_COUNT], D[relation, R_BIRTH], D[relation, R_SUPPORT]
    s = (h >> 32) & mask
    while True:
        v = load64(slots, s)
        if v == 0:
            r = D[relation, R_N]
            store64(slots, s, (h & HIGH) | (r + 1))
            for j in range(k):
                store(rows, r * k + j, load(buffer, i * k + j, w), w)
            store32(counts, r, 1)
            store32(births, r, last)
            store32(supports, r, 1)
            D[relation, R_N] += 1
            D[relation, R_USED] += 1
            return
        if ((v ^ h) >> 32) == 0 and same_row(rows, (v & LOW) - 1, buffer, i, k, w):
            r = (v & LOW) - 1
            count, known = load32(counts, r), load32(supports, r)
            if birth < load32(births, r) and count < MOST_COUNTED:
                store32(counts, r, count + 1)
            if known < MOST_COUNTED:
                store32(supports, r, known + 1)
            return
        s = (s + 1) & mask


@kernel
def credit_rows(D, relation, buffer, start, m, last, w):
    """Credit rows `start` to `m` of `buffer`, which are facts, with one derivation each. Return where it stopped
    because memory has to grow first."""
    k = D[relation, R_ARITY]
    for i in range(start, m):
        if full(D, relation, 1):
            return i
        credit(D, relation, buffer, i, hash_row(buffer, i, k, w), -1, last, w)
    return m


@kernel
def emit_credits(D, plan, n, last, registers, buffer, hashes, size, w):
    """Credit a batch of derivations to their heads."""
    head = load64(plan, P_HEAD)
    k = D[head, R_ARITY]
    copy_head(plan, k, n, registers, buffer, size, w)
    largest = registers + load64(plan, load64(plan, P_ARGUMENTS) + k) * size * width(w)
    hash_marked_rows(D, head, buffer, n, hashes, w)
    for i in range(n):
        credit(D, head, buffer, i, load64(hashes, i), load(largest, i, w), last, w)
    D[head, R_EMITTED] += n


@kernel
def run_credits(D, plans, relations, indexes, node, st, last, registers, scratch, buffer, hashes, size, w):
    """Run `plans` once over everything. Returns DONE, or a status with the object concerned in node[N_OBJECT]; call
    again with the same arrays to continue. `relations` and `indexes` do not matter."""
    while node[N_POSITION] < len(plans):
        plan = plans[node[N_POSITION]]
        if node[N_INSIDE] == 0:
            begin(D, plan, st)
            node[N_INSIDE] = 1
        while node[N_INSIDE] == 1:
            node[N_OBJECT] = load64(plan, P_HEAD)
            if full(D, node[N_OBJECT], size):
                return GROW_RELATION
            status, n = step(D, plan, st, registers, scratch, size, w)
            if status != DONE:
                return status
            if n == 0:
                node[N_INSIDE] = 0
            else:
                emit_credits(D, plan, n, last, registers, buffer, hashes, size, w)
        node[N_POSITION] += 1
    return DONE
