"""Write and read random rows until the time is up: `python -m tests.fuzz.files SECONDS [SEED]`.

Rows of all kinds of values go through all formats, and through the tables of libraries. Each comes back equal, or is
rejected at writing (E0414), and then comes back by what the hint says. A difference is shown with its seed, and ends
the run with exit code 1. Without a seed the clock gives one.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable
from typing import Any

from tests.fuzz.asked import asked, show
from tests.io.samples import BRANCHES, DARK, END, dictionary, relation, through_words
from tests.io.test_round_trips import EXACT, PIECES, PLAIN, back, rejection
from tidelog.io import encode
from tidelog.io.relation import Relation, WordRows

FLOATS = [0.0, 1.0, -1.5, 1e22, 1e-300, float("inf"), float("-inf"), 0.1, -1e-7, 123456789.125]
TABLES: list[Callable[[Relation], Any]] = [Relation.to_arrow, Relation.to_pandas, Relation.to_polars, list]
NUMBERS = [0, -1, 1, 11, 2**63 - 1, -(2**63)]


def makers(rng: random.Random) -> dict[str, Callable[[], Any]]:
    """Return a maker of random values for each kind of column."""

    def text() -> str:
        return "".join(rng.choices(PIECES, k=rng.randrange(4)))

    def pair() -> Any:
        return rng.choice([None, (rng.choice(NUMBERS), text())])

    def chain(depth: int = 0) -> Any:
        return None if rng.random() < 0.4 or depth > 3 else (text(), chain(depth + 1))

    def term(depth: int = 0) -> Any:
        leaves = [END, BRANCHES["Say"](text(), DARK), BRANCHES["Real"](rng.choice(FLOATS), rng.randrange(2**64))]
        return rng.choice(leaves) if depth > 1 else BRANCHES["Both"](term(depth + 1), pair(), term(depth + 1))

    return {
        "symbol": text,
        "number": lambda: rng.choice(NUMBERS),
        "unsigned": lambda: rng.randrange(2**64),
        "float": lambda: rng.choice(FLOATS),
        "Pair": pair,
        "List": chain,
        "Unit": lambda: rng.choice([None, ()]),
        "Nested": lambda: rng.choice([None, (pair(), rng.randrange(2**64))]),
        "Holder": lambda: rng.choice([None, (term(), rng.choice(NUMBERS))]),
        "Shade": lambda: rng.choice([DARK, BRANCHES["Light"]()]),
        "Term": term,
    }


def try_rows(seed: int) -> None:
    """Write and read some rows; AssertionError or anything else where they come back as others."""
    rng = random.Random(seed)
    made = makers(rng)
    kinds = rng.choices(["symbol", *made], k=rng.choice((0, 1, 1, 2, 3, 3)))
    rows = list({repr(row): row for row in (tuple(made[kind]() for kind in kinds) for _ in range(6))}.values())
    kind = relation("r", **{f"c{place}": each for place, each in enumerate(kinds)})
    for table in TABLES:
        words = encode(rows, kind, known := dictionary())
        through = through_words(table(Relation("r", WordRows(kind.columns, known, words))), kind)
        assert sorted(map(repr, through)) == sorted(map(repr, rows)), f"{rows} came back as {through}"
    is_plain = rng.random() < 0.6
    options = rng.choice(PLAIN if is_plain else EXACT)
    if rejected := rejection(rows, kind, options):
        assert is_plain and "E0414" in rejected, rejected  # noqa: PT018
        options = {**options, "rfc4180": True}
    found = back(rows, kind, options)
    assert sorted(map(repr, found)) == sorted(map(repr, rows)), f"{options}: {rows} came back as {found}"


def main(seconds: float, seed: int) -> int:
    """Run until the time is up; the exit code."""
    end, tried = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        try:
            try_rows(seed + tried)
        except Exception as error:
            show(f"seed {seed + tried}: {type(error).__name__}: {error}")
            return 1
        tried += 1
    show(f"{tried} relations, from seed {seed} on")
    return 0


if __name__ == "__main__":
    sys.exit(main(*asked()))
