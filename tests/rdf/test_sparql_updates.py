"""Updates in SPARQL: one transaction each, with the effect that pyoxigraph has on the asserted quads."""

from __future__ import annotations

from pathlib import Path

import pyoxigraph
import pytest

from tests.rdf.stores import stored
from tests.texts import cases_of, python
from tidelog import DataError, LimitError, ProgramError, TidelogError, UsageError
from tidelog.rdf import TYPE, Store, connect

EXAMPLE = "http://example.org/"
TRIG = """@prefix : <http://example.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Dog rdfs:subClassOf :Animal .  :rex a :Dog ; :age 4 ; :name "Rex"@en .  :old :age 12 .
:one { :tom :likes :rex ; :age 4 . }  :two { :tom :likes :tom . }"""
UPDATES = [
    *cases_of(__file__, "updates"),
    "# a comment; with a semicolon\nPREFIX e: <http://example.org/>\nINSERT DATA { e:a e:b '''; } ''' } ;"
    "DELETE { ?x e:b ?y } INSERT { e:z e:b ?y } WHERE { ?x e:b ?y } ;",
    "",
]


def store_of(text: str = TRIG) -> Store:
    return stored(text, "trig", prefix=EXAMPLE, rules="rdfs")


def quads(store: Store) -> set[str]:
    return set(store.to_text("nquads").splitlines())


@pytest.mark.parametrize("text", UPDATES)
def test_updates_have_the_effect_of_pyoxigraph(text: str) -> None:
    store, other = store_of(), pyoxigraph.Store()
    other.extend(pyoxigraph.parse(TRIG, pyoxigraph.RdfFormat.TRIG))
    other.update(text, prefixes={"": EXAMPLE})
    before = quads(store)
    store.update(text)
    assert quads(store) == {f"{quad} ." for quad in other}
    assert not store.has_pending
    follows = store.query("SELECT ?s ?p ?o { ?s ?p ?o }", inferred=False)
    assert {row[:3] for row in store.quads(graph="")} == set(follows)
    assert before == quads(store_of())


def test_a_blank_node_of_a_pattern_is_no_predicate() -> None:
    store = store_of()
    store.update("INSERT DATA { :tom :owns _:thing }")
    change = store.update("INSERT { ?x ?thing 1 . ?thing :of ?x } WHERE { ?x :owns ?thing }")
    assert [(p, o) for _, p, o in change.inserted] == [(f"{EXAMPLE}of", f"{EXAMPLE}tom")]


def test_with_and_inferred_match_what_follows() -> None:
    store = store_of()
    change = store.update("WITH :one INSERT { ?x :sort ?c } WHERE { ?x a ?c }", inferred=True)
    assert (f"{EXAMPLE}rex", f"{EXAMPLE}sort", f"{EXAMPLE}Animal") in set(change.inserted)
    assert set(store.graphs()) == {f"{EXAMPLE}one", f"{EXAMPLE}two"}


def test_declarations_stand_in_front_of_any_operation() -> None:
    store = store_of()
    store.update(
        "INSERT DATA { :a :b 1 } ;\n BASE <http://example.org/> # for z\n PREFIX e: <http://example.org/>\n"
        " DELETE { ?x e:b ?y } INSERT { <z> e:b ?y } WHERE { ?x e:b ?y } ; INSERT DATA { <z> e:b 2 }"
    )
    assert len(store.query("SELECT ?n { :z :b ?n }")) == 2
    with pytest.raises(ProgramError, match="<update>:2:"):
        store.update("INSERT DATA { :a :b 1 } ;\n PREFIX e: <http://example.org/> INSERT DATA { e:a e:b }")


def test_an_update_is_one_commit_and_gives_its_change() -> None:
    store, heard = store_of(), list[int]()
    store.subscribe(lambda change: heard.append(len(change.inserted)))
    change = store.update("INSERT DATA { :max a :Dog } ; INSERT { ?x :is 1 } WHERE { ?x a :Dog }")
    assert heard == [4]
    assert (EXAMPLE + "max", TYPE, EXAMPLE + "Animal") in set(change.inserted)
    assert store.query("ASK { :max :is 1 . :rex :is 1 }")


