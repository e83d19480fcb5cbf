"""Kernels of closures and of changes, compiled or read from the cache before anything is measured."""

from __future__ import annotations

import tidelog
from benchmarks import evaluate

_PROGRAM = """
.decl e(x: number, y: number)
.decl f(x: number, y: number)
.decl t(x: number, y: number)
.decl s(x: number)
t(x, y) :- <e+/f*|(e|^e)+>(x, y).
s(x) :- <(e/^e)*>(x, y), t(y, x).
"""


def warm_up() -> None:
    """Run `evaluate.warm_up`, and a ring with a tail under changes of one edge and of many, joined in parts and
    again."""
    evaluate.warm_up()
    ring = [(i, (i + 1) % 40) for i in range(40)] + [(i, i + 1) for i in range(40, 60)]
    for strategy in ("auto", "update"):
        db = tidelog.connect()
        db.options(strategy=strategy)
        db.load(_PROGRAM)
        for some in ([], ring[:1], ring[20:30], ring):
            for name in ("e", "f"):
                db.insert(name, ring)
            db.commit()
            for name in ("e", "f"):
                db.delete(name, some)
            db.commit()
        db["t"].words()
        db.close()
