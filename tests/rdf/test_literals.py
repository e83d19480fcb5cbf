"""Literals by their values: contradictions, equality, and axiomatic triples."""

from __future__ import annotations

import pytest

from tests.rdf.stores import EXAMPLE, full, short, stored
from tests.texts import cases_of, python
from tidelog.rdf import Store, connect
from tidelog.rdf.literals import differ, is_outside, value_of
from tidelog.rdf.terms import OWL, PREFIXES, RDF, RDFS, XSD

HEADER = "\n".join(f"@prefix {name}: <{iri}> ." for name, iri in {**PREFIXES, "": EXAMPLE}.items())


def store_of(text: str, *rules: str) -> Store:
    return stored(f"{HEADER}\n{text}", rules=rules or "owl-rl")


def clashes(store: Store) -> set[tuple[str, ...]]:
    """The contradictions, each term without its datatype."""
    found = {tuple(str(each).partition("^^")[0].replace('"', "") for each in row) for row in store.inconsistencies()}
    for row in store.inconsistencies():
        assert not store.explain(*row).check(store).granted
    return {tuple(short(each) for each in row if each) for row in found}


@pytest.mark.parametrize(("text", "expected"), cases_of(__file__, "contradictions of values", str, python))
def test_contradictions_of_values(text: str, expected: set[tuple[str, ...]]) -> None:
    assert clashes(store_of(text)) == expected


@pytest.mark.parametrize("rules", ["owl-rl", "rdfs", None])
def test_an_ill_typed_literal_is_kept_and_reported_until_it_goes(rules: str | None) -> None:
    store = connect(rules=rules)
    store.insert(f'{HEADER} :a :p "twelve"^^xsd:integer, 12 ; :q "2020-13-01"^^xsd:date .')
    change = store.commit()
    assert len(store) == len(change.inserted) == 3
    assert clashes(store) == {("dt-not-type", "twelve", "xsd:integer"), ("dt-not-type", "2020-13-01", "xsd:date")}
    assert '"twelve"^^' in store.to_text("ntriples")
    store.delete(f'{HEADER} :a :p "twelve"^^xsd:integer .')
    assert len(store.commit().inconsistencies) == 0
    assert clashes(store) == {("dt-not-type", "2020-13-01", "xsd:date")}
    with store.what_if() as trial:
        trial.insert(f'{HEADER} :b :r "x"^^xsd:boolean .')
    assert trial.change is not None
    assert len(trial.change.inconsistencies) == 1
    assert len(store.inconsistencies()) == 1
    store.check()


def test_contradictions_of_values_follow_changes() -> None:
    store = store_of(":p a owl:FunctionalProperty . :a :p 1 .")
    store.insert(f"{HEADER} :a :p 2 .")
    assert len(store.commit().inconsistencies) == 2
    store.delete(f"{HEADER} :p a owl:FunctionalProperty .")
    store.commit()
    assert clashes(store) == set()
    store.insert(f"{HEADER} :p a owl:FunctionalProperty .")
    store.commit()
    assert len(clashes(store)) == 2


