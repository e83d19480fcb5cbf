"""Relations that show a selection of their candidates, round by round.

A selection is a block of int64 words: the relation that is shown and that of the candidates, which have the same
columns; an index on each by the columns that competing tuples share; and the orders (`orders`). Between the rounds of
an update (`changes`), shown rows whose candidates died die as well, and new candidates that no shown row beats are
shown. A row that is beaten stays shown until nothing is born any more: its derivations are right, only not the best.
Then `demote` lets it die, and the next update of the hyper-node begins.

Where a search (`frontier`) has found the best rows before, these are shown as soon as they are born, and no others.

Nobody reads a candidate that is not shown. So when one takes the place of a row that died, it gets a new birth, and all
of its derivations count.
"""
# mypy: disable-error-code="no-untyped-def"

from tidelog.kernels.changes import bear, lacks_plans, lists_full, note, run_changes, shift_lists
from tidelog.kernels.indexes import HEADER, extend, find_segment, hash_key
from tidelog.kernels.layout import (
    DONE,
    GROW_LISTS,
    GROW_RELATION,
    I_ARENA,
    I_DONE,
    I_KEYS,
    I_PAYLOADS,
    I_SLOTS,
    MOST_COUNTED,
    N_CURSOR,
    N_OBJECT,
    N_PART,
    N_ROUND,
    N_SELECTION,
    N_STAGE,
    R_ARITY,
    R_BIRTH,
    R_COUNT,
    R_IN,
    R_IN_HIGH,
    R_IN_N,
    R_MASK,
    R_N,
    R_OUT,
    R_OUT_HIGH,
    R_OUT_N,
    R_ROWS,
    R_SLOTS,
    R_SUPPORT,
    R_USED,
    REPLAN,
    S_ROUND,
    X_BEST,
    X_BORN,
    X_CANDIDATES,
    X_DIED,
    X_FRONT,
    X_INDEX,
    X_OFFERS,
    X_SHOWN,
)
from tidelog.kernels.marked import address_of
from tidelog.kernels.orders import beats, hash_of_key, prefetch_slot, prefetch_words, row_of_key
from tidelog.kernels.sets import find_slot, full, same_row
from tidelog.kernels.slots import put_row
from tidelog.kernels.words import LOW, hash_row, kernel, load, load32, load64, row_at, store, store32, store64


@kernel
def segment(D, index, rows, r, k, w):
    """Return (first entry, entries) of the segment for the key of row `r` of `rows`."""
    slot = find_segment(D, index, rows, r, k, hash_key(D, index, rows, r, k, w), w)
    v = load64(D[index, I_SLOTS], slot)
    if v == 0:
        return 0, 0
    offset = (v & LOW) - 1
    return offset + HEADER + D[index, I_KEYS], load(D[index, I_ARENA], offset, w)


@kernel
def row_like(D, relation, rows, r, k, w):
    """Return the number of the row, dead or alive, that is row `r` of `rows`, or -1."""
    s = find_slot(D, relation, rows, r, hash_row(rows, r, k, w), w)
    return (load32(D[relation, R_SLOTS], s) & D[relation, R_MASK]) - 1 if s >= 0 else -1


@kernel
def beaten(D, sel, rows, r, k, w):
    """Return True if a shown row beats row `r` of `rows`."""
    shown, index = load64(sel, X_SHOWN), load64(sel, X_INDEX)
    first, entries = segment(D, index, rows, r, k, w)
    stride, row = 1 + D[index, I_PAYLOADS], row_at(rows, r, k, w)
    for e in range(entries):
        other = load(D[index, I_ARENA], first + e * stride, w)
        alive = other >= 0 and load32(D[shown, R_COUNT], other) > 0
        if alive and beats(sel, address_of(D, shown, other, w), row, w):
            return True
    return False


@kernel
def show(D, sel, r, current, w):
    """Show candidate `r` from the next round on, if it is not shown; there is room. One that was there before gets this
    round as birth, and all of its derivations count."""
    shown, candidates = load64(sel, X_SHOWN), load64(sel, X_CANDIDATES)
    k, rows = D[shown, R_ARITY], D[candidates, R_ROWS]
    found = row_like(D, shown, rows, r, k, w)
    if found >= 0 and load32(D[shown, R_COUNT], found) > 0:
        return
    if load32(D[candidates, R_BIRTH], r) != current:
        note(D, candidates, r)
        store32(D[candidates, R_BIRTH], r, current)
        store32(D[candidates, R_COUNT], r, load32(D[candidates, R_SUPPORT], r) & MOST_COUNTED)
    if found < 0:
        found = D[shown, R_N]
        put_row(D[shown, R_SLOTS], D[shown, R_MASK], found, hash_row(rows, r, k, w))
        for j in range(k):
            store(D[shown, R_ROWS], found * k + j, load(rows, r * k + j, w), w)
        D[shown, R_N] += 1
        D[shown, R_USED] += 1
    bear(D, shown, found, 1, current)


@kernel
def hide(D, shown, r, current):
    """Let a shown row die in the next round."""
    note(D, shown, r)
    store32(D[shown, R_COUNT], r, -(current + 1))
    store64(D[shown, R_OUT], D[shown, R_OUT_N], r)
    D[shown, R_OUT_N] += 1


