"""The rules of OWL 2 RL/RDF and of RDFS, in the notation of their tables: triples with variables, `=>` before the
conclusion, `false` for an inconsistency (behind it the terms that clash).

Source: OWL 2 Web Ontology Language Profiles (Second Edition), section 4.3, tables 4 to 9; RDF 1.1 Semantics, section 9.
Left out are rules whose conclusions say nothing (eq-ref: everything is the same as itself; prp-ap, cls-thing,
cls-nothing1, rdfs1; axiomatic triples, rdfD2, rdfs4 and rdfs8 are a table of their own), those about values of literals
(dt-not-type, dt-diff, see `literals`; dt-eq is a table of its own; dt-type1, dt-type2), and those that follow from
others here: cls-int2 from scm-int and cax-sco, cls-uni from scm-uni, cax-eqc1 and cax-eqc2 from scm-eqc1, prp-eqp1 and
prp-eqp2 from scm-eqp1. Rules over the members of lists of any length (cls-int1, prp-spo2, prp-key) are
written by `matching`.

`?x != ?z` in rules about owl:sameAs leaves out what eq-ref would say. `tidelog:member` connects a list that is
complete with each of its members, `tidelog:cell` one whose members differ with each of its cells: of two members that
must differ, each has a place of its own, whatever else it is the same as. (A second rule of a name is for a member with
two places, which eq-ref makes the same as itself.) `0` and `1` are such numbers of any integer type.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from tidelog.rdf.terms import PREFIXES, RDF

MEMBER = "tidelog:member"
"""The property that connects lists with their members; internal."""
CELL = "tidelog:cell"
"""The property that connects lists of what must differ with their cells; internal."""
FALSE = "tidelog:false"
"""In place of the predicate of a conclusion."""

_OWL_RL = """
eq-sym    ?x owl:sameAs ?y                                                      => ?y owl:sameAs ?x
eq-trans  ?x owl:sameAs ?y . ?y owl:sameAs ?z . ?x != ?z                        => ?x owl:sameAs ?z
eq-rep-s  ?s owl:sameAs ?t . ?s ?p ?o                                           => ?t ?p ?o
eq-rep-p  ?p owl:sameAs ?q . ?s ?p ?o                                           => ?s ?q ?o
eq-rep-o  ?o owl:sameAs ?t . ?s ?p ?o                                           => ?s ?p ?t
eq-rep-c  ?c owl:sameAs ?d . ?s rdf:type ?c                                     => ?s rdf:type ?d
eq-diff0  ?x owl:differentFrom ?x                                               => false ?x
eq-diff1  ?x owl:sameAs ?y . ?x owl:differentFrom ?y                            => false ?x ?y
eq-diff2  ?x rdf:type owl:AllDifferent . ?x owl:members ?l . ?l tidelog:cell ?k . ?k rdf:first ?y . ?k rdf:rest ?r . ?r tidelog:member ?z . ?y owl:sameAs ?z => false ?y ?z
eq-diff2  ?x rdf:type owl:AllDifferent . ?x owl:members ?l . ?l tidelog:cell ?k . ?k rdf:first ?y . ?k rdf:rest ?r . ?r tidelog:member ?y => false ?y ?y
eq-diff3  ?x rdf:type owl:AllDifferent . ?x owl:distinctMembers ?l . ?l tidelog:cell ?k . ?k rdf:first ?y . ?k rdf:rest ?r . ?r tidelog:member ?z . ?y owl:sameAs ?z => false ?y ?z
eq-diff3  ?x rdf:type owl:AllDifferent . ?x owl:distinctMembers ?l . ?l tidelog:cell ?k . ?k rdf:first ?y . ?k rdf:rest ?r . ?r tidelog:member ?y => false ?y ?y

