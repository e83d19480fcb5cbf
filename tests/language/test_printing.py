"""`str` of a tree is text that reads back as the same tree."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.language import read
from tidelog.language.printer import path_name
from tidelog.language.syntax import (
    Aggregate,
    Alternation,
    Anonymous,
    Atom,
    Attribute,
    BranchDeclaration,
    Cast,
    Comparison,
    Constant,
    Declaration,
    Directive,
    Disjunction,
    Functor,
    Inverse,
    Literal,
    Negation,
    Path,
    Program,
    Record,
    Repeat,
    Rule,
    Sequence,
    Step,
    Term,
    Truth,
    TypeDeclaration,
    Variable,
)

names = st.sampled_from(["a", "b", "edge", "x1", "_y", "Zoo", "count", "avg", "é"])
variables = st.sampled_from(["x", "y", "longer_name", "?q", "_z", "count", "größe"]).map(Variable)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
numbers = st.integers(-(2**64) + 1, 2**64 - 1)
constants = st.one_of(
    numbers.map(Constant),
    st.integers(0, 2**64 - 1).map(lambda n: Constant(n, "unsigned")),
    st.floats(allow_nan=False, allow_infinity=False).map(lambda r: Constant(r, "float")),
    texts.map(lambda s: Constant(s, "symbol")),
)
leaves = st.one_of(variables, constants, st.just(Anonymous()), st.just(Record(None)))
BINARY = ["+", "-", "*", "/", "%", "^", "band", "bor", "bxor", "bshl", "bshr", "bshru", "land", "lor", "lxor"]


def compound(terms: st.SearchStrategy[Term]) -> st.SearchStrategy[Term]:
    some = st.lists(terms, max_size=3).map(tuple)
    several = st.lists(terms, min_size=2, max_size=3).map(tuple)
    pair = st.tuples(terms, terms)
    operands = st.lists(terms, min_size=1, max_size=3).map(tuple)
    return st.one_of(
        st.builds(Functor, st.sampled_from(BINARY), pair),
        st.builds(Functor, st.sampled_from(["neg", "bnot", "lnot"]), st.tuples(terms)),
        st.builds(Functor, st.sampled_from(["cat", "min", "max", "range"]), several),
        st.builds(Functor, st.sampled_from(["strlen", "ord", "to_number"]), st.tuples(terms)),
        st.builds(Record, some),
        st.builds(Record, some, branch=names),
        st.builds(Cast, terms, st.sampled_from(["T", "number"])),
        st.builds(Aggregate, st.just("count"), st.none(), bodies(terms)),
        st.builds(Aggregate, st.sampled_from(["sum", "min", "max", "mean", "median", "any"]), terms, bodies(terms)),
        st.builds(Aggregate, st.sampled_from(["argmin", "argmax"]), st.builds(Record, pair), bodies(terms)),
        st.builds(Aggregate, st.just("own"), st.builds(Record, operands), bodies(terms), called=st.just("p95")),
        st.builds(
            Aggregate,
            st.just("own"),
            st.builds(Record, st.tuples(terms)),
            bodies(terms),
            called=names,
            start=constants,
        ),
    )


def atoms(terms: st.SearchStrategy[Term]) -> st.SearchStrategy[Atom]:
    plain = st.builds(Atom, names, st.lists(terms, max_size=3).map(tuple))
    located = st.builds(Atom, names, st.lists(terms, min_size=1, max_size=3).map(tuple), st.just(0))
    return st.one_of(plain, located)


def compound_paths(paths: st.SearchStrategy[Path]) -> st.SearchStrategy[Path]:
    """Sequences of sequences and choices of choices are flat."""
    parts = st.lists(paths.filter(lambda path: not isinstance(path, Sequence)), min_size=2, max_size=3).map(tuple)
    others = st.lists(paths.filter(lambda path: not isinstance(path, Alternation)), min_size=2, max_size=3).map(tuple)
    return st.one_of(
        st.builds(Inverse, paths),
        st.builds(Repeat, paths, st.sampled_from("+*?")),
        st.builds(Sequence, parts),
        st.builds(Alternation, others),
    )


paths = st.recursive(names.map(Step), compound_paths, max_leaves=6)


def body_atoms(terms: st.SearchStrategy[Term]) -> st.SearchStrategy[Atom]:
    along = st.builds(
        lambda path, args: Atom(path_name(path), args, path=path),
        paths,
        st.lists(terms, min_size=2, max_size=3).map(tuple),
    )
    return st.one_of(atoms(terms), along)


def simple_literals(terms: st.SearchStrategy[Term]) -> st.SearchStrategy[Literal]:
    return st.one_of(
        body_atoms(terms),
        body_atoms(terms).map(Negation),
        st.builds(Comparison, st.sampled_from(["=", "!=", "<", "<=", ">", ">="]), terms, terms),
        st.builds(Comparison, st.sampled_from(["match", "contains", "!match", "!contains"]), terms, terms),
        st.booleans().map(Truth),
    )


def bodies(terms: st.SearchStrategy[Term]) -> st.SearchStrategy[tuple[Literal, ...]]:
    """Bodies whose disjunctions have several alternatives, none of which is just a disjunction."""
    simple = simple_literals(terms)
    alternatives = st.lists(st.lists(simple, min_size=1, max_size=2).map(tuple), min_size=2, max_size=3).map(tuple)
    literals = st.one_of(simple, st.builds(Disjunction, alternatives))
    return st.lists(literals, min_size=1, max_size=3).map(tuple)


terms = st.recursive(leaves, compound, max_leaves=8)
rules = st.one_of(
    st.builds(Rule, st.none(), atoms(terms).map(lambda a: (a,))),
    st.builds(Rule, names, st.lists(atoms(terms), min_size=1, max_size=2).map(tuple)),
    st.builds(Rule, st.none() | names, st.lists(atoms(terms), min_size=1, max_size=2).map(tuple), bodies(terms)),
)
type_names = st.sampled_from(["T", "number", "Größe"])
attributes = st.lists(st.builds(Attribute, names, type_names), max_size=3).map(tuple)
branches = st.lists(st.builds(BranchDeclaration, names, attributes), min_size=1, max_size=3).map(tuple)
types = st.one_of(
    st.builds(TypeDeclaration, names, st.just("sub"), st.tuples(type_names)),
    st.builds(TypeDeclaration, names, st.just("alias"), st.tuples(type_names)),
    st.builds(TypeDeclaration, names, st.just("union"), st.lists(type_names, min_size=2, max_size=3).map(tuple)),
    st.builds(TypeDeclaration, names, st.just("record"), st.just(()), attributes),
    st.builds(TypeDeclaration, names, st.just("branches"), branches=branches),
)
qualifiers = st.sampled_from(
    [(), ("brie",), ("inline",), ("btree", "no_inline"), ("no_inline", "brie"), ("magic", "btree")]
)
options = st.dictionaries(st.sampled_from(["IO", "filename", "n"]), st.one_of(texts, st.integers(0, 99), st.booleans()))
programs = st.builds(
    Program,
    st.lists(types, max_size=2).map(tuple),
    st.lists(st.builds(Declaration, names, attributes, qualifiers), max_size=2).map(tuple),
    st.lists(st.builds(Directive, st.sampled_from(["input", "output"]), type_names, options), max_size=2).map(tuple),
    st.lists(rules, max_size=3).map(tuple),
)


@settings(max_examples=150, deadline=None)
@given(programs)
def test_programs_survive_printing(program: Program) -> None:
    assert read(f"{program}\n") == program


@pytest.mark.parametrize(
    "text",
    [
        "r: a(x), b(y) :- c(x, _), !d(y), x < y + 1, (e(x); f(y), true).",
        "a(-1 ^ 2, (-1) ^ 2, -(1), x - (y - z), (x ^ y) ^ z).",
        'a(sum x * 2 : { p(x), !match("a\\\\.b", x) }, [1, nil], as(x, T), 1u, 1.5).',
        "a(@x, y) :- b(@x, y).",
        "a(@(p95(p95(x) : { b(x) }) : { c(y) })).",
        "a(x, y) :- p+(x, y), q*(x, _), !r?(y, 1), ^p(y, x), ^p+(y, x), <p>(x, y).",
        "a(x, y) :- <p/q+/^r|s>(x, y), <(p|q)*/^(r/s)>(x, y), <(^p)+?>(x, y).",
        "a(x) :- x = count : { <p/q>(x, _); !p+(x, x) }.",
    ],
)
def test_readable_text(text: str) -> None:
    (rule,) = read(text).rules
    assert str(rule) == text.replace("-1 ^ 2,", "-(1 ^ 2),", 1) or read(str(rule)).rules == (rule,)


def test_qualifiers_stand_before_and_behind_a_selection() -> None:
    program = read(".decl d(x: number, c: number, h: number) brie min(c), max(h) magic no_inline\n")
    (declaration,) = program.declarations
    assert declaration.qualifiers == ("brie", "magic", "no_inline")
    assert str(declaration) == ".decl d(x: number, c: number, h: number) brie magic no_inline min(c), max(h)"
    assert read(f"{program}\n") == program


def test_text_of_parts() -> None:
    (rule,) = read("a(x) :- b(x + 1), !c([x, _]), (d(x) ; x = 1).").rules
    assert list(map(str, rule.body)) == ["b(x + 1)", "!c([x, _])", "(d(x); x = 1)"]
    assert str(read(".type A <: B\n.decl a(x: A) inline\n.input a(headers=true, n=1, IO=file)")) == (
        '.type A <: B\n.decl a(x: A) inline\n.input a(headers=true, n=1, IO="file")'
    )
