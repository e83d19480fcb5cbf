"""RDF in rule text: IRIs, literals and the numbers in them, types, and mistakes in all of these."""

from __future__ import annotations

import pytest

from tests.rdf.stores import stored
from tests.texts import cases_of, listed, python
from tidelog import DataError, ProgramError, TidelogError, UsageError
from tidelog.rdf import TYPE, Store, connect, literal
from tidelog.rdf.terms import XSD

EXAMPLE = "http://example.org/"
PREFIX = "@prefix : <http://example.org/> .\n"
PEOPLE = f"""{PREFIX}@prefix xsd: <{XSD}> .
:ann a :Woman ; :age 41 ; :name "Ann", "Anna"@fr ; :height 1.70 ; :born "1979-05-05"^^xsd:date ; :is-a :boss .
:bob a :Man ; :age "+7"^^xsd:byte, "old" ; :name "Bob" ; :height 1.2e0 ; :knows :ann .
:cid :age 99999999999999999999, 7 .
"""


def people(*rules: str) -> Store:
    return stored(PEOPLE, rules=[PREFIX + ".decl r(x: symbol)\n" + rule for rule in rules])


def found(body: str) -> set[str]:
    """The people for whom a body holds."""
    return {str(x).removeprefix(EXAMPLE) for (x,) in people(f"r(x) :- {body}.")["r"]}


@pytest.mark.parametrize(("body", "expected"), cases_of(__file__, "terms in rules", str, listed))
def test_terms_in_rules(body: str, expected: list[str]) -> None:
    assert found(body) == set(expected)


@pytest.mark.parametrize(("body", "expected"), cases_of(__file__, "numbers of literals", str, python))
def test_numbers_of_literals(body: str, expected: set[str]) -> None:
    assert found(body) == expected


def test_rules_derive_literals_and_types() -> None:
    store = people(
        f':tag(x, "known"), :tag(x, "connu"@fr), :level(x, 1), :level(x, -2.5) :- :knows(_, x).\n'
        f"rdf:type(x, :Old) :- :age(x, v), xsd:integer(v, n), n > 40.\n"
        f"rdf:type(x, c) :- :is-a(x, c).\n"
        f':friends(x, cat("\\"", to_string(n), "\\"^^<{XSD}integer>")) :- :age(x, _), n = count : {{ :knows(x, _) }}.\n'
        ":tag(:dan, 5)."
    )
    values = {(str(s).removeprefix(EXAMPLE), o) for s, _, o in store.triples(None, EXAMPLE + "tag")}
    assert values == {("ann", '"known"'), ("ann", '"connu"@fr'), ("dan", literal(5))}
    levels = {o for _, _, o in store.triples(None, EXAMPLE + "level")}
    assert levels == {literal(1), literal("-2.5", f"{XSD}decimal")}
    assert {o for _, _, o in store.triples(EXAMPLE + "ann", TYPE)} == {EXAMPLE + c for c in ("Woman", "Old", "boss")}
    assert (EXAMPLE + "bob", EXAMPLE + "friends", 1) in store
    again = stored(store.to_text("ntriples", inferred=True), format="ntriples")
    assert sorted(again) == sorted(store)


def test_the_relation_of_all_types_follows_what_rules_derive_and_what_goes() -> None:
    store = people("r(x) :- rdf:type(x, c), c = :Person.\n :Person(x) :- :Woman(x).")
    assert set(store["r"]) == {(EXAMPLE + "ann",)}
    before = len(store)
    store.insert(f"{PREFIX}:eve a :Person .")
    store.delete(f"{PREFIX}:ann a :Woman .")
    change = store.commit()
    assert set(store["r"]) == {(EXAMPLE + "eve",)}
    assert (len(change.inserted), len(change.deleted), len(store)) == (1, 2, before - 1)
    store.check()


def test_texts_outside_of_rdf_are_symbols() -> None:
    store = people(
        '.decl own(x: symbol, y: symbol)\n own("a", "b"). own("b", "c").\n'
        'r(x) :- own(x, "b").\n r(x) :- <own/own>(x, "c").\n'
        'r(x) :- :name(_, x), x = cat("\\"", "Ann", "\\"").'
    )
    assert set(store["r"]) == {("a",), ('"Ann"',)}


