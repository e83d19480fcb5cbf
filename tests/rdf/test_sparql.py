"""Queries in SPARQL: what they see, what they return, their limits, and the mirror that follows commits."""

from __future__ import annotations

import json
import random
import threading
from pathlib import Path
from typing import Any

import pyoxigraph
import pytest

from tests import depth
from tests.rdf.stores import stored
from tests.texts import cases_of
from tidelog import LimitError, ProgramError, TidelogError, UsageError
from tidelog.rdf import TYPE, Solutions, Store, connect, literal
from tidelog.rdf.formats import INFERRED

EXAMPLE = "http://example.org/"
TRIG = """@prefix : <http://example.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Dog rdfs:subClassOf :Animal .  :rex a :Dog ; :age 4 .  :old :age 12 .
:one { :tom :likes :rex . }  :two { :tom :likes :tom . }"""
ENDLESS = "ASK { ?a ?p ?b . ?c ?q ?d . ?e ?r ?f . ?g ?s ?h FILTER(CONCAT(STR(?a), STR(?c), STR(?e), STR(?g)) = 'x') }"


def store_of(text: str = TRIG) -> Store:
    return stored(text, "trig", prefix=EXAMPLE, rules="rdfs")


def solutions(store: Store, text: str, **options: Any) -> Solutions:
    found = store.query(text, **options)
    assert isinstance(found, Solutions)
    return found


def rows(store: Store, text: str, **options: Any) -> list[tuple[str, ...]]:
    return [tuple(str(term).removeprefix(EXAMPLE) for term in row) for row in store.query(text, **options)]


def test_queries_see_what_follows_unless_asked_not_to() -> None:
    store = store_of()
    assert rows(store, "SELECT ?x { ?x a :Animal }") == [("rex",)]
    assert rows(store, "SELECT ?x { ?x a :Animal }", inferred=False) == []
    assert store.query("ASK { :rex a :Animal }")
    assert not store.query("ASK { :rex a :Plant }")
    assert rows(store, "PREFIX e: <http://example.org/> SELECT ?x { ?x a e:Dog }") == [("rex",)]
    assert rows(store, "SELECT ?x { ?x a <Dog> }", base=EXAMPLE) == [("rex",)]


def test_graphs_are_apart() -> None:
    store = store_of()
    assert rows(store, "SELECT ?g ?o { GRAPH ?g { :tom :likes ?o } } ORDER BY ?g") == [("one", "rex"), ("two", "tom")]
    assert rows(store, "SELECT ?o { :tom :likes ?o }") == []
    assert rows(store, "SELECT ?o { :tom :likes ?o } ORDER BY ?o", union=True) == [("rex",), ("tom",)]
    assert rows(store, "SELECT ?o FROM :two { :tom :likes ?o }") == [("tom",)]
    assert rows(store, "SELECT ?x FROM <urn:tidelog:inferred> { ?x a :Animal }") == [("rex",)]
    assert rows(store, "SELECT DISTINCT ?g { GRAPH ?g {} } ORDER BY ?g") == [("one",), ("two",)]


def test_solutions_keep_their_order_their_number_and_what_is_unbound() -> None:
    store = store_of()
    asked = store.query("SELECT ?x ?n ?c { ?x :age ?n OPTIONAL { ?x a ?c FILTER(?c = :Dog) } } ORDER BY DESC(?n)")
    assert [column.name for column in asked.columns] == ["x", "n", "c"]
    assert list(asked) == [(EXAMPLE + "old", literal(12), ""), (EXAMPLE + "rex", literal(4), EXAMPLE + "Dog")]
    assert len(store.query("SELECT ?p { ?s ?p ?o }", inferred=False)) == 4
    assert [column.name for column in store.query("SELECT * { ?s ?p ?o }").columns] == ["s", "p", "o"]
    assert rows(store, "SELECT (COUNT(*) AS ?n) { ?s :age ?o }") == [(literal(2),)]
    assert asked.to_pandas()["c"].tolist() == ["", EXAMPLE + "Dog"]


