"""Counts of plans for a profile: bindings level by level, and the time of some of the runs of a level.

To read the clock costs as much as a few bindings. So a plan takes the time of its whole runs, and of one level in
about sixteen, at random: a fixed stride would always meet the same levels of a plan.
"""
# mypy: disable-error-code="no-untyped-def"

from tidelog.kernels.layout import (
    K_BEGAN,
    K_BORN,
    K_DIED,
    K_LEVELS,
    K_MADE,
    K_NEXT,
    K_RANDOM,
    K_ROWS,
    K_RUNS,
    K_SAMPLED,
    K_SECONDS,
    K_SPENT,
    K_TRIED,
    P_COUNTS,
    P_HEAD,
    R_IN_N,
    R_N,
    R_OUT_N,
    S_COUNTS,
)
from tidelog.kernels.words import clock, kernel, load64, store64


@kernel
def add(counts, field, value):
    """Add to a count."""
    store64(counts, field, load64(counts, field) + value)


@kernel
def begin_counting(D, plan, st):
    """Note that a run of a plan begins, if the plan is counted."""
    counts = load64(plan, P_COUNTS)
    st[S_COUNTS] = counts
    if counts != 0:
        head = load64(plan, P_HEAD)
        add(counts, K_RUNS, 1)
        add(counts, K_ROWS, -D[head, R_N])
        add(counts, K_BORN, -D[head, R_IN_N])
        add(counts, K_DIED, -D[head, R_OUT_N])
        store64(counts, K_BEGAN, clock())


@kernel
def end_counting(D, plan, counts):
    """Note that the run under way has ended."""
    head = load64(plan, P_HEAD)
    add(counts, K_SECONDS, clock() - load64(counts, K_BEGAN))
    store64(counts, K_BEGAN, 0)
    add(counts, K_ROWS, D[head, R_N])
    add(counts, K_BORN, D[head, R_IN_N])
    add(counts, K_DIED, D[head, R_OUT_N])


@kernel
def time_of_sample(counts):
    """Return the time if that of the level which runs now is to be taken, else 0."""
    left = load64(counts, K_NEXT) - 1
    store64(counts, K_NEXT, left)
    if left > 0:
        return 0
    random = (load64(counts, K_RANDOM) * 1103515245 + 12345) & 0x7FFFFFFF
    store64(counts, K_RANDOM, random)
    store64(counts, K_NEXT, 1 + ((random >> 16) & 31))
    return clock()


@kernel
def count_level(counts, depth, tried, made, began):
    """Count what a level has done since `began`, a time or 0."""
    at = K_LEVELS + 4 * depth
    add(counts, at + K_TRIED, tried)
    add(counts, at + K_MADE, made)
    if began != 0:
        add(counts, at + K_SAMPLED, tried + made)
        add(counts, at + K_SPENT, clock() - began)
