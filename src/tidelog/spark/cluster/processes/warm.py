"""Load the kernels in a host before it forks partitions, which then have them, too."""

from __future__ import annotations


def warm() -> None:
    """Evaluate and change a small program, so that the compiled kernels are in memory."""
    from tidelog.database.database import Database

    database = Database()
    database.load(
        ".decl e(x: number, y: number)\n.decl t(x: number, y: number)\n.decl n(x: number, n: number)\n"
        "t(x, y) :- e(x, y). t(x, z) :- t(x, y), t(y, w), e(w, z).\nn(x, k) :- e(x, _), k = count : { t(x, _) }."
    )
    for rows in ([(i, i + 1) for i in range(20)], [(20, 0)]):
        database.insert("e", rows)
        database.commit()
    database.delete("e", [(3, 4)])
    database.commit()
    database.close()
