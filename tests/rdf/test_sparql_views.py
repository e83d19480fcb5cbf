"""Views in SPARQL: maintained by rules, equal to the answer of the same query after every commit."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests import depth
from tests.rdf.random_views import compared
from tests.rdf.stores import stored
from tests.texts import cases_of, python
from tidelog import ProgramError, TidelogError, UsageError
from tidelog.rdf import Store, connect
from tidelog.rdf.terms import OWL, RDFS

EXAMPLE = "http://example.org/"
SUB_PROPERTY = "<http://www.w3.org/2000/01/rdf-schema#subPropertyOf>"
TURTLE = """@prefix : <http://example.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:K rdfs:subClassOf :L .   :a :p :b .   :b :p :c ; a :K ; :age 4 ; :n "Ann"@en, "x\\"y" .
:c :age 4.5 ; :q :a ; :r :b .   :d :age "x", 7 ; :p :d ."""
QUERIES = cases_of(__file__, "queries")
VALUES = f"""PREFIX : <{EXAMPLE}> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
:s :v "Ann", "Ann"@en, "ann"@en-GB, "", 5, 5.5, 7, true, :b, [], "x"^^:own, "NaN"^^xsd:double, "2020"^^xsd:gYear,
    "2020-01-01"^^xsd:date, "2020-05-01"^^xsd:date, "2020-01-01T00:00:00Z"^^xsd:dateTime ;
    :w "Ann", 5, :b, "y"^^:own, "2020-03-01"^^xsd:date ."""
FILTERS = cases_of(__file__, "filters")
REFUSED = cases_of(__file__, "refused")


def store_of(text: str = TURTLE) -> Store:
    return stored(text, prefix=EXAMPLE, rules="rdfs")


def test_views_equal_queries_after_random_changes() -> None:
    """All queries from a depth of 0.5 on."""
    queries = QUERIES[:: depth.stride(0.5)]
    for seed in range(depth.cases(1)):
        rng = random.Random(seed)
        store = store_of()
        for number, text in enumerate(queries):
            store.view(f"view_{number}", text)
        for _ in range(4):
            store.commit()
            for number, text in enumerate(queries):
                assert set(store[f"view_{number}"]) == set(store.query(text)), (seed, text)
            for _ in range(4):
                predicate = rng.choice("ppqr")
                some: list[Any] = [(EXAMPLE + rng.choice("abcd"), EXAMPLE + predicate, EXAMPLE + rng.choice("abcd"))]
                if rng.random() < 0.4:
                    some = [(EXAMPLE + rng.choice("abcd"), EXAMPLE + "age", rng.choice([4, 4.5, 7, 5]))]
                change = store.insert if rng.random() < 0.6 else store.delete
                change(some if rng.random() < 0.7 else rng.choices(list(store.triples(inferred=False)), k=2))
        store.check()


def test_filters_by_values_hold_as_in_queries() -> None:
    store = store_of(VALUES)
    texts = [f"SELECT DISTINCT ?v ?w {{ ?s :v ?v ; :w ?w FILTER({each}) }}" for each in FILTERS]
    for number, text in enumerate(texts):
        store.view(f"view_{number}", text)
    store.commit()
    for changed in ('"Ann", 5', '"Ann", "x"^^:own'):
        for number, text in enumerate(texts):
            assert set(store[f"view_{number}"]) == set(store.query(text)), FILTERS[number]
        store.delete(f"PREFIX : <{EXAMPLE}> :s :v {changed} .")
        assert store.commit().bootstraps == 0


def test_groups_have_the_values_of_sparql() -> None:
    store = store_of()
    store.insert([(EXAMPLE + "e", EXAMPLE + "age", value) for value in (1, 2, 2.5)])
    store.view(
        "ages",
        """SELECT ?x (COUNT(*) AS ?n) (SUM(?a) AS ?s) (AVG(?a) AS ?m) (MIN(?a) AS ?l) (MAX(?a) AS ?h)
        { ?x :age ?a } GROUP BY ?x""",
    )
    store.view("all", "SELECT (COUNT(*) AS ?n) (SUM(?a) AS ?s) (AVG(?a) AS ?m) (MIN(?a) AS ?l) { ?x :none ?a }")
    store.view("degrees", "SELECT ?y (COUNT(*) AS ?n) { ?x :p ?y } GROUP BY ?y HAVING(COUNT(*) > 1)")
    store.commit()
    rows = {str(row[0]).removeprefix(EXAMPLE): tuple(map(shown, row[1:])) for row in store["ages"]}
    assert rows == {
        "b": ("1 integer", "4 integer", "4 decimal", "4 integer", "4 integer"),
        "c": ("1 integer", "4.5 decimal", "4.5 decimal", "4.5 decimal", "4.5 decimal"),
        "d": ("2 integer", "", "", "7 integer", "x"),  # A text is no number, and comes behind the numbers.
        "e": ("3 integer", "5.5 double", "1.8333333333333333 double", "1 integer", "2.5 double"),
    }
    assert [tuple(map(shown, row)) for row in store["all"]] == [("0 integer", "0 integer", "0 integer", "")]
    assert not store["degrees"]
    change = store.update('INSERT DATA { :b :p :d . :none :none 3, 4 } ; DELETE DATA { :d :age "x" }')
    assert [(x, shown(n)) for x, n in store["degrees"]] == [(EXAMPLE + "d", "2 integer")]
    assert [tuple(map(shown, row)) for row in store["all"]] == [("2 integer", "7 integer", "3.5 decimal", "3 integer")]
    assert [shown(row[2]) for row in change["ages"].inserted] == ["7 integer"]
    store.check()


ABOUT_LITERALS = dict(cases_of(__file__, "about literals", str, python))


@pytest.mark.parametrize("pattern", ABOUT_LITERALS)
def test_facts_about_literals_are_no_triples_of_views(pattern: str) -> None:
    """Rules see that a literal is of a class, or begins an inverse property; SPARQL does not."""
    store = connect(rules="owl-rl")
    store.prefixes[""] = EXAMPLE
    store.options(strategy="update")
    query = f"SELECT DISTINCT ?x ?y ?z {{ {pattern} }}"
    store.view("found", query)
    prefixes = f"PREFIX : <{EXAMPLE}> PREFIX rdfs: <{RDFS}> PREFIX owl: <{OWL}> "
    store.insert(prefixes + ":age rdfs:range :B ; owl:inverseOf :ageOf . :a :p :b .")
    store.commit()
    store.insert(prefixes + ':a :age 5, "old", :c .')
    change = store.commit()
    assert change.bootstraps == 0
    rows = {" ".join(str(each).removeprefix(EXAMPLE) for each in row).rstrip() for row in store["found"]}
    assert rows == ABOUT_LITERALS[pattern]
    assert set(store["found"]) == set(store.query(query))
    store.delete(prefixes + ":a :age :c .")
    store.commit()
    assert set(store["found"]) == set(store.query(query))
    store.check()


def test_paths_of_views_lead_constants_to_themselves() -> None:
    store = connect(rules="owl-rl")
    store.prefixes[""] = EXAMPLE
    store.view("reached", "SELECT ?y { :c :p* ?y }")
    store.view("unknown", "SELECT ?y { :zed (:p|a)? ?y }")
    store.insert([(EXAMPLE + "c", EXAMPLE + "p", EXAMPLE + "d")])
    store.commit()
    assert set(store["reached"]) == {(EXAMPLE + "c",), (EXAMPLE + "d",)}
    assert set(store["unknown"]) == {(EXAMPLE + "zed",)}


def shown(term: object) -> str:
    return str(term).replace('"', "").replace("^^<http://www.w3.org/2001/XMLSchema#", " ").removesuffix(">")


def test_random_views_equal_queries() -> None:
    seeds = depth.cases(4)
    assert sum(compared(seed, views=14, changes=2) for seed in range(seeds)) > 10 * seeds


def test_a_view_is_updated_and_explained() -> None:
    store = store_of()
    store.view("old", "SELECT DISTINCT ?x { ?x :age ?n ; a :L FILTER(?n >= 4) }")
    store.commit()
    assert list(store["old"]) == [(EXAMPLE + "b",)]
    change = store.update("INSERT DATA { :c a :K }")
    assert change.bootstraps == 0
    assert set(store["old"]) == {(EXAMPLE + "b",), (EXAMPLE + "c",)}
    assert "rdfs:subClassOf" in str(store.explain("old", (EXAMPLE + "c",)))
    assert store.prefixes[""] == EXAMPLE


def test_subscribers_get_the_change_of_a_view_alone() -> None:
    store, heard = store_of(), list[tuple[int, int]]()
    store.view("pairs", "SELECT ?x ?y { ?x :p ?y }")
    store.commit()
    end = store.subscribe(lambda part: heard.append((len(part.inserted), len(part.deleted))), "pairs")
    store.update("INSERT DATA { :x :q :y }")
    change = store.update("INSERT DATA { :x :p :y, :z } ; DELETE WHERE { :a :p ?x }")
    assert heard == [(2, 1)]
    assert set(change["pairs"].deleted) == {(EXAMPLE + "a", EXAMPLE + "b")}
    # A property below :p that the data derive costs two epochs, of which subscribers hear once.
    store.load(":under(<http://example.org/q>, <http://example.org/p>) :- :r(_, _).".replace(":under", SUB_PROPERTY))
    store.commit()
    assert heard[1:] == [(1, 0)]
    end()
    store.update("CLEAR ALL")
    assert len(heard) == 2
    for wrong in ("nowhere", 5):
        with pytest.raises(UsageError, match="E0601"):
            store.subscribe(print, wrong)  # type: ignore[arg-type]  # wrong on purpose


def test_a_view_sees_all_graphs() -> None:
    store = store_of("")
    store.insert("<http://example.org/a> <http://example.org/p> <http://example.org/b> .", graph=EXAMPLE + "g")
    store.view("pairs", "SELECT ?x ?y { ?x :p ?y }")
    store.commit()
    assert set(store["pairs"]) == set(store.query("SELECT ?x ?y { ?x :p ?y }", union=True))
    assert len(store["pairs"]) == 1


GRAPHS = cases_of(__file__, "graphs")


def test_views_of_graphs_equal_queries_after_random_changes() -> None:
    rng, store = random.Random(7), store_of("")
    for number, text in enumerate(GRAPHS):
        store.view(f"view_{number}", text)
    for _ in range(4):
        for _ in range(12):
            some = [(EXAMPLE + rng.choice("abc"), EXAMPLE + rng.choice("pq"), EXAMPLE + rng.choice("abc"))]
            change = store.insert if rng.random() < 0.6 else store.delete
            change(some, graph=rng.choice([None, "", EXAMPLE + "g", EXAMPLE + "h"]))
        store.commit()
        for number, text in enumerate(GRAPHS):
            wanted = store.query(text) if "FROM" in text else store.query(text, union=True)
            assert set(store[f"view_{number}"]) == set(wanted), text
    store.check()


CONSTRUCTS = [
    "CONSTRUCT { ?x :above ?z } { { ?x :p ?z } UNION { ?x :p ?y . ?y :above ?z } }",
    "CONSTRUCT { ?z a :K . ?n :of ?x . ?x :has ?n , ?z } { ?x :p/:p ?z OPTIONAL { ?z :age ?n } }",
    "CONSTRUCT { ?x :top true } { ?x :above ?y MINUS { ?z :above ?x } }",
    "CONSTRUCT { ?y :below ?n } { SELECT ?y (COUNT(DISTINCT ?x) AS ?n) { ?x :above ?y } GROUP BY ?y }",
    "CONSTRUCT { ?x a ?v } { ?x :q ?v }",
    "CONSTRUCT WHERE { ?x :p ?y . ?y :q :a }",
]


def test_constructed_triples_follow_and_equal_queries_after_random_changes() -> None:
    rng, store = random.Random(3), store_of()
    for number, text in enumerate(CONSTRUCTS):
        store.view(f"view_{number}", text)
    for _ in range(4):
        store.commit()
        for number, text in enumerate(CONSTRUCTS):
            rows = set(store[f"view_{number}"])
            assert rows == set(store.query(text)), text
            assert rows <= set(store.triples())
        for _ in range(6):
            some = [(EXAMPLE + rng.choice("abcd"), EXAMPLE + rng.choice("ppq"), EXAMPLE + rng.choice("abcd"))]
            (store.insert if rng.random() < 0.6 else store.delete)(some)
    store.commit()
    store.check()


def test_a_construct_view_feeds_recursion_and_inference() -> None:
    store = store_of()
    store.view("chain", "CONSTRUCT { ?x :p ?z . ?z a :K } { ?x :p ?y . ?y :p ?z FILTER(?x != :d) }")
    store.commit()
    a, c, p, kind = (EXAMPLE + name for name in ("a", "c", "p", "L"))
    a_type = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
    assert set(store["chain"]) == {(a, p, c), (c, a_type, EXAMPLE + "K")}
    assert (c, a_type, kind) in store  # :K is below :L.
    assert {(a, p, c), (c, a_type, kind)} <= set(store.inferred())
    assert "chain" in str(store.explain(a, p, c))
    store.update("INSERT DATA { :c :p :e . :e :p :f }")
    f = EXAMPLE + "f"
    assert {(x, p, f) for x in (a, EXAMPLE + "b", c)} <= set(store.inferred())
    store.drop_view("chain")
    change = store.commit()
    assert (a, p, c) in set(change.deleted)
    assert (c, a_type, kind) not in store


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("CONSTRUCT { ?x :q ?y } { ?x :p ?y FILTER NOT EXISTS { ?y :q ?x } }", "E0301"),
        ("CONSTRUCT { ?x :n ?n } { SELECT ?x (COUNT(*) AS ?n) { ?x :n ?y } GROUP BY ?x }", "E0302"),
    ],
)
def test_recursion_through_construct_views_is_checked_like_that_of_rules(text: str, code: str) -> None:
    store = store_of()
    with pytest.raises(ProgramError) as caught:
        store.view("nope", text)
    assert caught.value.code == code
    assert caught.value.problems[0].hint
    assert "nope" not in store.database


def test_graph_keeps_inferred_triples_out() -> None:
    store = store_of("")
    text = "@prefix : <http://example.org/> . :a a :K . :K <http://www.w3.org/2000/01/rdf-schema#subClassOf> :L ."
    store.insert(text, graph=EXAMPLE + "g")
    store.view("given", "SELECT ?g ?x ?c { GRAPH ?g { ?x a ?c } }")
    store.view("chosen", "SELECT ?x ?c FROM :g { ?x a ?c }")
    store.view("all", "SELECT ?x ?c { ?x a ?c FILTER(?x = :a) }")
    store.commit()
    a, k = EXAMPLE + "a", EXAMPLE + "K"
    assert list(store["given"]) == [(EXAMPLE + "g", a, k)]
    assert list(store["chosen"]) == [(a, k)]
    assert (a, EXAMPLE + "L") in set(store["all"])
    store.delete([(a, "http://www.w3.org/1999/02/22-rdf-syntax-ns#type", k)], graph=EXAMPLE + "g")
    assert set(store.commit()["given"].deleted) == {(EXAMPLE + "g", a, k)}


@pytest.mark.parametrize(("text", "part"), REFUSED)
def test_what_cannot_be_maintained_is_refused_with_its_reason(text: str, part: str) -> None:
    store = store_of()
    with pytest.raises(UsageError) as caught:
        store.view("nope", text)
    assert caught.value.code == "E0663"
    assert part in str(caught.value)
    assert caught.value.problems[0].hint
    assert not store.has_pending
    assert "nope" not in store.database


def test_wrong_names_and_texts_are_refused() -> None:
    store = store_of()
    store.view("taken", "SELECT ?x ?y { ?x :p ?y }")
    with pytest.raises(UsageError, match="E0663"):
        store.view("taken", "SELECT ?x { ?x a :L }")
    with pytest.raises(ProgramError, match="<view>:1:"):
        store.view("wrong", "SELECT ?x { ?x a }")
    for name, text in (("a b", "SELECT ?x { ?x a :L }"), ("", "x"), (5, "x"), ("x", 5)):
        with pytest.raises(TidelogError, match=r"E0663|E0635"):
            store.view(name, text)  # type: ignore[arg-type]  # wrong on purpose
    store.commit()
    store.close()
    with pytest.raises(UsageError, match="E0602"):
        store.view("closed", "SELECT ?x ?y { ?x :p ?y }")


def test_a_view_is_dropped_and_comes_back_with_a_rollback() -> None:
    store, heard = store_of(), list[tuple[int, int]]()
    store.view("old", "SELECT DISTINCT ?x { ?x :age ?n FILTER(?n >= 4) OPTIONAL { ?x :p ?y } }")
    store.view("never", "SELECT DISTINCT ?x { ?x a :L FILTER(!BOUND(?x)) }")
    store.commit()
    store.subscribe(lambda part: heard.append((len(part.inserted), len(part.deleted))), "old")
    before = set(store["old"])
    store.drop_view("old")
    store.drop_view("never")
    store.rollback()
    assert set(store["old"]) == before
    with store.transaction() as block:
        block.drop_view("old")
    assert block.change is not None
    assert not block.change.errors
    assert [name for name in store.database if "old" in name] == []
    assert [rule for rule in store.database.rules if rule.startswith("old")] == []
    with pytest.raises(UsageError, match="E0601"):
        store.drop_view("old")
    # Its name is free for other columns, and subscribers of the name hear again.
    with store.transaction() as block:
        block.view("old", "SELECT DISTINCT ?x ?y { ?x :p ?y }")
    assert heard == [(3, 0)]
    assert set(store["old"]) == set(store.query("SELECT ?x ?y { ?x :p ?y }"))
    store.check()


def changed_in_vain(store: Store) -> None:
    with store.transaction() as block:
        block.drop_view("kept")
        block.view("more", "SELECT DISTINCT ?x { ?x a :L }")
        block.load("more(x) :- nowhere(x).")


def test_a_transaction_that_fails_leaves_views_as_they_were() -> None:
    store = store_of()
    store.view("kept", "SELECT ?x ?y { ?x :p ?y }")
    store.commit()
    rows = set(store["kept"])
    with pytest.raises(ProgramError):
        changed_in_vain(store)
    assert set(store["kept"]) == rows
    assert "more" not in store.database
    # What is tried goes through an epoch of its own and back.
    with store.what_if() as block:
        block.drop_view("kept")
        block.view("more", "SELECT DISTINCT ?x { ?x a :L OPTIONAL { ?x :age ?n } }")
        block.insert([(EXAMPLE + "a", EXAMPLE + "p", EXAMPLE + "d")])
    assert set(store["kept"]) == rows
    assert not store.has_pending
    assert [name for name in store.database if "more" in name] == []
    store.view("more", "SELECT DISTINCT ?x ?n { ?x :age ?n }")
    store.commit()
    assert len(store["more"]) == 4


def test_the_name_of_a_view_is_its_own() -> None:
    store = store_of()
    store.view("pairs", "SELECT ?x ?y { ?x :p ?y }")
    for name in ("pairs", "triple"):
        with pytest.raises(UsageError, match=rf"the name {name} is taken") as caught:
            store.view(name, "SELECT ?x ?y { ?x :p ?y }")
        assert "drop_view" in str(caught.value.problems[0].hint)
    store.load(".decl good(x: symbol)\ngood(x) :- pairs(x, _).")
    with pytest.raises(ProgramError):
        store.drop_view("pairs")  # A rule reads it.
    with pytest.raises(UsageError, match="E0601"):
        store.drop_view("good")  # This is no view.
    store.commit()
    assert set(store["good"]) == {(x,) for x, _ in store["pairs"]}
    with pytest.raises(UsageError, match="E0601"):
        store.drop_view(5)  # type: ignore[arg-type]  # wrong on purpose
