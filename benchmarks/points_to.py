"""Andersen's points-to analysis of random assignments, few of them through pointers, with early projections and without
them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy

from benchmarks.evaluate import evaluate, inserting
from benchmarks.harness import Line, Measured, Options, Target, in_child, measure
from tidelog.common.arrays import Words
from tidelog.database.database import Database

RULES = """
.decl address(y: number, x: number)
.decl assign(y: number, x: number)
.decl read(y: number, x: number)
.decl written(y: number, x: number)
.decl points_to(y: number, x: number)
points_to(y, x) :- address(y, x).
points_to(y, x) :- assign(y, z), points_to(z, x).
points_to(y, w) :- read(y, x), points_to(x, z), points_to(z, w).
points_to(z, w) :- written(y, x), points_to(y, z), points_to(x, w).
"""
VARIABLES = 20_000
_SIZES = {"address": 0.25, "assign": 0.8, "read": 0.03, "written": 0.03}
"""Facts for each variable."""
_SKEW = {"address": 1.0, "assign": 1.5, "read": 1.5, "written": 1.5}


def facts(variables: int, seed: int = 17) -> dict[str, Words]:
    """Return facts in which some variables are copied more often than others."""
    rng = numpy.random.default_rng(seed)
    order = rng.permutation(variables)

    def pairs(name: str) -> Words:
        number, skew = int(_SIZES[name] * variables), _SKEW[name]
        copied = (variables * rng.random(number) ** skew).astype(numpy.int64)
        return numpy.column_stack([rng.integers(0, variables, number), order[copied]])

    return {name: pairs(name) for name in _SIZES}


def evaluation(variables: int, way: str, runs: int | None) -> Measured:
    """Measure the analysis with the option `early_projection`."""
    found = facts(variables)

    def fill(db: Database) -> None:
        db.options(early_projection=way)
        inserting(found)(db)

    def sizes(db: Database) -> dict[str, int]:
        return {"pairs": len(db["points_to"])}

    evaluate(RULES, inserting(facts(100)), sizes)  # compiles the kernels
    return measure(lambda: evaluate(RULES, fill, sizes), runs)


def lines(options: Options) -> Iterator[Line]:
    """Yield the analysis of 20,000 variables."""
    written = in_child(evaluation, VARIABLES, "never", options.runs)
    measured = in_child(evaluation, VARIABLES, "auto", options.runs)
    title = f"Andersen, {VARIABLES:,} variables"
    yield Line("points to", title, measured, written.sizes, (Target("ratio", 3.0),), {"as written": written})
