"""The runner for W3C's test cases of OWL 2, over a catalogue of a few."""

from __future__ import annotations

from html import escape
from pathlib import Path

import pytest

from benchmarks import w3c_owl

NAMESPACES = (
    'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#" '
    'xmlns:owl="http://www.w3.org/2002/07/owl#" xmlns:a="http://a/"'
)
HEADER = """<?xml version="1.0"?>
<!DOCTYPE rdf:RDF [ <!ENTITY test 'http://www.w3.org/2007/OWL/testOntology#'> ]>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:test="&test;">"""
CATS = '<owl:Ontology rdf:about=""/><a:Cat rdf:about="http://a/tom"/>'
ANIMALS = '<owl:Class rdf:about="http://a/Cat"><rdfs:subClassOf rdf:resource="http://a/Animal"/></owl:Class>'
TOM = '<a:Animal rdf:about="http://a/tom"/><owl:Class rdf:about="http://a/Animal"/>'
SOMEBODY = "<a:Animal/>"
REX = '<a:Animal rdf:about="http://a/rex"/>'
NOTHING = '<owl:Nothing rdf:about="http://a/tom"/>'


def ontology(name: str, body: str) -> str:
    return f"<test:{name}>{escape(f'<rdf:RDF {NAMESPACES}>{body}</rdf:RDF>')}</test:{name}>"


def case(identifier: str, kind: str, *parts: str, more: str = "") -> str:
    node = f"urn:case:{identifier.replace(' ', '-')}"
    return (
        f'<test:TestCase rdf:about="{node}"><rdf:type rdf:resource="&test;{kind}Test"/>'
        f'<test:identifier>{identifier}</test:identifier><test:profile rdf:resource="&test;RL"/>'
        f"{more}{''.join(parts)}</test:TestCase>"
    )


PREMISE, CONCLUSION = "rdfXmlPremiseOntology", "rdfXmlConclusionOntology"
CASES = [
    case("right", "PositiveEntailment", ontology(PREMISE, CATS + ANIMALS), ontology(CONCLUSION, TOM)),
    case("somebody", "PositiveEntailment", ontology(PREMISE, CATS + ANIMALS), ontology(CONCLUSION, SOMEBODY)),
    case("wrong", "PositiveEntailment", ontology(PREMISE, CATS + ANIMALS), ontology(CONCLUSION, REX)),
    case("anything", "PositiveEntailment", ontology(PREMISE, NOTHING), ontology(CONCLUSION, REX)),
    case(
        "imported",
        "PositiveEntailment",
        ontology(PREMISE, CATS),
        ontology(CONCLUSION, TOM),
        '<test:importedOntology><rdf:Description rdf:about="urn:imported">'
        f"{ontology('rdfXmlInputOntology', ANIMALS)}</rdf:Description></test:importedOntology>",
    ),
    case("no", "NegativeEntailment", ontology(PREMISE, CATS), ontology("rdfXmlNonConclusionOntology", TOM)),
    case("yes", "NegativeEntailment", ontology(PREMISE, CATS + ANIMALS), ontology("rdfXmlNonConclusionOntology", TOM)),
    case("consistent", "Consistency", ontology(PREMISE, CATS)),
    case("inconsistent", "Inconsistency", ontology(PREMISE, NOTHING)),
    case("not inconsistent", "Inconsistency", ontology(PREMISE, CATS)),
    case("functional", "Consistency", "<test:fsPremiseOntology>Ontology()</test:fsPremiseOntology>"),
    case("rejected", "Inconsistency", ontology(PREMISE, CATS), more='<test:status rdf:resource="&test;Rejected"/>'),
]


def test_verdicts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    catalogue = tmp_path / "profile-RL.rdf"
    catalogue.write_text(f"{HEADER}{''.join(CASES)}</rdf:RDF>")
    assert w3c_owl.main([str(catalogue)]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "not inconsistent Inconsistency: found no contradiction (NOT EXPECTED)",
        "wrong PositiveEntailment: the graph does not follow (NOT EXPECTED)",
        "yes NegativeEntailment: the graph follows (NOT EXPECTED)",
        "PositiveEntailment      4 of    5",
        "NegativeEntailment      1 of    2",
        "Consistency             1 of    1",
        "Inconsistency           1 of    2",
        "all                     7 of   10, 1 cases without RDF/XML left out",
    ]
    expected = ("not inconsistent Inconsistency", "wrong PositiveEntailment", "yes NegativeEntailment")
    monkeypatch.setattr(w3c_owl, "EXPECTED", dict.fromkeys(expected, "on purpose"))
    assert w3c_owl.main([str(catalogue)]) == 0
    assert "wrong PositiveEntailment: the graph does not follow (on purpose)" in capsys.readouterr().out


def test_without_a_catalogue_there_is_nothing_to_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert w3c_owl.main([str(tmp_path / "none.rdf")]) == 2
    assert "no catalogue there" in capsys.readouterr().err
