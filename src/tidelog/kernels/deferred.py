"""Derivations that several threads find in a round of an update, and charge or credit to the rows of the head later.

While threads run a plan, each writes the numbers of the rows concerned to ledgers of its own, one for each thread:
entries are [largest birth + 1 | row number]. A row that is not there is inserted at once, with its first derivation.
When all have stopped, each thread applies the entries for the rows that it owns, a part of all rows, by the functions
that update rows on one thread. So nobody reads a count, a birth, a support or the journal while another thread changes
it. docs/theory.md says why the result is that of one thread.
"""
# mypy: disable-error-code="no-untyped-def"

from tidelog.kernels.changes import credit, lose
from tidelog.kernels.layout import (
    CHARGE,
    O_ENTRIES,
    O_LEDGERS,
    O_NEXT,
    P_ARGUMENTS,
    P_HEAD,
    R_ARITY,
    R_BIRTH,
    R_COUNT,
    R_MASK,
    R_ROWS,
    R_SLOTS,
    R_SUPPORT,
    T_OWNED,
    T_ROOM,
    T_TASK,
    T_THREADS,
    T_USED,
)
from tidelog.kernels.registers import copy_head
from tidelog.kernels.reserving import next_row
from tidelog.kernels.sets import same_row
from tidelog.kernels.slots import may_name, slot_of
from tidelog.kernels.words import (
    LOW,
    add_shared,
    fill_shared32,
    hash_row,
    kernel,
    load,
    load32,
    load64,
    load_shared32,
    prefetch,
    store,
    store32,
    store64,
    width,
)

_AHEAD = 24


@kernel
def ledgers_full(own, shared, size):
    """Return True if a batch might not fit into the ledgers of a thread."""
    for owner in range(load64(shared, T_THREADS)):
        if own[O_ENTRIES + owner] + size > load64(shared, T_ROOM):
            return True
    return False


@kernel
def fill_slot(D, relation, buffer, i, h, s, current, own, shared, w):
    """Insert row `i` of `buffer`, born in round `current` by one derivation, by filling slot `s`. Return 0, or what
    another thread has filled it with just now."""
    rows, k, n = D[relation, R_ROWS], D[relation, R_ARITY], next_row(D, relation, own, shared, w)
    for j in range(k):
        store(rows, n * k + j, load(buffer, i * k + j, w), w)
    store32(D[relation, R_COUNT], n, 1)
    if D[relation, R_BIRTH] != 0:
        store32(D[relation, R_BIRTH], n, current)
    if D[relation, R_SUPPORT] != 0:
        store32(D[relation, R_SUPPORT], n, 1)
    v = fill_shared32(D[relation, R_SLOTS], s, slot_of(n, h, D[relation, R_MASK]))
    if v == 0:
        own[O_NEXT] = n + 1
    return v


@kernel
def defer(D, plan, n, current, registers, buffer, hashes, own, shared, size, w):
    """Write a batch of lost or new derivations to the ledgers, for which there is room; new rows are inserted, while
    other threads insert theirs."""
    head, arguments, inserting = load64(plan, P_HEAD), load64(plan, P_ARGUMENTS), load64(shared, T_TASK) != CHARGE
    rows, k, slots, mask, new = D[head, R_ROWS], D[head, R_ARITY], D[head, R_SLOTS], D[head, R_MASK], 0
    ledgers, room = own[O_LEDGERS], load64(shared, T_ROOM)
    owned, threads = load64(shared, T_OWNED), load64(shared, T_THREADS)
    copy_head(plan, k, n, registers, buffer, size, w)
    largest = registers + load64(plan, arguments + k) * size * width(w)
    for i in range(n):
        h = hash_row(buffer, i, k, w)
        store64(hashes, i, h)
        prefetch(slots + ((h >> 32) & mask) * 4)
    for i in range(n):
        v = load32(slots, (load64(hashes, i) >> 32) & mask)
        if may_name(v, load64(hashes, i), mask):
            prefetch(rows + ((v & mask) - 1) * k * width(w))
    for i in range(n):
        h = load64(hashes, i)
        s = (h >> 32) & mask
        while True:
            v = load_shared32(slots, s)
            if v == 0:
                # Calls pass many words: most rows are there, and need none.
                v = fill_slot(D, head, buffer, i, h, s, current, own, shared, w) if inserting else 0
                if v == 0:
                    new += inserting
                    break
            if may_name(v, h, mask) and same_row(rows, (v & mask) - 1, buffer, i, k, w):
                r = (v & mask) - 1
                owner = ((((r >> owned) * 40503) & 0xFFFF) * threads) >> 16
                entry = own[O_ENTRIES + owner]
                store64(ledgers, owner * room + entry, (load(largest, i, w) + 1) << 32 | r)
                own[O_ENTRIES + owner] = entry + 1
                break
            s = (s + 1) & mask
    add_shared(shared, T_USED, new)


@kernel
def apply_deferred(D, relation, ledger, m, inserting, current):
    """Charge or credit the `m` derivations of a ledger, whose rows no other thread changes, to the rows of a relation;
    there is room in the lists and in the journal."""
    counts, births, supports = D[relation, R_COUNT], D[relation, R_BIRTH], D[relation, R_SUPPORT]
    for e in range(m):
        if e + _AHEAD < m:
            r = load64(ledger, e + _AHEAD) & LOW
            prefetch(counts + 4 * r)
            if births != 0:
                prefetch(births + 4 * r)
            if supports != 0:
                prefetch(supports + 4 * r)
        entry = load64(ledger, e)
        r, birth = entry & LOW, (entry >> 32) - 1
        if inserting:
            credit(D, relation, r, birth, current)
            continue
        counted = births == 0 or birth < load32(births, r)
        if counted or supports != 0:
            lose(D, relation, r, counted, current)
