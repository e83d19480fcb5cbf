"""Random triples that rules have something to say about."""

from __future__ import annotations

import random

from tests.rdf.w3c import Triple

INDIVIDUALS = [":a", ":b", ":c", ":d"]
PROPERTIES = [":p", ":q", ":r"]
CLASSES = [":A", ":B", ":C", ":X", ":Y"]
LISTS = [":l1", ":l2", "rdf:nil"]
_OF_PROPERTIES = [
    f"owl:{name}Property"
    for name in (
        "Functional",
        "InverseFunctional",
        "Irreflexive",
        "Symmetric",
        "Asymmetric",
        "Transitive",
        "Object",
        "Datatype",
    )
]
_BETWEEN_PROPERTIES = ["rdfs:subPropertyOf", "owl:equivalentProperty", "owl:inverseOf", "owl:propertyDisjointWith"]
_BETWEEN_CLASSES = ["rdfs:subClassOf", "rdfs:subClassOf", "owl:equivalentClass", "owl:complementOf", "owl:disjointWith"]
_RESTRICTIONS = ["owl:someValuesFrom", "owl:allValuesFrom", "owl:onClass"]
_ODD = [*PROPERTIES, "rdf:type", "rdfs:subClassOf", "owl:sameAs", "rdfs:domain", "owl:onProperty", "rdf:first"]


def triple(rng: random.Random, odd: float) -> Triple:
    """A triple of data or of a schema; with the probability `odd`, one that may mix the two up."""
    pick = rng.choice
    if rng.random() < odd:
        everything = [*INDIVIDUALS, *CLASSES, *_ODD, "owl:Thing", "owl:TransitiveProperty", "owl:Class"]
        predicates = ["owl:sameAs", "rdfs:subPropertyOf", "rdfs:subClassOf", "rdf:type", "rdfs:domain", *PROPERTIES]
        return pick(everything), pick(predicates), pick(everything)
    match rng.randrange(13):
        case 0 | 1 | 2:
            return pick(INDIVIDUALS), pick(PROPERTIES), pick(INDIVIDUALS)
        case 3 | 4:
            return pick(INDIVIDUALS), "rdf:type", pick([*CLASSES, *CLASSES, "owl:Nothing", "owl:Thing"])
        case 5:
            return pick(PROPERTIES), "rdf:type", pick(_OF_PROPERTIES)
        case 6:
            return pick(PROPERTIES), pick(_BETWEEN_PROPERTIES), pick(PROPERTIES)
        case 7:
            return pick(PROPERTIES), pick(["rdfs:domain", "rdfs:range"]), pick(CLASSES)
        case 8 if rng.random() < 0.2:
            return pick(CLASSES), "rdf:type", "owl:Class"
        case 8 if rng.random() < 0.1:
            return pick(CLASSES), pick(["rdfs:subClassOf", "owl:equivalentClass"]), pick(["owl:Nothing", "owl:Thing"])
        case 8:
            return pick(CLASSES), pick(_BETWEEN_CLASSES), pick(CLASSES)
        case 9:
            if rng.random() < 0.3:
                return pick(CLASSES), "owl:onProperty", pick(PROPERTIES)
            if rng.random() < 0.3:
                return pick(CLASSES), pick(["owl:maxCardinality", "owl:maxQualifiedCardinality"]), pick("01")
            if rng.random() < 0.2:
                return pick(CLASSES), "owl:hasValue", pick(INDIVIDUALS)
            return pick(CLASSES), pick(_RESTRICTIONS), pick([*CLASSES, "owl:Thing"])
        case 10:
            cell = pick(LISTS[:2])
            if rng.random() < 0.5:
                return cell, "rdf:rest", pick(LISTS)
            return cell, "rdf:first", pick([*INDIVIDUALS, *PROPERTIES, *CLASSES])
        case 11:
            return _with_list(rng)
        case _:
            if rng.random() < 0.5:
                return pick(INDIVIDUALS), pick(["owl:sameAs", "owl:differentFrom"]), pick(INDIVIDUALS)
            what = pick(["source", "property", "target"])
            if what == "property":
                return ":n", "owl:assertionProperty", pick(PROPERTIES)
            return ":n", f"owl:{what}Individual", pick(INDIVIDUALS)