def test_construct_and_describe_give_triples() -> None:
    store = store_of()
    found = solutions(store, "CONSTRUCT { ?x :is ?c } WHERE { ?x a ?c }")
    assert set(found) == {(EXAMPLE + "rex", EXAMPLE + "is", EXAMPLE + name) for name in ("Dog", "Animal")}
    again = connect()
    again.insert(found.to_text())
    again.insert(store.query("DESCRIBE :rex", inferred=False))
    again.commit()
    assert len(again) == 4


@pytest.mark.parametrize("format", ["json", "xml", "csv", "tsv"])
def test_texts_of_results_are_those_of_pyoxigraph(format: str) -> None:
    store, other = store_of(), pyoxigraph.Store()
    other.extend(pyoxigraph.parse(TRIG, pyoxigraph.RdfFormat.TRIG))
    for text in (
        "SELECT ?x ?n ?c { ?x :age ?n OPTIONAL { ?x a ?c } } ORDER BY ?n",
        'SELECT ?x { VALUES ?x { "a\\tb\\n\\"c" "x"@en 1.5 true <http://a/b> UNDEF } }',
        "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }",
    ):
        expected = other.query(text, prefixes={"": EXAMPLE}).serialize(
            format=getattr(pyoxigraph.QueryResultsFormat, format.upper())
        )
        assert expected is not None
        assert solutions(store, text, inferred=False).to_text(format) == expected.decode()
    assert json.loads(solutions(store, "ASK {}").to_text())["boolean"] is True
    with pytest.raises(UsageError, match="E0660"):
        solutions(store, "ASK {}").to_text("csv")
    with pytest.raises(UsageError, match="E0660"):
        solutions(store, "SELECT * {}").to_text("turtle")


def test_parameters_are_values_of_variables() -> None:
    store = store_of()
    assert rows(store, "SELECT ?x ?n { ?x :age ?n }", n=4) == [("rex", literal(4))]
    assert rows(store, "SELECT ?x ?n { ?x :age ?n }", x=EXAMPLE + "old") == [("old", literal(12))]
    with pytest.raises(UsageError, match="E0612"):
        store.query("SELECT ?x { ?x :age ?n }", n=4)


def test_random_commits_are_followed() -> None:
    for seed in range(depth.cases(3)):
        rng = random.Random(seed)
        store = connect(rules="rdfs")
        store.query("ASK {}")
        sub = "http://www.w3.org/2000/01/rdf-schema#subClassOf"
        for _ in range(25):
            for _ in range(rng.randrange(1, 4)):
                some = [
                    (EXAMPLE + rng.choice("ab"), rng.choice([TYPE, sub, EXAMPLE + "p"]), EXAMPLE + rng.choice("abc"))
                    for _ in range(rng.randrange(1, 5))
                ]
                change = store.insert if rng.random() < 0.6 else store.delete
                change(some, graph=rng.choice([None, "", EXAMPLE + "g", EXAMPLE + "h"]))
            if rng.random() < 0.1:
                store.load(f"<{EXAMPLE}q>(<{EXAMPLE}a>, y) :- <{EXAMPLE}p>(_, y).")
            with_query = rng.random() < 0.7
            store.commit()
            if with_query:
                both = "SELECT ?s ?p ?o ?g { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } }"
                found = store.query(both, inferred=False)
                assert set(found) == set(store.quads()), seed
                assert len(found) == len(set(found))
                together = store.query("SELECT ?s ?p ?o { ?s ?p ?o }", union=True)
                assert set(together) == set(store.triples()), seed
                assert len(together) == len(store)
                assert set(store.query("SELECT * { ?s ?p ?o }", union=True, inferred=False)) == {
                    row[:3] for row in store.quads()
                }
                follows = store.query(f"SELECT ?s ?p ?o FROM <{INFERRED}> {{ ?s ?p ?o }}")
                assert set(follows) == set(store.inferred()), seed
                assert {g for (g,) in store.query("SELECT ?g { GRAPH ?g {} }")} == set(store.graphs()), seed


