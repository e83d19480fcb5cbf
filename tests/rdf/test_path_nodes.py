"""Nodes that `*` and `?` lead to themselves: those of the graph with its inferences, and constants, as in SPARQL."""

from __future__ import annotations

import random
from typing import Any

import pyoxigraph
import pytest

import tidelog.rdf
from tests.depth import cases
from tests.rdf.random_ontologies import ontology
from tests.rdf.stores import EXAMPLE, everything, full, insert, short, triples
from tidelog.rdf import Store, connect
from tidelog.rdf.terms import PREFIXES

VIEW = f"""@prefix : <{EXAMPLE}> .
.decl v(x: symbol, y: symbol)
linked: v(x, y) :- :knows*(x, y)."""


def pairs(rows: Any) -> set[tuple[str, ...]]:
    return {tuple(short(str(each)) for each in row) for row in rows}


def store_of(text: str, program: str = "", rules: str = "rdfs") -> Store:
    store = connect(rules=rules)
    store.load(f"@prefix : <{EXAMPLE}> .\n{program}")
    insert(store, triples(text))
    store.commit()
    return store


def test_an_axiom_takes_no_node_away() -> None:
    """`:knows` gets a rule by the axiom; its asserted triples give nodes all the same, to queries and to rules."""
    store = store_of(":ann :knows :bob; :ann :likes :cid", VIEW)
    before = {(":ann", ":bob"), (":ann", ":ann"), (":bob", ":bob"), (":cid", ":cid")}
    assert pairs(store.query(":knows*(x, y)")) == pairs(store["v"]) == before
    axiom = triples(":likes rdfs:subPropertyOf :knows")
    insert(store, axiom)
    store.commit()
    after = before | {(":ann", ":cid"), (":likes", ":likes"), (":knows", ":knows")}
    assert pairs(store.query(":knows*(x, y)")) == pairs(store["v"]) == after
    store.delete([tuple(map(full, triple)) for triple in axiom])
    store.commit()
    assert pairs(store.query(":knows*(x, y)")) == pairs(store["v"]) == before
    store.check()


def test_two_properties_with_one_pair_give_its_nodes_until_both_are_without() -> None:
    store = store_of(":ann :knows :bob; :ann :likes :bob; :likes rdfs:subPropertyOf :knows", VIEW)
    store.delete([(full(":ann"), full(":knows"), full(":bob"))])
    store.commit()
    assert (":bob", ":bob") in pairs(store["v"])
    store.delete([(full(":ann"), full(":likes"), full(":bob"))])
    store.commit()
    assert pairs(store["v"]) == {(":likes", ":likes"), (":knows", ":knows")}


def test_terms_that_only_rules_make_are_nodes_of_queries() -> None:
    store = store_of(":ann :knows :bob", "new: :tag(x, :seen) :- :knows(x, _).")
    assert (":seen", ":seen") in pairs(store.query(":knows?(x, y)"))


def test_what_a_rule_keeps_of_a_path_does_not_change_the_answer_to_a_query() -> None:
    program = f"{VIEW}\nnew: :tag(x, :seen) :- :knows(x, _)."
    store = store_of(":ann :knows :bob", program)
    assert (":seen", ":seen") not in pairs(store["v"])
    assert (":seen", ":seen") in pairs(store.query(":knows*(x, y)"))
    assert (":seen", ":seen") in pairs(store.query(":knows*(x, y), x = y"))


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        (":knows*(:zed, x)", {(":zed", ":zed")}),
        (":knows*(x, :zed)", {(":zed", ":zed")}),
        (":knows+(:zed, x)", set()),
        ('<:knows?/:likes*>("new", x)', {('"new"', '"new"')}),
        (":knows*(:zed, x), :knows*(x, y)", set()),  # :zed is no node of the graph for the second path.
        (":knows(x, _), !:knows*(:zed, x)", {(":ann",)}),
        (":knows(x, _), !:knows*(:zed, _)", set()),
        (":knows(x, _), :knows*(:zed, :zed)", {(":ann",)}),
        (":knows(x, _), n = count : { :knows*(:ann, _) }", {(":ann", "2")}),
    ],
)
def test_a_constant_is_led_to_itself(query: str, answer: set[tuple[str, ...]]) -> None:
    store = store_of(":ann :knows :bob")
    store.prefixes[""] = EXAMPLE
    assert pairs(store.query(query)) == answer


