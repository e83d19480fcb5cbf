"""Each rule of tables 4 to 9 of OWL 2 RL/RDF: premises by hand, all of which it needs, and the conclusion."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.rdf.stores import delete, full, insert, triples
from tests.rdf.w3c import Triple
from tidelog.rdf import Store, connect
from tidelog.rdf.tables import table

AB = ":l rdf:first :a; :l rdf:rest :m; :m rdf:first :b; :m rdf:rest rdf:nil"
RULES = {
    "eq-sym": (":x owl:sameAs :y", ":y owl:sameAs :x"),
    "eq-trans": (":x owl:sameAs :y; :y owl:sameAs :z", ":x owl:sameAs :z"),
    "eq-rep-s": (":s owl:sameAs :t; :s :p :o", ":t :p :o"),
    "eq-rep-p": (":p owl:sameAs :q; :s :p :o", ":s :q :o"),
    "eq-rep-o": (":o owl:sameAs :t; :s :p :o", ":s :p :t"),
    "prp-dom": (":p rdfs:domain :c; :x :p :y", ":x rdf:type :c"),
    "prp-rng": (":p rdfs:range :c; :x :p :y", ":y rdf:type :c"),
    "prp-fp": (":p rdf:type owl:FunctionalProperty; :x :p :y; :x :p :z", ":y owl:sameAs :z"),
    "prp-ifp": (":p rdf:type owl:InverseFunctionalProperty; :x :p :z; :y :p :z", ":x owl:sameAs :y"),
    "prp-symp": (":p rdf:type owl:SymmetricProperty; :x :p :y", ":y :p :x"),
    "prp-trp": (":p rdf:type owl:TransitiveProperty; :x :p :y; :y :p :z", ":x :p :z"),
    "prp-spo1": (":p rdfs:subPropertyOf :q; :x :p :y", ":x :q :y"),
    "prp-spo2": (f":p owl:propertyChainAxiom :l; {AB}; :x :a :y; :y :b :z", ":x :p :z"),
    "prp-eqp1": (":p owl:equivalentProperty :q; :x :p :y", ":x :q :y"),
    "prp-eqp2": (":p owl:equivalentProperty :q; :x :q :y", ":x :p :y"),
    "prp-inv1": (":p owl:inverseOf :q; :x :p :y", ":y :q :x"),
    "prp-inv2": (":p owl:inverseOf :q; :x :q :y", ":y :p :x"),
    "prp-key": (
        f":c owl:hasKey :l; {AB}; :x rdf:type :c; :y rdf:type :c; :x :a :v; :y :a :v; :x :b :w; :y :b :w",
        ":x owl:sameAs :y",
    ),
    "cls-int1": (f":c owl:intersectionOf :l; {AB}; :x rdf:type :a; :x rdf:type :b", ":x rdf:type :c"),
    "cls-int2": (f":c owl:intersectionOf :l; {AB}; :x rdf:type :c", ":x rdf:type :b"),
    "cls-uni": (f":c owl:unionOf :l; {AB}; :x rdf:type :b", ":x rdf:type :c"),
    "cls-svf1": (":c owl:someValuesFrom :d; :c owl:onProperty :p; :x :p :y; :y rdf:type :d", ":x rdf:type :c"),
    "cls-svf2": (":c owl:someValuesFrom owl:Thing; :c owl:onProperty :p; :x :p :y", ":x rdf:type :c"),
    "cls-avf": (":c owl:allValuesFrom :d; :c owl:onProperty :p; :x rdf:type :c; :x :p :y", ":y rdf:type :d"),
    "cls-hv1": (":c owl:hasValue :y; :c owl:onProperty :p; :x rdf:type :c", ":x :p :y"),
    "cls-hv2": (":c owl:hasValue :y; :c owl:onProperty :p; :x :p :y", ":x rdf:type :c"),
    "cls-maxc2": (
        ":c owl:maxCardinality 1; :c owl:onProperty :p; :x rdf:type :c; :x :p :y; :x :p :z",
        ":y owl:sameAs :z",
    ),
    "cls-maxqc3": (
        ":c owl:maxQualifiedCardinality 1; :c owl:onProperty :p; :c owl:onClass :d; :x rdf:type :c; :x :p :y; :x :p :z;"
        ":y rdf:type :d; :z rdf:type :d",
        ":y owl:sameAs :z",
    ),
    "cls-maxqc4": (
        ":c owl:maxQualifiedCardinality 1; :c owl:onProperty :p; :c owl:onClass owl:Thing; :x rdf:type :c;"
        ":x :p :y; :x :p :z",
        ":y owl:sameAs :z",
    ),
    "cls-oo": (f":c owl:oneOf :l; {AB}", ":b rdf:type :c"),
    "cax-sco": (":c rdfs:subClassOf :d; :x rdf:type :c", ":x rdf:type :d"),
    "cax-eqc1": (":c owl:equivalentClass :d; :x rdf:type :c", ":x rdf:type :d"),
    "cax-eqc2": (":c owl:equivalentClass :d; :x rdf:type :d", ":x rdf:type :c"),
    "scm-cls1": (":c rdf:type owl:Class", ":c rdfs:subClassOf :c"),
    "scm-cls2": (":c rdf:type owl:Class", ":c owl:equivalentClass :c"),
    "scm-cls3": (":c rdf:type owl:Class", ":c rdfs:subClassOf owl:Thing"),
    "scm-cls4": (":c rdf:type owl:Class", "owl:Nothing rdfs:subClassOf :c"),
    "scm-sco": (":c rdfs:subClassOf :d; :d rdfs:subClassOf :e", ":c rdfs:subClassOf :e"),
    "scm-eqc1a": (":c owl:equivalentClass :d", ":c rdfs:subClassOf :d"),
    "scm-eqc1b": (":c owl:equivalentClass :d", ":d rdfs:subClassOf :c"),
    "scm-eqc2": (":c rdfs:subClassOf :d; :d rdfs:subClassOf :c", ":c owl:equivalentClass :d"),
    "scm-op1": (":p rdf:type owl:ObjectProperty", ":p rdfs:subPropertyOf :p"),
    "scm-op2": (":p rdf:type owl:ObjectProperty", ":p owl:equivalentProperty :p"),
    "scm-dp1": (":p rdf:type owl:DatatypeProperty", ":p rdfs:subPropertyOf :p"),
    "scm-dp2": (":p rdf:type owl:DatatypeProperty", ":p owl:equivalentProperty :p"),
    "scm-spo": (":p rdfs:subPropertyOf :q; :q rdfs:subPropertyOf :r", ":p rdfs:subPropertyOf :r"),
    "scm-eqp1a": (":p owl:equivalentProperty :q", ":p rdfs:subPropertyOf :q"),
    "scm-eqp1b": (":p owl:equivalentProperty :q", ":q rdfs:subPropertyOf :p"),
    "scm-eqp2": (":p rdfs:subPropertyOf :q; :q rdfs:subPropertyOf :p", ":p owl:equivalentProperty :q"),
    "scm-dom1": (":p rdfs:domain :c; :c rdfs:subClassOf :d", ":p rdfs:domain :d"),
    "scm-dom2": (":q rdfs:domain :c; :p rdfs:subPropertyOf :q", ":p rdfs:domain :c"),
    "scm-rng1": (":p rdfs:range :c; :c rdfs:subClassOf :d", ":p rdfs:range :d"),
    "scm-rng2": (":q rdfs:range :c; :p rdfs:subPropertyOf :q", ":p rdfs:range :c"),
    "scm-hv": (
        ":c owl:hasValue :i; :c owl:onProperty :p; :d owl:hasValue :i; :d owl:onProperty :q; :p rdfs:subPropertyOf :q",
        ":c rdfs:subClassOf :d",
    ),
    "scm-svf1": (
        ":c owl:someValuesFrom :y; :c owl:onProperty :p; :d owl:someValuesFrom :z; :d owl:onProperty :p;"
        ":y rdfs:subClassOf :z",
        ":c rdfs:subClassOf :d",
    ),
    "scm-svf2": (
        ":c owl:someValuesFrom :y; :c owl:onProperty :p; :d owl:someValuesFrom :y; :d owl:onProperty :q;"
        ":p rdfs:subPropertyOf :q",
        ":c rdfs:subClassOf :d",
    ),
    "scm-avf1": (
        ":c owl:allValuesFrom :y; :c owl:onProperty :p; :d owl:allValuesFrom :z; :d owl:onProperty :p;"
        ":y rdfs:subClassOf :z",
        ":c rdfs:subClassOf :d",
    ),
    "scm-avf2": (
        ":c owl:allValuesFrom :y; :c owl:onProperty :p; :d owl:allValuesFrom :y; :d owl:onProperty :q;"
        ":p rdfs:subPropertyOf :q",
        ":d rdfs:subClassOf :c",
    ),
    "scm-int": (f":c owl:intersectionOf :l; {AB}", ":c rdfs:subClassOf :b"),
    "scm-uni": (f":c owl:unionOf :l; {AB}", ":b rdfs:subClassOf :c"),
}
CLASHES = {
    "eq-diff0": ":x owl:differentFrom :x",
    "eq-diff1": ":x owl:sameAs :y; :x owl:differentFrom :y",
    "eq-diff2": f":d rdf:type owl:AllDifferent; :d owl:members :l; {AB}; :a owl:sameAs :b",
    "eq-diff3": f":d rdf:type owl:AllDifferent; :d owl:distinctMembers :l; {AB}; :a owl:sameAs :b",
    "prp-irp": ":p rdf:type owl:IrreflexiveProperty; :x :p :x",
    "prp-asyp": ":p rdf:type owl:AsymmetricProperty; :x :p :y; :y :p :x",
    "prp-pdw": ":p owl:propertyDisjointWith :q; :x :p :y; :x :q :y",
    "prp-adp": f":d rdf:type owl:AllDisjointProperties; :d owl:members :l; {AB}; :x :a :y; :x :b :y",
    "prp-npa1": ":n owl:sourceIndividual :x; :n owl:assertionProperty :p; :n owl:targetIndividual :y; :x :p :y",
    "prp-npa2": ":n owl:sourceIndividual :x; :n owl:assertionProperty :p; :n owl:targetValue 5; :x :p 5",
    "cls-nothing2": ":x rdf:type owl:Nothing",
    "cls-com": ":c owl:complementOf :d; :x rdf:type :c; :x rdf:type :d",
    "cls-maxc1": ":c owl:maxCardinality 0; :c owl:onProperty :p; :x rdf:type :c; :x :p :y",
    "cls-maxqc1": ":c owl:maxQualifiedCardinality 0; :c owl:onProperty :p; :c owl:onClass :d; :x rdf:type :c; :x :p :y;"
    ":y rdf:type :d",
    "cls-maxqc2": ":c owl:maxQualifiedCardinality 0; :c owl:onProperty :p; :c owl:onClass owl:Thing; :x rdf:type :c;"
    ":x :p :y",
    "cax-dw": ":c owl:disjointWith :d; :x rdf:type :c; :x rdf:type :d",
    "cax-adc": f":d rdf:type owl:AllDisjointClasses; :d owl:members :l; {AB}; :x rdf:type :a; :x rdf:type :b",
}
FROM_OTHERS = {"cls-int2", "cls-uni", "cax-eqc1", "cax-eqc2", "prp-eqp1", "prp-eqp2"}
"""Rules that the store does not have, because they follow from others."""


def store_of(asserted: set[Triple]) -> Store:
    store = connect(rules="owl-rl")
    insert(store, asserted)
    store.commit()
    return store


def without_each(store: Store, asserted: set[Triple]) -> Iterator[Triple]:
    """Let one premise after the other go and come back: the store is updated, not made anew."""
    gone: list[Triple] = []
    for premise in sorted(asserted):
        delete(store, [premise])
        insert(store, gone)
        store.commit()
        gone = [premise]
        yield premise
    insert(store, gone)
    store.commit()


def test_no_rule_is_left_out() -> None:
    of_store = {rule.name for rule in table("owl-rl") if not rule.name.startswith("list-")}
    of_lists = {"cls-int1", "prp-spo2", "prp-key"}
    assert RULES.keys() | CLASHES.keys() == of_store - {"eq-rep-c"} | of_lists | FROM_OTHERS


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_needs_all_of_its_premises(rule: str) -> None:
    asserted, ((subject, predicate, value),) = map(triples, RULES[rule])
    goal = full(subject), full(predicate), full(value)
    store = store_of(asserted)
    proofs = list(store.explain(*goal, all=True))
    assert all(proof.check() for proof in proofs)
    assert rule in FROM_OTHERS or rule in {proof.steps[-1].rule for proof in proofs}
    for premise in without_each(store, asserted):
        assert not store.contains(*goal), premise
    assert store.contains(*goal)


@pytest.mark.parametrize("rule", CLASHES)
def test_a_contradiction_needs_all_of_its_premises(rule: str) -> None:
    asserted = triples(CLASHES[rule])
    store = store_of(asserted)
    assert rule in {row[0] for row in store.inconsistencies()}
    for row in store.inconsistencies():
        assert store.explain(*row).check()
    for premise in without_each(store, asserted):
        assert rule not in {row[0] for row in store.inconsistencies()}, premise
    assert rule in {row[0] for row in store.inconsistencies()}