def test_literals_of_one_value_are_the_same_if_asked_for() -> None:
    text = ':R owl:onProperty :p ; owl:hasValue "1"^^xsd:byte . :a :p 1 . :b :p 1.0 . :c :p 1.0e0 . :d :p 2 .'
    for rules, members in (((), set()), (("owl-rl", "datatypes"), {":a", ":b"})):
        store = store_of(text, *rules)
        assert {short(str(s)) for s, _, _ in store.triples(None, f"{RDF}type", full(":R"))} == members
    proof = store.explain(full(":a"), f"{RDF}type", full(":R"))
    assert "dt-eq" in {step.rule for step in proof.steps}
    assert not proof.check(store).granted


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (f'"1"^^<{XSD}integer>', f'"+01"^^<{XSD}long>', True),
        (f'"1.50"^^<{XSD}decimal>', f'"3/2"^^<{OWL}rational>', True),
        (f'"1"^^<{XSD}integer>', f'"1"^^<{XSD}double>', False),
        (f'"1"^^<{XSD}float>', f'"1"^^<{XSD}double>', False),
        (f'"1.0"^^<{XSD}double>', f'"1E0"^^<{XSD}double>', True),
        (f'"0"^^<{XSD}float>', f'"-0"^^<{XSD}float>', False),
        (f'"NaN"^^<{XSD}float>', f'"NaN"^^<{XSD}float>', True),
        (f'"true"^^<{XSD}boolean>', f'"1"^^<{XSD}boolean>', True),
        ('"a"', f'"a"^^<{XSD}token>', True),
        ('"a"@en', f'"a@EN"^^<{RDF}PlainLiteral>', True),
        ('"a"', f'"a@"^^<{RDF}PlainLiteral>', True),
        ('"a"', '"a"@en', False),
        (r'"\u0061"', '"a"', True),
        (f'"2026-01-31T24:00:00Z"^^<{XSD}dateTime>', f'"2026-02-01T00:00:00.0Z"^^<{XSD}dateTime>', True),
        (f'"2026-01-01T01:00:00+01:00"^^<{XSD}dateTime>', f'"2026-01-01T00:00:00Z"^^<{XSD}dateTime>', False),
        (f'"0a"^^<{XSD}hexBinary>', f'"0A"^^<{XSD}hexBinary>', True),
        (f'"0A=="^^<{XSD}base64Binary>', f'"d0"^^<{XSD}hexBinary>', False),
    ],
)
def test_values(one: str, other: str, same: bool) -> None:
    assert value_of(one) is not None
    assert (value_of(one) == value_of(other)) is same
    assert differ(one, other) is not same


@pytest.mark.parametrize(
    ("term", "datatype", "outside"),
    [
        (f'"1.0"^^<{XSD}decimal>', f"{XSD}integer", False),
        (f'"1.5"^^<{XSD}decimal>', f"{XSD}integer", True),
        (f'"1/3"^^<{OWL}rational>', f"{XSD}decimal", True),
        (f'"1/3"^^<{OWL}rational>', f"{OWL}real", False),
        (f'"-1"^^<{XSD}integer>', f"{XSD}nonNegativeInteger", True),
        (f'"1"^^<{XSD}double>', f"{XSD}decimal", True),
        ('"a b"', f"{XSD}NCName", True),
        ('"a"@en', f"{XSD}string", True),
        ('"a"@en', f"{RDF}langString", False),
        (f'"2026-01-01T00:00:00"^^<{XSD}dateTime>', f"{XSD}dateTimeStamp", True),
        ('"x"^^<http://a/unknown>', f"{XSD}integer", False),
        ('"x"', "http://a/unknown", False),
        (f'"x"^^<{XSD}integer>', f"{XSD}string", False),  # It has no value.
    ],
)
def test_datatypes(term: str, datatype: str, outside: bool) -> None:
    assert is_outside(term, datatype) is outside


def test_axiomatic_triples_are_there_if_asked_for() -> None:
    text = ":b rdf:_1 :x ; :p :q . :l rdf:rest :m . :p rdfs:range :Range ."
    wanted = [
        (full(":b"), f"{RDFS}member", full(":x")),
        (full(":p"), f"{RDF}type", f"{RDF}Property"),
        (full(":q"), f"{RDF}type", f"{RDFS}Resource"),
        (f"{RDF}_1", f"{RDF}type", f"{RDFS}ContainerMembershipProperty"),
        (f"{RDFS}Datatype", f"{RDFS}subClassOf", f"{RDFS}Class"),
        (full(":m"), f"{RDF}type", f"{RDF}List"),
    ]
    assert not any(each in store_of(text, "rdfs") for each in wanted)
    store = store_of(text, "rdfs", "axioms")
    assert all(each in store for each in wanted)
    assert (f"{RDF}_2", f"{RDF}type", f"{RDFS}ContainerMembershipProperty") not in store
    assert len(store.triples(inferred=False)) == 4
    proof = store.explain(*wanted[0])
    assert [step.rule for step in proof.steps if step.sort == "rule"] == ["axiom", "rdfs12", "rdfs7"]
    assert not proof.check(store).granted
    store.delete(store.triples(inferred=False))
    store.commit()
    assert wanted[0] not in store
    assert wanted[4] in store
