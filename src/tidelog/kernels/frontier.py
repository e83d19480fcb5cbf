"""The best row of each key by a search: rows in the order of their costs, each read about once.

A relation that selects has one row per key here, which a better one overwrites; its hash table knows rows by their
keys. New and better rows wait in the frontier, a radix heap: buckets by the highest bit in which a cost differs from
the least one. The cheapest rows come out together, as many as fit into the small relations that plans read instead of
the large ones. Where no rule makes a row that is better than those that it follows from, this is Dijkstra's algorithm.
Where one does, rows take turns as in Bellman and Ford's: every order leads to the same rows.

Each derivation is noted in the support of its row. A row counts those that were found before it was read. Rows that
gave way to better ones become candidates, and wait for `charges` if they had been read.

Source of the heap: Ahuja, Mehlhorn, Orlin, Tarjan, Faster algorithms for the shortest path problem, 1990.
"""
# mypy: disable-error-code="no-untyped-def"

from tidelog.kernels.counting import begin_counting
from tidelog.kernels.indexes import extend
from tidelog.kernels.joins import begin, bounds, step
from tidelog.kernels.layout import (
    BUCKETS,
    CHUNK,
    DONE,
    F_BETTER,
    F_BUCKET,
    F_CHUNKS,
    F_FREE,
    F_FREED,
    F_LEAST,
    F_ROOM,
    F_ROUND,
    F_TURNS,
    F_USED,
    GROW_LOG,
    GROW_RELATION,
    I_DONE,
    I_RELATION,
    MOST_COUNTED,
    N_INSIDE,
    N_OBJECT,
    N_PHASE,
    N_POSITION,
    P_HEAD,
    P_SOURCE,
    P_VERSION,
    R_ARITY,
    R_BIRTH,
    R_COUNT,
    R_MASK,
    R_N,
    R_NEW,
    R_ROWS,
    R_SLOTS,
    R_SUPPORT,
    R_USED,
    X_CANDIDATES,
    X_STALE,
)
from tidelog.kernels.marked import address_of, birth_of, own_arity, support_of
from tidelog.kernels.orders import comparison, cost, hash_of_key, prefetch_slot, prefetch_words, row_of_key
from tidelog.kernels.registers import copy_head
from tidelog.kernels.sets import full, insert_batch, same_row
from tidelog.kernels.slots import may_name, slot_of
from tidelog.kernels.words import (
    HIGH,
    LOW,
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
)

_FEW = 1_024
"""So many rows come out of the frontier together, whatever their costs."""
UNREAD = 0
"""The birth of a row that waits, because it is new or has become better."""
_UNCOUNTED = 1 << 62
_ENTRIES = (CHUNK - 2) // 2
_AHEAD = 8


# --- the frontier ----------------------------------------------------------------------------------------------------


@kernel
def bucket_of(value, least):
    """Return the number of the bucket for a cost."""
    bits, rest = 0, value ^ least
    if rest < 0:
        return BUCKETS - 1
    for shift in (32, 16, 8, 4, 2, 1):
        if rest >> shift != 0:
            bits += shift
            rest >>= shift
    return bits + (rest != 0)


@kernel
def put(queue, value, what, bucket):
    """Put an entry behind the last one of a bucket; there is room."""
    at, chunks = queue + 8 * (F_BUCKET + 3 * bucket), load64(queue, F_CHUNKS)
    last = load64(at, 1) - 1
    if load64(at, 0) == 0 or load64(chunks, CHUNK * last + 1) == _ENTRIES:
        chunk = load64(queue, F_FREE) - 1
        if chunk >= 0:
            store64(queue, F_FREE, load64(chunks, CHUNK * chunk))
            store64(queue, F_FREED, load64(queue, F_FREED) - 1)
        else:
            chunk = load64(queue, F_USED)
            store64(queue, F_USED, chunk + 1)
        store64(chunks, CHUNK * chunk, 0)
        store64(chunks, CHUNK * chunk + 1, 0)
        if load64(at, 0) == 0:
            store64(at, 0, chunk + 1)
        else:
            store64(chunks, CHUNK * last, chunk + 1)
        store64(at, 1, chunk + 1)
        last = chunk
    n = load64(chunks, CHUNK * last + 1)
    store64(chunks, CHUNK * last + 2 + 2 * n, value)
    store64(chunks, CHUNK * last + 3 + 2 * n, what)
    store64(chunks, CHUNK * last + 1, n + 1)
    store64(at, 2, load64(at, 2) + 1)


