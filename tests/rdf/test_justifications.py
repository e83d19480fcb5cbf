"""Inconsistencies with the asserted triples that they follow from, as views."""

from __future__ import annotations

import json

from tests.rdf.serving import EXAMPLE, serving
from tests.rdf.stores import stored
from tidelog.rdf import Store, justified
from tidelog.workspace.change import RelationChange

PREFIXES = """@prefix : <http://example.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> ."""
PETS = f"""{PREFIXES}
:owns rdfs:range :Mammal . :Plant owl:disjointWith :Mammal . :Fern rdfs:subClassOf :Plant .
:ann :owns :fern . :fern a :Fern ."""
ALL_FIVE = [":ann :owns :fern", ":fern a :Fern", ":Fern sub :Plant", ":Plant disjoint :Mammal", ":owns range :Mammal"]


def store_of(text: str) -> Store:
    return stored(text, rules="owl-rl")


def short(term: str) -> str:
    names = {"subClassOf": "sub", "disjointWith": "disjoint", "type": "a"}
    if term.startswith(EXAMPLE):
        return f":{term.removeprefix(EXAMPLE)}"
    local = term.rpartition("#")[2]
    return names.get(local, local)


def shown(store: Store) -> dict[str, list[str]]:
    """The rules and terms of inconsistencies with their triples."""
    return {
        f"{each.rule} {' '.join(map(short, each.terms))}": sorted(
            " ".join(map(short, triple)) for triple in each.triples
        )
        for each in justified(store.justifications())
    }


def test_an_inconsistency_names_all_asserted_triples_behind_it() -> None:
    store = store_of(PETS)
    assert shown(store) == {"cax-dw :fern :Plant :Mammal": sorted(ALL_FIVE)}
    (row,) = store.inconsistencies()
    (found,) = justified(store["justifications"])
    assert set(found.triples) == set(store.explain(*row).triples)


def test_without_any_of_its_triples_an_inconsistency_does_not_hold() -> None:
    (found,) = justified(store_of(PETS).justifications())
    assert len(found.triples) == len(ALL_FIVE)
    for triple in found.triples:
        store = store_of(PETS)
        store.delete([triple])
        store.commit()
        assert len(store.inconsistencies()) == len(store.justifications()) == 0
    store = stored(found.triples, rules="owl-rl")
    assert {row[0] for row in store.inconsistencies()} == {"cax-dw"}


def test_justifications_follow_data_and_schema() -> None:
    store = store_of(PETS)
    store.insert(f"{PREFIXES} :fern a :Plant .")  # a proof of less height
    store.commit()
    assert shown(store) == {"cax-dw :fern :Plant :Mammal": sorted([*ALL_FIVE[:1], ":fern a :Plant", *ALL_FIVE[3:]])}
    store.delete(f"{PREFIXES} :fern a :Plant .")
    store.commit()
    assert shown(store) == {"cax-dw :fern :Plant :Mammal": sorted(ALL_FIVE)}
    store.delete(f"{PREFIXES} :Fern rdfs:subClassOf :Plant .")
    store.commit()
    assert shown(store) == {}


def test_lists_are_among_the_triples() -> None:
    store = store_of(f"{PREFIXES} [] a owl:AllDisjointClasses ; owl:members (:A :B) . :x a :A , :B .")
    (found,) = justified(store.justifications())
    assert found.rule == "cax-adc"
    assert len(found.triples) == 8  # two types of x, that of the axiom, its list, and two for each cell


def test_subscribers_hear_of_inconsistencies_and_of_justifications() -> None:
    store = store_of(PETS)
    rows: list[RelationChange] = []
    triples: list[RelationChange] = []
    store.subscribe(rows.append, "inconsistencies")
    store.subscribe(triples.append, "justifications")
    store.insert(f"{PREFIXES} :bob :likes :fern .")
    store.commit()
    assert (rows, triples) == ([], [])
    store.insert(f"{PREFIXES} :fern a :Plant .")
    store.commit()
    assert rows == []
    ((came, went),) = [(len(each.inserted), len(each.deleted)) for each in triples]
    assert (came, went) == (1, 2)
    store.delete(f"{PREFIXES} :ann :owns :fern .")
    store.commit()
    assert [(len(each.inserted), len(each.deleted)) for each in rows] == [(0, 1)]
    assert [(len(each.inserted), len(each.deleted)) for each in triples[1:]] == [(0, 4)]


def test_a_program_may_have_relations_of_these_names() -> None:
    program = ".decl justifications(x: symbol)\njustifications(x) :- :A(x)."
    store = stored(f"{PREFIXES} :x a :A .", rules=f"@prefix : <http://example.org/> .\n{program}")
    assert list(store["justifications"]) == [(f"{EXAMPLE}x",)]
    assert len(store["inconsistencies"]) == 0


def test_a_server_shows_inconsistencies() -> None:
    with serving() as server:
        assert json.loads(server.send("GET", "/inconsistencies").body) == []
        assert server.update('INSERT DATA { :rex :age "x"^^<http://www.w3.org/2001/XMLSchema#integer> }').status == 204
        (found,) = json.loads(server.send("GET", "/inconsistencies").body)
        assert found["rule"] == "dt-not-type"
        assert [triple[1] for triple in found["triples"]] == [f"{EXAMPLE}age"]
        assert server.send("GET", "/inconsistencies", Accept="text/html").status == 406
        assert server.send("HEAD", "/views/inconsistencies/changes", Accept="text/event-stream").status == 200
    with serving("", "secret") as server:
        assert server.send("GET", "/inconsistencies").status == 401
