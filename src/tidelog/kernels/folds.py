"""Folds over the pairs of a closure, by components: for each node the number or the sum of the nodes that it is paired
with, or the one of them whose word comes first.

`first` has for each component the fold of its members, `behind` the fold of the components that it reaches, or of those
that reach it. `second` is the member that is next where the first one is left out, because it is not paired with
itself. Words come in the order of `word ^ flip`. Components are folded when they are first needed; then they are
`known`.

A run of many components has whole blocks of BLOCK of them. A block has a place of its own in `first`, `behind` and
`known`, behind those of all components: so each node of a long chain reads a few hundred numbers, not all behind it.
"""
# mypy: disable-error-code="no-untyped-def, assignment"

import numpy

from tidelog.kernels.components import MEMBER
from tidelog.kernels.lists import LENGTH, START
from tidelog.kernels.runs import last_of, runs_of
from tidelog.kernels.words import kernel, load, stopped, wrap

COUNT, SUM, FIRST = numpy.arange(3)
"""The folds; the value of FIRST is the number of a node, -1 if there is no node."""
BLOCK = 128
"""Neighbouring components that are folded together, from a multiple of this on."""


@kernel
def fold_members(pool, lists, c, what, words, flip, first, second, known, w):
    """Fold the members of component c, unless that has been done."""
    if known[c] > 0:
        return
    known[c] = 1
    start, size = lists[MEMBER, c, START], lists[MEMBER, c, LENGTH]
    if what == COUNT:
        first[c] = size
        return
    a, b = -1, -1
    if what == SUM:
        a = 0
        for x in pool[start : start + size]:
            a = wrap(a + load(words, numpy.int64(x), w))
    else:
        least = next_least = 0
        for i in range(start, start + size):
            x = numpy.int64(pool[i])
            key = load(words, x, w) ^ flip
            if a < 0 or key < least:
                a, b, least, next_least = x, a, key, least
            elif b < 0 or key < next_least:
                b, next_least = x, key
    first[c], second[c] = a, b


@kernel
def joined(what, words, flip, a, b, w):
    """Return the fold of what two folds have folded."""
    if what != FIRST:
        return wrap(a + b)
    if a < 0 or (b >= 0 and load(words, b, w) ^ flip < load(words, a, w) ^ flip):
        return b
    return a


@kernel
def is_block(d, high):
    """Return True if a block begins at component d and ends at component `high` or before."""
    return d % BLOCK == 0 and d + BLOCK - 1 <= high


@kernel
def fold_block(pool, lists, block, place, what, words, flip, first, second, known, w):
    """Fold the components of a block, all of which there are, to its `place`, unless that has been done."""
    if known[place] > 0:
        return
    known[place] = 1
    value = -1 if what == FIRST else 0
    for d in range(block * BLOCK, block * BLOCK + BLOCK):
        fold_members(pool, lists, d, what, words, flip, first, second, known, w)
        value = joined(what, words, flip, value, first[d], w)
    first[place] = value


@kernel
def fold_ahead(pool, lists, components, at, limit, what, words, flip, first, second, behind, known, stop, w):
    """Fold `components` from position `at` on, and those that they reach, until more than `limit` numbers were read;
    returns the position."""
    steps, places = 0, lists.shape[1]
    while at < len(components) and steps <= limit and not stopped(stop):
        c = components[at]
        fold_members(pool, lists, c, what, words, flip, first, second, known, w)
        value = -1 if what == FIRST else 0
        i, end = runs_of(lists, c)
        while i < end:
            d = numpy.int64(pool[i])
            high, i = last_of(pool, i, end)
            while d <= high:
                if is_block(d, high):
                    place = places + d // BLOCK
                    fold_block(pool, lists, d // BLOCK, place, what, words, flip, first, second, known, w)
                    value = joined(what, words, flip, value, first[place], w)
                    d += BLOCK
                else:
                    fold_members(pool, lists, d, what, words, flip, first, second, known, w)
                    value = joined(what, words, flip, value, first[d], w)
                    d += 1
                steps += 1
        behind[c] = value
        steps += lists[MEMBER, c, LENGTH]
        at += 1
    return at


@kernel
def fold_behind(pool, lists, wanted, c, limit, what, words, flip, first, second, behind, known, stop, w):
    """Fold the components that reach those `wanted`, from component c on, until more than `limit` numbers were read;
    returns the next component."""
    steps, places = 0, lists.shape[1]
    while c < len(wanted) and steps <= limit and not stopped(stop):
        steps += 1
        if lists[MEMBER, c, LENGTH] > 0:
            fold_members(pool, lists, c, what, words, flip, first, second, known, w)
            i, end = runs_of(lists, c)
            while i < end:
                d = numpy.int64(pool[i])
                high, i = last_of(pool, i, end)
                while d <= high:
                    place, step = (places + d // BLOCK, BLOCK) if is_block(d, high) else (d, 1)
                    if step > 1 or wanted[d]:
                        behind[place] = joined(what, words, flip, behind[place], first[c], w)
                    d += step
                    steps += 1
            steps += lists[MEMBER, c, LENGTH]
        c += 1
    return c


@kernel
def fold_nodes(lists, component, loops, irreflexive, nodes, what, words, flip, first, second, behind, result, w):
    """Write the fold of the pairs of each node; of -1, which is no node, that of no pairs."""
    for i in range(len(nodes)):
        x = nodes[i]
        if x < 0:
            result[i] = -1 if what == FIRST else 0
            continue
        c = component[x]
        own = first[c]
        if loops[x] == 0 and (lists[MEMBER, c, LENGTH] == 1 or irreflexive):
            if what == COUNT:
                own -= 1
            elif what == SUM:
                own = wrap(own - load(words, x, w))
            elif own == x:
                own = second[c]
        others = joined(what, words, flip, behind[c], behind[lists.shape[1] + c // BLOCK], w)
        result[i] = joined(what, words, flip, others, own, w)


@kernel
def members_ahead(pool, lists, components, stamps, now, found):
    """Write the nodes of `components` and of those that they reach to `found`; returns how many."""
    n = 0
    for c in components:
        n = members_once(pool, lists, numpy.int64(c), stamps, now, found, n)
        i, end = runs_of(lists, c)
        while i < end:
            d = numpy.int64(pool[i])
            high, i = last_of(pool, i, end)
            while d <= high:
                place, step = (lists.shape[1] + d // BLOCK, BLOCK) if is_block(d, high) else (d, 1)
                if step > 1 and stamps[place] != now:
                    stamps[place] = now
                    for each in range(d, d + BLOCK):
                        n = members_once(pool, lists, each, stamps, now, found, n)
                elif step == 1:
                    n = members_once(pool, lists, d, stamps, now, found, n)
                d += step
    return n


@kernel
def members_once(pool, lists, c, stamps, now, found, n):
    """Write the nodes of c behind the first `n` of `found`, unless c is stamped; returns how many there are."""
    if stamps[c] != now:
        stamps[c] = now
        start = lists[MEMBER, c, START]
        for x in pool[start : start + lists[MEMBER, c, LENGTH]]:
            found[n] = x
            n += 1
    return n
