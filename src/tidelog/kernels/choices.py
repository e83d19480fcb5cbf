"""Relations that choose among their candidates, round by round.

A choice is a block of int64 words: the relation that is shown and that of the candidates, as in `selections`, and the
domains. A domain is an index on the shown rows by its columns, the number of these columns, and the columns; of many
columns the index has the first ones only.

A row dies with its candidate, and nothing takes its place before all deaths and re-derivations are over. In an
insertion, candidates born in a round are shown in the order of their list, each that is free: no shown row agrees with
it in a domain. Nothing shown is ever demoted. Python puts the free candidates of a round in order, because that needs
the dictionary: the kernel returns ORDER for it.
"""
# mypy: disable-error-code="no-untyped-def"

from tidelog.kernels.changes import lacks_plans, run_changes, shift_lists
from tidelog.kernels.layout import (
    DONE,
    I_ARENA,
    I_PAYLOADS,
    N_CURSOR,
    N_FREE,
    N_PART,
    N_ROUND,
    N_SELECTION,
    N_STAGE,
    ORDER,
    R_ARITY,
    R_COUNT,
    R_IN,
    R_IN_HIGH,
    R_IN_N,
    R_ROWS,
    REPLAN,
    S_ROUND,
    X_CANDIDATES,
    X_DOMAIN,
    X_DOMAINS,
    X_SHOWN,
)
from tidelog.kernels.selections import entered, lose_shown, no_room, row_like, segment, show
from tidelog.kernels.words import kernel, load, load32, load64, store64


@kernel
def agree(choice, at, one_rows, one, other_rows, other, k, w):
    """Return True if two rows agree in all columns of the domain at word `at` of a choice."""
    for j in range(load64(choice, at + 1)):
        column = load64(choice, at + 2 + j)
        if load(one_rows, one * k + column, w) != load(other_rows, other * k + column, w):
            return False
    return True


@kernel
def taken(D, choice, rows, r, k, w):
    """Return True if a shown row agrees with row `r` of `rows` in a domain. The indexes are up to date."""
    shown, at = load64(choice, X_SHOWN), X_DOMAIN
    for _ in range(load64(choice, X_DOMAINS)):
        index = load64(choice, at)
        first, entries = segment(D, index, rows, r, k, w)
        stride = 1 + D[index, I_PAYLOADS]
        for e in range(entries):
            other = load(D[index, I_ARENA], first + e * stride, w)
            alive = other >= 0 and load32(D[shown, R_COUNT], other) > 0
            if alive and agree(choice, at, D[shown, R_ROWS], other, rows, r, k, w):
                return True
        at += 2 + load64(choice, at + 1)
    return False


@kernel
def domains_entered(D, choice, node, hashes, w):
    """Bring the indexes of all domains up to date, or return the status that says what has to grow."""
    shown, at = load64(choice, X_SHOWN), X_DOMAIN
    for _ in range(load64(choice, X_DOMAINS)):
        status = entered(D, load64(choice, at), shown, node, hashes, w)
        if status != DONE:
            return status
        at += 2 + load64(choice, at + 1)
    return DONE


@kernel
def gather(D, choice, former, w):
    """Move the candidates born in this round that are free to the front of their list, only those that were shown
    before if `former`; return how many."""
    shown, candidates = load64(choice, X_SHOWN), load64(choice, X_CANDIDATES)
    k, rows, born = D[candidates, R_ARITY], D[candidates, R_ROWS], D[candidates, R_IN]
    low = D[candidates, R_IN_HIGH]
    front = low
    for i in range(low, D[candidates, R_IN_N]):
        r = load64(born, i)
        wanted = not former or row_like(D, shown, rows, r, k, w) >= 0
        if wanted and not taken(D, choice, rows, r, k, w):
            store64(born, i, load64(born, front))
            store64(born, front, r)
            front += 1
    return front - low


@kernel
def show_free(D, choice, numbers, m, node, st, hashes, w):
    """Show the `m` candidates whose int64 numbers are at an address, in their order, each that is free; DONE or what
    has to grow."""
    candidates = load64(choice, X_CANDIDATES)
    while node[N_CURSOR] < m:
        status = domains_entered(D, choice, node, hashes, w)
        if status == DONE:
            status = no_room(D, choice, node)
        if status != DONE:
            return status
        r = load64(numbers, node[N_CURSOR])
        node[N_CURSOR] += 1
        if not taken(D, choice, D[candidates, R_ROWS], r, D[candidates, R_ARITY], w):
            show(D, choice, r, st[S_ROUND], w)
    return DONE


@kernel
def choose_round(D, choices, node, st, inserting, former, hashes, w):
    """Let what is shown follow the round that has just run; DONE, what has to grow, or ORDER: the first node[N_FREE]
    candidates born in this round want an order."""
    while node[N_SELECTION] < len(choices):
        choice = choices[node[N_SELECTION]]
        candidates = load64(choice, X_CANDIDATES)
        if inserting and node[N_PART] == 0:
            status = domains_entered(D, choice, node, hashes, w)
            if status != DONE:
                return status
            node[N_FREE] = gather(D, choice, former, w)
            node[N_PART] = 1
            if node[N_FREE] > 1 and not former:
                return ORDER
        if inserting:
            born = D[candidates, R_IN] + 8 * D[candidates, R_IN_HIGH]
            status = show_free(D, choice, born, node[N_FREE], node, st, hashes, w)
        else:
            status = lose_shown(D, choice, node, st, w)
        if status != DONE:
            return status
        node[N_SELECTION] += 1
        node[N_PART], node[N_CURSOR] = 0, 0
    node[N_SELECTION] = 0
    return DONE


@kernel
def run_choices(
    D, plans, relations, indexes, node, st, choices, inserting, former, registers, scratch, buffer, hashes, size, w
):
    """Run `plans` round by round, see `run_changes`, and let what is shown by `choices` (addresses) follow each round:
    only what was shown before, if `former`."""
    while True:
        if node[N_STAGE] == 0:
            status = run_changes(
                D, plans, relations, indexes, node, st, inserting, True, registers, scratch, buffer, hashes, size, w
            )
            if status != DONE:
                return status
            node[N_STAGE] = 1
        status = choose_round(D, choices, node, st, inserting, former, hashes, w)
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
def promote(
    D, plans, relations, indexes, node, st, choices, lists, lengths, registers, scratch, buffer, hashes, size, w
):
    """Show the candidates of `lists` (addresses of int64 numbers), one list for each choice, in their order, each that
    is free, as a round of its own; DONE, REPLAN if what is shown has readers without plans, or what has to grow.
    `plans` do not run."""
    while node[N_SELECTION] < len(choices):
        i = node[N_SELECTION]
        status = show_free(D, choices[i], lists[i], lengths[i], node, st, hashes, w)
        if status != DONE:
            return status
        node[N_SELECTION] += 1
        node[N_CURSOR] = 0
    st[S_ROUND] += 1
    shift_lists(D, relations)
    return REPLAN if lacks_plans(D, relations, True) else DONE
