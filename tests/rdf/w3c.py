"""The rules of OWL 2 RL/RDF as W3C writes them, evaluated naively over a set of triples: what stores are compared with.

Nothing is shared with `tidelog.rdf`: terms are prefixed names, the tables are copied from the recommendation (tables
4 to 9, and section 9 of RDF Semantics), and rules over lists walk the list. Not among them: eq-ref, but for members of
lists that have to differ, and the axiomatic and datatype rules.
"""

from __future__ import annotations

from collections.abc import Iterator

Triple = tuple[str, str, str]

_OWL = """
eq-sym: ?x owl:sameAs ?y -> ?y owl:sameAs ?x
eq-trans: ?x owl:sameAs ?y, ?y owl:sameAs ?z -> ?x owl:sameAs ?z
eq-rep-s: ?s owl:sameAs ?s2, ?s ?p ?o -> ?s2 ?p ?o
eq-rep-p: ?p owl:sameAs ?p2, ?s ?p ?o -> ?s ?p2 ?o
eq-rep-o: ?o owl:sameAs ?o2, ?s ?p ?o -> ?s ?p ?o2
eq-diff1: ?x owl:sameAs ?y, ?x owl:differentFrom ?y -> false
prp-dom: ?p rdfs:domain ?c, ?x ?p ?y -> ?x rdf:type ?c
prp-rng: ?p rdfs:range ?c, ?x ?p ?y -> ?y rdf:type ?c
prp-fp: ?p rdf:type owl:FunctionalProperty, ?x ?p ?y1, ?x ?p ?y2 -> ?y1 owl:sameAs ?y2
prp-ifp: ?p rdf:type owl:InverseFunctionalProperty, ?x1 ?p ?y, ?x2 ?p ?y -> ?x1 owl:sameAs ?x2
prp-irp: ?p rdf:type owl:IrreflexiveProperty, ?x ?p ?x -> false
prp-symp: ?p rdf:type owl:SymmetricProperty, ?x ?p ?y -> ?y ?p ?x
prp-asyp: ?p rdf:type owl:AsymmetricProperty, ?x ?p ?y, ?y ?p ?x -> false
prp-trp: ?p rdf:type owl:TransitiveProperty, ?x ?p ?y, ?y ?p ?z -> ?x ?p ?z
prp-spo1: ?p1 rdfs:subPropertyOf ?p2, ?x ?p1 ?y -> ?x ?p2 ?y
prp-eqp1: ?p1 owl:equivalentProperty ?p2, ?x ?p1 ?y -> ?x ?p2 ?y
prp-eqp2: ?p1 owl:equivalentProperty ?p2, ?x ?p2 ?y -> ?x ?p1 ?y
prp-pdw: ?p1 owl:propertyDisjointWith ?p2, ?x ?p1 ?y, ?x ?p2 ?y -> false
prp-inv1: ?p1 owl:inverseOf ?p2, ?x ?p1 ?y -> ?y ?p2 ?x
prp-inv2: ?p1 owl:inverseOf ?p2, ?x ?p2 ?y -> ?y ?p1 ?x
prp-npa1: ?x owl:sourceIndividual ?i, ?x owl:assertionProperty ?p, ?x owl:targetIndividual ?j, ?i ?p ?j -> false
prp-npa2: ?x owl:sourceIndividual ?i, ?x owl:assertionProperty ?p, ?x owl:targetValue ?j, ?i ?p ?j -> false
cls-nothing2: ?x rdf:type owl:Nothing -> false
cls-com: ?c1 owl:complementOf ?c2, ?x rdf:type ?c1, ?x rdf:type ?c2 -> false
cls-svf1: ?x owl:someValuesFrom ?y, ?x owl:onProperty ?p, ?u ?p ?v, ?v rdf:type ?y -> ?u rdf:type ?x
cls-svf2: ?x owl:someValuesFrom owl:Thing, ?x owl:onProperty ?p, ?u ?p ?v -> ?u rdf:type ?x
cls-avf: ?x owl:allValuesFrom ?y, ?x owl:onProperty ?p, ?u rdf:type ?x, ?u ?p ?v -> ?v rdf:type ?y
cls-hv1: ?x owl:hasValue ?y, ?x owl:onProperty ?p, ?u rdf:type ?x -> ?u ?p ?y
cls-hv2: ?x owl:hasValue ?y, ?x owl:onProperty ?p, ?u ?p ?y -> ?u rdf:type ?x
cls-maxc1: ?x owl:maxCardinality 0, ?x owl:onProperty ?p, ?u rdf:type ?x, ?u ?p ?y -> false
cls-maxc2: ?x owl:maxCardinality 1, ?x owl:onProperty ?p, ?u rdf:type ?x, ?u ?p ?y1, ?u ?p ?y2 -> ?y1 owl:sameAs ?y2
cls-maxqc1: ?x owl:maxQualifiedCardinality 0, ?x owl:onProperty ?p, ?x owl:onClass ?c, ?u rdf:type ?x, ?u ?p ?y, ?y rdf:type ?c -> false
cls-maxqc2: ?x owl:maxQualifiedCardinality 0, ?x owl:onProperty ?p, ?x owl:onClass owl:Thing, ?u rdf:type ?x, ?u ?p ?y -> false
cls-maxqc3: ?x owl:maxQualifiedCardinality 1, ?x owl:onProperty ?p, ?x owl:onClass ?c, ?u rdf:type ?x, ?u ?p ?y1, ?y1 rdf:type ?c, ?u ?p ?y2, ?y2 rdf:type ?c -> ?y1 owl:sameAs ?y2
cls-maxqc4: ?x owl:maxQualifiedCardinality 1, ?x owl:onProperty ?p, ?x owl:onClass owl:Thing, ?u rdf:type ?x, ?u ?p ?y1, ?u ?p ?y2 -> ?y1 owl:sameAs ?y2
cax-sco: ?c1 rdfs:subClassOf ?c2, ?x rdf:type ?c1 -> ?x rdf:type ?c2
cax-eqc1: ?c1 owl:equivalentClass ?c2, ?x rdf:type ?c1 -> ?x rdf:type ?c2
cax-eqc2: ?c1 owl:equivalentClass ?c2, ?x rdf:type ?c2 -> ?x rdf:type ?c1
cax-dw: ?c1 owl:disjointWith ?c2, ?x rdf:type ?c1, ?x rdf:type ?c2 -> false
scm-cls: ?c rdf:type owl:Class -> ?c rdfs:subClassOf ?c, ?c owl:equivalentClass ?c, ?c rdfs:subClassOf owl:Thing, owl:Nothing rdfs:subClassOf ?c
scm-sco: ?c1 rdfs:subClassOf ?c2, ?c2 rdfs:subClassOf ?c3 -> ?c1 rdfs:subClassOf ?c3
scm-eqc1: ?c1 owl:equivalentClass ?c2 -> ?c1 rdfs:subClassOf ?c2, ?c2 rdfs:subClassOf ?c1
scm-eqc2: ?c1 rdfs:subClassOf ?c2, ?c2 rdfs:subClassOf ?c1 -> ?c1 owl:equivalentClass ?c2
scm-op: ?p rdf:type owl:ObjectProperty -> ?p rdfs:subPropertyOf ?p, ?p owl:equivalentProperty ?p
scm-dp: ?p rdf:type owl:DatatypeProperty -> ?p rdfs:subPropertyOf ?p, ?p owl:equivalentProperty ?p
scm-spo: ?p1 rdfs:subPropertyOf ?p2, ?p2 rdfs:subPropertyOf ?p3 -> ?p1 rdfs:subPropertyOf ?p3
scm-eqp1: ?p1 owl:equivalentProperty ?p2 -> ?p1 rdfs:subPropertyOf ?p2, ?p2 rdfs:subPropertyOf ?p1
scm-eqp2: ?p1 rdfs:subPropertyOf ?p2, ?p2 rdfs:subPropertyOf ?p1 -> ?p1 owl:equivalentProperty ?p2
scm-dom1: ?p rdfs:domain ?c1, ?c1 rdfs:subClassOf ?c2 -> ?p rdfs:domain ?c2
scm-dom2: ?p2 rdfs:domain ?c, ?p1 rdfs:subPropertyOf ?p2 -> ?p1 rdfs:domain ?c
scm-rng1: ?p rdfs:range ?c1, ?c1 rdfs:subClassOf ?c2 -> ?p rdfs:range ?c2
scm-rng2: ?p2 rdfs:range ?c, ?p1 rdfs:subPropertyOf ?p2 -> ?p1 rdfs:range ?c
scm-hv: ?c1 owl:hasValue ?i, ?c1 owl:onProperty ?p1, ?c2 owl:hasValue ?i, ?c2 owl:onProperty ?p2, ?p1 rdfs:subPropertyOf ?p2 -> ?c1 rdfs:subClassOf ?c2
scm-svf1: ?c1 owl:someValuesFrom ?y1, ?c1 owl:onProperty ?p, ?c2 owl:someValuesFrom ?y2, ?c2 owl:onProperty ?p, ?y1 rdfs:subClassOf ?y2 -> ?c1 rdfs:subClassOf ?c2
scm-svf2: ?c1 owl:someValuesFrom ?y, ?c1 owl:onProperty ?p1, ?c2 owl:someValuesFrom ?y, ?c2 owl:onProperty ?p2, ?p1 rdfs:subPropertyOf ?p2 -> ?c1 rdfs:subClassOf ?c2
scm-avf1: ?c1 owl:allValuesFrom ?y1, ?c1 owl:onProperty ?p, ?c2 owl:allValuesFrom ?y2, ?c2 owl:onProperty ?p, ?y1 rdfs:subClassOf ?y2 -> ?c1 rdfs:subClassOf ?c2
scm-avf2: ?c1 owl:allValuesFrom ?y, ?c1 owl:onProperty ?p1, ?c2 owl:allValuesFrom ?y, ?c2 owl:onProperty ?p2, ?p1 rdfs:subPropertyOf ?p2 -> ?c2 rdfs:subClassOf ?c1
"""  # noqa: E501

