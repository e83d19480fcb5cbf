"""Documentation comments, annotations and plans: they stay in the tree and change no view."""

from __future__ import annotations

from tidelog.language import check, read
from tidelog.language.syntax import About, PlanOrder

TEXT = """
/// who knows whom
/// and since when
.decl knows(x: symbol, //< the one
            /// the other
            y: symbol) //< in pairs
/** a rule
  * of two lines */
@[key = "value", other(1, 2)]
knows(x, y) :- knows(y, x). .plan 0: (1)
@![whole]
.type name <: symbol //< names
//// no documentation
/**/ .comp C { /// of the component
  .decl r(@[secret] x: name)
}
.init c = C //< an instance
@[last] .output knows
"""


def test_they_belong_to_statements_and_attributes() -> None:
    program = read(TEXT)
    (knows,) = program.declarations
    assert knows.about == About("who knows whom\nand since when\nin pairs")
    assert [each.about.doc for each in knows.attributes] == ["the one", "the other"]
    (rule,) = program.rules
    assert rule.about == About("a rule\nof two lines", ('[key = "value", other(1, 2)]',))
    assert rule.plan == (PlanOrder(0, (1,)),)
    assert program.types[0].about == About("names", ("![whole]",))
    (component,) = program.components
    assert component.about == About()
    assert component.body.declarations[0].about == About("of the component")
    assert component.body.declarations[0].attributes[0].about == About("", ("[secret]",))
    assert program.instances[0].about == About("an instance")
    assert program.directives[0].about == About("", ("[last]",))


def test_the_printed_text_has_those_of_statements() -> None:
    printed = str(read(TEXT))
    assert read(printed) == read(TEXT)
    assert "/// who knows whom\n/// and since when\n/// in pairs\n.decl knows(" in printed
    assert '@[key = "value", other(1, 2)]\nknows(x, y) :- knows(y, x). .plan 0: (1)' in printed


def test_a_checked_relation_has_its_documentation() -> None:
    checked = check(read(TEXT))
    assert checked.relations["knows"].about.doc == "who knows whom\nand since when\nin pairs"
    assert checked.relations["c.r"].about.doc == "of the component"


def test_a_located_argument_is_no_annotation() -> None:
    program = read(".decl a(@x: symbol) a(@[x]) :- b(@[x, y]).", name="located")
    assert not program.rules[0].about.annotations
    assert program.rules[0].heads[0].location == 0


def test_a_located_argument_with_a_prefix_is_no_functor() -> None:
    program = read(".decl a(@x: number) a(@bnot (x)) :- a(x).")
    assert str(program.rules[0]) == "a(@bnot x) :- a(x)."


def test_annotations_hold_statements_and_stand_at_heads_and_parameters() -> None:
    text = """
.decl a(x: number) .decl b(x: number)
.functor f(@[of = "x"] x: number): number
@[like { .decl c(y: number) c(1). c([2]). }]
a(x),
@[second(b)]
b(x) :- x = 1.
"""
    (rule,) = read(text).rules
    assert [head.relation for head in rule.heads] == ["a", "b"]
    assert rule.about.annotations[0] == "[like { .decl c(y: number) c(1). c([2]). }]"
