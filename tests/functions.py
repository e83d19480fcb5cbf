"""Functions of functors that other processes import: pure ones, some that raise, and some that misbehave."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from typing import Any

import numpy

import tidelog


@tidelog.functor("number, number -> number")
def scaled(x: int, by: int) -> int | None:
    return None if x == 3 else x * by


@tidelog.functor("number -> number", vectorized=True)
def doubled(x: Any) -> Any:
    return numpy.asarray(x) * 2


@tidelog.functor("number, symbol -> symbol")
def label(x: int, text: str) -> str:
    return f"{text}{x}"


@tidelog.functor("symbol -> symbol")
def letters(text: str) -> Iterator[str | None]:
    yield from text
    yield None
    yield text[:1]


@tidelog.functor("number -> number")
def divisors(x: int) -> Iterator[int]:
    for each in range(1, abs(x) + 1):
        if x % each == 0:
            yield each


@tidelog.functor("number -> number", vectorized=True, remember=False)
def folded(x: Any) -> list[int | None]:
    return [None if each % 4 == 3 else (2 * each + 1) % 7 for each in x.tolist()]


@tidelog.functor("number, symbol -> Pair")
def pair(x: int, text: str) -> tuple[int, str] | None:
    return (x, text * 2) if x >= 0 else None


@tidelog.functor("Pair -> number")
def first(pair: tuple[int, str] | None) -> int | None:
    return pair[0] if pair is not None else None


def without(state: int, x: int) -> int:
    return state - x


@tidelog.aggregate("number -> number", init=0, inverse=without)
def total(state: int, x: int) -> int:
    return state + x


@tidelog.functor("number, number -> number")
def plus(state: int, x: int) -> int:
    return state + x


def half(state: tuple[int, int]) -> float | None:
    return state[0] / state[1] if state[1] else None


def together(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    return one[0] + other[0], one[1] + other[1]


@tidelog.aggregate("number, number -> float", init=(0, 0), merge=together, finish=half)
def mean_by(state: tuple[int, int], x: int, weight: int) -> tuple[int, int]:
    return state[0] + x * weight, state[1] + weight


@tidelog.aggregate("symbol -> symbol", init=str, merge=max)
def last(state: str, text: str) -> str:
    return max(state, text)


@tidelog.aggregate("symbol -> symbol", init=str)
def joined(state: str, text: str) -> str:
    return f"{state}{text}"[:12]


@tidelog.aggregate("Pair -> number", init=0)
def firsts(state: int, pair: tuple[int, str] | None) -> int:
    return state + (pair[0] if pair is not None else 100)


def failing(x: int) -> int:
    if x == 13:
        raise ValueError("no luck")
    return x + 1


def leaving(x: int) -> int:
    if x == 13:
        sys.exit("no luck")
    return x + 1


RANDOM = random.Random(5)


def fickle(x: int) -> int:
    """Another value at each call."""
    return RANDOM.randrange(1_000_000)


def fickle_symbols(x: int) -> Iterator[str]:
    """Other values at each call."""
    for _ in range(RANDOM.randrange(1, 4)):
        yield f"{x}-{RANDOM.randrange(1_000_000)}"


class Holder:
    def method(self, x: int) -> int:
        return x
