"""`@tidelog.functor`: with types, without, and without parentheses."""

from __future__ import annotations

import tidelog


def test_a_decorator_marks_functions_with_and_without_types() -> None:
    @tidelog.functor
    def bare(x: int) -> int:
        return x + 1

    @tidelog.functor()
    def empty(x: int) -> int:
        return x + 2

    @tidelog.functor(name="other", remember=False)
    def named(x: int) -> int:
        return x + 3

    db = tidelog.connect(functors=[bare, empty, named])
    db.load(
        """
        .functor bare(x: number): number
        .functor empty(x: number): number
        .functor other(x: number): number
        .decl r(x: number)
        r(@bare(0)). r(@empty(0)). r(@other(0)).
        """
    )
    db.commit()
    assert (set(db["r"]), bare(5)) == ({(1,), (2,), (3,)}, 6)
