"""How queries would be evaluated: plans by hand, and one for every query that has an answer."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tidelog
from tests.client.test_explanations import behind_a_server
from tests.queries.test_bodies import BODIES, PROGRAM
from tidelog.cli.entry import main
from tidelog.queries.answers import PlannedRule, QueryPlan, QueryStep


@pytest.fixture
def db() -> tidelog.Database:
    db = tidelog.connect()
    db.load(PROGRAM)
    db.insert("e", [(x, x + 1) for x in range(100)])
    db.insert("s", [("a", 5)])
    db.commit()
    return db


PLANS = {
    "e(x, y)": "the answer\n  scan e  about 100 bindings",
    "e(7, y)": "the answer\n  look up e by column 1  about 1 bindings",
    "e(7, 8)": "the answer\n  look up e by column 1, 2  about 1 bindings",
    "<e/e>(7, y)": "walk along <e/e> from a known end",
    "e(x, y), s(n, x), y > x": """\
the answer
  scan s(n, x)  about 1 bindings
  join e(x, y)  about 1 bindings
  test y > x    about 1 bindings""",
    "e(x, y), n = count : { t(y, _) }": """\
groups of count
  scan e(x, y)  about 100 bindings
rows of count
  scan t(y, _)               about 5,050 bindings
  join groups of count: (y)  about 2,525 bindings
count
the answer
  scan e(x, y)        about 100 bindings
  join count: (y, n)  about 3,029 bindings""",
}


@pytest.mark.parametrize("query", PLANS)
def test_a_plan_says_which_literal_comes_after_which(db: tidelog.Database, query: str) -> None:
    assert str(db.query_plan(query)) == PLANS[query]


def test_parameters_come_first(db: tidelog.Database) -> None:
    steps = QueryStep("begin with the parameters", 1.0), QueryStep("join e(x, y)", 1.0), QueryStep("test x < y", 1.0)
    assert db.query_plan("e(x, y), x < y", x=3) == QueryPlan((PlannedRule("the answer", steps),))


def test_every_query_has_a_plan_and_none_is_evaluated(db: tidelog.Database) -> None:
    indexes = {name: set(stored.indexes) for name, stored in db.engine.views.items()}
    with behind_a_server(db) as remote, db.snapshot() as snapshot:
        for body in BODIES:
            values = {name: 3 for name in ("k", "j") if re.search(rf"\b{name}\b", body)}
            plan = db.query_plan(body, **values)
            assert plan.rules
            assert not re.search(r"#(outer|inner|query|path|projection|given)", str(plan))
            assert snapshot.query_plan(body, **values) == remote.query_plan(body, **values) == plan
    assert {name: set(stored.indexes) for name, stored in db.engine.views.items()} == indexes


def test_wrong_queries_are_those_of_query(db: tidelog.Database) -> None:
    for query, code in (("e(x", "E0101"), ("f(x)", "E0201"), ("e(x, y), z < 3", "E0217")):
        with pytest.raises(tidelog.ProgramError, match=code):
            db.query_plan(query)
    with pytest.raises(tidelog.UsageError, match="E0612"):
        db.query_plan("e(x, y)", z=1)


def test_the_command_line_prints_the_plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "p.dl").write_text(".decl e(x: number)\ne(1). e(2).")
    store = str(tmp_path / "s.tide")
    assert main(["init", store, str(tmp_path / "p.dl")]) == 0
    capsys.readouterr()
    assert main(["query", store, "e(x)", "--plan"]) == 0
    assert capsys.readouterr().out == "the answer\n  scan e  about 2 bindings\n"
