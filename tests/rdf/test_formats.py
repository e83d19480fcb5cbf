"""Formats and files: in and out, packed, misnamed, broken."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.rdf.stores import stored
from tidelog import DataError, TidelogError, UsageError
from tidelog.rdf import Store, connect
from tidelog.rdf.terms import RDFS, TYPE

EXPECTED = [("http://a/s", "http://a/p", "http://a/o")]
TURTLE = "<http://a/s> <http://a/p> <http://a/o> ."
XML = """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:a="http://a/">
<rdf:Description rdf:about="http://a/s"><a:p rdf:resource="http://a/o"/></rdf:Description></rdf:RDF>"""


def store_of(data: object, **options: str) -> Store:
    store = connect()
    store.insert(data, **options)
    store.commit()
    return store


@pytest.mark.parametrize(
    ("text", "format"),
    [
        (TURTLE, "turtle"),
        (TURTLE, "Turtle"),
        (TURTLE, "N-Triples"),
        (TURTLE, "text/turtle"),
        ("\ufeff" + TURTLE, "turtle"),
        (TURTLE.replace(" .", " <http://a/graph> ."), "N-Quads"),
        (f"<http://a/graph> {{ {TURTLE} }}", "TriG"),
        (XML, "xml"),
        (XML, "RDF-XML"),
        ('{"@id": "http://a/s", "http://a/p": {"@id": "http://a/o"}}', "json-ld"),
    ],
)
def test_formats(text: str, format: str) -> None:
    assert list(store_of(text, format=format)) == EXPECTED
    assert list(store_of(text.encode(), format=format)) == EXPECTED


def test_bases() -> None:
    assert list(store_of("<s> <p> <o> .", base="http://a/")) == EXPECTED


@pytest.mark.parametrize("ending", ["ttl", "nt", "nq", "trig", "jsonld", "TTL", "ttl.gz", "nt.gz", "nq.gz"])
def test_files_are_read_and_written_by_their_endings(ending: str, tmp_path: Path) -> None:
    store = stored(
        f'<http://a/s> <http://a/p> 1, "x\\n"@fr ; a <http://a/A> .<http://a/A> <{RDFS}subClassOf> <http://a/B> .',
        rules="rdfs",
    )
    path = tmp_path / f"graph.{ending}"
    store.write(path, inferred=True)
    assert path.read_bytes().startswith(b"\x1f\x8b") == ending.endswith(".gz")
    has_graphs = any(name in ending for name in ("nq", "trig", "jsonld"))
    for given in (path, str(path)):
        assert sorted(store_of(given)) == sorted(store.triples(inferred=not has_graphs))
    assert ("http://a/s", TYPE, "http://a/B") in store.inferred()


def test_the_name_of_a_format_goes_before_the_ending(tmp_path: Path) -> None:
    path = tmp_path / "graph.xml"
    path.write_text(TURTLE)
    assert list(store_of(path, format="turtle")) == EXPECTED
    store_of(TURTLE).write(path, format="ntriples")
    assert path.read_text() == TURTLE + "\n"


def test_packed_files_are_the_same_whenever_they_are_written(tmp_path: Path) -> None:
    store = store_of(TURTLE)
    for name in ("one.nt.gz", "two.nt.gz"):
        store.write(tmp_path / name)
    assert (tmp_path / "one.nt.gz").read_bytes() == (tmp_path / "two.nt.gz").read_bytes()


def problem(data: object, **options: str) -> tuple[str, str | None, str]:
    """Code, place and hint of what is wrong with data; nothing of it is inserted."""
    store = connect()
    with pytest.raises(TidelogError) as caught:
        store.insert(data, **options)
    store.commit()
    assert len(store) == 0
    found = caught.value.problems[0]
    return found.code, found.place, found.hint or ""


@pytest.mark.parametrize(
    ("data", "options", "code", "place", "hint"),
    [
        ("@prefix : <http://a/> .\n:s :p ex:o .", {}, "E0460", "<text>:2:7", "@prefix ex: <…> ."),
        ("<http://a/s> .", {}, "E0460", "<text>:1:14", "pass `format` if the text is not Turtle"),
        ("some/graph", {}, "E0460", "<text>:1:1", "path"),
        ("some/graph.ttl", {}, "E0410", "some/graph.ttl", "path"),
        ("http://a/graph.ttl", {}, "E0410", "http://a/graph.ttl", "download"),
        (XML.replace("</rdf:RDF>", ""), {"format": "xml"}, "E0460", "<text>:2:91", ""),
        (XML.replace("http://a/s", "s"), {"format": "xml"}, "E0461", "<text>", "xml:base"),
        (XML.encode("utf-16"), {"format": "xml"}, "E0460", "<text>", ""),
        (b"<?xml version='1.0' encoding='shift_jis'?>" + XML.encode(), {"format": "xml"}, "E0460", "<text>", "UTF-8"),
        (b"<?xml version='1.0' encoding='utf-9'?>" + XML.encode(), {"format": "xml"}, "E0460", "<text>", "UTF-8"),
        ('{"@id": "s", "http://a/p": 1', {"format": "jsonld"}, "E0460", "<text>:1:29", ""),
        ('{"@context": "http://a/context", "@id": "http://a/s"}', {"format": "jsonld"}, "E0460", "<text>", ""),
        ([("http://a/s", "http://a/p", 1), ("s", "p", "o")], {}, "E0465", "<triples>, row 1", "absolute"),
        ([('"s"', "http://a/p", 1)], {}, "E0465", "<triples>, row 0", "as subjects"),
        ([("http://a/s", "_:p", 1)], {}, "E0465", "<triples>, row 0", "IRIs as predicates"),
        (
            [("http://a/s", "http://a/p", 1), ("http://a/s", "http://a/p", '"\ud800"')],
            {},
            "E0465",
            "<triples>, row 1",
            "surrog",
        ),
        ("INSERT DATA { <http://a/s> <http://a/p> 1 }", {}, "E0460", "<text>:1:1", "`store.update`"),
    ],
)
def test_what_is_wrong_has_its_place_and_a_hint(
    data: object, options: dict[str, str], code: str, place: str, hint: str
) -> None:
    found = problem(data, **options)
    assert found[:2] == (code, place)
    assert hint in found[2]


def test_packed_files_that_are_cut_or_none(tmp_path: Path) -> None:
    packed = gzip.compress(TURTLE.encode())
    for number, data in enumerate((packed[:-9], b"hello", packed[:12] + b"\xff\xff" + packed[14:])):
        path = tmp_path / f"{number}.ttl.gz"
        path.write_bytes(data)
        assert problem(path)[:2] == ("E0411", str(path))


def test_a_format_without_the_terms_of_rdf_1_2_is_refused(tmp_path: Path) -> None:
    store = store_of("<http://a/s> <http://a/p> <<( <http://a/s> <http://a/p> 1 )>> .")
    calls: list[Callable[[], object]] = [
        lambda: store.write(tmp_path / "graph.jsonld"),
        lambda: store.to_text("jsonld"),
        lambda: store.query("CONSTRUCT WHERE { ?s ?p ?o }").to_text("jsonld"),  # type: ignore[attr-defined]
    ]
    for call in calls:
        with pytest.raises(DataError, match="write nquads or trig") as caught:
            call()
        assert caught.value.code == "E0464"
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_written(tmp_path: Path) -> None:
    store = store_of(TURTLE)
    with pytest.raises(DataError, match="E0412"):
        store.write(tmp_path / "none" / "graph.ttl")
    for name in ("graph.doc", "graph", "graph.rdf", "graph.gz"):
        with pytest.raises(UsageError, match="E0660"):
            store.write(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


OWL = '"http://www.w3.org/2002/07/owl#"'
OWL_XML = f"<?xml version='1.0'?>\n<Ontology xmlns={OWL} ontologyIRI='http://a/'><Declaration/></Ontology>"


@pytest.mark.parametrize(
    ("text", "format", "message", "hint"),
    [
        (OWL_XML, "owl", "expected RDF/XML, found OWL/XML", "convert it to Turtle"),
        (OWL_XML, "ttl", "expected Turtle, found OWL/XML", "convert it to Turtle"),
        (
            "# a comment\n@prefix : <http://a/> . :s :p :o .",
            "owl",
            "expected RDF/XML, found Turtle",
            "name the file .ttl",
        ),
        (
            "Prefix(:=<http://a/>)\nOntology()",
            "owl",
            "expected RDF/XML, found the functional syntax of OWL",
            "convert it",
        ),
        ("Prefix: : <http://a/>", "owl", "expected RDF/XML, found Manchester syntax", "convert it"),
        ("format-version: 1.2\nontology: a", "ttl", "expected Turtle, found OBO", "convert it"),
        (XML, "ttl", "expected Turtle, found RDF/XML", "name the file .rdf"),
        ('{"@id": "http://a/s"}', "nq", "expected N-Quads, found JSON-LD", 'format="jsonld"'),
        ("@prefix : <http://a/> . :s :p .", "trig", "the text cannot be read", "is not TriG"),
        (XML.replace("<a:p", "<a:p wrong='Ontology'"), "owl", "XML namespaces are required", "is not RDF/XML"),
    ],
)
def test_a_text_of_another_syntax_is_named(text: str, format: str, message: str, hint: str, tmp_path: Path) -> None:
    path = tmp_path / f"onto.{format}"
    path.write_text(text)
    with pytest.raises(TidelogError) as caught:
        connect().insert(path)
    (found,) = caught.value.problems
    assert found.code == "E0460"
    assert message in found.message
    assert hint in (found.hint or "")
