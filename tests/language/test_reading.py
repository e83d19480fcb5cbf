"""Texts to trees: what each construct becomes, and where it stands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.texts import cases_of
from tidelog.errors import ProgramError, locate
from tidelog.language import read
from tidelog.language.reading import read_body
from tidelog.language.syntax import (
    Aggregate,
    Anonymous,
    Atom,
    Attribute,
    Cast,
    Comparison,
    Constant,
    Declaration,
    Directive,
    Disjunction,
    Functor,
    Literal,
    Negation,
    Record,
    Rule,
    Term,
    Truth,
    TypeDeclaration,
    Variable,
)

X, Y, Z = Variable("x"), Variable("y"), Variable("z")


def one(value: int) -> Constant:
    return Constant(value)


def body(text: str) -> tuple[Literal, ...]:
    (rule,) = read(f"h() :- {text}.").rules
    return rule.body


def term(text: str) -> Term:
    (rule,) = read(f"h({text}).").rules
    return rule.heads[0].args[0]


def test_facts_and_rules() -> None:
    rules = read("a(1), b(2). r: a(x), b(x) :- c(x). f: a(3). n().").rules
    assert rules == (
        Rule(None, (Atom("a", (one(1),)),)),
        Rule(None, (Atom("b", (one(2),)),)),
        Rule("r", (Atom("a", (X,)), Atom("b", (X,))), (Atom("c", (X,)),)),
        Rule("f", (Atom("a", (one(3),)),)),
        Rule(None, (Atom("n", ()),)),
    )


def test_declarations_and_types() -> None:
    program = read(
        """
        .decl a, b(x: number, y: T) brie inline
        .decl nullary()
        .type T <: symbol
        .type E = T
        .type U = T | E
        .type R = [a: number, r: R]
        .type Old
        .number_type N
        .symbol_type S
        """
    )
    attributes = (Attribute("x", "number"), Attribute("y", "T"))
    assert program.declarations == (
        Declaration("a", attributes, ("brie", "inline")),
        Declaration("b", attributes, ("brie", "inline")),
        Declaration("nullary", ()),
    )
    assert program.types == (
        TypeDeclaration("T", "sub", ("symbol",)),
        TypeDeclaration("E", "alias", ("T",)),
        TypeDeclaration("U", "union", ("T", "E")),
        TypeDeclaration("R", "record", fields=(Attribute("a", "number"), Attribute("r", "R"))),
        TypeDeclaration("Old", "sub", ("symbol",)),
        TypeDeclaration("N", "sub", ("number",)),
        TypeDeclaration("S", "sub", ("symbol",)),
    )


def test_directives() -> None:
    program = read(
        '.input a, b(IO=file, filename="x.csv", headers=true, rfc4180=false)\n.output c\n.limitsize c(n=10)\nc(1).'
    )
    options: dict[str, str | int | bool] = {"IO": "file", "filename": "x.csv", "headers": True, "rfc4180": False}
    assert program.directives == (
        Directive("input", "a", options),
        Directive("input", "b", options),
        Directive("output", "c"),
        Directive("limitsize", "c", {"n": 10}),
    )
    assert len(program.rules) == 1


def test_hints_for_other_engines_are_passed_over() -> None:
    program = read('.pragma "jobs" "4"\na(x) :- b(x), c(x).\n.plan 0:(1,2), 1:(2,1)\na(1).')
    assert len(program.rules) == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("12", Constant(12)),
        ("-12", Constant(-12)),
        ("0x1F", Constant(31)),
        ("0b101", Constant(5)),
        ("7u", Constant(7, "unsigned")),
        ("1.5", Constant(1.5, "float")),
        ("-1.5e-3", Constant(-0.0015, "float")),
        ('"a\\tb\\\\\\"\\x41\\u00e9\\n"', Constant('a\tb\\"Aé\n', "symbol")),
        ('"// no comment /* */"', Constant("// no comment /* */", "symbol")),
        ("nil", Record(None)),
        ("[]", Record(())),
        ("[1, [_, x]]", Record((one(1), Record((Anonymous(), X))))),
        ("as(x, T)", Cast(X, "T")),
        ("cat(x, y, z)", Functor("cat", (X, Y, Z))),
        ("?x", Variable("?x")),
        ("count", Variable("count")),
        ("min + sum", Functor("+", (Variable("min"), Variable("sum")))),
    ],
)
def test_terms(text: str, expected: Term) -> None:
    assert term(text) == expected


@pytest.mark.parametrize(("text", "same"), cases_of(__file__, "precedence"))
def test_precedence(text: str, same: str) -> None:
    assert term(text) == term(same)


def test_a_sign_belongs_to_the_number_only_when_nothing_stands_between() -> None:
    assert term("-1") == Constant(-1)
    assert term("-(1)") == Functor("neg", (one(1),))
    assert term("--1") == Functor("neg", (Constant(-1),))
    assert term("-1 ^ 2") == Functor("neg", (Functor("^", (one(1), one(2))),))
    assert term("x -1") == Functor("-", (X, one(1)))


def test_aggregates() -> None:
    inner = (Atom("p", (X,)),)
    assert term("count : { p(x) }") == Aggregate("count", None, inner)
    assert term("count : p(x)") == Aggregate("count", None, inner)
    assert term("sum x + 1 : { p(x) }") == Aggregate("sum", Functor("+", (X, one(1))), inner)
    assert term("avg x : p(x)") == Aggregate("mean", X, inner)
    assert term("min (x) : p(x)") == Aggregate("min", X, inner)
    assert term("max (x + 1) * 2 : p(x)") == Aggregate("max", Functor("*", (Functor("+", (X, one(1))), one(2))), inner)
    assert term("min(x, median x : p(x))") == Functor("min", (X, Aggregate("median", X, inner)))
    assert term("1 + count : p(x) + 1") == Functor(
        "+", (Functor("+", (one(1), Aggregate("count", None, inner))), one(1))
    )


def test_bodies() -> None:
    a, b, c = (Atom(name, (X,)) for name in "abc")
    assert body("a(x), (b(x), c(x))") == (a, b, c)
    assert body("a(x), (b(x) ; c(x))") == (a, Disjunction(((b,), (c,))))
    assert body("a(x), b(x) ; c(x)") == (Disjunction(((a, b), (c,))),)
    assert body("(a(x) ; (b(x) ; c(x)))") == (Disjunction(((a,), (b,), (c,))),)
    assert body("true, !false, (x) = (y + 1)") == (
        Truth(True),
        Truth(True),
        Comparison("=", X, Functor("+", (Y, one(1)))),
    )
    assert body('match("a.*", x), !contains(x, y)') == (
        Comparison("match", Constant("a.*", "symbol"), X),
        Comparison("!contains", X, Y),
    )


def test_negation_is_pushed_down() -> None:
    a, b = Atom("a", (X,)), Atom("b", (X,))
    assert body("!!a(x)") == (a,)
    assert body("!(a(x), x < y)") == (Disjunction(((Negation(a),), (Comparison(">=", X, Y),))),)
    assert body("!(a(x) ; x = y ; !b(x))") == (Negation(a), Comparison("!=", X, Y), b)


def test_locations() -> None:
    assert body("a(x, @y)") == (Atom("a", (X, Y), location=1),)


def test_names_may_be_words_of_the_language() -> None:
    program = read(
        ".decl stat(count: number, min: number, sum: number)\nstat(count, min, sum) :- stat(sum, count, min)."
    )
    assert [a.name for a in program.declarations[0].attributes] == ["count", "min", "sum"]
    (rule,) = read("count: median(x) :- avg(x).").rules
    assert rule == Rule("count", (Atom("median", (X,)),), (Atom("avg", (X,)),))


def test_comments_and_missing_spaces() -> None:
    assert len(read("a(1).b(2).// c(3).\n/* d(4).\n */e(5).").rules) == 3


def test_spans() -> None:
    text = ".decl a(x: number)\nr: a(x + 1) :-\n  b(x, [y]),\n  x < (y)."
    (rule,) = read(text).rules
    comparison = rule.body[1]
    assert isinstance(comparison, Comparison)
    parts: list[Any] = [rule, rule.heads[0], rule.heads[0].args[0], rule.body[0], comparison, comparison.right]
    shown = [text[part.span.start : part.span.end] for part in parts if part.span]
    assert shown == [text[19:], "a(x + 1)", "x + 1", "b(x, [y])", "x < (y)", "(y)"]
    assert comparison.span is not None
    assert locate(comparison.span) == (4, 3)


def test_reading_a_path(tmp_path: Path) -> None:
    path = tmp_path / "p.dl"
    path.write_text("a(1).\r\nb(2).\r\n", "utf-8")
    assert len(read(path).rules) == 2
    assert len(read(str(path)).rules) == 2
    assert read("") == read('.pragma "x"')


def test_several_mistakes_in_one_run() -> None:
    with pytest.raises(ProgramError) as raised:
        read("a(1) :- .\nb(2).\nc(1 2).\n.decl d(x number)\n.foo d\ne(1)")
    assert [locate(p.span)[0] for p in raised.value.problems if p.span] == [1, 3, 4, 5, 6]


@pytest.mark.parametrize(
    "text",
    [
        "a(" + "(" * 1000 + "1" + ")" * 1000 + ").",
        "a(" + "[" * 1000 + "1" + "]" * 1000 + ").",
        "a(" + "-" * 1000 + "x).",
        "a(x) :- " + "!" * 1000 + "b(x).",
        "a(x) :- " + "(" * 1000 + "b(x)" + ")" * 1000 + ".",
        "a(x) :- " + "(b(x) ; " * 1000 + "b(x)" + ")" * 1000 + ".",
        "a(" + "count : { b(" * 1000 + "1" + ") }" * 1000 + ").",
        "a(" + "cat(x, " * 1000 + "x" + ")" * 1000 + ").",
        "a(" + "min(x, " * 1000 + "x" + ")" * 1000 + ").",
        "a(1" + " + 1" * 1000 + ").",
        "a(2" + " ^ 2" * 1000 + ").",
    ],
)
def test_deep_nesting_is_an_error(text: str) -> None:
    with pytest.raises(ProgramError) as raised:
        read(text)
    assert [p.code for p in raised.value.problems] == ["E0106"]


def test_long_names_and_strings() -> None:
    name, text = "n" * 100_000, "s" * 1_000_000
    (rule,) = read(f'{name}("{text}").').rules
    assert rule == Rule(None, (Atom(name, (Constant(text, "symbol"),)),))


def test_words_before_a_parenthesis_are_no_names_in_a_list_either() -> None:
    for text in (".decl match(x: number)", ".decl match, a(x: number)", ".decl a, cat(x: number)"):
        with pytest.raises(ProgramError, match="E0101"):
            read(text)


TERMS = (
    "{}", "({})", "-{}", "{} + 1", "1 ^ {}", "({}) + 1", "[{}]", "[z, {}]", "[$A({})]", "$A({})", "$A(1, {})",
    "$A.B({})", "$A($B({}))", "@f(1, {})", "as({}, symbol)", "cat({}, z)", "max(z, {})", "lower({})", "range(3, {})",
    "count : {{ b({}) }}", "sum {} : {{ b(y) }}", "argmin({}, z) : {{ b(z) }}", "@@f {} : 0, {{ b(z) }}",
)  # fmt: skip
PLACES = (
    "a(x) :- x = {}.", "a(x) :- {} = x.", "a(x) :- (x = {} ; b(x)).", "a({}) :- b(y).", "a(x) :- !b({}).",
    "a(x) :- b+(x, {}).", "a(x) :- <b/c>(x, {}).", "a(x), b({}) :- c(x).", "r: a(x) :- x = {}.", "a({}).",
)  # fmt: skip


@pytest.mark.parametrize("term", TERMS)
def test_a_soft_word_is_a_functor_wherever_another_functor_is_one(term: str) -> None:
    for place in PLACES:
        other, text = (place.format(term.format(f"{name}(y)")) for name in ("strlen", "codepoint"))
        read(f"{other}\n")
        program = read(f"{text}\n")
        assert read(f"{program}\n") == program, text


@pytest.mark.parametrize("word", ["starts_with", "ends_with"])
@pytest.mark.parametrize("body", ["{}(x)", "b(x), {}(x)", "!{}(3), x = 3", "x = count : {{ {}(_) }}", "x = 1, {}((x))"])
def test_a_word_for_tests_with_one_term_is_a_relation(word: str, body: str) -> None:
    """The text that declares it may be another one."""
    other, text = (f"r(x) :- {body.format(name)}.\n" for name in ("some_text", word))
    assert str(read(text)) == str(read(other)).replace("some_text", word)
    assert read_body(body.format(word)) == read(text).rules[0].body
