"""The functions of aggregates.dl, given with `--functors examples/constructs/aggregates.py`."""

import bisect

import tidelog


def removed(state: list[int], x: int) -> list[int]:
    """Take a member out of a sorted list."""
    del state[bisect.bisect_left(state, x)]
    return state


@tidelog.aggregate("number -> number", init=list, inverse=removed, finish=lambda state: state[len(state) * 95 // 100])
def p95(state: list[int], x: int) -> list[int]:
    """Put a member into a sorted list."""
    bisect.insort(state, x)
    return state


@tidelog.aggregate(
    "number, number -> float", init=(0, 0), finish=lambda state: state[0] / state[1] if state[1] else None
)
def mean_by(state: tuple[int, int], x: int, weight: int) -> tuple[int, int]:
    """Add a member to the weighted sum, and its weight to the sum of weights."""
    return state[0] + x * weight, state[1] + weight


@tidelog.functor("number, number -> number")
def worse(state: int, x: int) -> int:
    """Return the greater number."""
    return max(state, x)