_RDFS = """
rdfs2: ?p rdfs:domain ?c, ?x ?p ?y -> ?x rdf:type ?c
rdfs3: ?p rdfs:range ?c, ?x ?p ?y -> ?y rdf:type ?c
rdfs5: ?p rdfs:subPropertyOf ?q, ?q rdfs:subPropertyOf ?r -> ?p rdfs:subPropertyOf ?r
rdfs6: ?p rdf:type rdf:Property -> ?p rdfs:subPropertyOf ?p
rdfs7: ?p rdfs:subPropertyOf ?q, ?x ?p ?y -> ?x ?q ?y
rdfs9: ?c rdfs:subClassOf ?d, ?x rdf:type ?c -> ?x rdf:type ?d
rdfs10: ?c rdf:type rdfs:Class -> ?c rdfs:subClassOf ?c
rdfs11: ?c rdfs:subClassOf ?d, ?d rdfs:subClassOf ?e -> ?c rdfs:subClassOf ?e
rdfs12: ?p rdf:type rdfs:ContainerMembershipProperty -> ?p rdfs:subPropertyOf rdfs:member
rdfs13: ?c rdf:type rdfs:Datatype -> ?c rdfs:subClassOf rdfs:Literal
"""


def closure(asserted: set[Triple], rules: str = "owl-rl") -> tuple[set[Triple], set[str]]:
    """All triples that follow, but for `x owl:sameAs x` that is not asserted, and the names of the rules that find an
    inconsistency."""
    table = [_parsed(line) for line in (_OWL if rules == "owl-rl" else _RDFS).splitlines() if line]
    triples, clashes = set(asserted), set[str]()
    while True:
        new = set[Triple]()
        by_predicate: dict[str, list[Triple]] = {}
        for triple in triples:
            by_predicate.setdefault(triple[1], []).append(triple)
        for name, body, heads in table:
            for binding in _bindings(body, by_predicate, triples, {}):
                if heads is None:
                    clashes.add(name)
                    continue
                new |= {tuple(binding.get(term, term) for term in head) for head in heads}  # type: ignore[misc]
        if rules == "owl-rl":
            new |= set(_from_lists(triples, clashes))
        if new <= triples:
            break
        triples |= new
    triples = {each for each in triples if each in asserted or each[1] != "owl:sameAs" or each[0] != each[2]}
    if any((x, "owl:differentFrom", x) in triples for x, _, _ in triples) and rules == "owl-rl":
        clashes.add("eq-diff1")  # with eq-ref
    return triples, clashes