@kernel
def is_best(D, sel, r, w):
    """Return True if no live candidate beats candidate `r`, which is alive."""
    candidates, index = load64(sel, X_CANDIDATES), load64(sel, X_OFFERS)
    k, rows, counts = D[candidates, R_ARITY], D[candidates, R_ROWS], D[candidates, R_COUNT]
    first, entries = segment(D, index, rows, r, k, w)
    stride, row = 1 + D[index, I_PAYLOADS], row_at(rows, r, k, w)
    for e in range(entries):
        other = load(D[index, I_ARENA], first + e * stride, w)
        if other >= 0 and load32(counts, other) > 0 and beats(sel, row_at(rows, other, k, w), row, w):
            return False
    return True


@kernel
def replace(D, sel, gone, current, w):
    """Show the best live candidates with the key of row `gone`, which is shown no more: one, or those of a front that
    can be shown before the lists are full. Return True if all are shown."""
    shown, candidates, index = load64(sel, X_SHOWN), load64(sel, X_CANDIDATES), load64(sel, X_OFFERS)
    k, rows, counts = D[shown, R_ARITY], D[candidates, R_ROWS], D[candidates, R_COUNT]
    first, entries = segment(D, index, D[shown, R_ROWS], gone, k, w)
    stride, best = 1 + D[index, I_PAYLOADS], -1
    for e in range(entries):
        r = load(D[index, I_ARENA], first + e * stride, w)
        if r < 0 or load32(counts, r) <= 0:
            continue
        if load64(sel, X_FRONT) == 0:
            if best < 0 or beats(sel, row_at(rows, r, k, w), row_at(rows, best, k, w), w):
                best = r
        elif is_best(D, sel, r, w):
            if full(D, shown, 1) or lists_full(D, shown, 1) or lists_full(D, candidates, 1):
                return False
            show(D, sel, r, current, w)
    if best >= 0:
        show(D, sel, best, current, w)
    return True


@kernel
def no_room(D, sel, node):
    """Return the status that asks for room for one more shown row, DONE if there is."""
    shown, candidates = load64(sel, X_SHOWN), load64(sel, X_CANDIDATES)
    node[N_OBJECT] = shown
    if full(D, shown, 1):
        return GROW_RELATION
    if lists_full(D, shown, 1):
        return GROW_LISTS
    node[N_OBJECT] = candidates
    return GROW_LISTS if lists_full(D, candidates, 1) else DONE


@kernel
def entered(D, index, relation, node, hashes, w):
    """Bring an index up to date, or return the status that says what has to grow."""
    if D[index, I_DONE] < D[relation, R_N]:
        status = extend(D, index, D[relation, R_N], hashes, w)
        node[N_OBJECT] = index
        return status
    return DONE


@kernel
def up_to_date(D, sel, node, hashes, w):
    """Bring both indexes of a selection up to date, or return the status that says what has to grow."""
    status = entered(D, load64(sel, X_INDEX), load64(sel, X_SHOWN), node, hashes, w)
    if status != DONE:
        return status
    return entered(D, load64(sel, X_OFFERS), load64(sel, X_CANDIDATES), node, hashes, w)


@kernel
def lose_shown(D, sel, node, st, w):
    """Let the shown rows die whose candidates died in this round; DONE or what has to grow."""
    shown, candidates = load64(sel, X_SHOWN), load64(sel, X_CANDIDATES)
    k = D[shown, R_ARITY]
    while D[candidates, R_OUT_HIGH] + node[N_CURSOR] < D[candidates, R_OUT_N]:
        status = no_room(D, sel, node)
        if status != DONE:
            return status
        r = load64(D[candidates, R_OUT], D[candidates, R_OUT_HIGH] + node[N_CURSOR])
        found = row_like(D, shown, D[candidates, R_ROWS], r, k, w)
        node[N_CURSOR] += 1
        if found >= 0 and load32(D[shown, R_COUNT], found) > 0:
            hide(D, shown, found, st[S_ROUND])
    return DONE


@kernel
def show_others(D, sel, node, st, hashes, w):
    """Show the best candidates of the keys that have lost shown rows since X_DIED; DONE or what has to grow."""
    shown = load64(sel, X_SHOWN)
    while load64(sel, X_DIED) + node[N_CURSOR] < D[shown, R_OUT_N]:
        status = up_to_date(D, sel, node, hashes, w)
        if status == DONE:
            status = no_room(D, sel, node)
        if status != DONE:
            return status
        gone = load64(D[shown, R_OUT], load64(sel, X_DIED) + node[N_CURSOR])
        if not replace(D, sel, gone, st[S_ROUND], w):
            continue
        node[N_CURSOR] += 1
    return DONE


