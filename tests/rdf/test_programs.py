"""Rules of users over RDF: prefixes in their text, properties and classes as relations, all triples as one relation."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rdf.stores import stored
from tidelog import ProgramError, UsageError
from tidelog.rdf import TYPE, Store, connect

EXAMPLE = "http://example.org/"
FRIENDS = """
@prefix ex: <http://example.org/> .
@prefix foaf: <http://xmlns.com/foaf/0.1/> .
.decl reached(x: symbol)
friends: ex:friend(x, y) :- foaf:knows(x, y), foaf:knows(y, x), x != y.   // ex:this is no name, nor "ex:that"
popular: ex:Popular(y) :- n = count : { foaf:knows(_, y) }, foaf:knows(_, y), n > 1.
reached: reached(x) :- foaf:knows+(ex:ann, x).
"""
DATA = """
@prefix : <http://example.org/> . @prefix foaf: <http://xmlns.com/foaf/0.1/> .
:ann foaf:knows :bob . :bob foaf:knows :ann, :cid . :cid foaf:knows :bob . :dan a foaf:Person .
"""


def names(store: Store, predicate: str, inferred: bool = True) -> set[tuple[str, str]]:
    rows = store.triples(None, predicate, None, inferred=inferred)
    return {(str(s).removeprefix(EXAMPLE), str(o).removeprefix(EXAMPLE)) for s, _, o in rows}


def test_a_program_reads_and_derives_triples() -> None:
    store = stored(DATA, rules=FRIENDS)
    pairs = {("ann", "bob"), ("bob", "ann"), ("bob", "cid"), ("cid", "bob")}
    assert len(store.triples(None, None, EXAMPLE + "Popular")) == 1
    assert names(store, EXAMPLE + "friend") == pairs
    assert names(store, EXAMPLE + "friend", inferred=False) == set()
    assert names(store, TYPE) == {("bob", "Popular"), ("dan", "http://xmlns.com/foaf/0.1/Person")}
    assert {str(x).removeprefix(EXAMPLE) for (x,) in store["reached"]} == {"ann", "bob", "cid"}
    assert len(store.inferred()) == 5


def test_queries_have_prefixes() -> None:
    store = stored(DATA, rules=FRIENDS)
    assert set(store.query("ex:friend(x, ex:ann)")) == {(EXAMPLE + "bob", EXAMPLE + "ann")}
    assert set(store.query("foaf:Person(x)")) == {(EXAMPLE + "dan",)}
    assert len(store.query("<foaf:knows/foaf:knows>(ex:ann, x)")) == 2
    assert len(store.query("ex:unheard_of(x, y)")) == 0
    with pytest.raises(ProgramError):
        store.query("ex:friend(x")


def test_rules_come_and_go_with_the_data() -> None:
    store = stored(
        DATA + ":friend <http://www.w3.org/2000/01/rdf-schema#subPropertyOf> :near .", rules=("rdfs", FRIENDS)
    )
    assert names(store, EXAMPLE + "near") == names(store, EXAMPLE + "friend")
    assert len(names(store, EXAMPLE + "near")) == 4
    store.rules.remove("friends")
    change = store.commit()
    assert names(store, EXAMPLE + "near") == set()
    assert len(change.deleted) == 8
    store.load("back: ex:friend(x, y) :- foaf:knows(x, y).")
    store.commit()
    assert len(names(store, EXAMPLE + "near")) == 4


def test_a_program_that_derives_axioms() -> None:
    store = connect(rules=("owl-rl", "@prefix : <http://example.org/> .\n rdfs:subClassOf(x, :Thing) :- :Kind(x)."))
    store.insert("@prefix : <http://example.org/> . :Dog a :Kind . :rex a :Dog .")
    change = store.commit()
    assert store.contains(EXAMPLE + "rex", TYPE, EXAMPLE + "Thing")
    assert len(change.reports) == 2
    store.delete("@prefix : <http://example.org/> . :Dog a :Kind .")
    store.commit()
    assert not store.contains(EXAMPLE + "rex", TYPE, EXAMPLE + "Thing")


def test_all_triples_as_one_relation() -> None:
    store = stored(
        "@prefix : <http://example.org/> . :p :symmetric :yes . :a :p :b . :a a :C .",
        rules="""
        @prefix : <http://example.org/> .
        .decl subject(x: symbol)
        subject(x) :- triple(x, _, _).
        triple(y, p, x) :- :symmetric(p, _), triple(x, p, y).
        """,
    )
    assert store.contains(EXAMPLE + "b", EXAMPLE + "p", EXAMPLE + "a")
    assert {str(x).removeprefix(EXAMPLE) for (x,) in store["subject"]} == {"p", "a", "b"}
    store.insert("@prefix : <http://example.org/> . :q :symmetric :yes . :c :q :d .")
    store.commit()
    assert store.contains(EXAMPLE + "d", EXAMPLE + "q", EXAMPLE + "c")
    store.delete("@prefix : <http://example.org/> . :q :symmetric :yes .")
    store.commit()
    assert not store.contains(EXAMPLE + "d", EXAMPLE + "q", EXAMPLE + "c")
    assert {str(x).removeprefix(EXAMPLE) for (x,) in store["subject"]} == {"p", "a", "b", "c"}


def test_triples_of_properties_that_only_rules_name() -> None:
    store = stored(
        "@prefix : <http://example.org/> . :a :says :new ; :of :b .",
        rules="@prefix : <http://example.org/> .\n triple(x, p, y) :- :says(x, p), :of(x, y).",
    )
    assert store.contains(EXAMPLE + "a", EXAMPLE + "new", EXAMPLE + "b")
    assert len(store) == 3


def test_programs_are_files_as_well(tmp_path: Path) -> None:
    path = tmp_path / "friends.dl"
    path.write_text(FRIENDS)
    store = stored(DATA, rules=path)
    assert len(names(store, EXAMPLE + "friend")) == 4


def test_mistakes_show_the_text_as_it_was_written() -> None:
    store = connect()
    text = "@prefix ex: <http://example.org/> .\n.decl r(x: symbol)\nr(x) :- ex:knows(y, ex:bob).\n"
    with pytest.raises(ProgramError) as caught:
        store.load(text)
    assert caught.value.code == "E0215"
    assert "<text>:3:1" in str(caught.value) or "<text>:3:3" in str(caught.value)
    assert "r(x) :- ex:knows(y, ex:bob)." in str(caught.value)
    with pytest.raises(ProgramError) as caught:
        store.load("@prefix ex: <http://example.org/> .\nex:a(x) :- ex:b(x,).")
    assert "ex:a(x) :- ex:b(x,)." in str(caught.value)
    with pytest.raises(UsageError, match="E0661"):
        store.load(".decl r(x: symbol)\nr(x) :- foaf:knows(x, _).")
    store.insert(DATA)
    store.commit()
    assert len(store) == 5


@pytest.mark.parametrize(
    ("text", "verb"),
    [
        ("@prefix : <http://example.org/> . :a :b :c .", "`store.insert`"),
        ("@prefix : <http://example.org/> .\n:a a :c ; :d 'x' .", "`store.insert`"),
        ("<http://example.org/a> <http://example.org/b> 1 .\n:broken", "`store.insert`"),
        ("data/pets.ttl", "`store.insert`"),
        ("SELECT ?x { ?x ?p ?o }", "`store.view`"),
        ("PREFIX : <http://example.org/> CONSTRUCT { ?x a :A } WHERE { ?x a :B }", "`store.view`"),
        ("INSERT DATA { <http://example.org/a> a <http://example.org/b> }", "`store.update`"),
    ],
)
def test_texts_for_other_verbs_are_refused_with_that_verb(text: str, verb: str) -> None:
    with pytest.raises(ProgramError) as caught:
        connect().load(text)
    (problem,) = caught.value.problems
    assert problem.code.startswith("E01")
    assert problem.hint is not None
    assert verb in problem.hint


def test_a_program_may_have_a_relation_called_triple() -> None:
    store = stored(DATA, rules=".decl triple(x: number)  triple(1).  .decl r(x: number)  r(x) :- triple(x).")
    assert list(store["r"]) == [(1,)]
    assert len(store) == 5


def test_what_is_no_text_is_refused() -> None:
    store = connect()
    for call in (lambda: store.load(5), lambda: store.query(5)):  # type: ignore[arg-type]
        with pytest.raises(UsageError):
            call()


@pytest.mark.parametrize("rules", ["owl", "RDFS", 5, ["rdfs", None], ""])
def test_unknown_rules_are_refused(rules: object) -> None:
    with pytest.raises(UsageError, match="E0662"):
        connect(rules=rules)  # type: ignore[call-overload]
