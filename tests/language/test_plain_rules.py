"""Plain rules are checked by a look at their terms, with the result of the checks that all rules can take."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.texts import cases_of
from tidelog.errors import ProgramError
from tidelog.language import check, read
from tidelog.language.declarations import Scheme, resolve
from tidelog.language.plain_statements import plain_rule
from tidelog.language.syntax import CheckedProgram, Rule

CASES = sorted((Path(__file__).parents[1] / "programs").glob("*.dl"))
DECLARATIONS = """
.decl e(x: symbol, y: symbol) .decl n(x: number) .decl f(x: float) .decl u(x: unsigned) .decl h(x: symbol)
.decl k(x: number, y: symbol)
"""


def without_looks(monkeypatch: pytest.MonkeyPatch, text: str) -> CheckedProgram:
    """The program, checked as if no rule were plain."""
    with monkeypatch.context() as patch:
        patch.setattr(sys.modules["tidelog.language.check"], "plain_rule", lambda *_: None)
        return check(read(text))


def everything(rule: Rule) -> tuple[object, ...]:
    """All of a rule, the fields included that comparisons leave out."""
    parts = [part for literal in (*rule.heads, *rule.body) for part in (literal, *getattr(literal, "args", ()))]
    spans = [(part.span.start, part.span.end) for part in parts if part.span is not None]
    return rule, sorted(rule.kinds.items()), rule.plan, rule.about, spans


def test_a_look_gives_what_all_checks_give(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = 0
    for case in CASES:
        text = case.read_text(encoding="utf-8")
        one, other = check(read(text)), without_looks(monkeypatch, text)
        assert [*map(everything, one.rules)] == [*map(everything, other.rules)], case.name
        scheme = resolve([read(text)])[0]
        plain += sum(plain_rule(rule, scheme) is not None for rule in read(text).rules)
    assert plain > 25


def of(text: str) -> tuple[Rule, Scheme]:
    program = read(DECLARATIONS + text)
    return program.rules[0], resolve([program])[0]


@pytest.mark.parametrize(
    "text",
    [
        "h(x) :- e(x, y), e(y, x).",
        'h("a") :- e("b", y), e(y, y).',
        "e(x, y) :- e(x, y), x != y.",
        'h(x) :- e(x, y), x != "b", y != x.',
    ],
)
def test_plain_rules_are_right_at_a_look(text: str) -> None:
    rule, scheme = of(text)
    found = plain_rule(rule, scheme)
    assert found is not None
    assert found.heads == rule.heads
    assert set(found.kinds.values()) == {"symbol"}


@pytest.mark.parametrize(
    ("text", "code"),
    [*cases_of(__file__, "mistakes"), (f"h(x) :- e(x, y){', e(x, y)' * 300}.", "E0114")],
)
def test_mistakes_in_plain_rules_are_found(text: str, code: str) -> None:
    rule, scheme = of(text)
    assert plain_rule(rule, scheme) is None
    with pytest.raises(ProgramError) as caught:
        check(read(DECLARATIONS + text))
    assert {problem.code for problem in caught.value.problems} == {code}


@pytest.mark.parametrize("text", cases_of(__file__, "other rules take all checks"))
def test_other_rules_take_all_checks(text: str) -> None:
    rule, scheme = of(text)
    assert plain_rule(rule, scheme) is None


def test_constants_get_the_kinds_of_their_columns_also_beside_plain_rules() -> None:
    program = check(read(f"{DECLARATIONS} f(1) :- n(2). h(x) :- e(x, y), x != y."))
    assert [str(rule) for rule in program.rules] == ["r1: f(1.0) :- n(2).", "r2: h(x) :- e(x, y), x != y."]
    assert program.rules[1].kinds == {"x": "symbol", "y": "symbol"}
