"""The rounds of an update: deaths and births, list by list.

Deletions and insertions run the same loop over lists instead of row ranges: a round runs every plan whose source has
something in its list, then the list of the round just made becomes the source of the next. A derivation counts for its
head when its largest birth is below the head's; in the supports, which are kept where that may fail, every derivation
is counted, to know which dead rows can be re-derived. Kernels journal each row before they change it, so that all
changes can be undone.
"""
# mypy: disable-error-code="no-untyped-def"

from tidelog.kernels.counting import begin_counting
from tidelog.kernels.indexes import extend, rows_to_enter
from tidelog.kernels.joins import begin, bounds, step, worth_sharing
from tidelog.kernels.layout import (
    DEAD,
    DONE,
    GROW_LISTS,
    GROW_RELATION,
    I_DONE,
    I_RELATION,
    IN,
    JOURNALLED,
    LOOK,
    MOST_COUNTED,
    N_BEGAN,
    N_INSIDE,
    N_OBJECT,
    N_PHASE,
    N_POSITION,
    N_ROUND,
    N_SHARE,
    OUT,
    P_ARGUMENTS,
    P_HEAD,
    P_SHARED,
    P_SOURCE,
    P_VERSION,
    R_ABSENT,
    R_ARITY,
    R_BIRTH,
    R_COUNT,
    R_DEAD,
    R_EMITTED,
    R_IN,
    R_IN_HIGH,
    R_IN_LOW,
    R_IN_N,
    R_JOURNAL,
    R_JOURNAL_N,
    R_MASK,
    R_N,
    R_OUT,
    R_OUT_HIGH,
    R_OUT_LOW,
    R_OUT_N,
    R_ROOM,
    R_ROWS,
    R_SLOTS,
    R_START,
    R_SUPPORT,
    R_UNPLANNED,
    R_USED,
    REPLAN,
    S_ROUND,
    S_SKIP,
    S_WORK,
    SHARE_INDEXES,
    SHARE_PLAN,
)
from tidelog.kernels.registers import copy_head
from tidelog.kernels.sets import find_slot, full, hash_marked_rows
from tidelog.kernels.slots import bury_slot, put_row
from tidelog.kernels.words import (
    hash_row,
    kernel,
    load,
    load32,
    load64,
    prefetch,
    store,
    store32,
    store64,
    width,
)


@kernel
def note(D, relation, r):
    """Journal count, birth and support of a row that existed when the epoch began, unless the journal has them. A row
    without support that dies is journalled once more when it is re-derived, which does no harm."""
    if r < D[relation, R_START]:
        at, support = 4 * D[relation, R_JOURNAL_N], 0
        journal, births, supports = D[relation, R_JOURNAL], D[relation, R_BIRTH], D[relation, R_SUPPORT]
        count = load32(D[relation, R_COUNT], r)
        if supports != 0:
            support = load32(supports, r)
            if support & JOURNALLED:
                return
            store32(supports, r, support | JOURNALLED)
        elif count > 0:
            if count & JOURNALLED:
                return
            store32(D[relation, R_COUNT], r, count | JOURNALLED)
        store64(journal, at, r)
        store64(journal, at + 1, count)
        store64(journal, at + 2, load32(births, r) if births != 0 else 0)
        store64(journal, at + 3, support)
        D[relation, R_JOURNAL_N] += 1


@kernel
def lose(D, relation, r, counted, current):
    """Take one derivation from a row; one that is alive and `counted` it, and has no other, dies in the next round."""
    note(D, relation, r)
    supports, count = D[relation, R_SUPPORT], load32(D[relation, R_COUNT], r)
    if supports != 0:
        store32(supports, r, load32(supports, r) - 1)
    if counted and count > 0:
        if (count & MOST_COUNTED) > 1:
            store32(D[relation, R_COUNT], r, count - 1)
            return
        store32(D[relation, R_COUNT], r, -(current + 1))
        store64(D[relation, R_OUT], D[relation, R_OUT_N], r)
        D[relation, R_OUT_N] += 1


