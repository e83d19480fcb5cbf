"""Shapes of SHACL: the violations of each component, targets, paths, reports, and views that follow changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.rdf.stores import stored
from tests.texts import cases_of, listed, python
from tidelog import DataError, TidelogError, UsageError
from tidelog.rdf import ShapesWarning, Store, ValidationResult, connect, literal
from tidelog.rdf.shapes.documents import SH
from tidelog.rdf.shapes.paths import path_triples
from tidelog.rdf.shapes.testing import order_of
from tidelog.rdf.terms import XSD

EXAMPLE = "http://example.org/"
PREFIXES = """@prefix : <http://example.org/> . @prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
"""
DATA = """
:K rdfs:subClassOf :L .   :a a :K ; :p :b, "x", 5 ; :q :b ; :n "en"@en, "gb"@en-gb, "other"@en .
:b a :L ; :p :c ; :r 4, 7.5 ; :s 5 ; :n "de"@de .   :c :p [ :p :a ] ; :d "2026-01-31"^^xsd:date, "soon"^^xsd:date .
"""
COMPONENTS = cases_of(__file__, "components", str, listed)
TARGETS = cases_of(__file__, "targets", str, listed)
PATHS = cases_of(__file__, "paths")


def validated(shapes: str, data: str = DATA, **options: Any) -> Store:
    """Return a store with data and shapes."""
    store = connect()
    store.insert(PREFIXES + data)
    store.shapes(PREFIXES + shapes, **options)
    store.commit()
    return store


def shown(term: str) -> str:
    """Return a term in short: a blank node as `_`."""
    if term.startswith('"'):
        return term[1 : term.index('"', 1)]
    return "_" if term.startswith("_:") else term.removeprefix(EXAMPLE)


def violations(store: Store) -> list[str]:
    """Return the violations of a store in short, sorted."""
    return sorted(map(in_short, store.validate()))


def in_short(each: ValidationResult) -> str:
    """Return a violation as focus node, path, value and component."""
    component = each.component.removeprefix(SH).removesuffix("ConstraintComponent")
    return " ".join([*map(shown, (each.focus_node, each.path, each.value)), component])


@pytest.mark.parametrize(("shape", "expected"), COMPONENTS)
def test_each_component_finds_its_violations(shape: str, expected: list[str]) -> None:
    assert violations(validated(f":S {shape} .")) == sorted(expected)


@pytest.mark.parametrize(("shape", "expected"), TARGETS)
def test_targets_are_the_focus_nodes(shape: str, expected: list[str]) -> None:
    store = validated(f":S {shape} ; sh:in () .")
    assert sorted(shown(each.focus_node) for each in store.validate()) == expected


def test_a_class_that_is_a_shape_has_its_instances_as_targets() -> None:
    assert violations(validated(":L a rdfs:Class, sh:NodeShape ; sh:in () .")) == ["a  a In", "b  b In"]


@pytest.mark.parametrize(("path", "expected", "spelled"), PATHS)
def test_paths_lead_to_the_values(path: str, expected: str, spelled: str) -> None:
    found = list(validated(f":S sh:targetNode :a, :b, :c, :nowhere ; sh:path {path} ; sh:in () .").validate())
    assert " ".join(sorted({shown(each.value) for each in found})) == expected
    assert {each.path for each in found} == {spelled.replace("<", f"<{EXAMPLE}")}


def test_a_spelled_path_becomes_its_structure() -> None:
    names = iter(f"_:{i}" for i in range(9))
    spelled = "(<p:q>|^<p:p>)*/<p:r>"
    node, triples = path_triples(spelled, lambda: next(names))
    store = connect()
    store.shapes(
        [*triples, ("s:s", f"{SH}path", node), ("s:s", f"{SH}targetNode", "s:t"), ("s:s", f"{SH}class", "s:c")]
    )
    store.insert([("s:t", "p:q", "s:u"), ("s:v", "p:p", "s:u"), ("s:v", "p:r", "s:w")])
    store.commit()
    assert [(each.path, each.value) for each in store.validate()] == [(spelled, "s:w")]


@pytest.mark.parametrize(("one", "other", "order"), cases_of(__file__, "values compare as in sparql", str, str, python))
def test_values_compare_as_in_sparql(one: str, other: str, order: str | None) -> None:
    terms = [literal(text, XSD + datatype) for text, datatype in (each.split("^") for each in (one, other))]
    assert order_of(*terms) == order


def test_terms_that_are_no_values_do_not_compare() -> None:
    assert order_of(f"{EXAMPLE}a", f"{EXAMPLE}a") is None
    assert order_of('"a"@en', '"a"@en') is None


# --- changes ---------------------------------------------------------------------------------------------------------


def test_a_view_follows_changes_without_a_bootstrap() -> None:
    store = validated(
        """:S sh:targetClass :L ; sh:property [ sh:path :p ; sh:minCount 1 ; sh:nodeKind sh:IRI ; sh:node :T ] .
        :T sh:property [ sh:path [ sh:oneOrMorePath :q ] ; sh:maxCount 1 ; sh:not [ sh:class :M ] ] .""",
        DATA + "".join(f":x{i} a :L ; :p :y{i} . :y{i} :q :z{i} ." for i in range(200)),
    )
    before = violations(store)
    heard: list[Any] = []
    store.subscribe(heard.append, "shapes")
    for data, expected in (
        (":z3 :q :w .", ["+x3 p y3 Node"]),
        (":z4 a :M .", ["+x4 p y4 Node"]),
        (":x5 :p 5 .", ["+x5 p 5 NodeKind"]),
    ):
        store.insert(PREFIXES + data)
        change = store.commit()
        assert change.bootstraps == 0
        assert signed(heard.pop()) == expected
        assert violations(store) == sorted([*before, expected[0][1:]])
        store.delete(PREFIXES + data)
        change = store.commit()
        assert change.bootstraps == 0
        assert signed(heard.pop()) == [expected[0].replace("+", "-")]
        assert violations(store) == before
    store.delete(PREFIXES + ":x6 :p :y6 . :x7 a :L .")
    assert store.commit().bootstraps == 0
    assert signed(heard.pop()) == ["+x6 p  MinCount"]
    store.check()


def signed(change: Any) -> list[str]:
    """Return the violations that came with a plus, those that went with a minus."""
    parts = (("+", change.inserted), ("-", change.deleted))
    return sorted(sign + in_short(ValidationResult(*row)) for sign, rows in parts for row in rows)


def test_inferred_triples_are_validated_unless_asserted_ones_are_asked_for() -> None:
    store = connect(rules="owl-rl")
    store.insert(PREFIXES + ":p rdfs:subPropertyOf :q ; rdfs:range :L . :K rdfs:subClassOf :L . :a :p :b . :c a :K .")
    shape = PREFIXES + ":S sh:targetClass :L ; sh:property [ sh:path [ sh:inversePath :q ] ; sh:minCount 1 ] ."
    store.shapes(shape, "all")
    store.shapes(shape, "asserted", inferred=False)
    store.commit()
    assert [shown(each.focus_node) for each in store.validate("all")] == ["c"]
    assert [shown(each.focus_node) for each in store.validate("asserted")] == ["c"]
    store.insert(PREFIXES + ":d :p :c .")
    store.commit()
    assert store.validate("all").conforms
    assert [shown(each.focus_node) for each in store.validate("asserted")] == ["c"]
    with pytest.warns(ShapesWarning, match=r"sh:closed.*asserted triples alone"):
        store.shapes(PREFIXES + ":S sh:targetNode :a ; sh:closed true .", "closed", inferred=False)


@pytest.mark.parametrize("rules", ["rdfs", "owl-rl"])
def test_literals_are_no_instances_of_classes(rules: str) -> None:
    """Rules see that a literal is of a class by the range of its property; SHACL sees triples."""
    store = connect(rules=rules)
    store.options(strategy="update")
    store.shapes(
        PREFIXES
        + ":S sh:targetClass :L ; sh:property [ sh:path :q ; sh:minCount 1 ] ."
        + ":T sh:targetNode :a ; sh:property [ sh:path :p ; sh:class :L ] ."
    )
    store.insert(PREFIXES + ":p rdfs:range :K . :K rdfs:subClassOf :L . :a :p :b .")
    store.commit()
    store.insert(PREFIXES + ":a :p 5 .")
    change = store.commit()
    assert change.bootstraps == 0
    assert {(shown(each.focus_node), shown(each.value)) for each in store.validate()} == {("b", ""), ("a", "5")}


def test_shapes_take_the_place_of_others() -> None:
    store = validated(":S sh:targetNode :a ; sh:class :M .", name="rules")
    with store.transaction() as block:
        block.drop_view("rules")
    with pytest.raises(UsageError, match="E0601"):
        store.validate("rules")
    with store.transaction() as block:
        block.shapes(PREFIXES + ":S sh:targetNode :a ; sh:in () .", "rules")
    assert violations(store) == ["a  a In"]
    with store.transaction() as block:
        block.drop_view("rules")
        block.shapes(PREFIXES + ":S sh:targetNode :b ; sh:in () .", "rules")
    assert violations(store) == ["b  b In"]
    assert block.change is not None
    assert signed(block.change["rules"]) == ["+b  b In", "-a  a In"]


def test_a_recursion_without_negation_finds_the_nodes_that_have_to_fail() -> None:
    store = validated(
        ":S sh:targetNode :a ; sh:property [ sh:path :k ; sh:nodeKind sh:IRI ; sh:node :S ] .",
        ":a :k :b . :b :k :c, :a . :c :k 5 .",
    )
    assert violations(store) == ["a k b Node"]
    store.delete(PREFIXES + ":c :k 5 .")
    store.commit()
    assert store.validate().conforms


# --- reports ---------------------------------------------------------------------------------------------------------


def test_a_report_is_a_graph_of_shacl() -> None:
    store = validated(
        """:S sh:targetNode :a ; sh:path [ sh:inversePath :z ] ; sh:minCount 1 ; sh:severity sh:Warning ;
        sh:message "zu wenig"@de, "too few"@en .""",
    )
    report = store.validate()
    assert (report.conforms, len(report)) == (False, 1)
    (result,) = report
    assert (result.message, result.severity, result.detail[:3]) == ('"too few"@en', f"{SH}Warning", '"1"')
    store.prefixes[""] = EXAMPLE
    asked = stored(store.validate().to_text())
    found = asked.query(
        f"""PREFIX sh: <{SH}> PREFIX : <{EXAMPLE}> SELECT (GROUP_CONCAT(STR(?m)) AS ?t) {{
        ?report a sh:ValidationReport ; sh:conforms false ; sh:result ?r .
        ?r a sh:ValidationResult ; sh:focusNode :a ; sh:resultPath [ sh:inversePath :z ] ; sh:sourceShape :S ;
        sh:resultSeverity sh:Warning ; sh:sourceConstraintComponent sh:MinCountConstraintComponent ; sh:resultMessage ?m
        MINUS {{ ?r sh:value ?v }} }}"""
    )
    assert sorted(str(next(iter(found))[0]).strip('"').split()) == ["few", "too", "wenig", "zu"]
    assert len(report.to_rdflib()) == len(report.triples())


def test_an_empty_report_conforms() -> None:
    report = validated(":S a sh:NodeShape .").validate()
    assert (report.conforms, len(report.triples()), list(report)) == (True, 2, [])


def test_messages_without_a_text_of_the_shape_name_the_parameter() -> None:
    (result,) = validated(":S sh:targetNode :a ; sh:in (:b 5) .").validate()
    assert result.message == '"the value is not one of <http://example.org/b>, 5"'


# --- errors ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        *cases_of(__file__, "ill-formed shapes"),
        (f"sh:pattern '{'(' * 9_000}a{')' * 9_000}'", "is no pattern.*18,001 characters, the limit is 10,000"),
    ],
)
def test_ill_formed_shapes_are_refused(shape: str, message: str) -> None:
    with pytest.raises(DataError, match=f"(?s)E0674.*{message}"):
        connect().shapes(f"{PREFIXES} :S {shape} .")


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        (
            "a sh:NodeShape . :g sh:entailment <http://www.w3.org/ns/entailment/RDFS>",
            "entailment/RDFS.*connect with rules",
        ),
        (f"sh:targetNode :a ; {'sh:not [ ' * 11_000}sh:class :C{' ]' * 11_000}", "more than 20,000 rules"),
        (f"sh:path {'[ sh:inversePath ' * 5_000}:p{' ]' * 5_000} ; sh:minCount 1", "nested too deeply.*fewer steps"),
    ],
)
def test_shapes_beyond_the_core_are_refused(shape: str, message: str) -> None:
    with pytest.raises(UsageError, match=f"(?s)E0675.*{message}"):
        connect().shapes(f"{PREFIXES} :S {shape} .")


PASSED_OVER = cases_of(__file__, "passed over")


@pytest.mark.parametrize(("part", "message", "code"), PASSED_OVER)
def test_parts_that_are_not_validated_are_warnings_that_name_them(part: str, message: str, code: str) -> None:
    shapes = f":S sh:targetNode :a ; sh:property [ sh:path :q ; sh:maxCount 0 ] ; {part} ."
    with pytest.warns(ShapesWarning, match=f"(?s)E0659.*{message}"):
        store = validated(shapes)
    assert violations(store) == ["a q  MaxCount"]
    (warning,) = store.validate().warnings
    assert (warning.code, warning.severity) == ("E0659", "warning")
    with pytest.raises(TidelogError, match=f"(?s){code}.*{message}"):
        store.shapes(PREFIXES + shapes, "again", strict=True)


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ("sh:not :T", []),
        ("sh:not [ sh:node :T ]", []),
        ("sh:not [ sh:property [ sh:path :q ; sh:node :T ] ]", []),
        ("sh:xone (:T [ sh:class :M ])", []),
        ("sh:and (:T) ; sh:node :T", ["a  a And", "a  a Node"]),
        ("sh:or (:T [ sh:class :M ])", ["a  a Or"]),
        ("sh:property [ sh:path :q ; sh:qualifiedValueShape :T ; sh:qualifiedMaxCount 0 ]", []),
        (
            """sh:property [ sh:path :q ; sh:qualifiedValueShape [ sh:class :L ] ; sh:qualifiedMinCount 1 ;
            sh:qualifiedValueShapesDisjoint true ], [ sh:path :q ; sh:qualifiedValueShape :T ; sh:qualifiedMinCount 1 ]
            """,
            [],
        ),
        ("sh:property [ sh:path :q ; sh:not :T ; sh:minLength 99 ]", ["a q b MinLength"]),
    ],
)
def test_a_part_that_is_passed_over_causes_no_violation_elsewhere(part: str, expected: list[str]) -> None:
    with pytest.warns(ShapesWarning):
        store = validated(f":S sh:targetNode :a ; {part} . :T sh:js [ ] ; sh:class :M .")
    assert violations(store) == expected
    (first, *others) = store.validate().warnings
    assert "sh:js" in first.message
    has_negation = any(word in part for word in ("sh:not", "sh:xone", "sh:qualified"))
    assert [True for each in others if "asks for a shape with a part" in each.message] == [True] * len(others)
    assert bool(others) == has_negation


@pytest.mark.parametrize(
    "content",
    [
        "sh:js [ ]",
        "sh:minCount 'one'",
        "sh:shape :T",
        "sh:or :list",
        "sh:property [ sh:path :q ; sh:minCount 'one' ; sh:js [ ] ; sh:property [ sh:path (:p) ; sh:shape :T ] ]",
        "sh:node :T . :T sh:qualifiedMinCount 1",
    ],
)
@pytest.mark.parametrize("place", ["sh:deactivated true", "sh:property [ sh:path :p ; sh:deactivated true"])
def test_a_deactivated_shape_is_not_looked_into(content: str, place: str) -> None:
    inner, dot, rest = content.partition(" . ")
    shapes = f":S sh:targetNode :a ; {place} ; {inner} {']' * ('[' in place)} . {rest}{dot and '.'}"
    store = validated(f"{shapes} :U sh:targetNode :a ; sh:path :q ; sh:maxCount 0 .")
    assert violations(store) == ["a q  MaxCount"]
    assert not store.validate().warnings


def test_a_shape_that_an_active_one_asks_for_too_is_looked_into() -> None:
    with pytest.raises(DataError, match="E0674"):
        validated(":S sh:node :T . :U sh:deactivated true ; sh:node :T . :T sh:closed 'yes' .")


def test_a_closed_shape_allows_the_property_of_a_deactivated_one() -> None:
    shape = "sh:closed true ; sh:property [ sh:path :q ; sh:deactivated true ; sh:js [ ] ], [ sh:path :p ]"
    assert violations(validated(f":S sh:targetNode :b ; {shape} .", ":b :q 1 ; :p 2 ; :r 3 .")) == ["b r 3 Closed"]


def test_warnings_last_as_long_as_the_shapes(tmp_path: Path) -> None:
    with connect(tmp_path / "kg.tide") as store:
        with pytest.warns(ShapesWarning):
            store.shapes(PREFIXES + ":S sh:targetNode :a ; sh:js [ ] .")
        store.commit()
    with connect(tmp_path / "kg.tide") as store:
        report = store.validate()
        assert report.conforms
        assert "sh:js" in report.warnings[0].message
        assert "1 warnings" in repr(report)
        store.drop_view("shapes")
        store.commit()
        with pytest.raises(UsageError, match="E0601"):
            store.validate()


def test_components_that_no_shape_uses_and_their_parameters_find_nothing() -> None:
    store = validated("""
        :S sh:targetNode :a ; sh:path :p ; sh:maxCount 0 .
        sh:MaxCountConstraintComponent a sh:ConstraintComponent ; sh:parameter sh:MaxCountConstraintComponent-maxCount .
        sh:MaxCountConstraintComponent-maxCount a sh:Parameter ; sh:path sh:maxCount ; sh:datatype xsd:integer .
        :C a sh:ConstraintComponent ; sh:parameter [ a sh:Parameter ; sh:path :most ; sh:optional true ] ;
            sh:labelTemplate "at most {$most}" ; sh:validator [ a sh:SPARQLAskValidator ; sh:ask "ASK { }" ] .
    """)
    assert {(each.component, each.source_shape) for each in store.validate()} == {
        (f"{SH}MaxCountConstraintComponent", "http://example.org/S")
    }


def test_a_graph_without_shapes_is_refused() -> None:
    with pytest.raises(DataError, match="no shapes of SHACL"):
        connect().shapes(PREFIXES + DATA)


def test_validating_without_shapes_says_how_to_add_some() -> None:
    with pytest.raises(UsageError, match="E0601"):
        connect().validate()


def test_shapes_that_count_values_of_one_property_keep_their_own_bounds_and_directions() -> None:
    store = validated("""
        :Most sh:targetNode :a ; sh:path :p ; sh:maxCount 2 . :Least sh:targetNode :b ; sh:path :p ; sh:minCount 2 .
        :Some sh:targetNode :n ; sh:path :p ; sh:minCount 1 . :Back sh:targetNode :n ; sh:path [ sh:inversePath :p ] ;
            sh:minCount 1 . :Few sh:targetNode :b ; sh:path [ sh:inversePath :p ] ; sh:maxCount 1 .
    """)
    back = "^<http://example.org/p> "
    assert violations(store) == ["a p  MaxCount", "b p  MinCount", f"n {back} MinCount", "n p  MinCount"]
    store.insert(f"{PREFIXES} :b :p 7, 8 . :n :p :c .")
    store.delete(f"{PREFIXES} :a :p 5 .")
    store.commit()
    assert violations(store) == [f"n {back} MinCount"]
    store.insert(f"{PREFIXES} :n :p :b, :n .")
    store.commit()
    assert violations(store) == [f"b {back} MaxCount"]


def test_shapes_that_ask_for_several_classes_see_only_the_members_of_each() -> None:
    store = validated("""
        :S sh:targetClass :K ; sh:path :z ; sh:minCount 1 . :T sh:targetClass :L ; sh:path :y ; sh:minCount 1 .
        :U sh:targetNode :a, :b ; sh:class :K .
    """)
    assert violations(store) == ["a y  MinCount", "a z  MinCount", "b  b Class", "b y  MinCount"]
    store.delete(f"{PREFIXES} :K rdfs:subClassOf :L .")
    store.commit()
    assert violations(store) == ["a z  MinCount", "b  b Class", "b y  MinCount"]


def test_property_shapes_have_the_nodes_of_the_only_node_shape_that_asks_for_them() -> None:
    store = validated("""
        :S sh:targetNode :a, :b ; sh:property [ sh:path :z ; sh:minCount 1 ] , :Shared , :Own , :Off .
        :T sh:targetNode :n ; sh:property :Shared . :Shared sh:path :y ; sh:minCount 1 .
        :Own sh:targetNode :c ; sh:path :x ; sh:minCount 1 . :Off sh:path :w ; sh:minCount 1 ; sh:deactivated true .
        :U sh:targetNode :a ; sh:node :N . :N sh:property [ sh:path :v ; sh:minCount 1 ] .
    """)
    assert violations(store) == sorted([
        *(f"{node} {path}  MinCount" for node in "ab" for path in "xyz"), "c x  MinCount", "n y  MinCount", "a  a Node",
    ])  # fmt: skip
    sorts = [name.partition("ː")[2].partition("_")[0] for name in store.database.relations if "ː" in name]
    assert (sorts.count("focus"), sorts.count("asked"), sorts.count("fails")) == (5, 1, 2)
    store.insert(f"{PREFIXES} :a :z 1 ; :v 1 ; :y 1 . :b :x 1 .")
    store.commit()
    assert violations(store) == ["a x  MinCount", "b y  MinCount", "b z  MinCount", "c x  MinCount", "n y  MinCount"]
