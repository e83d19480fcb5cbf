"""The rules of OWL 2 RL/RDF as W3C writes them, evaluated naively over a set of triples: what stores are compared with.

Nothing is shared with `tidelog.rdf`: terms are prefixed names, the tables in `w3c.txt` are those of the recommendation
(tables 4 to 9, and section 9 of RDF Semantics), and rules over lists walk the list. Not among them: eq-ref, but for
members of lists that have to differ, and the axiomatic and datatype rules.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.texts import section

Triple = tuple[str, str, str]


def closure(asserted: set[Triple], rules: str = "owl-rl") -> tuple[set[Triple], set[str]]:
    """All triples that follow, but for `x owl:sameAs x` that is not asserted, and the names of the rules that find an
    inconsistency."""
    table = [_parsed(line) for line in section(__file__, rules).splitlines()]
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
