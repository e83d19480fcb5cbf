"""Parts that the checker fills in, and programs that it accepts; those that it rejects are in tests/errors."""

from __future__ import annotations

import pytest

from tests.texts import cases_of
from tidelog.errors import ProgramError, locate
from tidelog.language import check, read, warnings
from tidelog.language.selections import selections_of
from tidelog.language.syntax import (
    Aggregate,
    Atom,
    CheckedProgram,
    Column,
    Comparison,
    Constant,
    Fact,
    Functor,
    Record,
    Variable,
)

DECLARATIONS = """
.type Name <: symbol
.type Pair = [a: number, b: Name]
.type List = [head: float, tail: List]
.decl n(x: number)
.decl u(x: unsigned)
.decl f(x: float)
.decl s(x: symbol)
.decl name(x: Name)
.decl p(x: Pair)
.decl l(x: List)
.decl nn(x: number, y: number)
"""


def checked(text: str) -> CheckedProgram:
    return check(read(DECLARATIONS + text))


def codes(text: str) -> list[str]:
    """The codes of everything that is wrong with a text behind DECLARATIONS."""
    with pytest.raises(ProgramError) as raised:
        checked(text)
    return [problem.code for problem in raised.value.problems]


def test_relations_and_records() -> None:
    program = checked("")
    assert program.relations["name"].columns == (Column("x", "symbol", "Name"),)
    assert program.relations["p"].columns == (Column("x", "Pair", "Pair"),)
    assert program.records["Pair"].fields == (Column("a", "number", "number"), Column("b", "symbol", "Name"))
    assert program.records["List"].fields == (Column("head", "float", "float"), Column("tail", "List", "List"))


def test_facts_have_values_of_their_kind() -> None:
    facts = checked(
        'n(-1). u(18446744073709551615). f(1). f(2.5). s("a"). p([1, "b"]). p(nil). l([1, [2, nil]]).'
    ).facts
    assert facts == (
        Fact("n", (-1,)),
        Fact("u", (2**64 - 1,)),
        Fact("f", (1.0,)),
        Fact("f", (2.5,)),
        Fact("s", ("a",)),
        Fact("p", ((1, "b"),)),
        Fact("p", (None,)),
        Fact("l", ((1.0, (2.0, None)),)),
    )
    assert isinstance(facts[2].values[0], float)


def test_named_and_computed_facts_are_rules() -> None:
    program = checked("f1: n(1). n(1 + 1). n(2).")
    assert [rule.name for rule in program.rules] == ["f1", "r1"]
    assert program.facts == (Fact("n", (2,)),)


def test_rules_without_a_name_get_one() -> None:
    program = checked("n(x) :- n(x). r2: n(x) :- n(x). n(1). n(x) :- n(x). n(x) :- n(x).")
    assert [rule.name for rule in program.rules] == ["r1", "r2", "r3", "r4"]


def test_programs_are_checked_together() -> None:
    program = check(read(".decl a(x: number)"), read("a(1). a(x) :- b(x)."), read(".decl b(x: number)"))
    assert list(program.relations) == ["a", "b"]
    assert program.facts == (Fact("a", (1,)),)


def test_kinds_of_variables() -> None:
    (rule,) = checked("f(y) :- n(x), y = to_float(x) * 2 + z, f(z), p([x, s]), s(t), t = s.").rules
    assert rule.kinds == {"y": "float", "x": "number", "z": "float", "s": "symbol", "t": "symbol"}


def test_kinds_of_terms() -> None:
    (rule,) = checked('u(x + 1) :- u(x), to_string(x) != cat("a", s), s(s).').rules
    addition = rule.heads[0].args[0]
    assert isinstance(addition, Functor)
    assert (addition.kind, addition.result, addition.args[1]) == ("unsigned", "unsigned", Constant(1, "unsigned"))
    comparison = rule.body[1]
    assert isinstance(comparison, Comparison)
    left, right = comparison.left, comparison.right
    assert isinstance(left, Functor)
    assert isinstance(right, Functor)
    assert comparison.kind == "symbol"
    assert (left.kind, left.result, right.kind, right.result) == ("unsigned", "symbol", "symbol", "symbol")


def test_kinds_of_aggregates() -> None:
    (rule,) = checked("f(m) :- m = mean x + 1 : { u(x) }, 0 < count : { n(_) }.").rules
    first, second = rule.body
    assert isinstance(first, Comparison)
    assert isinstance(second, Comparison)
    mean, count = first.right, second.right
    assert isinstance(mean, Aggregate)
    assert isinstance(count, Aggregate)
    assert (mean.kind, mean.result, count.kind, count.result) == ("unsigned", "float", None, "number")