@kernel
def show_born(D, sel, node, st, hashes, w):
    """Show the candidates born in this round that no shown row beats; DONE or what has to grow."""
    candidates = load64(sel, X_CANDIDATES)
    k = D[candidates, R_ARITY]
    while D[candidates, R_IN_HIGH] + node[N_CURSOR] < D[candidates, R_IN_N]:
        status = up_to_date(D, sel, node, hashes, w)
        if status == DONE:
            status = no_room(D, sel, node)
        if status != DONE:
            return status
        r = load64(D[candidates, R_IN], D[candidates, R_IN_HIGH] + node[N_CURSOR])
        node[N_CURSOR] += 1
        if not beaten(D, sel, D[candidates, R_ROWS], r, k, w):
            show(D, sel, r, st[S_ROUND], w)
    return DONE


@kernel
def show_best(D, sel, node, st, w):
    """Show the candidates born in this round that are the best of all rounds; DONE or what has to grow."""
    candidates, best = load64(sel, X_CANDIDATES), load64(sel, X_BEST)
    k, first, end = D[candidates, R_ARITY], D[candidates, R_IN_HIGH], D[candidates, R_IN_N]
    rows, born = D[candidates, R_ROWS], D[candidates, R_IN]
    while first + node[N_CURSOR] < end:
        status = no_room(D, sel, node)
        if status != DONE:
            return status
        at = first + node[N_CURSOR]
        if at + 16 < end:
            prefetch_slot(D, best, hash_of_key(sel, row_at(rows, load64(born, at + 16), k, w), w))
        if at + 8 < end:
            prefetch_words(D, best, hash_of_key(sel, row_at(rows, load64(born, at + 8), k, w), w), w)
        r = load64(born, at)
        node[N_CURSOR] += 1
        row = row_at(rows, r, k, w)
        other, _ = row_of_key(D, sel, best, row, hash_of_key(sel, row, w), w)
        if other >= 0 and same_row(row, 0, address_of(D, best, other, w), 0, k, w):
            show(D, sel, r, st[S_ROUND], w)
    return DONE


@kernel
def select_round(D, selections, node, st, inserting, hashes, w):
    """Let what is shown follow the round that has just run; DONE or what has to grow."""
    while node[N_SELECTION] < len(selections):
        sel = selections[node[N_SELECTION]]
        if not inserting:
            status = lose_shown(D, sel, node, st, w)
            if status != DONE:
                return status
        if inserting and node[N_PART] == 0:
            if node[N_ROUND] == 0 and load64(sel, X_BEST) < 0:
                status = show_others(D, sel, node, st, hashes, w)
                if status != DONE:
                    return status
            node[N_PART], node[N_CURSOR] = 1, 0
        if inserting:
            if load64(sel, X_BEST) >= 0:
                status = show_best(D, sel, node, st, w)
            else:
                status = show_born(D, sel, node, st, hashes, w)
            if status != DONE:
                return status
        node[N_SELECTION] += 1
        node[N_PART], node[N_CURSOR] = 0, 0
    node[N_SELECTION] = 0
    return DONE


@kernel
def run_selections(
    D, plans, relations, indexes, node, st, selections, inserting, registers, scratch, buffer, hashes, size, w
):
    """Run `plans` round by round, see `run_changes`, and let what is shown by `selections` (addresses) follow each
    round."""
    while True:
        if node[N_STAGE] == 0:
            status = run_changes(
                D, plans, relations, indexes, node, st, inserting, True, registers, scratch, buffer, hashes, size, w
            )
            if status != DONE:
                return status
            node[N_STAGE] = 1
        status = select_round(D, selections, node, st, inserting, hashes, w)
        if status != DONE:
            return status
        node[N_STAGE] = 0
        node[N_ROUND] += 1
        st[S_ROUND] += 1
        if not shift_lists(D, relations):
            return DONE
        if lacks_plans(D, relations, inserting):
            return REPLAN


@kernel
def demote(D, plans, relations, indexes, node, st, selections, registers, scratch, buffer, hashes, size, w):
    """Let the shown rows die that a row shown since X_BORN beats, in the round behind st[S_ROUND]; DONE or what has to
    grow. Only `selections` and `node` matter of the others."""
    while node[N_SELECTION] < len(selections):
        sel = selections[node[N_SELECTION]]
        shown, index = load64(sel, X_SHOWN), load64(sel, X_INDEX)
        k, rows, counts = D[shown, R_ARITY], D[shown, R_ROWS], D[shown, R_COUNT]
        stride = 1 + D[index, I_PAYLOADS]
        while load64(sel, X_BORN) + node[N_CURSOR] < D[shown, R_IN_N]:
            status = up_to_date(D, sel, node, hashes, w)
            if status != DONE:
                return status
            r = load64(D[shown, R_IN], load64(sel, X_BORN) + node[N_CURSOR])
            first, entries = segment(D, index, rows, r, k, w)
            row = row_at(rows, r, k, w)
            for e in range(entries if load32(counts, r) > 0 else 0):
                other = load(D[index, I_ARENA], first + e * stride, w)
                if other >= 0 and load32(counts, other) > 0 and beats(sel, row, row_at(rows, other, k, w), w):
                    if lists_full(D, shown, 1):
                        node[N_OBJECT] = shown
                        return GROW_LISTS
                    hide(D, shown, other, st[S_ROUND])
            node[N_CURSOR] += 1
        node[N_SELECTION] += 1
        node[N_CURSOR] = 0
    return DONE