def test_what_fails_or_is_tried_leaves_no_trace_in_the_mirror() -> None:
    store = store_of()
    before = rows(store, "SELECT * { ?s ?p ?o }")
    with store.what_if() as trial:
        trial.insert("<http://example.org/max> a <http://example.org/Dog> .")
    store.options(max_rows=1)
    store.insert("".join(f"<http://a/{n}> a <http://example.org/Dog> .\n" for n in range(9)))
    with pytest.raises(LimitError):
        store.commit()
    assert rows(store, "SELECT * { ?s ?p ?o }") == before
    store.rollback()


def test_facts_of_programs_are_followed() -> None:
    store = store_of()
    store.query("ASK {}")
    store.load(f"<{EXAMPLE}Animal>(<{EXAMPLE}rex>).")
    store.commit()
    assert store.query("ASK { :rex a :Animal }", inferred=False)


def test_a_large_change_makes_a_new_mirror() -> None:
    store = store_of()
    store.query("ASK {}")
    store.insert("".join(f"<http://a/{n}> <http://a/p> <http://a/o> .\n" for n in range(101_000)), "nt")
    store.commit()
    assert rows(store, "SELECT (COUNT(*) AS ?n) { ?s <http://a/p> ?o }") == [(literal(101_000),)]


def test_stats_have_the_mirror_and_options_place_it(tmp_path: Path) -> None:
    store = store_of()
    assert store.stats()["mirror"] == {"place": "memory", "quads": 0, "bytes": 0}
    store.query("ASK {}")
    assert store.stats()["mirror"]["quads"] == len(store.quads()) + len(store.inferred())
    assert store.stats()["mirror"]["bytes"] > 0
    store.options(mirror="off")
    with pytest.raises(UsageError, match="E0665"):
        store.query("ASK {}")
    store.options(mirror=tmp_path / "mirror")
    assert store.query("ASK { :rex a :Animal }")
    assert any((tmp_path / "mirror").iterdir())
    assert store.stats()["mirror"]["bytes"] == 0
    with pytest.raises(UsageError, match="E0668"):
        store.query("ASK {}", timeout=1)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter").write_text("dear")
    for wrong in (tmp_path / "full", 5, "", None):
        with pytest.raises(UsageError, match="E0603"):
            store.options(mirror=wrong)
    assert store.query("ASK { :rex a :Animal }")


def test_a_query_without_end_is_stopped_and_nothing_is_lost() -> None:
    store = store_of()
    store.insert("".join(f"<http://a/{n}> <http://a/p> <http://a/{n + 1}> .\n" for n in range(500)), "nt")
    store.commit()
    with pytest.raises(LimitError, match="E0501"):
        store.query(ENDLESS, timeout=0.2)
    store.options(timeout=0.2)
    with pytest.raises(LimitError, match="E0501"):
        store.query(ENDLESS)
    store.options(timeout=None)
    assert rows(store, "SELECT ?x { ?x a :Animal }", timeout=60) == [("rex",)]
    with pytest.raises(ProgramError, match="E0664"):
        store.query("SELECT ?x { ?x a }", timeout=60)


def test_readers_never_see_half_a_commit() -> None:
    store, found = store_of(), list[set[str]]()
    done = threading.Event()

    def ask() -> None:
        while not done.is_set():
            found.append({str(row[1]) for row in store.query("SELECT ?s ?n { ?s :version ?n }")})

    readers = [threading.Thread(target=ask) for _ in range(2)]
    for reader in readers:
        reader.start()
    subjects = [f"{EXAMPLE}s{i}" for i in range(50)]
    for version in range(20):
        if version % 2:
            data = " ".join(f"<{subject}> :version {version} ." for subject in subjects)
            store.update(f"DELETE WHERE {{ ?s :version ?n }} ; INSERT DATA {{ {data} }}")
            continue
        with store.transaction() as block:
            block.delete(store.triples(None, EXAMPLE + "version"))
            block.insert([(subject, EXAMPLE + "version", version) for subject in subjects])
    done.set()
    for reader in readers:
        reader.join()
    assert max(map(len, found)) == 1


