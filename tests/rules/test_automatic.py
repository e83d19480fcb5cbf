"""Relations that `tidelog run` derives on demand without being asked: which, and that outputs stay as they are."""

from __future__ import annotations

import random

import pytest

import tidelog
from tests.suite import evaluate_naive
from tidelog.cli.run import load_by_sizes
from tidelog.functions.callables import GivenFunctions
from tidelog.language import read
from tidelog.language.reading import text_of
from tidelog.rules.automatic import AutomaticDemand
from tidelog.workspace.programs import Demanded

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
    demand = AutomaticDemand(read(HEAD + text, name="test.dl"))
    assert demand.from_constants == chosen
    program = demand.with_magic_qualifier(frozenset(chosen))
    assert {each.name for each in program.declarations if "magic" in each.qualifiers} == chosen


@pytest.mark.parametrize("case", CASES)
def test_outputs_are_what_they_were(case: str) -> None:
    text = HEAD + CASES[case][0]
    rng = random.Random(case)
    for _ in range(3):
        facts: dict[str, frozenset[tuple[int, ...]]] = {
            name: frozenset((rng.randrange(7), rng.randrange(7)) for _ in range(9)) for name in "ef"
        }
        facts["s"] = frozenset((rng.randrange(7),) for _ in range(2))
        db = tidelog.connect()
        demand = AutomaticDemand(read(text, name="test.dl"))
        db.load(demand.with_magic_qualifier(demand.from_constants))
        for name, rows in facts.items():
            db.insert(name, rows)
        db.commit()
        assert set(db["q"]) == set(evaluate_naive(text, facts)["q"])
        db.check()


SIZES = {
    # `g` goes over `e`; who asks for it has so many tuples
    "a tenth": (SAME + "q(y) :- s(x), g(x, y).", {"e": 1_000, "s": 100}, {"g"}),
    "more than a tenth": (SAME + "q(y) :- s(x), g(x, y).", {"e": 1_000, "s": 101}, set()),
    "two readers, together more": (
        SAME + "q(y) :- s(x), g(x, y). q(y) :- f(x, _), g(x, y).",
        {"e": 1_000, "s": 60, "f": 60},
        set(),
    ),
    "the smaller of two": (SAME + "q(y) :- f(x, _), s(x), g(x, y).", {"e": 1_000, "s": 3, "f": 900}, {"g"}),
    "a constant and a few": (SAME + "q(y) :- g(1, y). q(y) :- s(x), g(x, y).", {"e": 1_000, "s": 3}, {"g"}),
    "nothing is known of it": (SAME + "q(y) :- s(x), g(x, y).", {"e": 1_000}, set()),
    "from what is derived": (
        SAME + ".decl k(x: number)\nk(x) :- s(x), x > 3.\nq(y) :- k(x), g(x, y).",
        {"e": 1_000, "s": 3},
        set(),
    ),
    "all of it": (SAME + "q(y) :- s(x), g(x, y). q(y) :- g(_, y).", {"e": 1_000, "s": 3}, set()),
    "no recursion": (
        ".decl h(x: number, y: number)\nh(x, y) :- e(x, z), f(z, y).\nq(y) :- s(x), h(x, y).",
        {"e": 1_000, "f": 1_000, "s": 3},
        set(),
    ),
    "a closure": (RIGHT + "q(y) :- s(x), t(x, y).", {"e": 1_000, "s": 3}, set()),
    "a closure from a constant": (RIGHT + "q(y) :- t(1, y).", {"e": 1_000, "s": 3}, {"t"}),
}


@pytest.mark.parametrize("case", SIZES)
def test_which_relations_are_derived_on_demand_by_sizes(case: str) -> None:
    text, sizes, chosen = SIZES[case]
    assert AutomaticDemand(read(HEAD + text, name="test.dl")).by_sizes(sizes) == chosen


TREE = [(x // 2, x) for x in range(2, 1_024)]


def evaluated(text: str, asked: list[int]) -> tidelog.Database:
    """The tree with the nodes that are asked for, loaded as `tidelog run` does."""
    demand = Demanded(text_of(HEAD + text, "test.dl"), GivenFunctions())
    db = tidelog.connect()
    db.load(demand.form(demand.relations_on_demand()))
    db.insert("e", TREE)
    db.insert("s", [(x,) for x in asked])
    load_by_sizes(db, demand)
    db.commit()
    return db


def test_few_values_that_are_asked_for_cost_what_they_reach() -> None:
    down = ".decl g(x: number, y: number)\ng(x, y) :- e(x, y).\ng(x, z) :- e(x, y), g(y, z), !f(x, z).\n"
    db = evaluated(down + "q(y) :- s(x), g(x, y).", [256, 257])
    assert set(db["q"]) == {(512,), (513,), (514,), (515,)}
    # the subtrees of two nodes have three nodes each; all ways down are 8,194
    assert db.stats()["derivations"] < len(TREE) + 50
    db = evaluated(down + "q(y) :- s(x), g(x, y).", list(range(2, 512)))
    assert len(db["g"]) == 8_194


def test_where_demand_spreads_to_everything_it_costs_a_bounded_part() -> None:
    """The root asks for everything below it."""
    down = ".decl g(x: number, y: number)\ng(x, y) :- e(x, y).\ng(x, z) :- e(x, y), g(y, z), !f(x, z).\n"
    text = down + "q(y) :- s(x), g(x, y)."
    whole = evaluated(text.replace("g(x: number, y: number)", "g(x: number, y: number) no_magic"), [1])
    db = evaluated(text, [1])
    assert set(db["g"]) == set(whole["g"])
    assert set(db["q"]) == set(whole["q"])
    demanded = len({x for x, _ in TREE} | {y for _, y in TREE})
    assert db.stats()["derivations"] <= whole.stats()["derivations"] + demanded + len(TREE)