@kernel
def free(queue, chunk):
    """Let a chunk be free again; return the number of the next one + 1."""
    at = load64(queue, F_CHUNKS) + 8 * CHUNK * chunk
    following = load64(at, 0)
    store64(at, 0, load64(queue, F_FREE))
    store64(queue, F_FREE, chunk + 1)
    store64(queue, F_FREED, load64(queue, F_FREED) + 1)
    return following


@kernel
def push(queue, value, what):
    """Let a row wait; there is room for it."""
    least = load64(queue, F_LEAST)
    store64(queue, F_BETTER, load64(queue, F_BETTER) + 1)
    if value < least:
        store64(queue, F_TURNS, 1)
    put(queue, value, what, 0 if load64(queue, F_TURNS) else bucket_of(value, least))


@kernel
def crowded(queue, more):
    """Return True if there may be no room for `more` rows, with a chunk for each bucket to spare."""
    need = 2 * BUCKETS + more // _ENTRIES + 1
    return load64(queue, F_USED) - load64(queue, F_FREED) + need > load64(queue, F_ROOM)


@kernel
def fill_first(queue):
    """Fill the first bucket, which is empty, with the cheapest rows. Return False if none waits."""
    bucket, chunks = 1, load64(queue, F_CHUNKS)
    while bucket < BUCKETS and load64(queue, F_BUCKET + 3 * bucket) == 0:
        bucket += 1
    if bucket == BUCKETS:
        return False
    at = queue + 8 * (F_BUCKET + 3 * bucket)
    few = load64(at, 2) <= _FEW or load64(queue, F_TURNS) == 1
    chunk = load64(at, 0)
    for field in range(3):
        store64(at, field, 0)
    least, scanned = load64(chunks, CHUNK * (chunk - 1) + 2), chunk
    while scanned != 0:
        entries = chunks + 8 * CHUNK * (scanned - 1)
        for e in range(load64(entries, 1)):
            least = min(least, load64(entries, 2 + 2 * e))
        scanned = load64(entries, 0)
    store64(queue, F_LEAST, least)
    while chunk != 0:
        entries = chunks + 8 * CHUNK * (chunk - 1)
        for e in range(load64(entries, 1)):
            value = load64(entries, 2 + 2 * e)
            put(queue, value, load64(entries, 3 + 2 * e), 0 if few else bucket_of(value, least))
        chunk = free(queue, chunk - 1)
    return True


@kernel
def take(D, relations, selections, fronts, queue, w):
    """Copy the cheapest rows to the relations in `fronts` that plans read, for which there is room; return False if
    none waits. Each is born in this round, and counts the derivations that were found before. A row that has become
    better than its entry says waits elsewhere; one that has been read as it is waits no more."""
    if load64(queue, F_BUCKET) == 0 and not fill_first(queue):
        return False
    chunk = load64(queue, F_BUCKET)
    entries = load64(queue, F_CHUNKS) + 8 * CHUNK * (chunk - 1)
    n = load64(entries, 1)
    for e in range(n):
        if e + _AHEAD < n:
            what = load64(entries, 3 + 2 * (e + _AHEAD))
            relation = relations[what >> 32]
            prefetch(address_of(D, relation, what & LOW, w))
            prefetch(birth_of(D, relation, what & LOW, w))
            prefetch(support_of(D, relation, what & LOW, w))
            prefetch(D[relation, R_COUNT] + 4 * (what & LOW))
        what = load64(entries, 3 + 2 * e)
        i, r = what >> 32, what & LOW
        relation, front = relations[i], fronts[i]
        row, k, m = address_of(D, relation, r, w), D[front, R_ARITY], D[front, R_N]
        if load32(birth_of(D, relation, r, w), 0) != UNREAD:
            continue
        if selections[i] == 0 or cost(selections[i], 0, row, w) == load64(entries, 2 + 2 * e):
            for j in range(k):
                store(D[front, R_ROWS], m * k + j, load(row, j, w), w)
            D[front, R_N] = m + 1
            store32(birth_of(D, relation, r, w), 0, load64(queue, F_ROUND))
            store32(D[relation, R_COUNT], r, load32(support_of(D, relation, r, w), 0))
    store64(queue, F_BUCKET, free(queue, chunk - 1))
    return True


# --- the best rows ---------------------------------------------------------------------------------------------------


