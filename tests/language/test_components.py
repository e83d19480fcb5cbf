"""Instances of components: which relations, types and rules they bring, and what a name in them means."""

from __future__ import annotations

from pathlib import Path

import pytest

import tidelog
from tests.suite import loaded
from tidelog.cli.entry import main
from tidelog.errors import ProgramError
from tidelog.language import check, read
from tidelog.language.syntax import CheckedProgram

GRAPH = """
.comp Graph<T> {
  .decl edge(x: T, y: T)
  .decl path(x: T, y: T) overridable
  path(x, y) :- edge(x, y).
  step: path(x, z) :- path(x, y), edge(y, z).
}
"""


def rules(text: str) -> dict[str | None, str]:
    """The rules of a checked program by name, without their names."""
    return {rule.name: str(rule).removeprefix(f"{rule.name}: ") for rule in check(read(text)).rules}


def views(text: str) -> dict[str, list[tuple[object, ...]]]:
    db = loaded(text)
    db.check()
    return {name: sorted(db[name]) for name in db}


def columns(checked: CheckedProgram, relation: str) -> list[tuple[str, str]]:
    return [(column.type, column.kind) for column in checked.relations[relation].columns]


def test_each_instance_has_relations_and_rules_of_its_own() -> None:
    found = views(
        GRAPH + ".init g = Graph<number>\n.init h = Graph<symbol>\n"
        'g.edge(1, 2). g.edge(2, 3). h.edge("a", "b").\n'
        ".decl both(x: number, y: symbol)\nboth(x, y) :- g.path(x, _), h.path(_, y)."
    )
    assert found == {
        "both": [(1, "b"), (2, "b")],
        "g.edge": [(1, 2), (2, 3)],
        "g.path": [(1, 2), (1, 3), (2, 3)],
        "h.edge": [("a", "b")],
        "h.path": [("a", "b")],
    }


def test_rules_are_named_after_their_instance() -> None:
    assert list(rules(GRAPH + ".init g = Graph<number>\n.init h = Graph<number>\n")) == [
        "g.r1",
        "g.step",
        "h.r1",
        "h.step",
    ]


def test_a_taken_name_is_left_out() -> None:
    text = ".decl s(x: number)\n.comp A { .decl a(x: number)  a(x) :- s(x). r1: a(x) :- s(x), x > 1. }\n.init i = A"
    assert set(rules(text)) == {"i.r1", "i.r2"}


def test_a_component_inherits_from_several_and_overrides() -> None:
    found = views(
        """
        .comp Base { .decl a(x: number) overridable  .decl b(x: number)  a(1). b(x) :- a(x). }
        .comp Other<T> { .decl c(x: T)  c(as(7, T)). }
        .comp Both : Base, Other<number> { .override a  a(2). b(x) :- c(x). }
        .comp Last : Both { }
        .init base = Base
        .init last = Last
        """
    )
    assert found == {
        "base.a": [(1,)],
        "base.b": [(1,)],
        "last.a": [(2,)],
        "last.b": [(2,), (7,)],
        "last.c": [(7,)],
    }


def test_an_override_does_not_end_rules_of_other_heads() -> None:
    text = """
        .decl out(x: number)
        .comp A { .decl a(x: number) overridable  a(1), out(5) :- true. out(x) :- a(x). }
        .comp B : A { .override a  a(3). }
        .init b = B
        """
    assert views(text) == {"b.a": [(3,)], "out": [(3,), (5,)]}


def test_the_nearest_declaration_counts() -> None:
    found = views(
        """
        .decl r(x: number)   .decl s(x: number)   .decl out(where: symbol, x: number)
        r(0). s(0).
        .comp Inner { out("inner r", x) :- r(x). out("inner s", x) :- s(x). }
        .comp Outer { .decl r(x: number)  r(1).  .init inner = Inner  out("outer r", x) :- r(x). }
        .init o = Outer
        .init i = Inner
        """
    )
    assert found["out"] == [("inner r", 0), ("inner r", 1), ("inner s", 0), ("outer r", 1)]


def test_instances_within_instances() -> None:
    found = views(
        """
        .comp Counter<T> { .decl seen(x: T)  .decl n(c: number)  n(c) :- c = count : seen(_). }
        .comp Pair<A, B> { .init left = Counter<A>  .init right = Counter<B>
                           .decl total(c: number)  total(x + y) :- left.n(x), right.n(y). }
        .init p = Pair<number, symbol>
        p.left.seen(1). p.left.seen(2). p.right.seen("a").
        """
    )
    assert found["p.total"] == [(3,)]
    assert found["p.right.n"] == [(1,)]


def test_a_component_may_be_an_argument() -> None:
    found = views(
        """
        .comp One { .decl a(x: number)  a(1). }
        .comp Two { .decl a(x: number)  a(2). }
        .comp Uses<C> { .init used = C  .decl b(x: number)  b(x) :- used.a(x). }
        .comp Extends<C> : C { .decl b(x: number)  b(x + 10) :- a(x). }
        .init one = Uses<One>
        .init two = Extends<Two>
        """
    )
    assert (found["one.b"], found["two.b"]) == ([(1,)], [(12,)])


