"""Flat rules skip the rewrites, which would return each of them as it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidelog.language import check, read
from tidelog.rules.compile import REWRITES
from tidelog.rules.rewrite_state import RewriteState
from tidelog.rules.translation import is_flat

CASES = sorted((Path(__file__).parents[1] / "programs").glob("*.dl"))


def test_no_rewrite_changes_a_flat_rule() -> None:
    flat = 0
    for case in CASES:
        checked = check(read(case.read_text(encoding="utf-8")))
        for rule in filter(is_flat, checked.rules):
            state = RewriteState(rule.name or "", checked.relations, checked.records)
            for rewrite in REWRITES:
                assert rewrite(rule, state) == (rule,), (case.name, rewrite)
            assert not any((state.pending, state.aggregates, state.auxiliary, state.shared, state.kinds))
            flat += 1
    assert flat > 50


@pytest.mark.parametrize(
    "text",
    [
        "p(x), q(x) :- e(x, _).",
        "p(x) :- e(x, _).",
        "p(x) :- e(x, y), !q(y).",
        "p(x) :- e(x, y), y = 1.",
        "p(x) :- e(x, y), y + 1 != 2.",
        "p(x + 1) :- e(x, y), q(y).",
        "p(x) :- e+(x, y), q(y).",
        "p(x) :- (e(x, y) ; e(y, x)), q(y).",
        "p(n) :- n = count : { e(1, y) }.",
        "p(x) :- q(x), true.",
    ],
)
def test_rules_that_rewrites_change_are_not_flat(text: str) -> None:
    (rule,) = check(read(f".decl e(x: number, y: number) .decl p(x: number) .decl q(x: number) {text}")).rules[:1]
    assert not is_flat(rule)
