"""The results of a search, as the relations of its hyper-node have them.

Derivations from rows that the search (`frontier`) has read before better ones took their places are uncounted. It has
noted these with all others: they supported their heads, and counted where the head was read in a later round.
"""
# mypy: disable-error-code="no-untyped-def"

from tidelog.kernels.counting import begin_counting
from tidelog.kernels.frontier import place_of
from tidelog.kernels.joins import begin, step
from tidelog.kernels.layout import (
    DONE,
    N_INSIDE,
    N_POSITION,
    P_ARGUMENTS,
    P_HEAD,
    R_ARITY,
    R_BIRTH,
    R_COUNT,
    R_MASK,
    R_N,
    R_ROWS,
    R_SLOTS,
    R_SUPPORT,
    R_USED,
    X_CANDIDATES,
)
from tidelog.kernels.marked import address_of, birth_of, own_arity, support_of
from tidelog.kernels.orders import hash_of_key, row_of_key
from tidelog.kernels.registers import copy_head
from tidelog.kernels.sets import find_slot, same_row
from tidelog.kernels.slots import put_row
from tidelog.kernels.words import (
    hash_row,
    kernel,
    load,
    load32,
    load64,
    prefetch,
    row_at,
    store,
    store32,
    store64,
    width,
)


@kernel
def number_of(D, relation, buffer, i, w):
    """Return the number of the row of a relation that is row `i` of `buffer`; it is there."""
    k = D[relation, R_ARITY]
    slot = find_slot(D, relation, buffer, i, hash_row(buffer, i, k, w), w)
    return (load32(D[relation, R_SLOTS], slot) & D[relation, R_MASK]) - 1


@kernel
def charge(D, relation, sel, buffer, i, birth, w):
    """Take one derivation, with the largest birth `birth`, from row `i` of `buffer`, whether it is the best of its key
    or another candidate."""
    k = own_arity(D, relation)
    if sel == 0:
        r = number_of(D, relation, buffer, i, w)
    else:
        row = row_at(buffer, i, k, w)
        r, _ = row_of_key(D, sel, relation, row, hash_of_key(sel, row, w), w)
        if not same_row(address_of(D, relation, r, w), 0, row, 0, k, w):
            candidates = load64(sel, X_CANDIDATES)
            r, supports = number_of(D, candidates, buffer, i, w), D[candidates, R_SUPPORT]
            store32(supports, r, load32(supports, r) - 1)
            return
    counts, support = D[relation, R_COUNT], support_of(D, relation, r, w)
    store32(support, 0, load32(support, 0) - 1)
    if birth < load32(birth_of(D, relation, r, w), 0):
        store32(counts, r, load32(counts, r) - 1)


@kernel
def run_charges(D, plans, relations, indexes, node, st, selections, registers, scratch, buffer, hashes, size, w):
    """Run `plans` once, and take back all that they derive. `relations` and `selections` are those of the search,
    `indexes` do not matter. Returns DONE or a status; call again with the same arrays to continue."""
    while node[N_POSITION] < len(plans):
        plan = plans[node[N_POSITION]]
        if node[N_INSIDE] == 0:
            begin(D, plan, st)
            begin_counting(D, plan, st)
            node[N_INSIDE] = 1
        head = load64(plan, P_HEAD)
        sel = selections[place_of(relations, head)]
        k = own_arity(D, head)
        largest = registers + load64(plan, load64(plan, P_ARGUMENTS) + k) * size * width(w)
        while node[N_INSIDE] == 1:
            status, n = step(D, plan, st, registers, scratch, size, w)
            if status != DONE:
                return status
            if n == 0:
                node[N_INSIDE] = 0
            copy_head(plan, k, n, registers, buffer, size, w)
            for i in range(n):
                charge(D, head, sel, buffer, i, load(largest, i, w), w)
        node[N_POSITION] += 1
    return DONE


@kernel
def mark_beaten(D, candidates, last):
    """Let all candidates so far be born in round `last`, and count all of their derivations."""
    counts, births, supports = D[candidates, R_COUNT], D[candidates, R_BIRTH], D[candidates, R_SUPPORT]
    for r in range(D[candidates, R_N]):
        store32(counts, r, load32(supports, r))
        store32(births, r, last)


@kernel
def copy_found(D, found, target, one, hashes, w):
    """Insert the rows of `found` into a relation that has room and none of them: with their births, and their counts
    and supports, or `one` derivation each. `hashes` is an address of int64[256]."""
    k, slots, mask = D[target, R_ARITY], D[target, R_SLOTS], D[target, R_MASK]
    for base in range(0, D[found, R_N], 256):
        end = min(base + 256, D[found, R_N])
        for r in range(base, end):
            h = hash_row(address_of(D, found, r, w), 0, k, w)
            store64(hashes, r - base, h)
            prefetch(slots + ((h >> 32) & mask) * 4)
        for r in range(base, end):
            n, row = D[target, R_N], address_of(D, found, r, w)
            put_row(slots, mask, n, load64(hashes, r - base))
            for j in range(k):
                store(D[target, R_ROWS], n * k + j, load(row, j, w), w)
            store32(D[target, R_BIRTH], n, load32(birth_of(D, found, r, w), 0))
            store32(D[target, R_COUNT], n, 1 if one else load32(D[found, R_COUNT], r))
            if D[target, R_SUPPORT] != 0:
                store32(D[target, R_SUPPORT], n, load32(support_of(D, found, r, w), 0))
            D[target, R_N] += 1
            D[target, R_USED] += 1
