"""Facts in the text of a program, of which there may be very many: they read and check as rules do."""

from __future__ import annotations

import pytest

from tests.texts import cases_of
from tidelog.errors import ProgramError
from tidelog.language import check, read
from tidelog.language.syntax import Fact

DECLARATIONS = """
.type Small <: number
.decl n(x: number) .decl s(x: Small) .decl u(x: unsigned) .decl f(x: float) .decl t(x: symbol)
.type R = [y: number]
.decl r(x: R) .decl empty() .decl i(x: number) inline .decl z(x: number)
z(x) :- i(x).
"""


@pytest.mark.parametrize(
    "arguments",
    [
        "1",
        "0x1F, 0b11",
        '"a, b", "c\\n"',
        "1.5, 2u, 127.0.0.1",
        "12345678901234567890",
        '"one", -1',
        "",
        "(1), x",
        "[1]",
    ],
)
def test_a_fact_reads_as_the_head_of_a_rule(arguments: str) -> None:
    alone = read(f"a({arguments}).").rules
    (together,) = read(f"a({arguments}) :- true.").rules
    assert [rule.heads for rule in alone] == [together.heads]
    one, other = alone[0].heads[0], together.heads[0]
    assert [part.span for part in (one, *one.args)] == [
        part.span and type(part.span)(one.span.source, part.span.start, part.span.end)  # type: ignore[union-attr]  # Spans are there.
        for part in (other, *other.args)
    ]


@pytest.mark.parametrize(
    "text", ['a(1, "\\q").', "a(0x).", "a(1 2).", "a(1,).", "a(,1).", "a(1)", "a(1", "a(1):-.", "a(1)."]
)
def test_mistakes_in_facts_are_those_of_rules(text: str) -> None:
    def mistakes(text: str) -> list[tuple[str, str]]:
        try:
            read(text)
        except ProgramError as error:
            return [(problem.code, problem.message) for problem in error.problems]
        return []

    assert mistakes(text) == mistakes(f"r: {text}")


def test_constants_take_the_kinds_of_their_columns() -> None:
    program = check(
        read(f"""{DECLARATIONS}
    n(1). n(-9223372036854775808). n(9223372036854775807). s(3). u(4). u(18446744073709551615). u(5u). f(6). f(-6).
    f(0.5). t("7"). r([8]). r(nil). empty().
    """)
    )
    facts = [(fact.relation, fact.values) for fact in program.facts]
    assert facts == [
        *[("n", (value,)) for value in (1, -(2**63), 2**63 - 1)],
        ("s", (3,)),
        *[("u", (value,)) for value in (4, 2**64 - 1, 5)],
        *[("f", (value,)) for value in (6.0, -6.0, 0.5)],
        ("t", ("7",)),
        ("r", ((8,),)),
        ("r", (None,)),
        ("empty", ()),
    ]
    assert all(isinstance(value, float) for fact in program.facts if fact.relation == "f" for value in fact.values)
    assert all(isinstance(fact, Fact) and fact.span is not None for fact in program.facts)


@pytest.mark.parametrize(("fact", "code"), cases_of(__file__, "facts that do not fit"))
def test_facts_that_do_not_fit(fact: str, code: str) -> None:
    with pytest.raises(ProgramError) as caught:
        check(read(f"{DECLARATIONS}\n{fact}."))
    assert caught.value.code == code
    assert fact in str(caught.value)


def test_a_fact_of_an_inline_relation_is_a_rule() -> None:
    program = check(read(f"{DECLARATIONS}\ni(1)."))
    assert program.facts == ()
    assert [str(rule) for rule in program.rules] == ["r1: z(x) :- 1 = x."]