def _parsed(line: str) -> tuple[str, list[list[str]], list[list[str]] | None]:
    name, rest = line.split(": ", 1)
    body, heads = rest.split(" -> ")
    conclusions = None if heads == "false" else [head.split() for head in heads.split(", ")]
    return name, [atom.split() for atom in body.split(", ")], conclusions


def _bindings(
    body: list[list[str]], by_predicate: dict[str, list[Triple]], triples: set[Triple], binding: dict[str, str]
) -> Iterator[dict[str, str]]:
    if not body:
        yield binding
        return
    pattern = [binding.get(term, term) for term in body[0]]
    candidates = triples if pattern[1].startswith("?") else by_predicate.get(pattern[1], [])
    for triple in candidates:
        more = dict(binding)
        if all((more.setdefault(p, t) if p.startswith("?") else p) == t for p, t in zip(pattern, triple, strict=True)):
            yield from _bindings(body[1:], by_predicate, triples, more)


def _lists(triples: set[Triple], cell: str, seen: tuple[str, ...] = ()) -> Iterator[list[str]]:
    if cell == "rdf:nil":
        yield []
    elif cell not in seen:
        for first in {o for s, p, o in triples if (s, p) == (cell, "rdf:first")}:
            for rest in {o for s, p, o in triples if (s, p) == (cell, "rdf:rest")}:
                yield from ([first, *others] for others in _lists(triples, rest, (*seen, cell)))