@kernel
def support(D, relation, r):
    """Note one derivation more of a row."""
    supports = D[relation, R_SUPPORT]
    if supports != 0:
        known = load32(supports, r)
        if (known & MOST_COUNTED) < MOST_COUNTED:
            store32(supports, r, known + 1)


@kernel
def bear(D, relation, r, count, current):
    """Let a dead row live again, born in round `current` by `count` derivations."""
    note(D, relation, r)
    store32(D[relation, R_COUNT], r, count)
    if D[relation, R_BIRTH] != 0:
        store32(D[relation, R_BIRTH], r, current)
    store64(D[relation, R_IN], D[relation, R_IN_N], r)
    D[relation, R_IN_N] += 1


@kernel
def credit(D, relation, r, birth, current):
    """Add one derivation, with the largest birth `birth`, to a row that is there. A dead one lives again."""
    births = D[relation, R_BIRTH]
    if load32(D[relation, R_COUNT], r) <= 0:
        bear(D, relation, r, 1, current)
        support(D, relation, r)
        return
    counted = births == 0 or birth < load32(births, r)
    if counted or D[relation, R_SUPPORT] != 0:
        note(D, relation, r)
        support(D, relation, r)
    count = load32(D[relation, R_COUNT], r)
    if counted and (count & MOST_COUNTED) < MOST_COUNTED:
        store32(D[relation, R_COUNT], r, count + 1)


@kernel
def gain(D, relation, buffer, i, h, birth, current, w):
    """Add one derivation, with the largest birth `birth`, to row `i` of `buffer`, which may give the row its birth."""
    s = find_slot(D, relation, buffer, i, h, w)
    if s >= 0:
        credit(D, relation, (load32(D[relation, R_SLOTS], s) & D[relation, R_MASK]) - 1, birth, current)
        return
    k, r = D[relation, R_ARITY], D[relation, R_N]
    put_row(D[relation, R_SLOTS], D[relation, R_MASK], r, h)
    for j in range(k):
        store(D[relation, R_ROWS], r * k + j, load(buffer, i * k + j, w), w)
    D[relation, R_N] += 1
    D[relation, R_USED] += 1
    bear(D, relation, r, 1, current)
    if D[relation, R_SUPPORT] != 0:
        store32(D[relation, R_SUPPORT], r, 1)


@kernel
def emit_change(D, plan, n, inserting, current, registers, buffer, hashes, size, w):
    """Charge a batch of lost derivations to their heads, or credit new ones."""
    head, arguments = load64(plan, P_HEAD), load64(plan, P_ARGUMENTS)
    k, births = D[head, R_ARITY], D[head, R_BIRTH]
    copy_head(plan, k, n, registers, buffer, size, w)
    largest = registers + load64(plan, arguments + k) * size * width(w)
    hash_marked_rows(D, head, buffer, n, hashes, w)
    for i in range(n):
        if inserting:
            gain(D, head, buffer, i, load64(hashes, i), load(largest, i, w), current, w)
            continue
        s = find_slot(D, head, buffer, i, load64(hashes, i), w)
        if s >= 0:
            r = (load32(D[head, R_SLOTS], s) & D[head, R_MASK]) - 1
            counted = births == 0 or load(largest, i, w) < load32(births, r)
            if counted or D[head, R_SUPPORT] != 0:
                lose(D, head, r, counted, current)
        else:
            D[head, R_ABSENT] += 1
    D[head, R_EMITTED] += n


@kernel
def lists_full(D, relation, more):
    """Return True if a batch might not fit into the lists and the journal."""
    most = max(D[relation, R_OUT_N], D[relation, R_IN_N], D[relation, R_JOURNAL_N])
    return most + more > D[relation, R_ROOM]