def test_components_within_components_are_inherited() -> None:
    text = """
        .comp Outer { .comp Inner { .decl a(x: number)  a(1). } }
        .comp Heir : Outer { .init i = Inner }
        .init h = Heir
        """
    assert views(text) == {"h.i.a": [(1,)]}


def test_types_belong_to_their_instance() -> None:
    text = """
        .type Name <: symbol
        .comp Typed<T> {
          .type Key <: number
          .type Entry = [key: Key, value: T]
          .decl entry(e: Entry)
          .decl key(k: Key)
          key(as(k, Key)) :- entry([k, _]).
        }
        .init a = Typed<Name>
        .decl all(k: a.Key, e: a.Entry)
        """
    checked = check(read(text))
    assert columns(checked, "a.entry") == [("a.Entry", "a.Entry")]
    assert columns(checked, "all") == [("a.Key", "number"), ("a.Entry", "a.Entry")]
    assert [field.type for field in checked.records["a.Entry"].fields] == ["a.Key", "Name"]


@pytest.mark.parametrize(
    ("argument", "declared", "of_column"),
    [("Age", "a.Age", "a.Age"), ("years", "a.years", "a.years"), ("symbol", "a.T", "symbol")],
)
def test_a_type_may_have_the_name_of_a_parameter(argument: str, declared: str, of_column: str) -> None:
    text = ".type Age <: symbol  .comp A<T> { .type T <: number  .type U = T  .decl p(x: T, y: U) }"
    checked = check(read(f"{text} .init a = A<{argument}>"))
    assert declared in [type_.name for type_ in checked.types]
    assert [type_ for type_, _ in columns(checked, "a.p")] == [of_column, "a.U"]


def test_relations_of_an_argument_need_not_be_overridable() -> None:
    text = ".comp A { .decl p(x: number)  p(1). }  .comp B<T> : T { .override p  p(2). }"
    assert views(f"{text} .init b = B<A>")["b.p"] == [(2,)]
    with pytest.raises(ProgramError, match="inherits no relation `p`"):
        check(read(f"{text} .comp C {{ }} .init b = B<C>"))
    with pytest.raises(ProgramError, match="not overridable"):
        check(read(f"{text} .comp D : A {{ .override p }}"))


def test_names_are_found_in_paths_aggregates_and_negations() -> None:
    text = """
        .comp G { .decl e(x: number, y: number)  .decl n(x: number)  .decl out(x: number, c: number)
          n(x) :- e(x, _) ; e(_, x).
          out(x, c) :- n(x), !e(x, _), c = count : { <^e/e+>(_, y), y > 0 }. }
        .init g = G
        """
    expected = "g.out(x, c) :- g.n(x), !g.e(x, _), c = count : { <^g.e/g.e+>(_, y), y > 0 }."
    assert rules(text)["g.r2"] == expected


def test_directives_keep_the_qualified_name(tmp_path: Path) -> None:
    (tmp_path / "g.edge.facts").write_text("1\t2\n2\t3\n")
    program = tmp_path / "graph.dl"
    program.write_text(
        GRAPH.replace("path(x, y) :-", ".input edge\n.output path\npath(x, y) :-") + ".init g = Graph<number>\n"
    )
    assert main(["run", str(program), "-F", str(tmp_path), "-D", str(tmp_path)]) == 0
    assert sorted((tmp_path / "g.path.csv").read_text().split("\n")) == ["", "1\t2", "1\t3", "2\t3"]


def test_the_text_of_a_component_reads_back() -> None:
    program = read(
        GRAPH + ".comp B<S> : Graph<S>, C { .override path  .comp D { }  .init d = D }\n.init b = B<number>\n"
    )
    assert read(str(program)) == program


@pytest.mark.parametrize(
    ("text", "heads"),
    [
        ("p(1).q.r(2).", ["p", "q.r"]),
        ("p(x) :- q.r(x), x = 1.q.r(2).", ["p", "q.r"]),
        ("p(x) :- q.r(x), q.r(y), x = y.p(2).", ["p", "p"]),
        ("p(x) :- q.r(x), q.r(y), x < y.q.r(2).", ["p", "q.r"]),
        ("p(x) :- <q.e/q.e+>(x, _).q.r(1).", ["p", "q.r"]),
        ("q.n: p(x) :- !q.r(x), q.r(x).", ["p"]),
    ],
)
def test_dots_join_names_and_end_clauses(text: str, heads: list[str]) -> None:
    program = read(
        f".comp Q {{ .decl r(x: number) .decl e(x: number, y: number) }}\n.init q = Q\n.decl p(x: number)\n{text}"
    )
    check(program)
    assert [rule.heads[0].relation for rule in program.rules] == heads


