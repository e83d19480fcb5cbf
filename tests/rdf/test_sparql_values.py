"""Views with values that random data seldom have, against the answers of `store.query`."""

from __future__ import annotations

import pytest

from tests.depth import stride
from tests.rdf.stores import stored
from tests.texts import cases_of
from tidelog import UsageError
from tidelog.rdf import Store, connect
from tidelog.rdf.terms import XSD

EXAMPLE = "http://example.org/"
DATA = """@prefix : <http://example.org/> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
:a :n 4, 4.5, -2, "0.1"^^xsd:float, "2.5"^^xsd:double, "1/3"^^owl:rational, "x", "y"@en, :c, _:b .
:b :n 0, 9223372036854775807, -9223372036854775807 , 170141183460469231731.687303715884105727, -0.000000000000000001 .
:up :v "INF"^^xsd:double, 3 .  :both :v "INF"^^xsd:double, "-INF"^^xsd:double .  :mixed :v :c, _:b, 7, "z" .
:floats :v "0.1"^^xsd:float, "0.2"^^xsd:float .  :texts :v "x", 1 .
:a :p :b ; :q :c .  :b :p :c ; :r :d .  :c :q :d ; :r :a .  :d :p :d ."""
QUERIES = cases_of(__file__, "queries")


def store_of() -> Store:
    return stored(DATA, prefix=EXAMPLE, rules=None)


def test_views_of_uncommon_values_equal_queries() -> None:
    """All queries from a depth of 0.5 on: their views are compiled together, which takes the time."""
    store, queries = store_of(), QUERIES[:: stride(0.5)]
    for number, text in enumerate(queries):
        store.view(f"view_{number}", text)
    store.commit()
    for number, text in enumerate(queries):
        assert set(store[f"view_{number}"]) == set(store.query(text)), text
    store.delete([(EXAMPLE + "b", EXAMPLE + "p", EXAMPLE + "c"), (EXAMPLE + "both", EXAMPLE + "v", float("inf"))])
    store.commit()
    for number, text in enumerate(queries):
        assert set(store[f"view_{number}"]) == set(store.query(text)), text
    store.check()


CONSTRUCTS = cases_of(__file__, "constructs")


def test_constructed_subjects_are_resources() -> None:
    store = store_of()
    store.insert(f"PREFIX : <{EXAMPLE}> :ann :says <<( :a :p :b )>> , :c , 5 . :bob :says <<( :a :p 1 )>> .")
    store.commit()
    wanted = [set(store.query(text)) for text in CONSTRUCTS]
    for number, text in enumerate(CONSTRUCTS):
        store.view(f"view_{number}", text)
        store.commit()
        assert set(store[f"view_{number}"]) == wanted[number], text
        assert wanted[number] <= set(store.triples())
        assert set(store.inferred()) == wanted[number]
        store.drop_view(f"view_{number}")
    store.commit()


@pytest.mark.parametrize("predicate", ["n", "v", "p"])
def test_a_constructed_class_is_no_literal(predicate: str) -> None:
    store = store_of()
    text = f"CONSTRUCT {{ ?x a ?v }} {{ ?x :{predicate} ?v }}"
    wanted = {(x, p, v) for x, p, v in store.query(text) if not str(v).startswith('"')}
    store.view("view", text)
    store.commit()
    assert set(store["view"]) == set(store.inferred()) == wanted
    assert wanted


@pytest.mark.parametrize("text", ["SELECT ?x ?y { ?x :p|:q ?y }", "SELECT ?x ?y { ?x :p/:q ?y }"])
def test_paths_that_may_give_rows_twice_need_distinct(text: str) -> None:
    with pytest.raises(UsageError, match="write SELECT DISTINCT"):
        store_of().view("nope", text)


def test_literals_outside_of_their_datatype_compare_with_no_number() -> None:
    """SPARQL makes such a comparison an error. pyoxigraph reads `inf` as INF, and so do the functors of rules."""
    store = connect(rules=None)
    store.prefixes[""] = EXAMPLE
    data = [
        f'"{text}"^^xsd:{name}' for text in ("inf", "-inf", "+inf", "nan", "Infinity") for name in ("double", "float")
    ]
    data += [
        '"1e3"^^xsd:decimal',
        '"inf"^^xsd:decimal',
        '"0x10"^^xsd:integer',
        '"0b11"^^xsd:byte',
        '"1_0"^^xsd:integer',
    ]
    store.insert(f"PREFIX : <{EXAMPLE}> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> :x :n {', '.join(data)} .")
    store.insert([(f"{EXAMPLE}x", f"{EXAMPLE}n", f'"{text}"^^<{XSD}double>') for text in ("+INF", "-INF", "NaN")])
    for number, test in enumerate(("?n > 4", "?n < 4", "!(?n < 4)", "!(?n >= 4)")):
        store.view(f"view_{number}", f"SELECT DISTINCT ?n {{ ?x :n ?n FILTER({test}) }}")
    store.commit()
    found = [{str(n).split('"')[1] for (n,) in store[f"view_{number}"]} for number in range(4)]
    assert found == [{"+INF"}, {"-INF"}, {"+INF"}, {"-INF"}]