def test_blank_nodes_of_the_store_stay_and_those_of_templates_are_new() -> None:
    store = store_of("@prefix : <http://example.org/> . [] :p 1 . [] :p 2 .")
    store.update("INSERT { ?x :q ?n ; :r [ :s ?n ] } WHERE { ?x :p ?n }")
    assert len(store.query("SELECT ?x { ?x :p ?n ; :q ?n ; :r/:s ?n }")) == 2
    assert len(store.query("SELECT DISTINCT ?y { ?x :r ?y }")) == 2
    store.update("DELETE { ?x ?p ?o } WHERE { ?x :p 1 ; ?p ?o }")
    assert len(store.query("SELECT ?x { ?x :p ?n }")) == 1
    store.update("INSERT { :said :that <<( ?x :p ?n )>> } WHERE { ?x :p ?n }")
    ((node,),) = store.query("SELECT ?x { ?x :p ?n }")
    assert str(next(iter(store.triples(EXAMPLE + "said")))[2]).startswith(f"<<( {node} <http://example.org/p>")


def test_numbers_keep_their_spelling_and_can_be_deleted() -> None:
    text = "@prefix : <http://example.org/> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> ."
    store = store_of(
        f'{text} :a :p "04"^^xsd:integer, "4"^^xsd:integer . :b :p "1.50"^^xsd:decimal, 7 . :g {{ :a :p 04 }}'
    )
    assert len(store.query("SELECT ?n { :a :p ?n }")) == 1
    store.delete(
        '<http://example.org/a> <http://example.org/p> "04"^^<http://www.w3.org/2001/XMLSchema#integer> .', graph=""
    )
    store.commit()
    assert store.query("ASK { :a :p 4 }")
    store.update("DELETE WHERE { :b :p 1.5 } ; INSERT DATA { :b :q 007 } ; DELETE DATA { GRAPH :g { :a :p 4 } }")
    assert {str(row[2])[:5] for row in store.quads()} == {'"4"^^', '"7"^^'}
    store.update("DELETE WHERE { ?x ?p ?n }")
    assert len(store) == 0


def test_a_deletion_that_only_meets_what_follows_says_so() -> None:
    store = store_of()
    before = quads(store)
    for text in (
        "DELETE WHERE { :rex a :Animal }",
        "DELETE { ?x a :Animal } WHERE { ?x a :Animal }",
        "INSERT DATA { :max :age 3 } ; DELETE WHERE { ?x a :Animal }",
    ):
        with pytest.raises(UsageError) as caught:
            store.update(text)
        assert caught.value.code == "E0667"
        assert "Dog> <http://www.w3.org/2000/01/rdf-schema#subClassOf>" in str(caught.value)
        assert quads(store) == before
    for text in (  # a condition, graphs that the update names, and nothing at all
        "DELETE { ?x :age ?n } WHERE { ?x a :Animal ; :age ?n }",
        "DELETE { ?x a :Animal } INSERT { ?x a :Beast } WHERE { ?x a :Animal }",
        "DELETE { ?x a :Animal } USING :one WHERE { ?x a :Animal }",
        "DELETE WHERE { ?x a :Plant }",
    ):
        store.update(text)
        assert quads(store) == before, text
    store.update("DELETE WHERE { :rex a ?c } ; DELETE WHERE { :rex a :Animal }")
    assert not store.query("ASK { :rex a :Animal }")


def test_a_triple_that_follows_cannot_be_deleted() -> None:
    store = store_of()
    before = quads(store)
    with pytest.raises(UsageError) as caught:
        store.update("DELETE DATA { :old :age 12 . :rex a :Animal }")
    assert caught.value.code == "E0667"
    assert "<http://example.org/rex> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://example.org/Dog>" in str(
        caught.value
    )
    assert quads(store) == before
    with pytest.raises(UsageError, match="E0667"):
        store.update("DELETE { ?x a ?c } WHERE { ?x a ?c }", inferred=True)
    store.update("DELETE { ?x a ?c } WHERE { ?x a ?c }")
    assert not store.query("ASK { ?x a :Animal }")


