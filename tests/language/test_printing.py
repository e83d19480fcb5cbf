"""`str` of a tree is text that reads back as the same tree."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.depth import cases
from tests.texts import cases_of
from tidelog.language import read
from tidelog.language.counters import COUNTER
from tidelog.language.functors import TESTS
from tidelog.language.lexer import FUNCTIONS
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
    Component,
    ComponentType,
    Constant,
    Declaration,
    Directive,
    Disjunction,
    Functor,
    FunctorDeclaration,
    Instance,
    Inverse,
    Literal,
    Negation,
    Override,
    Path,
    PlanOrder,
    Program,
    Record,
    Repeat,
    Rule,
    SelectionClause,
    Sequence,
    Step,
    Term,
    Truth,
    TypeDeclaration,
    Variable,
)
from tidelog.language.token_types import SOFT_WORDS

WORDS = ["count", "avg", "min", "sum", "any", "collect", "brie", "stateful", "no_nodes", "input"]
"""Words of the language that are plain names in other places."""
PLAIN = ["a", "b", "edge", "x1", "_y", "Zoo", "é", "any", "count", "avg"]
OF_INSTANCES = ["c.s", "c.d.count", "c.min", "c.split", "c.ends_with", "c.output", "c.d.type", "x.inline"]
SOFT = sorted(SOFT_WORDS)
BINARY = ["+", "-", "*", "/", "%", "^", "band", "bor", "bxor", "bshl", "bshr", "bshru", "land", "lor", "lxor"]
QUALIFIERS = [
    (),
    ("brie",),
    ("eqrel", "no_inline"),
    ("inline", "overridable"),
    ("magic", "btree"),
    ("no_magic", "no_nodes"),
]

T = TypeVar("T")


def tuples(parts: st.SearchStrategy[T], least: int = 0, most: int = 3) -> st.SearchStrategy[tuple[T, ...]]:
    return st.lists(parts, min_size=least, max_size=most).map(tuple)


local_names = st.sampled_from([*PLAIN, *WORDS])
type_names = st.sampled_from(["T", "number", "Größe", "c.T", "c.type", "min"])
branch_names = st.sampled_from(["A", "Cons", "c.Nil", "c.d.output", "count"])
variables = st.sampled_from(["x", "y", "longer_name", "?q", "_z", "count", "größe", "split", "input"]).map(Variable)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
numbers = st.integers(-(2**64) + 1, 2**64 - 1)
constants: st.SearchStrategy[Term] = st.one_of(
    numbers.map(Constant),
    st.integers(0, 2**64 - 1).map(lambda n: Constant(n, "unsigned")),
    st.floats(allow_nan=False, allow_infinity=False).map(lambda r: Constant(r, "float")),
    texts.map(lambda s: Constant(s, "symbol")),
)
nil: st.SearchStrategy[Term] = st.just(Record(None))
leaves = st.one_of(variables, constants, st.just(Anonymous()), nil, st.just(Functor(COUNTER, ())))
starts = st.one_of(
    constants, nil, st.builds(Record, tuples(constants)), st.builds(Record, tuples(constants), branch=branch_names)
)


class Syntax:
    """All trees of the syntax. With `soft`, soft words are names of relations, and else of functors and tests."""

    def __init__(self, soft: bool) -> None:
        self.relations = st.sampled_from([*PLAIN, *OF_INSTANCES, *(SOFT if soft else ())])
        self.functors = sorted(FUNCTIONS - {"min", "max"} - ({*SOFT} if soft else set()))
        self.tests = sorted(TESTS - ({*SOFT} if soft else set()))
        self.soft = tuple(Declaration(name, ()) for name in SOFT) if soft else ()
        self.paths = st.recursive(self.relations.map(Step), self.compound_paths, max_leaves=6)
        self.terms = st.recursive(leaves, self.compound, max_leaves=8)

    def compound(self, terms: st.SearchStrategy[Term]) -> st.SearchStrategy[Term]:
        pair = st.tuples(terms, terms)
        operands = tuples(terms, 1)
        bodies = self.bodies(terms)
        return st.one_of(
            st.builds(Functor, st.sampled_from(BINARY), pair),
            st.builds(Functor, st.sampled_from(["neg", "bnot", "lnot"]), st.tuples(terms)),
            st.builds(Functor, st.sampled_from(self.functors), operands),
            st.builds(Functor, st.sampled_from(["min", "max"]), tuples(terms, 2)),
            st.builds(Functor, st.sampled_from(["@f", "@lower", "@p95"]), tuples(terms)),
            st.builds(Record, tuples(terms)),
            st.builds(Record, tuples(terms), branch=branch_names),
            st.builds(Cast, terms, type_names),
            st.builds(Aggregate, st.just("count"), st.none(), bodies),
            st.builds(
                Aggregate, st.sampled_from(["sum", "min", "max", "mean", "median", "any", "collect"]), terms, bodies
            ),
            st.builds(Aggregate, st.sampled_from(["argmin", "argmax"]), st.builds(Record, pair), bodies),
            st.builds(Aggregate, st.just("own"), st.builds(Record, operands), bodies, called=st.just("p95")),
            st.builds(
                Aggregate,
                st.just("own"),
                st.builds(Record, st.tuples(terms)),
                bodies,
                called=st.sampled_from(["f", "p95"]),
                start=starts,
            ),
        )

    def compound_paths(self, paths: st.SearchStrategy[Path]) -> st.SearchStrategy[Path]:
        """Sequences of sequences and choices of choices are flat."""
        parts = tuples(paths.filter(lambda path: not isinstance(path, Sequence)), 2)
        others = tuples(paths.filter(lambda path: not isinstance(path, Alternation)), 2)
        return st.one_of(
            st.builds(Inverse, paths),
            st.builds(Repeat, paths, st.sampled_from("+*?")),
            st.builds(Sequence, parts),
            st.builds(Alternation, others),
        )

    def atoms(self, terms: st.SearchStrategy[Term]) -> st.SearchStrategy[Atom]:
        plain = st.builds(Atom, self.relations, tuples(terms))
        located = st.builds(Atom, self.relations, tuples(terms, 1), st.just(0))
        return st.one_of(plain, located)

    def heads(self) -> st.SearchStrategy[Atom]:
        """Atoms, with arguments to select by."""
        selects = st.sampled_from(["min", "max"]).map(lambda op: ((0, op),))
        return st.one_of(
            self.atoms(self.terms), st.builds(Atom, self.relations, tuples(self.terms, 1), selects=selects)
        )

    def literals(self, terms: st.SearchStrategy[Term]) -> st.SearchStrategy[Literal]:
        along = st.builds(lambda path, args: Atom(path_name(path), args, path=path), self.paths, tuples(terms, 2))
        atoms = st.one_of(self.atoms(terms), along)
        tests = [*self.tests, *(f"!{test}" for test in self.tests)]
        return st.one_of(
            atoms,
            atoms.map(Negation),
            st.builds(Comparison, st.sampled_from(["=", "!=", "<", "<=", ">", ">="]), terms, terms),
            st.builds(Comparison, st.sampled_from(tests), terms, terms),
            st.booleans().map(Truth),
        )

    def bodies(self, terms: st.SearchStrategy[Term]) -> st.SearchStrategy[tuple[Literal, ...]]:
        """Bodies whose disjunctions have several alternatives, none of which is just a disjunction."""
        simple = self.literals(terms)
        alternatives = tuples(tuples(simple, 1, 2), 2)
        return tuples(st.one_of(simple, st.builds(Disjunction, alternatives)), 1)

    def rules(self) -> st.SearchStrategy[Rule]:
        names = st.one_of(local_names, st.sampled_from(OF_INSTANCES))
        heads, bodies = self.heads(), self.bodies(self.terms)
        plans = tuples(st.builds(PlanOrder, st.integers(0, 9), tuples(st.integers(1, 9), 1)), 0, 2)
        pairs = tuples(self.atoms(self.terms), 2, 2)
        return st.one_of(
            st.builds(Rule, st.none(), st.tuples(heads)),
            st.builds(Rule, names, tuples(heads, 1, 2)),
            st.builds(Rule, st.none() | names, tuples(heads, 1, 2), bodies, plan=plans),
            st.builds(Rule, st.none() | names, pairs, bodies, subsumes=st.just(True), plan=plans),
        )

    def programs(self) -> st.SearchStrategy[Program]:
        attributes = tuples(st.builds(Attribute, local_names, type_names))
        located = st.builds(Attribute, local_names, type_names, st.just(True))
        columns = st.one_of(attributes, st.tuples(located), st.tuples(*attributes_of(2), located))
        best = tuples(st.builds(SelectionClause, st.sampled_from(["min", "max"]), st.tuples(local_names)), 1)
        one_each = tuples(st.builds(SelectionClause, st.just("choice"), tuples(local_names, 1)), 1)
        declarations = st.builds(
            Declaration, self.relations, columns, st.sampled_from(QUALIFIERS), st.one_of(st.just(()), best, one_each)
        )
        branches = tuples(st.builds(BranchDeclaration, branch_names, attributes), 1)
        names = st.sampled_from(["T", "Größe", "c.T", "c.type"])
        types = st.one_of(
            st.builds(TypeDeclaration, names, st.just("sub"), st.tuples(type_names)),
            st.builds(TypeDeclaration, names, st.just("alias"), st.tuples(type_names)),
            st.builds(TypeDeclaration, names, st.just("union"), tuples(type_names, 2)),
            st.builds(TypeDeclaration, names, st.just("record"), st.just(()), attributes),
            st.builds(TypeDeclaration, names, st.just("branches"), branches=branches),
        )
        keys = st.sampled_from(["IO", "filename", "n", "count"])
        options = st.dictionaries(keys, st.one_of(texts, st.integers(0, 99), st.booleans()))
        words = st.sampled_from(["input", "output", "printsize", "limitsize"])
        directives = st.builds(Directive, words, self.relations, options)
        parameters = st.one_of(tuples(st.builds(Attribute, st.just(""), type_names), 1), attributes_of(1, 3))
        forms = st.sampled_from([(False, False), (False, True), (True, False)])  # aggregate, stateful
        functors = st.builds(
            lambda name, types, result, form: FunctorDeclaration(name, types, result, *form),
            st.sampled_from(["f", "p95"]),
            parameters,
            type_names,
            forms,
        )
        component_types = st.builds(ComponentType, st.sampled_from(["C", "count"]), tuples(type_names, 0, 2))
        instances = st.builds(Instance, st.sampled_from(["c", "count", "output"]), component_types)
        flat = (tuples(types, 0, 2), tuples(declarations, 0, 2), tuples(directives, 0, 2), tuples(self.rules(), 0, 3))

        def component(bodies: st.SearchStrategy[Program]) -> st.SearchStrategy[Component]:
            overrides = tuples(st.builds(Override, self.relations), 0, 2)
            return st.builds(Component, component_types, tuples(component_types, 0, 2), bodies, overrides)

        inner = st.builds(Program, *flat, instances=tuples(instances, 0, 1))
        nested = st.builds(Program, *flat, tuples(component(inner), 0, 1), tuples(instances, 0, 1))
        outer = st.builds(
            Program, *flat, tuples(component(nested), 0, 1), tuples(instances, 0, 2), tuples(functors, 0, 2)
        )
        return outer.map(lambda program: replace(program, declarations=(*program.declarations, *self.soft)))


def attributes_of(least: int, most: int = 0) -> Any:
    attribute = st.builds(Attribute, local_names, type_names)
    return tuples(attribute, least, most) if most else [attribute] * least


everything = st.one_of(Syntax(soft=True).programs(), Syntax(soft=False).programs())


@settings(max_examples=cases(200))
@given(everything)
def test_programs_survive_printing(program: Program) -> None:
    found = read(f"{program}\n")
    assert found == program
    assert [rule.plan for rule in found.rules] == [rule.plan for rule in program.rules]


@pytest.mark.parametrize(
    "text",
    [
        "a() :- x = @@f codepoint(x) : nil, { a() }.",
        "a() :- x = p95 codepoint(y) : { b(y) }.",
        ".comp C { count: a() :- b(). }",
        ".comp C : D<T> { count: a() :- b(). }",
        ".functor f(x: number): T\nstateful: a().",
    ],
)
def test_words_that_are_names_elsewhere_survive_printing(text: str) -> None:
    program = read(text)
    assert read(str(program)) == program


@pytest.mark.parametrize("text", cases_of(__file__, "readable text"))
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
