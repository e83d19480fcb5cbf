"""Constraints of SHACL-SPARQL: queries that are views, queries that each validation evaluates, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tidelog.rdf.shapes.queries
from tests.rdf.test_shapes import EXAMPLE, PREFIXES, in_short, shown, violations
from tests.texts import cases_of, listed, python
from tidelog import DataError, LimitError, UsageError
from tidelog.rdf import ShapesWarning, Store, connect
from tidelog.rdf.shapes.documents import SPARQL

DATA = """
:a a :K ; :start 1 ; :end 5 ; :name "A"@en ; :next :b .   :b a :K ; :start 7 ; :end 5 ; :name "B"@de ; :next :b .
:c a :K ; :start 9 ; :name "C" ; :next [ :start 2 ; :end 1 ] .   :d a :M ; :start 7 .
"""
DECLARED = ':P sh:declare [ sh:prefix "e" ; sh:namespace "http://example.org/"^^xsd:anyURI ] .'
VIEWS = cases_of(__file__, "queries that are views", str, listed)
OTHERS = cases_of(__file__, "queries that are evaluated at each validation", str, listed)
QUERIES = [*((*case, True) for case in VIEWS), *((*case, False) for case in OTHERS)]


def selecting(where: str, columns: str = "$this ?value") -> str:
    """Return the node of a constraint in SPARQL."""
    return (
        f'[ sh:prefixes :P ; sh:select """SELECT {columns if "?value" in where else "$this"} WHERE {{ {where} }}""" ]'
    )


EVALUATED = selecting("FILTER (concat('', str($this)) != '')")
"""A constraint that no view has."""


def validated(shapes: str, data: str = DATA, **options: Any) -> Store:
    """Return a store with data and shapes, which may use `:P` for prefixes."""
    store = connect()
    store.insert(PREFIXES + data)
    store.shapes(PREFIXES + DECLARED + shapes, **options)
    store.commit()
    return store


@pytest.mark.parametrize(("where", "expected", "is_view"), QUERIES)
def test_the_rows_of_a_query_are_violations(where: str, expected: list[str], is_view: bool) -> None:
    store = validated(f":S sh:targetClass :K ; sh:sparql {selecting(where)} .")
    assert violations(store) == expected
    assert (len(store["shapes"]) == len(expected)) == (is_view or not expected)


@pytest.mark.parametrize(("where", "expected", "is_view"), QUERIES)
def test_a_view_and_a_validation_find_the_same(
    where: str, expected: list[str], is_view: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tidelog.rdf.shapes.queries, "query_algebra", lambda *_: (None, "the test says so"))
    store = validated(f":S sh:targetClass :K ; sh:sparql {selecting(where)} .")
    assert violations(store) == expected
    assert len(store["shapes"]) == 0


@pytest.mark.parametrize(
    ("where", "extra"), [("?value > 5", True), ("concat('', str(?value)) != '' && ?value > 5", False)]
)
def test_a_query_of_a_property_shape_has_its_path(where: str, extra: bool) -> None:
    query = selecting(f"$this $PATH ?value FILTER ({where})")
    store = validated(f":S sh:targetClass :K ; sh:path ( [ sh:zeroOrMorePath :next ] :start ) ; sh:sparql {query} .")
    path = f"(<{EXAMPLE}next>)*/<{EXAMPLE}start>".replace("(", "").replace(")", "")
    assert violations(store) == [f"{each} {path} {v} SPARQL" for each, v in (("a", 7), ("b", 7), ("c", 9))]
    assert (len(store["shapes"]) > 0) == extra


@pytest.mark.parametrize("test", ["?value > 5", "?value > strlen('12345')"])
def test_a_query_that_is_a_view_follows_changes(test: str) -> None:
    store = validated(f":S sh:targetClass :K ; sh:sparql {selecting(f'$this e:start ?value FILTER ({test})')} .")
    assert violations(store) == ["b  7 SPARQL", "c  9 SPARQL"]
    store.delete(PREFIXES + ":b :start 7 .")
    store.insert(PREFIXES + ":d a :K . :a :start 8 .")
    change = store.commit()
    assert change.bootstraps == 0
    assert violations(store) == ["a  8 SPARQL", "c  9 SPARQL", "d  7 SPARQL"]


def test_a_result_has_the_path_message_and_constraint_of_its_query() -> None:
    for test in ("?value > 8", "?value > strlen('12345678')"):
        where = f"$this ?path ?value FILTER (?path = e:start && {test})"
        query = selecting(where, "$this ?path ?value").replace(
            "[", '[ sh:message "{$this} starts at {?value}: {?none}" ;'
        )
        store = validated(f":S sh:targetClass :K ; sh:severity sh:Warning ; sh:sparql {query} .")
        (result,) = store.validate()
        assert in_short(result) == "c start 9 SPARQL"
        assert result.message == f'"{EXAMPLE}c starts at 9: {{?none}}"'
        assert (result.component, result.severity[-7:], result.detail[:2]) == (SPARQL, "Warning", "_:")
        report = store.validate().to_text("ntriples")
        assert report.count("sourceConstraint>") == 1
        assert report.count("resultMessage") == 1


def test_a_query_may_give_the_message() -> None:
    for name in ("?x", "(concat(?x, '') AS ?text)"):
        column = "?text" if name == "?x" else name
        where = "$this e:name ?x FILTER ($this = e:a)" + (" BIND (?x AS ?text)" if name == "?x" else "")
        text = f"SELECT $this {column.replace('text', 'message')} WHERE {{ {where.replace('?text', '?message')} }}"
        store = validated(
            f':S sh:targetClass :K ; sh:message "no" ; sh:sparql [ sh:prefixes :P ; sh:select "{text}" ] .'
        )
        (result,) = store.validate()
        assert result.message.startswith('"A"')


def test_prefixes_come_from_imports_and_from_the_store() -> None:
    query = '[ sh:prefixes :Q ; sh:select "SELECT $this { $this e:next $this ; rdf:type m:K }" ]'
    store = connect()
    store.prefixes["m"] = EXAMPLE
    store.shapes(
        f"""{PREFIXES} @prefix owl: <http://www.w3.org/2002/07/owl#> . {DECLARED}
        :Q owl:imports :P, :Q . :S sh:targetClass :K ; sh:sparql {query} ."""
    )
    store.insert(PREFIXES + DATA)
    store.commit()
    assert violations(store) == ["b  b SPARQL"]


@pytest.mark.parametrize("test", ["?s > 1", "?s > strlen('1')"])
def test_focus_nodes_may_be_blank_nodes_and_literals(test: str) -> None:
    query = selecting(f"$this e:start ?s FILTER ({test})")
    assert violations(validated(f":S sh:targetObjectsOf :next ; sh:sparql {query} .")) == ["_  _ SPARQL", "b  b SPARQL"]
    bound = selecting("BIND ($this AS ?x) FILTER (isBlank(?x) && bound($this) && strlen('1') = 1)")
    assert violations(validated(f":S sh:targetObjectsOf :next ; sh:sparql {bound} .")) == ["_  _ SPARQL"]
    text = selecting("FILTER (strlen(str($this)) = 1)")
    assert violations(validated(f":S sh:targetNode 'x', 'yz' ; sh:sparql {text} .")) == ["x  x SPARQL"]


def test_shapes_ask_for_shapes_with_queries() -> None:
    view = f":T sh:sparql {selecting('$this e:start ?x FILTER (?x > 5)')} ."
    assert violations(validated(f":S sh:targetClass :K ; sh:not :T . {view}")) == ["a  a Not"]
    assert violations(validated(f":S sh:targetClass :K ; sh:node :T . {view}")) == ["b  b Node", "c  c Node"]
    evaluated = f":T sh:sparql {EVALUATED} ."
    for part in ("sh:node :T", "sh:not :T"):
        with pytest.warns(ShapesWarning):
            store = validated(
                f":S sh:targetClass :K ; {part} ; sh:property [ sh:path :end ; sh:maxCount 0 ] . {evaluated}"
            )
        assert {each.path.removeprefix(EXAMPLE) for each in store.validate()} == {"end"}
    inner = f"sh:property [ sh:path :next ; sh:sparql {selecting('$this $PATH ?value FILTER isBlank(?value)')} ]"
    assert violations(validated(f":S sh:targetClass :K ; {inner} .")) == ["c next _ SPARQL"]


def test_a_deactivated_query_finds_nothing() -> None:
    query = selecting("FILTER (true)").replace("[", "[ sh:deactivated true ;")
    store = validated(f":S sh:targetClass :K ; sh:sparql {query}, [ sh:deactivated true ] .")
    assert store.validate().conforms


def test_a_query_sees_inferred_triples_unless_the_shapes_do_not() -> None:
    store = connect(rules="rdfs")
    store.insert(PREFIXES + ":p rdfs:subPropertyOf :q . :a :p 1 . :b :q 2 .")
    store.insert(PREFIXES + ":c :p 3 .", graph=f"{EXAMPLE}g")
    for test in ("true", "strlen('1') = 1"):
        query = selecting(f"$this e:q ?value FILTER ({test if test != 'true' else '?value > 0'})")
        shapes = f"{PREFIXES} {DECLARED} :S sh:targetNode :a, :b, :c ; sh:sparql {query} ."
        store.shapes(shapes, f"all{len(test)}")
        store.shapes(shapes, f"asserted{len(test)}", inferred=False)
        store.commit()
        found = store.validate(f"all{len(test)}"), store.validate(f"asserted{len(test)}")
        assert ["".join(shown(each.focus_node) for each in report) for report in found] == ["abc", "b"]


def test_queries_last_as_long_as_the_shapes(tmp_path: Path) -> None:
    query = selecting("$this e:name ?value FILTER (?value = 'C'\n && lang(?value) = '')")
    with connect(tmp_path / "kg.tide") as store:
        store.insert(PREFIXES + DATA)
        store.shapes(f"{PREFIXES} {DECLARED} :S sh:targetClass :K ; sh:sparql {query} .")
        store.commit()
    with connect(tmp_path / "kg.tide") as store:
        assert violations(store) == ["c  C SPARQL"]
        store.drop_view("shapes")
        store.commit()
        with pytest.raises(UsageError, match="E0601"):
            store.validate()


def test_a_validation_ends_at_the_time_limit() -> None:
    store = validated(f":S sh:targetClass :K ; sh:sparql {EVALUATED} .")
    store.options(timeout=1e-9)
    with pytest.raises(LimitError, match=r"E0501.*validation"):
        store.validate()


# --- components of one's own -----------------------------------------------------------------------------------------

COMPONENT = """
:Lang a sh:ConstraintComponent ; sh:parameter [ sh:path :lang ], [ sh:path :other ; sh:optional true ] ;
    sh:propertyValidator [ sh:message "{?value} is not in {$lang}" ; sh:select \"\"\"SELECT DISTINCT $this ?value
        { $this $PATH ?value BIND (lang(?value) AS ?tag)
        FILTER (!langMatches(?tag, $lang) && !langMatches(?tag, COALESCE(?other, "-"))) }\"\"\" ] .
:Least a sh:ConstraintComponent ; sh:parameter [ sh:path :least ] ; sh:nodeValidator [ sh:prefixes :P ;
    sh:select "SELECT $this ?value { $this e:start ?value FILTER NOT EXISTS { $this e:next $least } }" ] .
:Short a sh:ConstraintComponent ; sh:parameter [ sh:path :length ] ;
    sh:validator [ a sh:SPARQLAskValidator ; sh:ask "ASK { FILTER (strlen(str($value)) <= $length) }" ] .
:Same a sh:ConstraintComponent ; sh:parameter [ sh:path :same ] ;
    sh:validator [ sh:ask "ASK { FILTER ($value = $same) } # all of them" ] .
:Long a sh:ConstraintComponent ; sh:parameter [ sh:path :aParameterWithAVeryLongNameIndeed ] ;
    sh:validator [ sh:ask "ASK { FILTER ($value = $aParameterWithAVeryLongNameIndeed) }" ] .
"""


@pytest.mark.parametrize(
    ("shape", "expected"), cases_of(__file__, "components of ones own find their violations", str, python)
)
def test_components_of_ones_own_find_their_violations(shape: str, expected: list[str]) -> None:
    store = validated(f"{COMPONENT} :S {shape} .")
    found = [in_short(each).replace(EXAMPLE, "") for each in store.validate()]
    assert sorted(found) == expected
    if "Lang" in "".join(expected):
        assert '"C is not in en"' in {each.message for each in store.validate()}


def test_components_without_a_validator_are_passed_over() -> None:
    with pytest.warns(ShapesWarning, match="/least> of the shape .* has no validator in SPARQL for this shape"):
        validated(f"{COMPONENT} :S sh:targetClass :K ; sh:path :name ; :least :b .")
    component = ":J a sh:ConstraintComponent ; sh:parameter [ sh:path :j ] ; sh:validator [ sh:jsFunctionName 'f' ] ."
    with pytest.warns(ShapesWarning, match="/j> of the shape .*JavaScript"):
        validated(f"{component} :S sh:targetClass :K ; :j 1 .")


# --- errors ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("query", "message"), cases_of(__file__, "ill formed queries are refused", python))
def test_ill_formed_queries_are_refused(query: str, message: str) -> None:
    with pytest.raises(DataError, match=f"(?s)E0674.*{message}"):
        connect().shapes(f"{PREFIXES} {DECLARED} :S sh:sparql {query} .")


def test_a_component_with_two_parameters_takes_one_value_of_each() -> None:
    with pytest.raises(DataError, match=r"E0674.*/lang> .*needs one value"):
        connect().shapes(f"{PREFIXES} {COMPONENT} :S sh:path :name ; :lang 'en', 'de' ; :other 'x' .")


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("sh:sparql [ sh:select 'SELECT $this { GRAPH $shapesGraph { $this ?p ?o } }' ]", "reads .shapesGraph"),
        (
            "sh:property [ sh:path :p ; sh:sparql [ sh:select 'SELECT $this { $currentShape ?p $this }' ] ]",
            "blank node",
        ),
    ],
)
def test_queries_about_the_shapes_are_passed_over(query: str, message: str) -> None:
    with pytest.warns(ShapesWarning, match=message):
        validated(f":S sh:targetClass :K ; {query} .")


def test_a_query_may_name_its_shape() -> None:
    query = selecting("?x e:about $currentShape BIND (strlen('1') AS ?y)")
    assert violations(validated(f":S sh:targetNode :a ; sh:sparql {query} .", ":n :about :S .")) == ["a  a SPARQL"]
