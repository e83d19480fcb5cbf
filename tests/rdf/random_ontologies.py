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
