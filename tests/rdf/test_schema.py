"""The facts of a schema that changes, against those of one that is made from scratch."""

from __future__ import annotations

import random

from tidelog.rdf.schema import Schema
from tidelog.rdf.tables import Triple, table
from tidelog.rdf.terms import OWL, RDF, RDFS

PREDICATES = [
    *(f"{RDFS}{name}" for name in ("subClassOf", "subPropertyOf", "domain", "range")),
    f"{OWL}equivalentClass",
]


def pairs(schema: Schema) -> tuple[dict[str, list[tuple[str, str]]], dict[str, list[tuple[str, str]]]]:
    """All facts, and those that are asserted or steps, in order of the alphabet."""
    facts = schema.facts()
    needed = schema.reduce_facts(facts)
    own = {name: sorted(needed.pairs[name]) for name in PREDICATES[2:]}
    return {name: sorted(each) for name, each in facts.pairs.items()}, own


def test_facts_follow_the_triples() -> None:
    """Every pair is there once, whether one or several changes were made since somebody looked."""
    rng = random.Random(5)
    rules = table("owl-rl")
    schema = Schema(rules)
    triples: dict[Triple, None] = {}
    names = [f"<:{i}>" for i in range(6)]
    for _ in range(25):
        triples = {each: None for each in triples if rng.random() < 0.8}
        for _ in range(rng.randrange(4)):
            triples[Triple(rng.choice(names), rng.choice(PREDICATES), rng.choice(names))] = None
        kind = rng.choice((f"{OWL}Class", f"{OWL}TransitiveProperty"))
        triples[Triple(rng.choice(names), f"{RDF}type", kind)] = None
        schema.change(triples)
        if rng.random() < 0.6:
            scratch = Schema(rules)
            scratch.change(triples)
            assert pairs(schema) == pairs(scratch)
