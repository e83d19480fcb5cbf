"""Random shapes of SHACL over random triples that change."""

from __future__ import annotations

import random

PREFIXES = """@prefix : <http://example.org/> . @prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
"""
_NODES, _CLASSES, _PROPERTIES = "abcd", "KLM", "pqr"
_LITERALS = ("1", "2", "2.0", "3.5", '"x"', '"xy"@en', '"z"@en-gb', '"x"@de', '"2"^^xsd:byte')


def triple(rng: random.Random) -> str:
    """Return a random triple in Turtle."""
    node = f":{rng.choice(_NODES)}"
    match rng.randrange(11):
        case 0 | 1:
            return f"{node} a :{rng.choice(_CLASSES)} ."
        case 2:
            return f":{rng.choice(_CLASSES)} rdfs:subClassOf :{rng.choice(_CLASSES)} ."
        case 3 | 4 | 5:
            return f"{node} :{rng.choice(_PROPERTIES)} {rng.choice(_LITERALS)} ."
        case 6:  # pyshacl also compares what SPARQL does not, such as IRIs, so these two have numbers only
            return f"{node} :{rng.choice('mn')} {rng.choice(_LITERALS[:4])} ."
    return f"{node} :{rng.choice(_PROPERTIES)} :{rng.choice(_NODES)} ."


def path(rng: random.Random, depth: int = 2) -> str:
    """Return a random property path."""
    if depth == 0 or rng.random() < 0.6:
        return f":{rng.choice(_PROPERTIES)}"
    one, other = path(rng, depth - 1), path(rng, depth - 1)
    op = rng.choice(["inverse", "zeroOrMore", "oneOrMore", "zeroOrOne", "alternative", "sequence", "sequence"])
    if op == "inverse" and "(" in one:  # pyshacl goes through the parts of an inverse sequence in their order.
        op = "zeroOrOne"
    if op == "sequence":
        return f"( {one} {other} )"
    return f"[ sh:alternativePath ( {one} {other} ) ]" if op == "alternative" else f"[ sh:{op}Path {one} ]"


def shapes(rng: random.Random) -> str:
    """Return a graph of some random shapes, which ask only for those behind them."""
    count = rng.randrange(2, 5)
    lines = []
    for i in range(count):
        target = rng.choice(
            [
                f"sh:targetClass :{rng.choice(_CLASSES)}",
                f"sh:targetNode :{rng.choice(_NODES)}, 2",
                f"sh:targetSubjectsOf :{rng.choice(_PROPERTIES)}",
                f"sh:targetObjectsOf :{rng.choice(_PROPERTIES)}",
            ]
        )
        others = [f":S{j}" for j in range(i + 1, count)]
        lines.append(f":S{i} a sh:NodeShape ; {target} ; {_constraints(rng, others, 2)} .")
    return "\n".join(lines)


def _constraints(rng: random.Random, others: list[str], depth: int, is_property: bool = False) -> str:
    found = [_constraint(rng, others, depth, is_property) for _ in range(rng.randrange(1, 4))]
    words = {each.split()[0]: each for each in found}
    return " ; ".join(words.values())


def _shape(rng: random.Random, others: list[str], depth: int) -> str:
    if others and rng.random() < 0.4:
        return rng.choice(others)
    return f"[ {_constraints(rng, others, depth - 1)} ]"


def _constraint(rng: random.Random, others: list[str], depth: int, is_property: bool) -> str:
    number, name = rng.choice([1, 2, 3, 2.5]), rng.choice(_PROPERTIES)
    simple = [
        f"sh:class :{rng.choice(_CLASSES)}",
        f"sh:datatype {rng.choice(['xsd:integer', 'xsd:string', 'rdf:langString', 'xsd:byte', 'xsd:decimal'])}",
        f"sh:nodeKind sh:{rng.choice(['IRI', 'Literal', 'IRIOrLiteral', 'BlankNodeOrIRI'])}",
        f"sh:{rng.choice(['min', 'max'])}{rng.choice(['Inclusive', 'Exclusive'])} {number}",
        f"sh:{rng.choice(['min', 'max'])}Length {rng.choice([1, 2, 20])}",
        f"sh:pattern '{rng.choice(['x', '^x', 'Y$', 'e.*a'])}' ; sh:flags 'i'",
        "sh:languageIn ('en')",
        f"sh:equals :{name}",
        f"sh:disjoint :{name}",
        f"sh:hasValue {rng.choice([':a', ':b', '2'])}",
        f"sh:in (:a :b 2 'x' {rng.choice(_LITERALS)})",
    ]
    counted = [
        f"sh:minCount {rng.choice([1, 2])}",
        f"sh:maxCount {rng.choice([0, 1, 2])}",
        "sh:uniqueLang true",
    ]
    if depth == 0 or rng.random() < 0.4:
        return rng.choice([*simple, *counted] if is_property else simple)
    one, other = _shape(rng, others, depth), _shape(rng, others, depth)
    inner = f"[ sh:path {path(rng)} ; {_constraints(rng, others, depth - 1, True)} ]"
    qualified = f"""[ sh:path {path(rng, 1)} ; sh:qualifiedValueShape {one} ;
        sh:qualified{rng.choice(["Min", "Max"])}Count {rng.choice([1, 2])} ;
        sh:qualifiedValueShapesDisjoint {rng.choice(["true", "false"])} ]"""
    closed = f"sh:closed true ; sh:ignoredProperties (rdf:type :{name})"
    return rng.choice(
        [
            f"sh:property {inner}",
            f"sh:property {inner}, {qualified}",
            f"sh:property {qualified}, [ sh:path :{name} ; sh:qualifiedValueShape {other} ; sh:qualifiedMinCount 1 ]",
            f"sh:property [ sh:path :m ; sh:{rng.choice(['lessThan', 'lessThanOrEquals'])} :n ]",
            f"sh:not {one}",
            f"sh:node {rng.choice(others) if others else '[ sh:class :K ]'}",
            f"sh:and ( {one} {other} )",
            f"sh:or ( {one} {other} )",
            f"sh:xone ( {one} {other} )",
            closed if not is_property else f"sh:maxCount {rng.choice([0, 1])}",
        ]
    )