prp-dom   ?p rdfs:domain ?c . ?x ?p ?y                                          => ?x rdf:type ?c
prp-rng   ?p rdfs:range ?c . ?x ?p ?y                                           => ?y rdf:type ?c
prp-fp    ?p rdf:type owl:FunctionalProperty . ?x ?p ?y . ?x ?p ?z . ?y != ?z   => ?y owl:sameAs ?z
prp-ifp   ?p rdf:type owl:InverseFunctionalProperty . ?x ?p ?z . ?y ?p ?z . ?x != ?y => ?x owl:sameAs ?y
prp-irp   ?p rdf:type owl:IrreflexiveProperty . ?x ?p ?x                        => false ?x ?p
prp-symp  ?p rdf:type owl:SymmetricProperty . ?x ?p ?y                          => ?y ?p ?x
prp-asyp  ?p rdf:type owl:AsymmetricProperty . ?x ?p ?y . ?y ?p ?x              => false ?x ?p ?y
prp-trp   ?p rdf:type owl:TransitiveProperty . ?x ?p ?y . ?y ?p ?z              => ?x ?p ?z
prp-spo1  ?p rdfs:subPropertyOf ?q . ?x ?p ?y                                   => ?x ?q ?y
prp-pdw   ?p owl:propertyDisjointWith ?q . ?x ?p ?y . ?x ?q ?y                  => false ?x ?p ?q
prp-adp   ?a rdf:type owl:AllDisjointProperties . ?a owl:members ?l . ?l tidelog:cell ?k . ?k rdf:first ?p . ?k rdf:rest ?r . ?r tidelog:member ?q . ?x ?p ?y . ?x ?q ?y => false ?x ?p ?q
prp-inv1  ?p owl:inverseOf ?q . ?x ?p ?y                                        => ?y ?q ?x
prp-inv2  ?p owl:inverseOf ?q . ?x ?q ?y                                        => ?y ?p ?x
prp-npa1  ?n owl:sourceIndividual ?x . ?n owl:assertionProperty ?p . ?n owl:targetIndividual ?y . ?x ?p ?y => false ?x ?p ?y
prp-npa2  ?n owl:sourceIndividual ?x . ?n owl:assertionProperty ?p . ?n owl:targetValue ?y . ?x ?p ?y      => false ?x ?p ?y

cls-nothing2 ?x rdf:type owl:Nothing                                            => false ?x
cls-com   ?c owl:complementOf ?d . ?x rdf:type ?c . ?x rdf:type ?d              => false ?x ?c ?d
cls-svf1  ?c owl:someValuesFrom ?d . ?c owl:onProperty ?p . ?x ?p ?y . ?y rdf:type ?d => ?x rdf:type ?c
cls-svf2  ?c owl:someValuesFrom owl:Thing . ?c owl:onProperty ?p . ?x ?p ?y     => ?x rdf:type ?c
cls-avf   ?c owl:allValuesFrom ?d . ?c owl:onProperty ?p . ?x rdf:type ?c . ?x ?p ?y => ?y rdf:type ?d
cls-hv1   ?c owl:hasValue ?y . ?c owl:onProperty ?p . ?x rdf:type ?c            => ?x ?p ?y
cls-hv2   ?c owl:hasValue ?y . ?c owl:onProperty ?p . ?x ?p ?y                  => ?x rdf:type ?c
cls-maxc1 ?c owl:maxCardinality 0 . ?c owl:onProperty ?p . ?x rdf:type ?c . ?x ?p ?y => false ?x ?p ?y
cls-maxc2 ?c owl:maxCardinality 1 . ?c owl:onProperty ?p . ?x rdf:type ?c . ?x ?p ?y . ?x ?p ?z . ?y != ?z => ?y owl:sameAs ?z
cls-maxqc1 ?c owl:maxQualifiedCardinality 0 . ?c owl:onProperty ?p . ?c owl:onClass ?d . ?x rdf:type ?c . ?x ?p ?y . ?y rdf:type ?d => false ?x ?p ?y
cls-maxqc2 ?c owl:maxQualifiedCardinality 0 . ?c owl:onProperty ?p . ?c owl:onClass owl:Thing . ?x rdf:type ?c . ?x ?p ?y => false ?x ?p ?y
cls-maxqc3 ?c owl:maxQualifiedCardinality 1 . ?c owl:onProperty ?p . ?c owl:onClass ?d . ?x rdf:type ?c . ?x ?p ?y . ?y rdf:type ?d . ?x ?p ?z . ?z rdf:type ?d . ?y != ?z => ?y owl:sameAs ?z
cls-maxqc4 ?c owl:maxQualifiedCardinality 1 . ?c owl:onProperty ?p . ?c owl:onClass owl:Thing . ?x rdf:type ?c . ?x ?p ?y . ?x ?p ?z . ?y != ?z => ?y owl:sameAs ?z
cls-oo    ?c owl:oneOf ?l . ?l tidelog:member ?x                                => ?x rdf:type ?c