def test_an_inferred_triple_can_be_asserted() -> None:
    store = store_of()
    store.update("INSERT DATA { :rex a :Animal }")
    assert store.query("ASK { :rex a :Animal }", inferred=False)
    store.update("INSERT { ?x :sort ?c } WHERE { ?x a ?c }", inferred=True)
    assert len(store.query("SELECT ?c { :rex :sort ?c }")) == 2
    assert [c for (c,) in store.query("SELECT ?c { :rex a ?c }")].count(EXAMPLE + "Animal") == 1


def test_load_reads_files(tmp_path: Path) -> None:
    store, path = store_of(), tmp_path / "more pets.ttl"
    path.write_text("@prefix : <http://example.org/> . :max a :Dog ; :knows _:b . <#here> :p 1 .")
    iri = path.as_uri()
    store.update(f"LOAD <{iri}> ; LOAD SILENT <{iri}> INTO GRAPH :loaded")
    assert store.query("ASK { :max a :Animal . GRAPH :loaded { :max :knows ?b FILTER(isBlank(?b)) } }")
    assert store.query(f"ASK {{ <{iri}#here> :p 1 }}")
    (tmp_path / "wrong.ttl").write_text("oh no")
    wrong = (tmp_path / "wrong.ttl").as_uri()
    for target, code in ((f"{iri}.nope", "E0410"), (wrong, "E0460"), ("http://a/b", "E0410")):
        with pytest.raises(DataError, match=code):
            store.update(f"INSERT DATA {{ :half :done 1 }} ; LOAD <{target}>")
        store.update(f"LOAD SILENT <{target}>")
    assert not store.query("ASK { :half ?p ?o }")


@pytest.mark.parametrize(("text", "code", "place"), cases_of(__file__, "wrong updates are refused as a whole", python))
def test_wrong_updates_are_refused_as_a_whole(text: str, code: str, place: str) -> None:
    store = store_of()
    before, seen = quads(store), set(store.query("SELECT * { ?s ?p ?o }"))
    with pytest.raises(TidelogError) as caught:
        store.update(text)
    assert caught.value.code == code
    assert place in str(caught.value)
    assert quads(store) == before
    assert set(store.query("SELECT * { ?s ?p ?o }")) == seen
    assert not store.has_pending


def test_an_update_without_end_is_stopped_and_nothing_is_lost() -> None:
    store = store_of()
    store.insert("".join(f"<http://a/{n}> <http://a/p> <http://a/{n + 1}> .\n" for n in range(400)), "nt")
    store.commit()
    endless = "?a ?p ?b . ?c ?q ?d . ?e ?r ?f . ?g ?s ?h FILTER(CONCAT(STR(?a), STR(?c), STR(?e), STR(?g)) = 'x')"
    with pytest.raises(LimitError, match="E0501"):
        store.update(f"INSERT DATA {{ :half :done 1 }} ; INSERT {{ ?a :p 1 }} WHERE {{ {endless} }}", timeout=0.2)
    assert not store.query("ASK { :half ?p ?o }")
    assert not store.has_pending


def test_an_update_needs_the_store_for_itself() -> None:
    store = store_of()
    store.insert("<http://a/s> <http://a/p> 1 .")
    with pytest.raises(UsageError, match="E0606"):
        store.update("CLEAR ALL")
    store.rollback()
    with store.transaction(), pytest.raises(UsageError, match="E0625"):
        store.update("CLEAR ALL")
    for wrong in (5, None, b"CLEAR ALL"):
        with pytest.raises(UsageError, match="E0635"):
            store.update(wrong)  # type: ignore[arg-type]  # wrong on purpose
    store.options(mirror="off")
    with pytest.raises(UsageError, match="E0665"):
        store.update("CLEAR ALL")
    store.close()
    with pytest.raises(UsageError, match="E0602"):
        store.update("CLEAR ALL")
    with pytest.raises(ProgramError, match="E0664"):
        connect().update("nothing")