def test_kinds_of_records() -> None:
    (rule,) = checked("l([1, r]) :- l(r), r != nil, r = [x, _], x > 0.").rules
    head = rule.heads[0].args[0]
    assert isinstance(head, Record)
    assert head.kind == "List"
    assert head.fields is not None
    assert head.fields[0] == Constant(1.0, "float")
    assert rule.kinds == {"r": "List", "x": "float"}


def test_a_number_alone_is_a_number() -> None:
    (rule,) = checked('s(to_string(1)) :- 1 < 2, 1.5 > 1, 1u = 1, s("a").').rules
    assert [literal.kind for literal in rule.body if isinstance(literal, Comparison)] == ["number", "float", "unsigned"]


def test_local_names_of_aggregates_may_repeat() -> None:
    (rule,) = checked("nn(count : { n(x), x > 1 }, count : { s(x) }).").rules
    assert rule.kinds == {"x": "number", "x_2": "symbol"}
    second = rule.heads[0].args[1]
    assert isinstance(second, Aggregate)
    assert second.body == (Atom("s", (Variable("x_2"),)),)


@pytest.mark.parametrize("rule", cases_of(__file__, "accepted"))
def test_accepted(rule: str) -> None:
    assert len(checked(rule).rules) == 1


@pytest.mark.parametrize(("rule", "code"), cases_of(__file__, "refused"))
def test_refused(rule: str, code: str) -> None:
    assert codes(rule) == [code]


def test_one_cause_gives_one_message() -> None:
    assert codes("n(x) :- s(x), n(x), nn(x, x), x < 3, x = y + 1, n(y).") == ["E0211"]
    assert codes("nn(a, b) :- a = b + 1, n(a), b = c, d = b.") == ["E0215"]
    assert codes('.decl bad(x: Nothing)\nbad(1). bad("a"). n(x) :- bad(x). s(x) :- bad(x).') == ["E0203"]
    assert codes("n(x) :- m(x), m(y), m(x, y).") == ["E0201"]


def test_all_mistakes_in_one_run() -> None:
    text = ".decl n(x: symbol)\nn(x) :- m(x).\nn(x) :- s(y), !n(x).\nn(1, 2).\n.input zz(n=true)"
    assert sorted(codes(text)) == ["E0108", "E0201", "E0201", "E0202", "E0208", "E0215"]


def test_long_chains_of_types() -> None:
    chain = "".join(f".type T{i} <: T{i + 1}\n" for i in range(5000))
    program = check(read(f"{chain}.type T5000 <: symbol\n.decl a(x: T0)\n.decl b(x: T4999)\nb(x) :- a(x)."))
    assert program.relations["a"].columns[0].kind == "symbol"
    ring = "".join(f".type T{i} <: T{(i + 1) % 5000}\n" for i in range(5000))
    with pytest.raises(ProgramError) as raised:
        check(read(ring))
    assert [p.code for p in raised.value.problems] == ["E0205"]


def test_many_rules() -> None:
    text = "".join(f".decl a{i}(x: number)\na{i}(x) :- a{i}(x), x > {i}.\n" for i in range(2_000))
    assert len(check(read(text)).rules) == 2_000


def test_warnings() -> None:
    program = checked(".input nn\nn(x) :- nn(x, y), u(_), !f(1.5).\n")
    assert [(p.code, p.severity, locate(p.span)[1]) for p in warnings(program) if p.span] == [
        ("E0291", "warning", 19),
        ("E0291", "warning", 26),
        ("E0292", "warning", 15),
    ]
    assert warnings(checked("n(1). n(x) :- n(x), _y = 1.")) == []