def _from_lists(triples: set[Triple], clashes: set[str]) -> Iterator[Triple]:
    """cls-int1, cls-int2, cls-uni, cls-oo, scm-int, scm-uni, prp-spo2, prp-key, prp-adp, cax-adc, eq-diff2,
    eq-diff3."""
    by: dict[str, set[tuple[str, str]]] = {}
    for s, p, o in triples:
        by.setdefault(p, set()).add((s, o))
    members: dict[str, set[str]] = {}
    for s, o in by.get("rdf:type", set()):
        members.setdefault(o, set()).add(s)

    def lists(predicate: str) -> Iterator[tuple[str, list[str]]]:
        for subject, cell in by.get(predicate, set()):
            yield from ((subject, found) for found in _lists(triples, cell) if found)

    for c, found in lists("owl:intersectionOf"):
        for x in set.intersection(*(members.get(each, set()) for each in found)):
            yield x, "rdf:type", c
        for each in found:
            yield c, "rdfs:subClassOf", each
            yield from ((x, "rdf:type", each) for x in members.get(c, set()))
    for c, found in lists("owl:unionOf"):
        for each in found:
            yield each, "rdfs:subClassOf", c
            yield from ((x, "rdf:type", c) for x in members.get(each, set()))
    for c, found in lists("owl:oneOf"):
        yield from ((x, "rdf:type", c) for x in found)
    for p, found in lists("owl:propertyChainAxiom"):
        pairs = by.get(found[0], set())
        for each in found[1:]:
            pairs = {(x, z) for x, y in pairs for other, z in by.get(each, set()) if y == other}
        yield from ((x, p, y) for x, y in pairs)
    for c, found in lists("owl:hasKey"):
        for x in members.get(c, set()):
            for y in members.get(c, set()):
                if all(
                    {o for s, o in by.get(p, set()) if s == x} & {o for s, o in by.get(p, set()) if s == y}
                    for p in found
                ):
                    yield x, "owl:sameAs", y
    for kind, predicate, name in (
        ("owl:AllDisjointProperties", "owl:members", "prp-adp"),
        ("owl:AllDisjointClasses", "owl:members", "cax-adc"),
        ("owl:AllDifferent", "owl:members", "eq-diff2"),
        ("owl:AllDifferent", "owl:distinctMembers", "eq-diff3"),
    ):
        for subject, found in lists(predicate):
            if subject not in members.get(kind, set()):
                continue
            for i, one in enumerate(found):
                for other in found[:i]:
                    meet = {
                        "prp-adp": by.get(one, set()) & by.get(other, set()),
                        "cax-adc": members.get(one, set()) & members.get(other, set()),
                    }.get(name, {(one, other)} & {*by.get("owl:sameAs", set()), (one, one)})
                    if meet:
                        clashes.add(name)