@kernel
def note_stale(D, stale, relation, r, w):
    """Note a row with its birth that has been read and gives way to a better one; there is room."""
    k, m, row = D[stale, R_ARITY], D[stale, R_N], address_of(D, relation, r, w)
    for j in range(k):
        store(D[stale, R_ROWS], m * k + j, load(row, j, w), w)
    store32(D[stale, R_BIRTH], m, load32(birth_of(D, relation, r, w), 0))
    D[stale, R_N] = m + 1


@kernel
def add_support(support, more):
    """Add derivations to those of a row, at the address of their number, as far as they are counted."""
    store32(support, 0, min(load32(support, 0) + more, MOST_COUNTED))


@kernel
def keep_beaten(D, candidates, buffer, m, weights, w):
    """Insert `m` rows of `buffer`, for which there is room, with as many derivations as the int64 array at `weights`
    says, which is overwritten."""
    k, slots, mask = D[candidates, R_ARITY], D[candidates, R_SLOTS], D[candidates, R_MASK]
    rows, supports = D[candidates, R_ROWS], D[candidates, R_SUPPORT]
    for i in range(m):
        h = hash_row(buffer, i, k, w)
        store64(weights, i, (h & HIGH) | load64(weights, i))
        prefetch(slots + ((h >> 32) & mask) * 4)
    for i in range(m if m > 2 else 0):
        prefetch_words(D, candidates, load64(weights, i), w)
    for i in range(m):
        h, n = load64(weights, i), D[candidates, R_N]
        s = (h >> 32) & mask
        while True:
            v = load32(slots, s)
            if v == 0:
                store32(slots, s, slot_of(n, h, mask))
                for j in range(k):
                    store(rows, n * k + j, load(buffer, i * k + j, w), w)
                store32(D[candidates, R_COUNT], n, 1)
                store32(supports, n, h & LOW)
                D[candidates, R_N] += 1
                D[candidates, R_USED] += 1
                break
            if may_name(v, h, mask) and same_row(rows, (v & mask) - 1, buffer, i, k, w):
                add_support(supports + 4 * ((v & mask) - 1), h & LOW)
                break
            s = (s + 1) & mask


@kernel
def offer(D, relation, place, sel, queue, buffer, n, hashes, w):
    """Offer `n` rows of `buffer`, which is overwritten, to a relation, for which there is room: those that are new, or
    better than the row of their key, wait. The others are kept as candidates, if X_CANDIDATES names a relation, and
    so are rows that give way to better ones. `place` is that of the relation among all, `sel` its selection, 0 where it
    shows every row."""
    if sel == 0:
        before = D[relation, R_N]
        insert_batch(D, relation, buffer, n, _UNCOUNTED, hashes, w)
        for r in range(before, D[relation, R_N]):
            push(queue, load64(queue, F_LEAST), r | place << 32)
        return
    k = own_arity(D, relation)
    for i in range(n):
        h = hash_of_key(sel, row_at(buffer, i, k, w), w)
        store64(hashes, i, h)
        prefetch_slot(D, relation, h)
    for i in range(n if n > 2 else 0):
        prefetch_words(D, relation, load64(hashes, i), w)
    beaten, candidates = 0, load64(sel, X_CANDIDATES)
    for i in range(n):
        h, row, weight, better = load64(hashes, i), row_at(buffer, i, k, w), 0, True
        r, slot = row_of_key(D, sel, relation, row, h, w)
        if r < 0:
            r = D[relation, R_N]
            store32(D[relation, R_SLOTS], slot, slot_of(r, h, D[relation, R_MASK]))
            store32(D[relation, R_COUNT], r, 1)
            D[relation, R_N] += 1
            D[relation, R_USED] += 1
        else:
            order = comparison(sel, row, address_of(D, relation, r, w), w)
            if order == 0:
                add_support(support_of(D, relation, r, w), 1)
                continue
            better = order < 0
            weight = load32(support_of(D, relation, r, w), 0) if better else 1
            if better and candidates >= 0 and load32(birth_of(D, relation, r, w), 0) != UNREAD:
                note_stale(D, load64(sel, X_STALE), relation, r, w)
        best = address_of(D, relation, r, w)
        for j in range(k):
            value = load(row, j, w)
            if weight > 0:
                store(buffer, beaten * k + j, load(best, j, w) if better else value, w)
            if better:
                store(best, j, value, w)
        if better:
            store32(birth_of(D, relation, r, w), 0, UNREAD)
            store32(support_of(D, relation, r, w), 0, 1)
            push(queue, cost(sel, 0, best, w), r | place << 32)
        if weight > 0:
            store64(hashes, beaten, weight)
            beaten += 1
    if candidates >= 0:
        keep_beaten(D, candidates, buffer, beaten, hashes, w)


