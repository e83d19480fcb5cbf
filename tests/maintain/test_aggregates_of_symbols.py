"""`min` and `max` over symbols take the first and the last text, by code points."""

from __future__ import annotations

import random

import pytest

import tidelog
from tidelog.language import check, read
from tidelog.reference.naive import evaluate

TEXT = """
.decl p(g: symbol, s: symbol, n: number)
.decl least(g: symbol, s: symbol)
.decl greatest(g: symbol, s: symbol)
.decl holder(g: symbol, n: number)
.decl all(s: symbol, t: symbol)
least(g, m) :- p(g, _, _), m = min s : { p(g, s, _) }.
greatest(g, m) :- p(g, _, _), m = max s : { p(g, s, _) }.
holder(g, n) :- p(g, _, _), m = max cat(s, "!") : { p(g, s, _) }, p(g, s, n), cat(s, "!") = m.
all(min s : { p(_, s, _) }, max s : { p(_, s, _) }).
"""


@pytest.mark.parametrize("strategy", ["update", "bootstrap"])
def test_views_follow_changes(strategy: str, tmp_path: object) -> None:
    rng = random.Random(1)
    checked = check(read(TEXT))
    db = tidelog.connect()
    db.options(strategy=strategy)
    db.load(TEXT)
    texts = ["", "a", "aa", "B", "b", "é", "z", "10", "9", "🙂", "\uffff"]
    facts: set[tuple[str, str, int]] = set()
    for _ in range(12):
        came = {(rng.choice("gh"), rng.choice(texts), rng.randrange(3)) for _ in range(4)}
        went = set(rng.sample(sorted(facts), min(len(facts), 4))) - came
        facts = (facts | came) - went
        db.insert("p", came)
        db.delete("p", went)
        db.commit()
        expected = evaluate(checked, {"p": facts})
        for name in ("least", "greatest", "holder", "all"):
            assert set(db[name]) == set(expected[name])
    db.check()
    (row, *_) = db["greatest"]
    assert db.explain("greatest", row).check(db).open == ()
