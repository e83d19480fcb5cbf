"""RDF in: formats, terms, blank nodes, and everything that can be wrong with a text."""

from __future__ import annotations

import random
import subprocess
import sys
from datetime import time
from decimal import Decimal
from itertools import product
from pathlib import Path

import pyoxigraph
import pytest
import rdflib

from tests.rdf.stores import stored
from tests.texts import cases_of
from tidelog import DataError, TidelogError
from tidelog.rdf import Store, connect, literal, term
from tidelog.rdf.terms import RDF, XSD

LITERALS = cases_of(__file__, "literals")


def store_of(text: str, format: str = "turtle") -> Store:
    return stored(text, format=format)


def objects(store: Store) -> set[object]:
    return {row[2] for row in store.triples()}


def problem(text: str, **options: str) -> tuple[str, str | None]:
    store = connect()
    with pytest.raises(TidelogError) as caught:
        store.insert(text, **options)
    store.commit()
    assert len(store) == 0
    found = caught.value.problems[0]
    assert found.hint
    return found.code, found.place


@pytest.mark.parametrize("format", ["turtle", "ntriples", "nquads"])
def test_literals_come_out_as_they_went_in(format: str) -> None:
    lines = "".join(f"<http://a/s> <http://a/p> {text} .\n" for text in LITERALS)
    store = store_of(lines, format)
    assert objects(store) == set(LITERALS)
    assert sorted(store_of(store.to_text(format), format)) == sorted(store)
    assert sorted(store.to_text("ntriples").splitlines()) == sorted(lines.splitlines())


def test_strings_of_xml_schema_are_plain_literals_and_languages_are_lower_case() -> None:
    text = f'<http://a/s> <http://a/p> "x"^^<{XSD}string>, "x"@EN-gb .'
    assert objects(store_of(text)) == {'"x"', '"x"@en-gb'}
    lines = f'<http://a/s> <http://a/p> "x"^^<{XSD}string> .\n<http://a/s> <http://a/p> "x"@EN-gb .\n'
    assert objects(store_of(lines, "ntriples")) == {'"x"', '"x"@en-gb'}


def test_any_string_is_the_literal_that_pyoxigraph_makes_of_it() -> None:
    rng = random.Random(3)
    store, expected = connect(), set[rdflib.Literal]()
    for _ in range(300):
        text = "".join(chr(rng.choice([rng.randrange(128), rng.randrange(0x800), 0x1F600])) for _ in range(6))
        assert literal(text) == str(pyoxigraph.Literal(text))
        assert term(rdflib.Literal(text)) == literal(text)
        store.insert([("http://a/s", "http://a/p", literal(text))])
        expected.add(rdflib.Literal(text))
    store.commit()
    assert {value for _, _, value in store.to_rdflib()} == expected


def test_plain_lines_are_read_as_pyoxigraph_reads_them() -> None:
    pieces = ["<http://a/s>", "<http://a/p#x>", "_:b", '"x"', '"x"@en', '"\\u0041"', " ", "  ", ".", "\n", "#c", "<x>"]
    pieces += ["<a:b c>", "<http://a:80/>", "<http://a/%20>", "<http://a/é>", '"a\\qb"', "_:b.c", "\t", '"a\tb"']
    pieces += ["<a:b>", '"x"@en-']
    rng = random.Random(5)
    pairs = [(piece, "<http://a/o>") for piece in pieces] + [("<http://a/s>", piece) for piece in pieces]
    pairs += [(rng.choice(pieces), rng.choice(pieces)) for _ in range(150)]
    store = connect()
    for (one, other), end in product(pairs, ["\n", "", "\r\n"]):
        line = f"{one} <http://a/p> {other} .{end}"
        try:
            expected = [str(quad) for quad in pyoxigraph.parse(line.encode(), pyoxigraph.RdfFormat.N_TRIPLES)]
        except SyntaxError:
            with pytest.raises(DataError, match=r"E046[01]"):
                store.insert(line, format="nt")
            continue
        store.insert(line, format="nt")
        store.commit()
        if "_:" not in line:
            assert store.to_text("nt").splitlines() == [f"{text} ." for text in expected], line
        assert len(store) == len(expected)
        store.delete(store.triples())
    store.commit()
    assert len(store) == 0


