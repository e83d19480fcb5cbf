"""Rule sets 2 and 3 of the ZodiacEdge paper (Appendices B and C), and its data set DS2."""

from __future__ import annotations

from tests.generate import Row

PREDICATES = ("p1", "p2", "p3", "p5", "p11", "p12", "p13", "p14", "p20", "p21", "p22", "p25", "p26", "p30", "p31")
GIVEN = PREDICATES[:4]

RULE_SET_2 = (
    "\n".join(f".decl {name}(x: number, y: number)" for name in PREDICATES)
    + """
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
)
RULE_SET_3 = RULE_SET_2.replace("p20(x, y) :- p12(x, y).", "p20(x, y) :- p12(x, y), !p13(y, _).")


def data_set_2(w: int) -> dict[str, set[Row]]:
    """DS2 without p4, which no rule reads."""
    return {f"p{k + 1}": {(k * w + i, k * w + i + 1) for i in range(w)} for k in range(3)}


def derived(views: dict[str, set[Row]]) -> int:
    """How many facts the rules derive."""
    return sum(len(views.get(name, ())) for name in PREDICATES if name not in GIVEN)
