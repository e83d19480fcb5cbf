"""Relations that `tidelog run` derives on demand without being asked: which, and that outputs stay as they are."""

from __future__ import annotations

import random

import pytest

import tidelog
from tests.suite import evaluate_naive
from tidelog.language import read
from tidelog.rules.automatic import with_automatic_demand

HEAD = ".decl e, f(x: number, y: number)\n.decl s(x: number)\n.decl q(y: number)\n.output q\n"
SAME = ".decl g(x: number, y: number)\ng(x, x) :- e(x, _).\ng(x, y) :- e(a, x), g(a, b), e(b, y).\n"
RIGHT = ".decl t(x: number, y: number)\nt(x, y) :- e(x, y).\nt(x, z) :- t(x, y), e(y, z).\n"
BOTH = ".decl t(x: number, y: number)\nt(x, y) :- e(x, y).\nt(x, z) :- t(x, y), t(y, z).\n"
CASES = {
    "same generation": (SAME + "q(y) :- g(1, y).", {"g"}),
    "from either end": (SAME + "q(y) :- g(1, y). q(y) :- g(y, 2), f(y, _).", set()),
    "from two nodes": (SAME + "q(y) :- g(1, y). q(y) :- g(x, y), x = 2.", {"g"}),
    "from facts": (SAME + "q(y) :- s(x), g(x, y). q(y) :- g(1, y).", set()),
    "all of it": (SAME + "q(y) :- g(1, y). q(y) :- g(_, y).", set()),
    "counted": (SAME + "q(n) :- n = count : { g(1, _) }.", {"g"}),
    "negated": (SAME + "q(y) :- e(1, y), !g(1, y).", set()),
    "an output": (SAME + ".output g\nq(y) :- g(1, y).", set()),
    "its size": (SAME + ".printsize g\nq(y) :- g(1, y).", set()),
    "no_magic": (SAME.replace("number)\n", "number) no_magic\n", 1) + "q(y) :- g(1, y).", set()),
    "excluded": ('.pragma "magic-transform-exclude" "g"\n' + SAME + "q(y) :- g(1, y).", set()),
    "through another": (
        SAME + ".decl h(x: number, y: number)\nh(x, y) :- g(x, z), f(z, y).\nq(y) :- h(1, y).",
        {"g", "h"},
    ),
    "no recursion": (".decl h(x: number, y: number)\nh(x, y) :- e(x, z), f(z, y).\nq(y) :- h(1, y).", set()),
    "mutual": (
        ".decl o, v(x: number, y: number)\no(x, y) :- e(x, y).\no(x, z) :- v(x, y), e(y, z).\n"
        "v(x, z) :- o(x, y), f(y, z).\nq(y) :- v(1, y).",
        {"o", "v"},
    ),
    "a closure along its rules": (RIGHT + "q(y) :- t(1, y).", {"t"}),
    "a closure against them": (RIGHT + "q(x) :- t(x, 1).", set()),
    "a closure that is not linear": (BOTH + "q(y) :- t(1, y).", set()),
}


@pytest.mark.parametrize("case", CASES)
def test_which_relations_are_derived_on_demand(case: str) -> None:
    text, chosen = CASES[case]
    program = with_automatic_demand(read(HEAD + text, name="test.dl"))
    assert {each.name for each in program.declarations if "magic" in each.qualifiers} == chosen


@pytest.mark.parametrize("case", CASES)
def test_outputs_are_what_they_were(case: str) -> None:
    text = HEAD + CASES[case][0]
    rng = random.Random(case)
    for _ in range(3):
        facts = {name: frozenset((rng.randrange(7), rng.randrange(7)) for _ in range(9)) for name in "ef"}
        facts["s"] = frozenset((rng.randrange(7),) for _ in range(2))
        db = tidelog.connect()
        db.load(with_automatic_demand(read(text, name="test.dl")))
        for name, rows in facts.items():
            db.insert(name, rows)
        db.commit()
        assert set(db["q"]) == set(evaluate_naive(text, facts)["q"])
        db.check()