def test_views_follow_facts_and_rules_of_instances() -> None:
    with tidelog.connect() as db:
        db.load(GRAPH + ".init g = Graph<number>\n")
        db.insert("g.edge", [(1, 2), (2, 3), (3, 4)])
        db.commit()
        db.options(strategy="update")
        db.delete("g.edge", [(2, 3)])
        change = db.commit()
        assert (change.report.bootstraps, change.report.updates) == (0, 1)
        assert set(change["g.path"].deleted) == {(1, 3), (1, 4), (2, 3), (2, 4)}
        db.rules.remove("g.step")
        db.rules.add("g.back: g.path(y, x) :- g.edge(x, y).")
        db.commit()
        assert set(db["g.path"]) == {(1, 2), (2, 1), (3, 4), (4, 3)}
        db.check()


def test_later_texts_bring_instances_of_earlier_components(tmp_path: Path) -> None:
    with tidelog.connect(tmp_path / "store") as db:
        db.load(GRAPH)
        db.commit()
        db.rules.add(".init g = Graph<number>\ng.edge(1, 2).")
        db.commit()
    with tidelog.connect(tmp_path / "store") as db:
        assert list(db["g.path"]) == [(1, 2)]
        db.load(".init h = Graph<symbol>")
        db.insert("h.edge", [("a", "b")])
        db.commit()
        assert list(db["h.path"]) == [("a", "b")]
        db.save_certificate(tmp_path / "certificate")
    tidelog.check_certificate(tmp_path / "certificate")


def test_a_mistake_in_a_component_is_reported_once() -> None:
    text = ".comp A { .decl a(x: number)  a(x) :- b(x). }\n" + "".join(f".init i{n} = A\n" for n in range(5))
    with pytest.raises(ProgramError) as caught:
        check(read(text))
    [problem] = caught.value.problems
    assert problem.code == "E0201"
    assert "in the instance `i0`, and likewise in 4 others" in str(problem)


def test_a_failed_load_of_components_changes_nothing() -> None:
    with tidelog.connect() as db:
        db.load(GRAPH)
        with pytest.raises(ProgramError):
            db.load(".comp Heir : Graph<number> { .override edge }\n.init g = Heir")
        assert db.relations == ()
        db.load(".comp Heir : Graph<number> { .override path }\n.init g = Heir")
        assert db.relations == ("g.edge", "g.path")


def test_many_instances_are_expanded_in_time() -> None:
    chain = "".join(f".comp C{n} : C{n + 1} {{ .decl r{n}(x: number)  r{n}(x) :- r{n + 1}(x). }}\n" for n in range(40))
    text = chain + ".comp C40 { .decl r40(x: number) }\n" + "".join(f".init i{n} = C0\n" for n in range(60))
    assert len(check(read(text)).rules) == 2_400


def test_components_nest_and_inherit_up_to_a_depth() -> None:
    def chain(length: int) -> str:
        heirs = "".join(f".comp C{i + 1} : C{i} {{ r({i + 1}). }}\n" for i in range(length))
        return f".comp C0 {{ .decl r(x: number) r(0). }}\n{heirs}.init c = C{length}\n"

    assert len(views(chain(140))["c.r"]) == 141
    with pytest.raises(ProgramError, match=r"E0106.*components contain or inherit each other in more than 150 levels"):
        check(read(chain(1500)))
    mixed = "".join(
        f".comp M{k}x0 {{ .init i = L{k} }}\n"
        + "".join(f".comp M{k}x{j + 1} : M{k}x{j} {{ }}\n" for j in range(30))
        + f".comp L{k + 1} : M{k}x30 {{ }}\n"
        for k in range(30)
    )
    with pytest.raises(ProgramError, match="E0106"):
        check(read(f".comp L0 {{ }}\n{mixed}.init x = L30\n"))


def test_components_that_double_end_at_once() -> None:
    doubling = "".join(f".comp C{i + 1} {{ .init a = C{i} .init b = C{i} }}\n" for i in range(60))
    with pytest.raises(ProgramError, match=r"E0237.*more than 10,000 instances"):
        check(read(f".comp C0 {{ .decl r(x: number) r(0). }}\n{doubling}.init c = C60\n"))


def test_a_qualified_name_has_spaces_before_its_dot_where_an_atom_begins() -> None:
    """The C preprocessor leaves them behind the arguments of macros."""
    component = ".comp C { .decl a(x: number) .decl b(x: number) a(1). b(7). } .init c = C .decl r(x: number)\n"
    text = "c{}b(2). r(x) :- c{}a(x). r(x) :- c.b(x), !c{}a(x). r(x) :- x = count : {{ c{}a(_) }}. r(y) :- r(x), y = x"
    spaced = component + text.format(" .", " .", "\t.", "  .")
    assert str(read(f"{spaced} .r(3).")) == str(read(component + text.format(*4 * ".") + ". r(3)."))
    assert views(f"{spaced} .r(3).")["r"] == [(1,), (2,), (3,), (7,)]