@kernel
def shift_lists(D, relations):
    """Make the rows that died and were born in this round the source of the next; whether there is anything."""
    some = False
    for i in range(len(relations)):
        r = relations[i]
        D[r, R_OUT_LOW], D[r, R_OUT_HIGH] = D[r, R_OUT_HIGH], D[r, R_OUT_N]
        D[r, R_IN_LOW], D[r, R_IN_HIGH] = D[r, R_IN_HIGH], D[r, R_IN_N]
        some |= D[r, R_OUT_LOW] < D[r, R_OUT_HIGH] or D[r, R_IN_LOW] < D[r, R_IN_HIGH]
    return some


@kernel
def lacks_plans(D, relations, inserting):
    """Return True if rows that died (or were born) in the last round have readers without plans. Those of other
    hyper-nodes, for which this says nothing, only a first round reads."""
    for i in range(len(relations)):
        r = relations[i]
        low, high = bounds(D[r], IN if inserting else OUT)
        if low < high and D[r, R_UNPLANNED] >> (IN if inserting else OUT) & 1:
            return True
    return False


@kernel
def run_changes(D, plans, relations, indexes, node, st, inserting, once, registers, scratch, buffer, hashes, size, w):
    """Run `plans` round by round until nothing dies (or is born) any more, or `once` and stay in the round.

    The round in st[S_ROUND] goes up by one with every round. Returns DONE, or a status with the object concerned in
    node[N_OBJECT]; call again with the same arrays to continue. Work that threads can share is left to the caller, as
    in `run_rounds`; REPLAN asks for plans for what changed in the last round.
    """
    while True:
        if node[N_PHASE] == 0:
            if node[N_SHARE] > 0 and rows_to_enter(D, indexes, R_N) >= node[N_SHARE]:
                node[N_OBJECT] = R_N
                return SHARE_INDEXES
            while node[N_POSITION] < len(indexes):
                index = indexes[node[N_POSITION]]
                high = D[D[index, I_RELATION], R_N]
                if D[index, I_DONE] < high:
                    status = extend(D, index, high, hashes, w)
                    if status != DONE:
                        node[N_OBJECT] = index
                        return status
                node[N_POSITION] += 1
            node[N_PHASE], node[N_POSITION], node[N_INSIDE] = 1, 0, 0
        while node[N_POSITION] < len(plans):
            plan = plans[node[N_POSITION]]
            head = load64(plan, P_HEAD)
            if node[N_INSIDE] == 0:
                low, high = bounds(D[load64(plan, P_SOURCE)], load64(plan, P_VERSION))
                if low == high:
                    node[N_POSITION] += 1
                    continue
                begin(D, plan, st)
                begin_counting(D, plan, st)
                node[N_INSIDE], node[N_BEGAN] = 1, st[S_WORK]
                if load64(plan, P_SHARED) == 1 and 0 < node[N_SHARE] <= high - low:
                    return SHARE_PLAN
            while node[N_INSIDE] == 1:
                if worth_sharing(D, plan, node, st, size):
                    return SHARE_PLAN
                node[N_OBJECT] = head
                if full(D, head, size):
                    return GROW_RELATION
                if lists_full(D, head, size):
                    return GROW_LISTS
                status, n = step(D, plan, st, registers, scratch, size, w)
                if status != DONE:
                    return status
                if n == 0:
                    node[N_INSIDE] = 0
                else:
                    emit_change(D, plan, n, inserting, st[S_ROUND], registers, buffer, hashes, size, w)
            node[N_POSITION] += 1
        node[N_PHASE], node[N_POSITION] = 0, 0
        if once:
            return DONE
        node[N_ROUND] += 1
        st[S_ROUND] += 1
        if not shift_lists(D, relations):
            return DONE
        if lacks_plans(D, relations, inserting):
            return REPLAN