@pytest.mark.parametrize(
    ("text", "place", "hint"),
    [
        *cases_of(__file__, "syntax errors"),
        ("SELECT * {\n ?s nope:p ?o }", "<query>:2:5", "write `PREFIX nope: <…>` in front"),
        ("SELECT ?x { ?x ?p '\ud800' }", "<query>:1:20", "remove the unpaired surrogate"),
        (f"SELECT ?x {{ {'?x ?p ?o . ' * 300} ?x }}", "<query>:1:33", "expected one of BIND here"),
    ],
)
def test_syntax_errors_have_their_place(text: str, place: str, hint: str) -> None:
    with pytest.raises(ProgramError, match="E0664") as caught:
        store_of().query(text)
    assert place in str(caught.value)
    assert hint in str(caught.value)


def test_a_call_names_the_graphs_in_place_of_the_query() -> None:
    store = store_of()
    text = "SELECT ?o FROM :one { :tom :likes ?o } ORDER BY ?o"
    one, two = f"{EXAMPLE}one", f"{EXAMPLE}two"
    assert rows(store, text, default_graphs=[two]) == [("tom",)]
    assert rows(store, text, default_graphs=[one, two]) == [("rex",), ("tom",)]
    assert rows(store, text, default_graphs=[]) == []
    assert rows(store, "SELECT ?g ?o { GRAPH ?g { ?s ?p ?o } }", named_graphs=(two,)) == [("two", "tom")]
    assert rows(store, "SELECT ?x { ?x a :Animal }", default_graphs=[INFERRED]) == [("rex",)]
    store.update("INSERT { :found :has ?o } WHERE { :tom :likes ?o }", default_graphs=[two])
    assert rows(store, "SELECT ?o { :found :has ?o }") == [("tom",)]
    assert store.to_text("ntriples", graph=two).split()[2] == f"<{EXAMPLE}tom>"
    assert len(store.to_text("ntriples", graph="").splitlines()) == 5
    assert store.to_text("ntriples", graph=INFERRED).count("Animal") == 1


def test_what_no_query_can_be_is_refused() -> None:
    store = store_of()
    for text, options, code in (
        ("INSERT DATA { :a :b :c }", {}, "E0664"),
        ("SELECT * { SERVICE <http://a/> { ?s ?p ?o } }", {}, "E0666"),
        ("ASK {}", {"timeout": -1}, "E0603"),
        ("ASK {}", {"timeout": "x"}, "E0603"),
        ("ASK {}", {"inferred": 1}, "E0603"),
        ("ASK {}", {"union": "yes"}, "E0603"),
        ("ASK {}", {"base": 5}, "E0635"),
        ("ASK {}", {"base": "no iri"}, "E0664"),
        ("ASK {}", {"default_graphs": f"{EXAMPLE}one"}, "E0635"),
        ("ASK {}", {"named_graphs": [5]}, "E0635"),
        ("ASK {}", {"named_graphs": ['"literal"']}, "E0465"),
        ("SELECT ?x { ?x ?p ?o }", {"?x": 5}, "E0612"),
        ("SELECT ?x { ?x ?p ?o }", {"x": '"\ud800"'}, "E0465"),
    ):
        with pytest.raises(TidelogError, match=code):
            store.query(text, **options)
    assert store.query("ASK { ?x :note ?y FILTER(?y != 'SERVICE') } # SERVICE") is not None
    store.close()
    with pytest.raises(UsageError, match="E0602"):
        store.query("ASK {}")


def test_bodies_of_rules_stay_what_they_were() -> None:
    store = store_of()
    store.load(".decl select(x: symbol)\nselect(x) :- <http://example.org/age>(x, _).")
    store.commit()
    assert len(store.query("select(x)")) == 2
    assert len(store.query("SELECT(COUNT(*) AS ?n) { ?x :age ?n2 }")) == 1
    assert len(store.query(":age(x, y)")) == 2