@pytest.mark.parametrize(
    ("rule", "shown"),
    [
        ("n(1) :- s(x), !name(x).", "n(1) :- s(x), !name(x)."),  # a wider value is not in the relation, no more
        ("p([1, x]) :- s(x).", "p([1, x]) :- s(x)."),  # a field narrows what it is given
        ("p([1, x]), name(x) :- s(x).", "p([1, x]), name(x) :- s(x)."),
        ("name(as(x, Name)) :- s(x).", "name(as(x, Name)) :- s(x)."),
        ("s(as(x, Name)) :- name(x).", "s(as(x, Name)) :- name(x)."),
        ("s(x) :- s(x), name(as(x, symbol)).", "s(x) :- s(x), name(as(x, symbol))."),
        ("n(x) :- [x, y] = [1, 2], n(y).", "n(x) :- x = 1, y = 2, n(y)."),
        ("n(z) :- [[x, y], z] = [r, 1], p(r), n(x), s(y).", "n(z) :- [x, y] = r, z = 1, p(r), n(x), s(y)."),
        ("n(x) :- n(x), [x, [y, _]] = [1, [2, 3]], n(y).", "n(x) :- n(x), x = 1, y = 2, n(y)."),
        ("n(x) :- n(x), 1 = count : { [x, y] = [1, 2], n(y) }.", "n(x) :- n(x), 1 = count : { x = 1, y = 2, n(y) }."),
        ("n(x) :- n(x), ([x] = [1] ; [x] = [2]).", "n(x) :- n(x), (x = 1; x = 2)."),
        ('s(x + "b" + x) :- s(x).', 's(cat(cat(x, "b"), x)) :- s(x).'),
        ("n(x) :- s(y), x = strlen(y + y).", "n(x) :- s(y), x = strlen(cat(y, y))."),
        ("name(x + y) :- name(x), name(y).", "name(cat(x, y)) :- name(x), name(y)."),
        ("n(x + y) :- n(x), n(y).", "n(x + y) :- n(x), n(y)."),
        ('s(cat("a", cat(x), cat())) :- s(x), cat(x) != "".', 's(cat("a", x, "")) :- s(x), x != "".'),
        ("n(x) :- n(y), x = 1 + max(min(y)).", "n(x) :- n(y), x = 1 + y."),
        ("n(m) :- n(x), m = max x : { n(x) }.", "n(m) :- n(x), m = max x_1 : { n(x_1) }."),
    ],
)
def test_accepted_as(rule: str, shown: str) -> None:
    assert str(checked(rule).rules[0]) == f"r1: {shown}"


def test_a_field_of_another_type_is_refused() -> None:
    assert codes(".type Other <: symbol\n.decl o(x: Other)\np([1, x]) :- o(x).") == ["E0211"]


def test_names_in_messages_are_those_of_the_text() -> None:
    with pytest.raises(ProgramError) as raised:
        checked("nn(x, m) :- n(x), m = max x : { n(y) }.")
    assert "variable `x` of this rule" in str(raised.value)
    assert "x_1" not in str(raised.value)
    messages = [warning.message for warning in warnings(checked("n(x) :- x = count : { n(x) }."))]
    assert "variable `x` occurs once" in messages


def test_qualifiers_that_are_directives() -> None:
    program = read(".decl a, b(x: number) input brie output\n.decl c(x: number) printsize overridable")
    assert [(each.name, each.relation) for each in program.directives] == [
        ("input", "a"),
        ("input", "b"),
        ("output", "a"),
        ("output", "b"),
        ("printsize", "c"),
    ]
    assert [each.qualifiers for each in program.declarations] == [("brie",), ("brie",), ("overridable",)]
    assert read(str(program)) == program
    assert read(".decl a(x: number)\n.output a(IO=stdoutprintsize)").directives[0].name == "printsize"


def test_domains_of_a_choice_are_columns() -> None:
    program = check(read(".decl a(x: number, y: number, z: number) choice-domain y, (z, x)"))
    selection = selections_of(program.relations, (), ())["a"]
    assert (selection.form, selection.domains) == ("choice", ((1,), (2, 0)))


@pytest.mark.parametrize(
    ("written", "domains"),
    [("(x, x)", ((0,),)), ("x, x, (x, x)", ((0,),)), ("(y, x), y, (x, y), (x, y, x)", ((1, 0), (1,)))],
)
def test_domains_and_attributes_that_stand_twice_are_one(written: str, domains: tuple[tuple[int, ...], ...]) -> None:
    program = check(read(f".decl a(x: number, y: number) choice-domain {written}"))
    assert selections_of(program.relations, (), ())["a"].domains == domains


@pytest.mark.parametrize(
    ("directive", "expected"),
    [
        (".input n(IO=stdout)", "`IO` of `.input` cannot be `stdout`"),
        (".output n(IO=stdin)", "`IO` of `.output` cannot be `stdin`"),
        (".output n(IO=delta)", "`IO` of `.output` cannot be `delta`"),
        (".input n(IO=ntriples)", "`IO` of `.input` cannot be `ntriples`"),
    ],
)
def test_directives_that_run_would_refuse(directive: str, expected: str) -> None:
    with pytest.raises(ProgramError, match="E0108") as raised:
        checked(directive)
    assert expected in str(raised.value)