@kernel
def weigh(D, plans, sample, most, st, registers, scratch, size, w):
    """Estimate how many derivations `plans` will find, from some `sample` rows of each source. Stop at `most`, and at
    functions in Python."""
    total = 0
    for p in range(len(plans)):
        low, high = bounds(D[load64(plans[p], P_SOURCE)], load64(plans[p], P_VERSION))
        if low < high:
            begin(D, plans[p], st)
            st[S_SKIP] = (high - low - 1) // sample
            status, n = LOOK, 0
            while total < most and (status == LOOK or (status == DONE and n > 0)):
                st[S_WORK] = 0
                status, n = step(D, plans[p], st, registers, scratch, size, w)
                total += n * (1 + st[S_SKIP])
    return total


@kernel
def assert_rows(D, relation, buffer, start, m, current, w):
    """Credit rows `start` to `m` of `buffer`, facts that were not asserted, with one derivation each. Return where it
    stopped because memory has to grow first."""
    k = D[relation, R_ARITY]
    for i in range(start, m):
        if full(D, relation, 1) or lists_full(D, relation, 1):
            return i
        gain(D, relation, buffer, i, hash_row(buffer, i, k, w), -1, current, w)
    return m


@kernel
def retract_rows(D, relation, numbers, start, m, current):
    """Charge the rows with these int64 `numbers`, facts that are no longer asserted, one derivation each. Return where
    it stopped because memory has to grow first."""
    for i in range(start, m):
        if lists_full(D, relation, 1):
            return i
        lose(D, relation, load64(numbers, i), True, current)
    return m


@kernel
def bear_supported(D, relation, current, start):
    """Let the dead rows that have derivations left live again, of the list of deaths those from `start` on, born in
    round `current` by all of these; there is room in the lists."""
    supports, dead = D[relation, R_SUPPORT], D[relation, R_OUT]
    for i in range(start, D[relation, R_OUT_N]):
        if i + 16 < D[relation, R_OUT_N]:
            prefetch(supports + 4 * load64(dead, i + 16))
        r = load64(dead, i)
        left = load32(supports, r) & MOST_COUNTED
        if left > 0:
            bear(D, relation, r, left, current)


@kernel
def forget_journal(D, relation):
    """Let nothing count as journalled any more."""
    supports, counts, journal = D[relation, R_SUPPORT], D[relation, R_COUNT], D[relation, R_JOURNAL]
    for e in range(D[relation, R_JOURNAL_N]):
        r = load64(journal, 4 * e)
        if supports != 0:
            store32(supports, r, load32(supports, r) & MOST_COUNTED)
        elif load32(counts, r) > 0:
            store32(counts, r, load32(counts, r) & MOST_COUNTED)
    D[relation, R_JOURNAL_N] = 0


@kernel
def take_back(D, relation, w):
    """Undo an update: restore the rows in the journal, and remove new rows, which are dead from now on. Request no
    memory."""
    rows, k = D[relation, R_ROWS], D[relation, R_ARITY]
    for r in range(D[relation, R_START], D[relation, R_N]):
        if load32(D[relation, R_COUNT], r) == DEAD:
            continue
        s = find_slot(D, relation, rows, r, hash_row(rows, r, k, w), w)
        bury_slot(D[relation, R_SLOTS], D[relation, R_MASK], s)
        store32(D[relation, R_COUNT], r, DEAD)
        D[relation, R_DEAD] += 1
    for e in range(D[relation, R_JOURNAL_N] - 1, -1, -1):
        r = load64(D[relation, R_JOURNAL], 4 * e)
        store32(D[relation, R_COUNT], r, load64(D[relation, R_JOURNAL], 4 * e + 1))
        if D[relation, R_BIRTH] != 0:
            store32(D[relation, R_BIRTH], r, load64(D[relation, R_JOURNAL], 4 * e + 2))
        if D[relation, R_SUPPORT] != 0:
            store32(D[relation, R_SUPPORT], r, load64(D[relation, R_JOURNAL], 4 * e + 3))