def ontology(rng: random.Random) -> set[Triple]:
    """Triples of a few kinds that have to meet to say anything: whole lists of what must differ, of members that are
    the same as others; restrictions to anonymous inverses; owl:sameAs as a property like any other."""
    found = {triple(rng, 0.1) for _ in range(rng.randrange(6))}
    for part in rng.sample([_different, _disjoint, _inverse, _sameness], rng.randrange(1, 4)):
        found |= part(rng)
    return found


def _list(rng: random.Random, members: list[str]) -> set[Triple]:
    cells = [f":k{i}" for i in range(rng.randrange(2, 4))]
    found = {(cell, "rdf:first", rng.choice(members)) for cell in cells}
    return found | set(zip(cells, ["rdf:rest"] * 3, [*cells[1:], "rdf:nil"], strict=False))


def _different(rng: random.Random) -> set[Triple]:
    pick = rng.choice
    same = {(pick(INDIVIDUALS), "owl:sameAs", pick(INDIVIDUALS)) for _ in range(rng.randrange(3))}
    kind = (":d", "rdf:type", "owl:AllDifferent"), (":d", pick(["owl:members", "owl:distinctMembers"]), ":k0")
    return same | {*kind} | _list(rng, INDIVIDUALS)


def _disjoint(rng: random.Random) -> set[Triple]:
    pick = rng.choice
    members = pick([PROPERTIES, CLASSES])
    kind = "owl:AllDisjointProperties" if members is PROPERTIES else "owl:AllDisjointClasses"
    same = {(pick(members), "owl:sameAs", pick(members)) for _ in range(rng.randrange(2))}
    if members is PROPERTIES:
        facts = {(pick(INDIVIDUALS), pick(PROPERTIES), pick(INDIVIDUALS)) for _ in range(2)}
    else:
        facts = {(pick(INDIVIDUALS[:2]), "rdf:type", pick(CLASSES)) for _ in range(2)}
    return same | facts | {(":e", "rdf:type", kind), (":e", "owl:members", ":k0")} | _list(rng, members)


def _inverse(rng: random.Random) -> set[Triple]:
    pick = rng.choice
    restriction = pick(["owl:someValuesFrom", "owl:allValuesFrom"]), pick([*CLASSES, "owl:Thing"])
    return {
        ("_:i", "owl:inverseOf", pick(PROPERTIES)),
        (":X", "owl:onProperty", pick(["_:i", "_:i", pick(PROPERTIES)])),
        (":X", *restriction),
        (pick(["_:i", pick(PROPERTIES)]), "rdfs:subPropertyOf", pick(["_:i", pick(PROPERTIES)])),
        (pick(INDIVIDUALS), pick(PROPERTIES), pick(INDIVIDUALS)),
        (pick(INDIVIDUALS), "rdf:type", pick([":X", *CLASSES])),
    }


def _sameness(rng: random.Random) -> set[Triple]:
    pick = rng.choice
    own = pick(PROPERTIES)
    read = [
        ("owl:sameAs", "rdfs:subPropertyOf", pick(PROPERTIES)),
        ("owl:sameAs", "owl:inverseOf", pick(PROPERTIES)),
        ("owl:sameAs", pick(["rdfs:domain", "rdfs:range"]), pick(CLASSES)),
        ("owl:sameAs", "rdf:type", pick(["owl:TransitiveProperty", "owl:IrreflexiveProperty"])),
        ("owl:sameAs", "owl:sameAs", own),
    ]
    said = [
        (pick(PROPERTIES), "rdfs:subPropertyOf", "owl:sameAs"),
        (pick(PROPERTIES), "rdf:type", "owl:FunctionalProperty"),
    ]
    same = pick(INDIVIDUALS)
    data = {(same, own, same), (pick(INDIVIDUALS), pick(PROPERTIES), pick(INDIVIDUALS))}
    return data | {*rng.sample(read, 2), *rng.sample(said, rng.randrange(1, 3))}


def _with_list(rng: random.Random) -> Triple:
    pick = rng.choice
    if rng.random() < 0.3:
        kind = pick(["owl:AllDifferent", "owl:AllDisjointClasses", "owl:AllDisjointProperties"])
        return ":all", "rdf:type", kind
    if rng.random() < 0.3:
        return ":all", pick(["owl:members", "owl:distinctMembers"]), pick(LISTS)
    if rng.random() < 0.3:
        return pick(PROPERTIES), "owl:propertyChainAxiom", pick(LISTS)
    return pick(CLASSES), pick(["owl:intersectionOf", "owl:unionOf", "owl:oneOf", "owl:hasKey"]), pick(LISTS)