@pytest.mark.parametrize(
    ("text", "options", "code", "place"),
    [
        ("<http://a/s> <http://a/p>\n  <http://a/o", {}, "E0460", "<text>:2:3"),
        ("<http://a/s> <http://a/p> 1 .\n<http://a/s> <http://a/p .\n", {"format": "nt"}, "E0460", "<text>:1:27"),
        ('"s" <http://a/p> 1 .', {}, "E0460", "<text>:1:1"),
        ("ex:s <http://a/p> 1 .", {}, "E0460", "<text>:1:1"),
        ("<s> <p> <o> .", {}, "E0461", "<text>:1:1"),
        ("<s> <http://a/p> 1 .", {"format": "nt"}, "E0461", "<text>:1:1"),
        ("<s> <p> <o> .", {"base": "nowhere"}, "E0461", None),
        ("<s> <p> <o> .", {"base": 5}, "E0461", None),
        ("<http://a/s> <http://a/p> 1 .", {"format": ["turtle"]}, "E0660", None),
        (f'<http://a/s> <http://a/p> "x"^^<{RDF}langString> .', {}, "E0460", "<text>:1:32"),
        (f'<http://a/s> <http://a/p> "x"^^<{RDF}langString> .\n', {"format": "nt"}, "E0460", "<text>:1:32"),
        ("<http://a/s> <http://a/p> 1 .", {"format": "word"}, "E0660", None),
        ("nowhere.ttl", {}, "E0410", "nowhere.ttl"),
        ("<http://a/\ud800> <http://a/p> 1 .", {}, "E0460", "<text>:1:11"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(text: str, options: dict[str, str], code: str, place: str | None) -> None:
    found, where = problem(text, **options)
    assert found == code
    assert place is None or where == place


def test_bytes_that_are_no_text_are_refused() -> None:
    for format in ("nt", "turtle"):
        with pytest.raises(DataError, match="E0460"):
            connect().insert(b'<http://a/s> <http://a/p> "\xff" .\n', format=format)


@pytest.mark.parametrize(
    "data",
    [
        5,
        [("http://a/s", "http://a/p")],
        [(None, "http://a/p", "http://a/o")],
        [("http://a/s", "http://a/p", '"x')],
        [("http://a/s", "http://a/p", "http://a/o> .\n<http://a/s> <http://a/p> <http://a/more")],
        [("http://a/s", "http://a/p", '"x" .\n<http://a/s> <http://a/p> "more"')],
        [("http://a/s", "http://a/p", "_:b .\n_:c <http://a/p> _:d")],
        [("http://a/s", "http://a/p", ["http://a/o"])],
    ],
)
def test_other_things_are_refused(data: object) -> None:
    with pytest.raises(DataError):
        connect().insert(data)


def test_blank_nodes_of_two_texts_are_different_nodes() -> None:
    store = connect()
    for _ in range(2):
        store.insert("_:a <http://a/knows> _:b . _:b <http://a/knows> [] .")
    store.insert("_:a <http://a/knows> _:b .\n", format="nt")
    store.commit()
    assert len(store) == 5
    assert len({name for row in store for name in (row[0], row[2])}) == 8


def test_blank_nodes_are_deleted_as_triples_or_graphs_and_not_as_text() -> None:
    store = stored("_:a <http://a/p> 1, 2, 3 .")
    with pytest.raises(DataError) as caught:
        store.delete("\n_:a <http://a/p> 1 .")
    assert (caught.value.code, caught.value.problems[0].place) == ("E0463", "<text>:2:1")
    store.delete(store.triples(object=1))
    store.commit()
    assert len(store) == 2
    store.delete(store.to_rdflib())
    store.commit()
    assert len(store) == 0


def test_graphs_of_rdflib_go_in_and_out() -> None:
    graph = rdflib.Graph()
    graph.parse(data='@prefix : <http://a/> . :s :p [ :q "1"^^:mine, "é\\n"@fr, 01, 1.50 ] , ( 1 2 ) .')
    store = stored(graph)
    assert set(store.to_rdflib()) == set(graph)
    store.insert(graph)
    assert len(store.commit().inserted) == 0


def test_all_graphs_of_a_dataset_go_in() -> None:
    dataset = rdflib.Dataset()
    for number, graph in enumerate((dataset.default_graph, dataset.graph("http://a/graph"))):
        graph.add((rdflib.URIRef("http://a/s"), rdflib.URIRef("http://a/p"), rdflib.Literal(number)))
    store = stored(dataset)
    assert objects(store) == {literal(0), literal(1)}
    store.delete(dataset)
    store.commit()
    assert len(store) == 0


def test_a_quad_leaves_its_own_graph() -> None:
    quads = [f"<http://a/s> <http://a/p> 1 <http://a/g{number}> .".replace("1 ", '"1" ') for number in range(2)]
    store = store_of("\n".join(quads), "nquads")
    store.delete(quads[0], format="nquads")
    store.commit()
    assert store.graphs() == ("http://a/g1",)


def test_tags_of_languages_that_are_none() -> None:
    for tag in ("n", "en-a", "english-", "e1", "en-gb-oed-toolongsubtag"):
        assert problem(f'<http://a/s> <http://a/p> "x"@{tag} .\n', format="nt")[0] == "E0460"
        with pytest.raises(DataError):
            literal("x", language=tag)
    for tag in ("fr", "zh-hans-cn", "de-1996", "x-klingon", "en-a-bbb-x-a-ccc"):
        assert len(store_of(f'<http://a/s> <http://a/p> "x"@{tag} .\n', "nt")) == 1


def test_integers_may_have_any_number_of_digits() -> None:
    ones, zeros, start = "1" * 5000, "0" * 5000, "<http://a/s> <http://a/p>"
    store = store_of(f'{start} "{ones}"^^<{XSD}positiveInteger>, "-{zeros}7"^^<{XSD}byte>, "+{ones}"^^<{XSD}integer> .')
    assert len(store) == 3
    store = store_of(f'{start} "-{ones}"^^<{XSD}positiveInteger> .')
    assert [row[0] for row in store.inconsistencies()] == ["dt-not-type"]


def test_terms_of_python() -> None:
    assert literal(Decimal("1E+3")) == f'"1000"^^<{XSD}decimal>'
    assert literal(time(1, 2)) == term(time(1, 2)) == f'"01:02:00"^^<{XSD}time>'
    assert literal(Decimal("1.50")) == f'"1.50"^^<{XSD}decimal>'
    assert literal(True) == f'"true"^^<{XSD}boolean>'
    assert literal(float("inf")) == f'"INF"^^<{XSD}double>'
    assert literal("x", datatype=f"{XSD}string") == literal("x") == '"x"'
    assert term("<http://a/s>") == term(rdflib.URIRef("http://a/s")) == term(pyoxigraph.NamedNode("http://a/s"))
    assert term(r'"é"') == '"é"'
    store = store_of("<http://a/s> <http://a/p> 5, true .")
    assert ("http://a/s", "http://a/p", 5) in store
    assert ("http://a/s", "http://a/p", True) in store
    assert ("http://a/s", "http://a/p", 6) not in store


def test_entities_that_grow_without_measure_are_an_error() -> None:
    store = connect()
    entities = "".join(f'<!ENTITY e{i + 1} "{f"&e{i};" * 10}">' for i in range(12))
    head = f'<?xml version="1.0"?>\n<!DOCTYPE r [<!ENTITY e0 "0123456789">{entities}]>'
    rdf = 'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:x="http://x/"'
    for content in ("&e12;", "&e1;", ""):  # Declarations suffice.
        with pytest.raises(DataError) as caught:
            store.insert(
                f"{head}<rdf:RDF {rdf}><rdf:Description><x:a>{content}</x:a></rdf:Description></rdf:RDF>", "rdfxml"
            )
        assert caught.value.code == "E0460"
        assert str(caught.value.problems[0].place).startswith("<text>:2:")
    usual = '<!DOCTYPE r [<!ENTITY ns "http://x/"><!ENTITY a "&ns;a">]>'
    store.insert(  # in single quotation marks, which are in the text as they are
        f"""<!DOCTYPE r [<!ENTITY b 'http://x/'>\n<!ENTITY c 'say "b"'>]>
        <rdf:RDF {rdf}><rdf:Description rdf:about="&b;b"><x:a>&c; '&#60;!ENTITY d '</x:a></rdf:Description>
        </rdf:RDF>""",
        "rdfxml",
    )
    store.insert(
        f'{usual}<rdf:RDF {rdf}><rdf:Description rdf:about="&a;"><x:a>1</x:a></rdf:Description></rdf:RDF>', "rdfxml"
    )
    store.commit()
    assert store.contains("http://x/a", "http://x/a", '"1"')
    assert store.contains("http://x/b", "http://x/a", literal("say \"b\" '<!ENTITY d '"))


NESTED = {
    "a triple term": ("turtle", "<x:a> <x:b> {} .", "<<( <x:a> <x:b> ", "1", " )>>"),
    "one behind half a string": ("turtle", '# it\'s "\n<x:a> <x:b> {} . # "', "<<( <x:a> <x:b> ", "1", " )>>"),
    "one with brackets in strings": ("trig", "<x:a> <x:b> {} .", "<<( <x:a> <x:b> ", "')>>'", " )>>"),
    "one of a line": ("nquads", "<x:a> <x:b> {} <x:g> .", "<<( <x:a> <x:b> ", '"1"', " )>>"),
    "objects of JSON": ("jsonld", '{{"@id": "x:a", "x:b": {}}}', '{"x:b": ', '"}"', "}"),
    "lists of JSON": ("jsonld", '{{"@id": "x:a", "x:b": {}}}', '{"@list": [', "1", "]}"),
    "elements of a triple term": (
        "rdfxml",
        f'<rdf:RDF xmlns:rdf="{RDF}" xmlns:x="x:" rdf:version="1.2">{{}}</rdf:RDF>',
        '<rdf:Description rdf:about="x:a"><x:b rdf:parseType="Triple">',
        '<rdf:Description rdf:about="x:a"><x:b>1</x:b></rdf:Description>',
        "</x:b></rdf:Description>",
    ),
    "elements": (
        "rdfxml",
        f'<rdf:RDF xmlns:rdf="{RDF}" xmlns:x="x:">{{}}</rdf:RDF>',
        "<rdf:Description><x:b>" * 20,
        "",
        "</x:b></rdf:Description>" * 20,
    ),
}


@pytest.mark.parametrize("sort", NESTED)
def test_texts_that_are_nested_too_deeply_are_refused(sort: str) -> None:
    """pyoxigraph reads them by recursion, and an overflow of its stack ends the process."""
    format, frame, opening, inner, closing = NESTED[sort]

    def nested(depth: int) -> str:
        return frame.format(opening * depth + inner + closing * depth)

    assert len(store_of(nested(20), format)) > 0
    for depth in (1_000, 20_000):
        code, place = problem(nested(depth), format=format)
        assert code == "E0460"
        assert str(place).startswith("<text>:")


@pytest.mark.parametrize("opening", ["<<( <x:a> <x:b> ", "\t<<( <x:a> <x:b> '\\'' "])
def test_terms_that_are_nested_too_deeply_are_refused(opening: str) -> None:
    text = opening.strip() * 20_000 + " 1" + " )>>" * 20_000
    store = store_of("<x:a> <x:b> <x:c> .")
    for verb in (term, lambda text: store.contains("x:a", "x:b", text), lambda text: store.triples(None, None, text)):
        with pytest.raises(DataError, match=r"E0465"):
            verb(text)


XML_LITERALS = [
    ("<br />", "<br></br>"),
    ("<x:i  b='2' a='1'/>", '<x:i xmlns:x="x:" a="1" b="2"></x:i>'),
    ("a &lt; b", "a &lt; b"),
    ("plain", "plain"),
]


@pytest.mark.parametrize(("written", "canonical"), XML_LITERALS)
def test_literals_of_xml_are_canonical(written: str, canonical: str) -> None:
    """As the section on literal content of RDF/XML asks for: the namespaces that are seen, and no others."""
    frame = f'<rdf:RDF xmlns:rdf="{RDF}" xmlns:x="x:" xmlns:no="no:">{{}}</rdf:RDF>'
    about = f'<rdf:Description rdf:about="x:a"><x:b rdf:parseType="Literal">{written}</x:b></rdf:Description>'
    store = store_of(frame.format(about), "rdfxml")
    assert objects(store) == {literal(canonical, datatype=f"{RDF}XMLLiteral")}


def test_a_literal_of_xml_that_is_none_stays_as_it_is() -> None:
    frame = f'<rdf:RDF xmlns:rdf="{RDF}" xmlns:x="x:">{{}}</rdf:RDF>'
    typed = f'<rdf:Description rdf:about="x:a"><x:b rdf:datatype="{RDF}XMLLiteral">{{}}</x:b></rdf:Description>'
    for text in ("&lt;i>", "&lt;no:i/>", "&lt;i/>" * 3 + "&amp;"):
        store = store_of(frame.format(typed.format(text)), "rdfxml")
        assert objects(store) == {literal(text.replace("&lt;", "<").replace("&amp;", "&"), datatype=f"{RDF}XMLLiteral")}
    deep = "<i>" * 5_000 + "</i>" * 5_000
    store = store_of(frame.format(typed.format(deep.replace("<", "&lt;"))), "rdfxml")
    assert objects(store) == {literal(deep, datatype=f"{RDF}XMLLiteral")}


RDF_XML = '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:a="http://a/"%s>'
RELATIVE = {
    "ttl": "<> <http://a/p> <#o> .",
    "trig": "<> <http://a/p> <#o> .",
    "jsonld": '{"@id": "", "http://a/p": {"@id": "#o"}}',
    "owl": RDF_XML % ""
    + '<rdf:Description rdf:about=""><a:p><rdf:Description rdf:ID="o"/></a:p></rdf:Description></rdf:RDF>',
}
WITH_BASE = {
    "ttl": f"@base <http://a/b> . {RELATIVE['ttl']}",
    "trig": f"@base <http://a/b> . {RELATIVE['trig']}",
    "jsonld": RELATIVE["jsonld"].replace("{", '{"@context": {"@base": "http://a/b"}, ', 1),
    "owl": RELATIVE["owl"].replace(">", ' xml:base="http://a/b">', 1),
}


@pytest.mark.parametrize("ending", RELATIVE)
def test_relative_iris_of_a_file_begin_with_its_base_or_else_its_own_iri(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"an onto.{ending}"
    own, given = f"file://{tmp_path}/an%20onto.{ending}", "http://a/b"
    for text, base, expected in (
        (RELATIVE[ending], None, own),
        (RELATIVE[ending], given, given),
        (WITH_BASE[ending], None, given),
        (WITH_BASE[ending], "http://a/c", given),
    ):
        path.write_text(text)
        store = stored(path, base=base)
        assert list(store.triples()) == [(expected, "http://a/p", f"{expected}#o")]
        store.delete(str(path), base=base)
        store.commit()
        assert len(store) == 0


def test_lines_have_no_relative_iris_even_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "onto.nt"
    path.write_text("<s> <http://a/p> 1 .")
    with pytest.raises(
        DataError, match=r"E0461.*N-Triples and N-Quads cannot have relative IRIs\n.*write absolute IRIs"
    ):
        connect().insert(path)


def test_documents_are_read_without_pandas() -> None:
    """pyarrow imports it for its own conversions, which takes as long as many files."""
    code = (
        "import sys\n"
        "from tidelog.rdf import reader\n"
        "from tidelog.rdf.documents import Labels\n"
        "for text, form in (('_:a <x:p> 1 , [] .', 'turtle'), ('<x:g> { _:a <x:p> \"1\"@en }', 'trig')):\n"
        "    assert len(reader.read_triples(text, form, None, Labels()))\n"
        "print(sorted({'pandas'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