cax-sco   ?c rdfs:subClassOf ?d . ?x rdf:type ?c                                => ?x rdf:type ?d
cax-dw    ?c owl:disjointWith ?d . ?x rdf:type ?c . ?x rdf:type ?d              => false ?x ?c ?d
cax-adc   ?a rdf:type owl:AllDisjointClasses . ?a owl:members ?l . ?l tidelog:cell ?k . ?k rdf:first ?c . ?k rdf:rest ?r . ?r tidelog:member ?d . ?x rdf:type ?c . ?x rdf:type ?d => false ?x ?c ?d

list-1    ?l rdf:first ?x . ?l rdf:rest rdf:nil                                 => ?l tidelog:member ?x
list-2    ?l rdf:first ?x . ?l rdf:rest ?r . ?r tidelog:member ?y               => ?l tidelog:member ?x
list-3    ?l rdf:first ?x . ?l rdf:rest ?r . ?r tidelog:member ?y               => ?l tidelog:member ?y
list-4    ?a owl:members ?l . ?l tidelog:member ?x                              => ?l tidelog:cell ?l
list-5    ?a owl:distinctMembers ?l . ?l tidelog:member ?x                      => ?l tidelog:cell ?l
list-6    ?l tidelog:cell ?k . ?k rdf:rest ?r . ?r tidelog:member ?x            => ?l tidelog:cell ?r
scm-cls1  ?c rdf:type owl:Class                                                 => ?c rdfs:subClassOf ?c
scm-cls2  ?c rdf:type owl:Class                                                 => ?c owl:equivalentClass ?c
scm-cls3  ?c rdf:type owl:Class                                                 => ?c rdfs:subClassOf owl:Thing
scm-cls4  ?c rdf:type owl:Class                                                 => owl:Nothing rdfs:subClassOf ?c
scm-sco   ?c rdfs:subClassOf ?d . ?d rdfs:subClassOf ?e                         => ?c rdfs:subClassOf ?e
scm-eqc1a ?c owl:equivalentClass ?d                                             => ?c rdfs:subClassOf ?d
scm-eqc1b ?c owl:equivalentClass ?d                                             => ?d rdfs:subClassOf ?c
scm-eqc2  ?c rdfs:subClassOf ?d . ?d rdfs:subClassOf ?c                         => ?c owl:equivalentClass ?d
scm-op1   ?p rdf:type owl:ObjectProperty                                        => ?p rdfs:subPropertyOf ?p
scm-op2   ?p rdf:type owl:ObjectProperty                                        => ?p owl:equivalentProperty ?p
scm-dp1   ?p rdf:type owl:DatatypeProperty                                      => ?p rdfs:subPropertyOf ?p
scm-dp2   ?p rdf:type owl:DatatypeProperty                                      => ?p owl:equivalentProperty ?p
scm-spo   ?p rdfs:subPropertyOf ?q . ?q rdfs:subPropertyOf ?r                   => ?p rdfs:subPropertyOf ?r
scm-eqp1a ?p owl:equivalentProperty ?q                                          => ?p rdfs:subPropertyOf ?q
scm-eqp1b ?p owl:equivalentProperty ?q                                          => ?q rdfs:subPropertyOf ?p
scm-eqp2  ?p rdfs:subPropertyOf ?q . ?q rdfs:subPropertyOf ?p                   => ?p owl:equivalentProperty ?q
scm-dom1  ?p rdfs:domain ?c . ?c rdfs:subClassOf ?d                             => ?p rdfs:domain ?d
scm-dom2  ?q rdfs:domain ?c . ?p rdfs:subPropertyOf ?q                          => ?p rdfs:domain ?c
scm-rng1  ?p rdfs:range ?c . ?c rdfs:subClassOf ?d                              => ?p rdfs:range ?d
scm-rng2  ?q rdfs:range ?c . ?p rdfs:subPropertyOf ?q                           => ?p rdfs:range ?c
scm-hv    ?c owl:hasValue ?i . ?c owl:onProperty ?p . ?d owl:hasValue ?i . ?d owl:onProperty ?q . ?p rdfs:subPropertyOf ?q => ?c rdfs:subClassOf ?d
scm-svf1  ?c owl:someValuesFrom ?y . ?c owl:onProperty ?p . ?d owl:someValuesFrom ?z . ?d owl:onProperty ?p . ?y rdfs:subClassOf ?z => ?c rdfs:subClassOf ?d
scm-svf2  ?c owl:someValuesFrom ?y . ?c owl:onProperty ?p . ?d owl:someValuesFrom ?y . ?d owl:onProperty ?q . ?p rdfs:subPropertyOf ?q => ?c rdfs:subClassOf ?d
scm-avf1  ?c owl:allValuesFrom ?y . ?c owl:onProperty ?p . ?d owl:allValuesFrom ?z . ?d owl:onProperty ?p . ?y rdfs:subClassOf ?z => ?c rdfs:subClassOf ?d
scm-avf2  ?c owl:allValuesFrom ?y . ?c owl:onProperty ?p . ?d owl:allValuesFrom ?y . ?d owl:onProperty ?q . ?p rdfs:subPropertyOf ?q => ?d rdfs:subClassOf ?c
scm-int   ?c owl:intersectionOf ?l . ?l tidelog:member ?d                       => ?c rdfs:subClassOf ?d
scm-uni   ?c owl:unionOf ?l . ?l tidelog:member ?d                              => ?d rdfs:subClassOf ?c
"""  # noqa: E501

_RDFS = """
rdfs2     ?p rdfs:domain ?c . ?x ?p ?y                                          => ?x rdf:type ?c
rdfs3     ?p rdfs:range ?c . ?x ?p ?y                                           => ?y rdf:type ?c
rdfs5     ?p rdfs:subPropertyOf ?q . ?q rdfs:subPropertyOf ?r                   => ?p rdfs:subPropertyOf ?r
rdfs6     ?p rdf:type rdf:Property                                              => ?p rdfs:subPropertyOf ?p
rdfs7     ?p rdfs:subPropertyOf ?q . ?x ?p ?y                                   => ?x ?q ?y
rdfs9     ?c rdfs:subClassOf ?d . ?x rdf:type ?c                                => ?x rdf:type ?d
rdfs10    ?c rdf:type rdfs:Class                                                => ?c rdfs:subClassOf ?c
rdfs11    ?c rdfs:subClassOf ?d . ?d rdfs:subClassOf ?e                         => ?c rdfs:subClassOf ?e
rdfs12    ?p rdf:type rdfs:ContainerMembershipProperty                          => ?p rdfs:subPropertyOf rdfs:member
rdfs13    ?c rdf:type rdfs:Datatype                                             => ?c rdfs:subClassOf rdfs:Literal
"""

_DATATYPES = """
dt-eq     ?x tidelog:equal ?y                                                   => ?x owl:sameAs ?y
"""

_AXIOMS = """
rdfD2     ?x ?p ?y                                                              => ?p rdf:type rdf:Property
rdfs4a    ?x ?p ?y                                                              => ?x rdf:type rdfs:Resource
rdfs4b    ?x ?p ?y                                                              => ?y rdf:type rdfs:Resource
rdfs8     ?c rdf:type rdfs:Class                                                => ?c rdfs:subClassOf rdfs:Resource
"""
_AXIOMATIC = """
rdf:type rdf:subject rdf:predicate rdf:object rdf:first rdf:rest rdf:value      rdf:type          rdf:Property
rdf:nil                                                                         rdf:type          rdf:List
rdf:reifies                                                                     rdfs:range        rdfs:Proposition
rdf:type rdfs:member rdfs:seeAlso rdfs:isDefinedBy rdfs:comment rdfs:label rdf:value   rdfs:domain   rdfs:Resource
rdf:subject rdf:predicate rdf:object                                            rdfs:domain       rdf:Statement
rdf:subject rdf:predicate rdf:object rdfs:member rdfs:seeAlso rdfs:isDefinedBy rdf:value   rdfs:range   rdfs:Resource
rdfs:domain rdfs:range rdfs:subPropertyOf                                       rdfs:domain       rdf:Property
rdfs:subClassOf                                                                 rdfs:domain       rdfs:Class
rdfs:subPropertyOf                                                              rdfs:range        rdf:Property
rdf:type rdfs:domain rdfs:range rdfs:subClassOf                                 rdfs:range        rdfs:Class
rdf:first rdf:rest                                                              rdfs:domain       rdf:List
rdf:first                                                                       rdfs:range        rdfs:Resource
rdf:rest                                                                        rdfs:range        rdf:List
rdfs:comment rdfs:label                                                         rdfs:range        rdfs:Literal
rdf:Alt rdf:Bag rdf:Seq                                                         rdfs:subClassOf   rdfs:Container
rdfs:ContainerMembershipProperty                                                rdfs:subClassOf   rdf:Property
rdfs:isDefinedBy                                                                rdfs:subPropertyOf rdfs:seeAlso
rdfs:Datatype                                                                   rdfs:subClassOf   rdfs:Class
"""
"""The axiomatic triples of RDF 1.2 and RDFS, several subjects in a line; `of_member` has those of `rdf:_1`."""
AXIOM = "tidelog:axiom"
"""The internal property of one pair, which is there where axiomatic triples are asked for: these follow from it."""

_TEXTS = {"owl-rl": _OWL_RL, "rdfs": _RDFS, "datatypes": _DATATYPES, "axioms": _AXIOMS}
LITERAL_RULES = frozenset(["dt-not-type", "dt-diff", "dt-eq"])
"""Rules about values of literals, which `literals` writes."""
RULE_SETS = tuple(_TEXTS)


class Triple(NamedTuple):
    """A pattern: terms, and variables, which begin with `?`. In a conclusion `predicate` may be FALSE; subject and
    object are then the first two terms that clash, and `more` the third.

    There are many, in sets: tuples are made and compared faster than dataclasses."""

    subject: str
    predicate: str
    object: str
    more: str = ""

    @property
    def terms(self) -> tuple[str, str, str, str]:
        return self


@dataclass(frozen=True)
class TableRule:
    """A rule: `head` follows from `body` if the terms of each pair of `unequal` differ."""

    name: str
    body: tuple[Triple, ...]
    head: Triple
    unequal: tuple[tuple[str, str], ...] = ()


@cache
def table(name: str) -> tuple[TableRule, ...]:
    """Return the rules of one of RULE_SETS."""
    rules = [_rule(line) for line in _TEXTS[name].splitlines() if line]
    if name == "axioms":
        for line in _AXIOMATIC.splitlines():
            *subjects, predicate, value = line.split() or ("", "")
            rules += [axiomatic(*map(_full, (subject, predicate, value))) for subject in subjects]
    return tuple(rules)


def axiomatic(*terms: str) -> TableRule:
    """Return the rule of an axiomatic triple, which follows from nothing."""
    return TableRule("axiom", (Triple(AXIOM, AXIOM, AXIOM),), Triple(*terms))


_MEMBERSHIP = re.compile(rf"{re.escape(RDF)}_[1-9][0-9]*")


def of_member(name: str) -> Iterator[TableRule]:
    """Yield the rules of the axiomatic triples of a membership property of containers; none for other properties."""
    if _MEMBERSHIP.fullmatch(name):
        yield axiomatic(name, _full("rdf:type"), _full("rdfs:ContainerMembershipProperty"))
        yield axiomatic(name, _full("rdfs:domain"), _full("rdfs:Resource"))
        yield axiomatic(name, _full("rdfs:range"), _full("rdfs:Resource"))


def is_axiomatic(triple: Triple) -> bool:
    """Return True for an axiomatic triple."""
    return any(rule.name == "axiom" and rule.head == triple for rule in (*table("axioms"), *of_member(triple.subject)))


def _rule(line: str) -> TableRule:
    name, rest = line.split(None, 1)
    body, head = (part.strip() for part in rest.split("=>"))
    parts = [part.split() for part in body.split(" . ")]
    unequal = tuple((part[0], part[2]) for part in parts if part[1] == "!=")
    triples = tuple(_triple(*part) for part in parts if part[1] != "!=")
    first, *others = head.split()
    if first == "false":
        subject, object_, more = (*others, "", "")[:3]
        return TableRule(name, triples, Triple(subject, FALSE, object_, more), unequal)
    return TableRule(name, triples, _triple(first, *others), unequal)


def _triple(*terms: str) -> Triple:
    return Triple(*map(_full, terms))


def _full(term: str) -> str:
    """Return a variable or number as it is, a prefixed name in full."""
    prefix, _, local = term.partition(":")
    return PREFIXES[prefix] + local if prefix in PREFIXES else term