@kernel
def lacks_room(D, relation, sel, n):
    """Return the number of the relation that has to grow before `n` rows are offered, -1 if there is room."""
    if full(D, relation, n):
        return relation
    if sel != 0 and load64(sel, X_CANDIDATES) >= 0:
        if full(D, load64(sel, X_CANDIDATES), n):
            return load64(sel, X_CANDIDATES)
        if full(D, load64(sel, X_STALE), n):
            return load64(sel, X_STALE)
    return -1


@kernel
def offer_rows(D, relation, place, sel, queue, buffer, start, m, hashes, w):
    """Offer rows `start` to `m` of `buffer`, which is overwritten. Return where it stopped because memory has to grow
    first. `hashes` is an address of int64[256]."""
    while start < m:
        b = min(256, m - start)
        if lacks_room(D, relation, sel, b) >= 0 or crowded(queue, b):
            break
        offer(D, relation, place, sel, queue, row_at(buffer, start, own_arity(D, relation), w), b, hashes, w)
        start += b
    return start


@kernel
def place_of(relations, relation):
    """Return the place of a relation among others."""
    place = 0
    while relations[place] != relation:
        place += 1
    return place


@kernel
def most_rows(D, relations):
    """Return the number of rows of the largest of some relations."""
    most = 0
    for i in range(len(relations)):
        most = max(most, D[relations[i], R_N])
    return most


@kernel
def run_search(
    D, plans, relations, indexes, node, st, fronts, selections, queue, once, registers, scratch, buffer, hashes, size, w
):
    """Run `plans` over the rows of `fronts`, until none waits in the frontier, or `once` over everything.

    `relations` have the rows in `fronts` (numbers of relations) before, `selections` (addresses, 0 without a selection)
    say which of them select. Returns DONE, or a status with the object concerned in node[N_OBJECT]; call again with the
    same arrays to continue.
    """
    while True:
        if node[N_PHASE] == 0:
            while node[N_POSITION] < len(indexes):
                index = indexes[node[N_POSITION]]
                high = D[D[index, I_RELATION], R_N]
                if D[index, I_DONE] < high:
                    status = extend(D, index, high, hashes, w)
                    if status != DONE:
                        node[N_OBJECT] = index
                        return status
                node[N_POSITION] += 1
            for i in range(len(relations)):
                D[relations[i], R_NEW] = D[relations[i], R_N]
                D[fronts[i], R_N] = 0
            if not once:
                store64(queue, F_ROUND, load64(queue, F_ROUND) + 1)
                if not take(D, relations, selections, fronts, queue, w):
                    return DONE
                while load64(queue, F_BUCKET) != 0 and most_rows(D, fronts) + _ENTRIES <= size:
                    take(D, relations, selections, fronts, queue, w)
            for i in range(len(relations)):
                D[fronts[i], R_NEW] = D[fronts[i], R_N]
            node[N_PHASE], node[N_POSITION], node[N_INSIDE] = 1, 0, 0
        while node[N_POSITION] < len(plans):
            plan = plans[node[N_POSITION]]
            if node[N_INSIDE] == 0:
                low, high = bounds(D[load64(plan, P_SOURCE)], load64(plan, P_VERSION))
                if low == high:
                    node[N_POSITION] += 1
                    continue
                begin(D, plan, st)
                begin_counting(D, plan, st)
                node[N_INSIDE] = 1
            while node[N_INSIDE] == 1:
                head = load64(plan, P_HEAD)
                place = place_of(relations, head)
                node[N_OBJECT] = lacks_room(D, head, selections[place], size)
                if node[N_OBJECT] >= 0:
                    return GROW_RELATION
                if crowded(queue, size):
                    return GROW_LOG
                status, n = step(D, plan, st, registers, scratch, size, w)
                if status != DONE:
                    return status
                if n == 0:
                    node[N_INSIDE] = 0
                else:
                    copy_head(plan, own_arity(D, head), n, registers, buffer, size, w)
                    offer(D, head, place, selections[place], queue, buffer, n, hashes, w)
            node[N_POSITION] += 1
        node[N_PHASE], node[N_POSITION] = 0, 0
        if once:
            return DONE
