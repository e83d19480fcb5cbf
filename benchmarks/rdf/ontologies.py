"""`python -m benchmarks.rdf.ontologies`: stores with large ontologies, in CPU seconds.

Each is evaluated from scratch, and after an axiom or a triple came or went.

Two sorts of ontologies, from random numbers with a fixed seed: one of restrictions, nominals and intersections, like
the wine ontology, and one of many classes and properties with domains and ranges, like DBpedia's.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Iterator

import tidelog.rdf
from tidelog.rdf import Store
from tidelog.rdf.terms import PREFIXES

_HEADER = "\n".join(f"@prefix {name}: <{iri}> ." for name, iri in {**PREFIXES, "": "http://data.example.org/"}.items())
_AROUND = 4
_VALUES = 5


def of_restrictions(classes: int = 75, properties: int = 13) -> str:
    """Return an ontology whose classes are intersections of restrictions to values, with two members each."""
    rng, lines = random.Random(1), [":Wine a owl:Class .", ":near a owl:TransitiveProperty ."]
    values = [[f":v{i}x{j}" for j in range(_VALUES)] for i in range(properties)]
    for i, each in enumerate(values):
        lines.append(f":p{i} a owl:ObjectProperty ; rdfs:domain :Wine ; rdfs:range :D{i} ; rdfs:subPropertyOf :p .")
        lines.append(f":D{i} owl:oneOf ({' '.join(each)}) . [] a owl:AllDifferent ; owl:members ({' '.join(each)}) .")
        lines += [f":p{i} a owl:FunctionalProperty ."] if i % 2 else []
    known: list[dict[int, str]] = []
    for k in range(classes):
        above = rng.randrange(k) if k >= 10 else None
        known.append({} if above is None else dict(known[above]))
        parts = [":Wine" if above is None else f":W{above}"]
        free = [i for i in range(properties) if i not in known[k]]
        for i in rng.sample(free, min(2, len(free))):
            known[k][i] = rng.choice(values[i])
            parts.append(f"[ owl:onProperty :p{i} ; owl:hasValue {known[k][i]} ]")
        i = rng.randrange(properties)
        more = [
            f"owl:allValuesFrom [ owl:oneOf ({' '.join(values[i])}) ]",
            "owl:maxCardinality 1",
            f"owl:someValuesFrom :D{i}",
        ]
        also = ", ".join(f"[ owl:onProperty :p{i} ; {each} ]" for each in more)
        lines.append(f":W{k} a owl:Class ; owl:intersectionOf ({' '.join(parts)}) ; rdfs:subClassOf {also} .")
        lines.append(f":w{k} a :W{k} ; :near :r{k % 20} .")
    return "\n".join([_HEADER, *lines, *(f":r{k} :near :r{k // 2} ." for k in range(20))])


def of_properties(classes: int = 760, properties: int = 2_800) -> str:
    """Return an ontology of many classes and properties, with a key of 60 of these."""
    rng, lines = random.Random(2), list[str]()
    for k in range(classes):
        above = f":C{rng.randrange(k // 3 + 1)}" if k else "owl:Thing"
        lines.append(f':C{k} a owl:Class ; rdfs:label "class {k}"@en ; rdfs:subClassOf {above} .')
        lines += [f":C{k} owl:disjointWith :C{k - 1} ."] if k % 30 == 5 else []
    for k in range(properties):
        kind, reach = ("Object", f":C{rng.randrange(classes)}") if k % 2 else ("Datatype", "xsd:string")
        lines.append(f":q{k} a owl:{kind}Property ; rdfs:range {reach} ; rdfs:domain :C{rng.randrange(classes)} .")
        lines += [f":q{k} rdfs:subPropertyOf :q{rng.randrange(k) // 2 * 2 + 1} ."] if k % 14 == 7 else []
        lines += [f":q{k} a owl:FunctionalProperty ."] if k % 30 == 0 else []
    lines.append(f":C3 owl:hasKey ({' '.join(f':q{rng.randrange(properties)}' for _ in range(60))}) .")
    return "\n".join([_HEADER, *lines])


def _seconds(act: Callable[[], object]) -> float:
    started = time.process_time()
    act()
    return time.process_time() - started


def _around(store: Store, text: str) -> Iterator[float]:
    """Yield the seconds of commits in which triples come and go."""
    for _ in range(_AROUND):
        for change in (store.insert, store.delete):
            change(f"{_HEADER} {text}")
            yield _seconds(store.commit)


def main() -> None:
    """Measure both sorts, and print a line for each."""
    sorts = {
        "restrictions": (of_restrictions, ":New rdfs:subClassOf :W3 .", ":w5 :p1 :v1x2 ."),
        "properties": (of_properties, ":C200 rdfs:subClassOf :C31 .", ":x :q1 :y ."),
    }
    small = tidelog.rdf.connect(rules="owl-rl")
    small.insert(of_restrictions(12))
    small.commit()  # The kernels are there from here on.
    for name, (text, axiom, triple) in sorts.items():
        store = tidelog.rdf.connect(rules="owl-rl")
        store.insert(text())
        scratch = _seconds(store.commit)
        changes = (statistics.median(_around(store, each)) for each in (axiom, triple))
        one, other = (1_000 * each for each in changes)
        rules = f"{name:14}{store.stats()['rules']:7,} rules"
        print(f"{rules}  scratch {scratch:5.2f} s  axiom {one:6.1f} ms  triple {other:5.1f} ms", flush=True)


if __name__ == "__main__":
    main()
