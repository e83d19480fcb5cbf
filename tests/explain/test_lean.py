"""Proofs for the Lean checker: the export by hand, and random ones through a second checker of the published format."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

import tidelog
from tests.depth import cases
from tests.explain.lean_checker import NoProofError, conclusions
from tests.explain.test_proofs import PROOFS, made
from tests.explain.test_random_proofs import small
from tests.suite import FIRST_SEED, loaded

PROGRAM = (
    ".decl edge(x: symbol, y: symbol) .decl trans(x: symbol, y: symbol) .decl n(x: symbol) "
    "trans(x, y) :- edge(x, y). trans(x, z) :- trans(x, y), trans(y, z). "
    ".decl far(x: symbol, y: symbol) far(x, y) :- <edge/(^edge|trans)+>(x, y). "
    ".decl same(x: symbol, y: symbol) eqrel same(x, y) :- edge(x, y). "
    '.decl any() any() :- trans(_, "d").'
)


@pytest.fixture
def db() -> tidelog.Database:
    return loaded(PROGRAM, {"edge": [("a", "b"), ("b", "c"), ("c", "d")]}, closures=False)


def atom(symbol: str, *terms: str) -> dict[str, Any]:
    return {"symbol": symbol, "terms": [{"variable" if text[0] == "?" else "constant": text} for text in terms]}


def test_an_export_has_the_published_format(db: tidelog.Database) -> None:
    edge, trans = atom("edge", '"a"', '"b"'), atom("trans", '"a"', '"b"')
    rule = {"head": atom("trans", "?x", "?y"), "body": [atom("edge", "?x", "?y")]}
    assert json.loads(db.explain("trans", ("a", "b")).export("lean")) == {
        "graph": {"edges": [{"label": edge, "predecessors": []}, {"label": trans, "predecessors": [0]}]},
        "program": [{"head": edge, "body": []}, rule],
    }


@pytest.mark.parametrize("closures", [True, False])
def test_the_second_checker_accepts_exports(db: tidelog.Database, closures: bool) -> None:
    db.options(closures=closures)
    db.insert("edge", [("d", "a"), ("d", "d")])
    db.commit()
    for name in db.relations:
        for row in db[name]:
            text = db.explain(name, row).export("lean")
            assert conclusions(text)[-1] == (name, tuple(f'"{value}"' for value in row))


def test_the_second_checker_rejects_what_does_not_follow(db: tidelog.Database) -> None:
    text = db.explain("trans", ("a", "d")).export("lean")
    document = json.loads(text)
    for i, edge in enumerate(document["graph"]["edges"]):
        for forged in (
            {**edge, "predecessors": [*edge["predecessors"], 0]},
            {**edge, "predecessors": [i]},
            {**edge, "label": atom(edge["label"]["symbol"], '"a"', '"zz"')},
            {**edge, "label": atom("nobody", '"a"', '"d"')},
        ):
            edges = [*document["graph"]["edges"]]
            edges[i] = forged
            with pytest.raises(NoProofError):
                conclusions(json.dumps({**document, "graph": {"edges": edges}}))


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + cases(10)))
def test_random_positive_proofs_pass_the_second_checker(seed: int) -> None:
    db, _, rng = small(seed, 5)
    goals = [(name, row) for name in ("t", "s") for row in db[name]]
    for name, row in random.Random(rng.random()).sample(goals, min(6, len(goals))):
        assert conclusions(db.explain(name, row).export("lean"))[-1] == (name, tuple(map(str, row)))


@pytest.mark.parametrize("goal", [("r", ("a", "d")), ("ok", ("a", 3)), ("d", ("c", 7)), ("l", ((3, None),))])
def test_more_than_tuples_has_no_form(goal: tuple[str, tuple[object, ...]]) -> None:
    assert goal in PROOFS
    with pytest.raises(tidelog.UsageError, match="E0676"):
        made().explain(*goal).export("lean")


def test_other_forms_are_errors(db: tidelog.Database) -> None:
    with pytest.raises(tidelog.UsageError, match="E0635"):
        db.explain("trans", ("a", "b")).export("coq")  # type: ignore[arg-type]  # The point of the test.
