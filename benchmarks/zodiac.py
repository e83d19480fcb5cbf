"""Rule sets 2 and 3 of the ZodiacEdge paper on its second data set: chains of turbines, 16 relations, 18 rules."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.evaluate import evaluate, inserting, warm_up
from benchmarks.harness import Line, Measured, Options, Target, in_child, measure

_GIVEN = tuple(f"p{k}" for k in (1, 2, 3, 4, 5))
VIEWS = tuple(f"p{k}" for k in (11, 12, 13, 14, 20, 21, 22, 25, 26, 30, 31))
_RULES = """
r1: p11(x, y) :- p1(x, y).
r2: p11(x, y) :- p11(y, x).
r3: p11(x, y) :- p11(x, z), p11(z, y), x != y.
r4: p12(x, y) :- p2(x, y).
r5: p12(x, y) :- p12(x, z), p12(z, y), x != y.
r6: p13(x, y) :- p3(x, y).
r7: p14(x, y) :- p13(x, y).
r8: p13(x, y) :- p14(y, x).
r9: p20(x, y) :- p11(x, y).
r10: p20(x, y) :- p12(x, y).
r11: p20(x, y) :- p13(x, y).
r12: p21(x, y) :- p20(x, y).
r13: p22(x, y) :- p21(x, y).
r14: p20(x, y) :- p22(x, y).
r15: p25(x, z) :- p11(x, y), p12(y, z), !p5(y, z).
r16: p26(x, z) :- p12(x, y), p13(z, y), !p5(z, y).
r17: p30(x, z) :- p22(x, y), p21(y, z).
r18: p31(x, y) :- p25(x, y), p26(y, _).
"""
_DECLARATIONS = "\n".join(f".decl {name}(x: number, y: number)" for name in (*_GIVEN, *VIEWS))
RS2 = _DECLARATIONS + _RULES
RS3 = RS2.replace("r10: p20(x, y) :- p12(x, y).", "r10: p20(x, y) :- p12(x, y), !p13(y, _).")
DERIVED = {"RS2": {50: 27_325, 100: 107_150, 200: 424_300}, "RS3": {50: 27_026, 100: 106_551, 200: 423_101}}


def facts(w: int) -> dict[str, list[tuple[int, int]]]:
    """Return the data set for `w` turbines per chain; p5 is empty."""
    return {f"p{k + 1}": [(i + k * w, i + k * w + 1) for i in range(w)] for k in range(4)}


def evaluation(name: str, w: int, runs: int | None) -> Measured:
    """Measure a rule set from scratch."""
    warm_up()
    text = {"RS2": RS2, "RS3": RS3}[name]
    return measure(
        lambda: evaluate(text, inserting(facts(w)), lambda db: {"derived": sum(len(db[name]) for name in VIEWS)}),
        runs,
    )


def lines(options: Options) -> Iterator[Line]:
    """Yield both rule sets for 800 turbines."""
    for name, derived in DERIVED.items():
        measured = in_child(evaluation, name, 200, options.runs)
        yield Line("zodiac", f"{name}, w = 200", measured, {"derived": derived[200]}, (Target("seconds", 0.5),))