def test_a_parameter_is_led_to_itself() -> None:
    store = store_of(":ann :knows :bob")
    store.prefixes[""] = EXAMPLE
    assert pairs(store.query(":knows*(who, x)", who=full(":zed"))) == {(":zed",)}


def test_a_constant_in_a_rule_is_led_to_itself() -> None:
    program = f"""@prefix : <{EXAMPLE}> .
    .decl reached(x: symbol)
    .decl others(x: symbol)
    .decl number(n: number)
    from:   reached(x) :- :knows*(:zed, x).
    beside: others(x) :- :knows(x, _), !:knows*(:ann, x).
    many:   number(n) :- n = count : {{ :knows*(:zed, _) }}."""
    store = store_of(":bob :knows :ann", program)
    assert pairs(store["reached"]) == {(":zed",)}
    assert pairs(store["others"]) == {(":bob",)}
    assert set(store["number"]) == {(1,)}
    insert(store, triples(":zed :knows :bob"))
    store.commit()
    assert pairs(store["reached"]) == {(":zed",), (":bob",), (":ann",)}
    assert set(store["number"]) == {(3,)}


PATHS = [":p*", "^:p?", "(:p|:q)*", ":p*/:q?", "(:p/^:q)*", "rdf:type*/rdfs:subClassOf*", "(:p|rdf:type)?/:r*"]


@pytest.mark.parametrize("seed", range(cases(12)))
def test_paths_over_inferences_match_sparql(seed: int) -> None:
    """pyoxigraph has the triples of the store, inferred ones included."""
    rng = random.Random(seed)
    store = connect(rules="owl-rl")
    store.prefixes[""] = EXAMPLE
    insert(store, {tuple(term.replace("_:", ":blank") for term in triple) for triple in ontology(rng)})  # type: ignore[misc]
    store.commit()
    graph = pyoxigraph.Store()
    graph.load(store.to_text("ntriples", inferred=True).encode(), pyoxigraph.RdfFormat.N_TRIPLES)
    nodes = sorted({term for s, _, o in everything(store) for term in (s, o) if term.startswith(":")})
    for path in PATHS:
        here, there = rng.choices(nodes, k=2)
        for one, other in (("x", "y"), (here, "y"), ("x", there), (here, there)):
            ends = [name if name.startswith(":") else f"?{name}" for name in (one, other)]
            select = f"SELECT DISTINCT * {{ {ends[0]} {path} {ends[1]} }}"
            rows: Any = graph.query(select, prefixes={"": EXAMPLE, **PREFIXES})
            expected = {tuple(short(tidelog.rdf.term(each)) for each in row) for row in rows}
            given = [i for i, name in enumerate((one, other)) if name.startswith(":")]
            found = {
                tuple(each for i, each in enumerate(row) if i not in given)
                for row in pairs(store.query(f"<{path}>({one}, {other})"))
            }
            assert found == expected, (seed, path, one, other, everything(store))


@pytest.mark.parametrize(
    "literals", ['"old"^^xsd:integer', '"1"^^xsd:integer, "2"^^xsd:integer', '"1"^^xsd:integer, "01"^^xsd:integer']
)
def test_facts_about_literals_give_no_nodes(literals: str) -> None:
    """An ill-typed literal and its datatype, and literals that were compared, are facts of the store's own."""
    store = store_of(":ann :knows :bob; :age rdf:type owl:FunctionalProperty", VIEW, "owl-rl")
    before = pairs(store["v"])
    facts = f"@prefix : <{EXAMPLE}> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> . :ann :age {literals} ."
    store.insert(facts, format="turtle")
    store.commit()
    there = {term for pair in pairs(store["v"]) - before for term in pair}
    assert len(there) == 1 + literals.count(","), there
    assert all(term.startswith('"') for term in there)
    store.delete(facts, format="turtle")
    store.commit()
    assert pairs(store["v"]) == before