def test_queries_of_all_types_and_of_all_triples() -> None:
    store = people("r(x) :- :Woman(x).")
    assert set(store.query("rdf:type(x, c)")) == {
        (EXAMPLE + "ann", EXAMPLE + "Woman"),
        (EXAMPLE + "bob", EXAMPLE + "Man"),
    }
    assert set(store.query("rdf:type(:ann, c)")) == {(EXAMPLE + "ann", EXAMPLE + "Woman")}
    assert set(store.query("rdf:type(x, :Man)")) == {(EXAMPLE + "bob",)}
    assert len(store.query("triple(x, _, _)")) == len(store)
    assert set(store.query("triple(:bob, p, :ann)")) == {(EXAMPLE + "bob", EXAMPLE + "knows", EXAMPLE + "ann")}
    assert len(store.query("triple(x, :knows, x)")) == 0
    assert len(store.query(':name(x, "Ann")')) == len(store.query(':name(x, "Anna"@fr)')) == 1
    with pytest.raises(UsageError, match="E0661"):
        store.query("foaf:knows(x, y)")


def test_what_rules_derive_and_nobody_can_write_is_refused_when_it_is_written() -> None:
    store = people('r(x) :- :Woman(x).\n:tag(x, cat("no", "IRI")) :- :Woman(x).')
    assert (EXAMPLE + "ann", EXAMPLE + "tag", "noIRI") in store
    assert "<noIRI>" in store.to_text("ntriples", inferred=True)
    for format in ("turtle", "jsonld"):
        with pytest.raises(DataError, match="noIRI") as caught:
            store.to_text(format, inferred=True)
        assert caught.value.code == "E0465"


def test_prefixes_are_written_as_in_turtle_or_in_sparql() -> None:
    for line in (
        "@prefix ex: <http://example.org/> .",
        "PREFIX ex: <http://example.org/>",
        "prefix ex: <http://example.org/>",
    ):
        store = stored(f"{PREFIX}:a :p :b .", rules=f"{line}\n.decl r(x: symbol)\nr(x) :- ex:p(x, _).")
        assert len(store["r"]) == 1


@pytest.mark.parametrize(("text", "code", "place"), cases_of(__file__, "mistakes have their place"))
def test_mistakes_have_their_place(text: str, code: str, place: str) -> None:
    store = people("r(x) :- :Woman(x).")
    with pytest.raises(TidelogError) as caught:
        store.load(f"{PREFIX}\n{text}")
    assert isinstance(caught.value, (ProgramError, UsageError, DataError))
    problem = caught.value.problems[0]
    assert problem.code == code
    assert place in str(problem)
    assert "ː" not in str(problem).splitlines()[0] or code in ("E0211", "E0208")
    store.commit()
    assert set(store["r"]) == {(EXAMPLE + "ann",)}


def test_prefixes_of_dropped_programs_go_with_them() -> None:
    store = connect()
    store.prefixes["e"] = "http://one/"
    before = dict(store.prefixes)
    prefixes = "@prefix e: <http://two/> .\n@prefix f: <http://two/f/> .\n"
    program = prefixes + ".decl p(x: symbol)\nr: p(x) :- e:knows(x, _), f:old(x, _)."
    store.load(program)
    store.prefixes["mine"] = "http://mine/"
    assert store.prefixes["f"] == "http://two/f/"
    store.rollback()
    assert dict(store.prefixes) == {**before, "mine": "http://mine/"}

    def fail() -> None:
        with store.transaction():
            store.load(program)
            store.load("@prefix g: <http://three/> .\nr(")

    with pytest.raises(ProgramError):
        fail()
    assert dict(store.prefixes) == {**before, "mine": "http://mine/"}
    store.load(program)
    store.prefixes["f"] = "http://mine/f/"
    store.commit()
    store.rollback()
    assert store.prefixes["e"] == "http://two/"
    assert store.prefixes["f"] == "http://mine/f/"
