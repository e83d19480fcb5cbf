"""Measurements, each for a process of its own: wall seconds, and CPU seconds beside them."""

from __future__ import annotations

import json
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import tidelog.rdf
from benchmarks.rdf.graphs import CLASS, DATA, ONTOLOGY
from tidelog.rdf.tables import FALSE, TableRule, table
from tidelog.rdf.terms import OWL, RDF, RDFS, SAME_AS, TYPE, XSD

AXIOMS = {
    "a class above another": f"<{CLASS}Student> <{RDFS}subClassOf> <{CLASS}Learner> .",
    "a class above most": f"<{CLASS}Person> <{RDFS}subClassOf> <{CLASS}Agent> .",
    "a transitive property": f"<{CLASS}worksFor> <{TYPE}> <{OWL}TransitiveProperty> .",
    "a domain": f"<{CLASS}takesCourse> <{RDFS}domain> <{CLASS}Student> .",
    "an inverse": f"<{CLASS}advisor> <{OWL}inverseOf> <{CLASS}advises> .",
    "disjoint classes": f"<{CLASS}Student> <{OWL}disjointWith> <{CLASS}Course> .",
}
CHANGED = 1_000
"""Triples that are deleted and inserted at a time."""
_TIMES = 5
Triple = tuple[str, str, str]


class _Clock:
    """A clock of the seconds since it was made."""

    def __init__(self) -> None:
        self.wall, self.cpu = time.perf_counter(), time.process_time()

    def read(self) -> dict[str, float]:
        return {"wall": time.perf_counter() - self.wall, "cpu": time.process_time() - self.cpu}


def _timed(call: Callable[[], Any]) -> dict[str, float]:
    clock = _Clock()
    call()
    return clock.read()


def _loaded(path: str) -> tuple[tidelog.rdf.Store, dict[str, Any]]:
    """Return a store with a file and the ontology, and the seconds for reading, encoding and reasoning."""
    store = tidelog.rdf.connect(rules="owl-rl")

    def read() -> None:
        store.insert(ONTOLOGY)
        store.insert(Path(path).read_bytes(), format="ntriples")

    load = _timed(read)
    reason = _timed(store.commit)
    return store, {"load": load, "reason": reason}


def ours(path: str, small: str) -> dict[str, Any]:
    """Run tidelog from scratch, its kernels compiled before."""
    _loaded(small)
    store, found = _loaded(path)
    asserted = len(store.triples(inferred=False))
    return {**found, "triples": len(store), "asserted": asserted}


def loading(path: str, small: str) -> dict[str, Any]:
    """Measure N-Triples to a store without rules, in memory and in a folder, and to pyoxigraph's store by `bulk_load`;
    and how a store in a folder is opened again."""
    import pyoxigraph

    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, where in (("", None), (", in a folder", Path(folder))):
            _stored(small, where)  # which compiles the kernels
            found[f"tidelog{name}"] = _stored(path, where)
            peer = pyoxigraph.Store(str(where / "peer")) if where else pyoxigraph.Store()
            lines = pyoxigraph.RdfFormat.N_TRIPLES
            found[f"pyoxigraph{name}"] = _timed(partial(peer.bulk_load, path=path, format=lines))
        found["tidelog, opening"] = _timed(lambda: tidelog.rdf.connect(_place(path, Path(folder))).close())
    return found


def _place(path: str, folder: Path | None) -> Path | None:
    return folder / f"{Path(path).stem}.tide" if folder else None


def _stored(path: str, folder: Path | None) -> dict[str, float]:
    """Return the seconds of reading a file into a new store and of the commit."""
    with tidelog.rdf.connect(_place(path, folder)) as store:
        clock = _Clock()
        store.insert(path, "ntriples")
        store.commit()
        return clock.read()


def as_one_relation(path: str, small: str) -> dict[str, Any]:
    """Run the same rules except those over lists, as the tables have them, over one relation of triples."""
    _as_one_relation(small)
    database, found = _as_one_relation(path)
    return {**found, "triples": len(database["triple"])}


def _as_one_relation(path: str) -> tuple[tidelog.Database, dict[str, Any]]:
    store = tidelog.rdf.connect()
    store.insert(ONTOLOGY)
    store.insert(Path(path).read_bytes(), format="ntriples")
    store.commit()
    database = tidelog.connect()
    rules = [_over_triples(rule) for rule in table("owl-rl") if rule.head.predicate != FALSE]
    database.load(".decl triple(subject: symbol, predicate: symbol, object: symbol)\n" + "\n".join(rules))
    load = _timed(lambda: database.insert("triple", store.triples()))
    return database, {"load": load, "reason": _timed(database.commit)}


def _over_triples(rule: TableRule) -> str:
    """Return a rule of a table in the language."""
    head, *body = (
        f"triple({', '.join(term[1:] if term[0] == '?' else json.dumps(term) for term in triple.terms[:3])})"
        for triple in (rule.head, *rule.body)
    )
    unequal = (f"{one[1:]} != {other[1:]}" for one, other in rule.unequal)
    return f"{head} :- {', '.join((*body, *unequal))}."


def reasonable(path: str) -> dict[str, Any]:
    """Run the reasoner `reasonable` from scratch."""
    import reasonable as peer

    reasoner = peer.PyReasoner()

    def read() -> None:
        reasoner.load_file(str(ONTOLOGY))
        reasoner.load_file(path)

    load = _timed(read)
    clock = _Clock()
    triples = reasoner.reason()
    return {"load": load, "reason": clock.read(), "triples": len(set(triples))}


def owlrl(path: str) -> dict[str, Any]:
    """Run the reasoner `owlrl` from scratch."""
    import owlrl as peer
    import rdflib

    graph = rdflib.Graph()
    load = _timed(lambda: (graph.parse(ONTOLOGY), graph.parse(path)))
    reason = _timed(lambda: peer.DeductiveClosure(peer.OWLRL_Semantics).expand(graph))
    return {"load": load, "reason": reason, "triples": len(graph)}


def updates(path: str) -> dict[str, Any]:
    """Measure a thousand triples and single axioms, deleted and inserted, beside the first commit of everything."""
    store, found = _loaded(path)
    triples = [triple for triple in store.triples(inferred=False) if str(triple[0]).startswith(DATA)]
    rng = random.Random(7)
    seconds: dict[str, list[float]] = {"delete": [], "insert": []}
    bootstraps = 0
    for _ in range(_TIMES):
        sample = rng.sample(triples, CHANGED)
        for verb, change in (("delete", store.delete), ("insert", store.insert)):
            clock = _Clock()
            change(sample)
            bootstraps += _evaluated_again(store.commit())
            seconds[verb].append(clock.read()["wall"])
    changes = {verb: median(each) for verb, each in seconds.items()}
    axioms = {name: _axiom(store, text) for name, text in AXIOMS.items()}
    return {**found, "changes": changes, "bootstraps": bootstraps, "axioms": axioms, "triples": len(store)}


def _evaluated_again(change: tidelog.rdf.StoreChange) -> int:
    """Return the number of hyper-nodes of the data that were bootstrapped though they are not new."""
    nodes = [node for report in change.reports for node in report.nodes if node.strategy == "bootstrap"]
    return sum(node.reason != "new" and node.impact > 0 for node in nodes)


def _axiom(store: tidelog.rdf.Store, text: str) -> dict[str, Any]:
    """Measure an axiom that comes and goes: seconds, inserted triples, rules, and bootstraps."""
    seconds: dict[str, list[float]] = {"insert": [], "delete": []}
    inserted, rules, bootstraps = 0, 0, 0
    for _ in range(3):
        for verb, edit in (("insert", store.insert), ("delete", store.delete)):
            clock = _Clock()
            edit(text)
            change = store.commit()
            seconds[verb].append(clock.read()["wall"])
            bootstraps += _evaluated_again(change)
            if verb == "insert":
                inserted, rules = len(change.inserted), len(change.rules_added)
    times = {verb: median(each) for verb, each in seconds.items()}
    return {**times, "inserted": inserted, "rules": rules, "bootstraps": bootstraps}


def differences(path: str) -> dict[str, Any]:
    """Compare the triples of the three reasoners for the same asserted ones: the number that two of them share, and
    those of only one, by the reason. A triple without a reason counts as "unexplained"."""
    import owlrl as peer
    import reasonable as other

    store, _ = _loaded(path)
    mine: set[Triple] = set(store)
    graph = store.to_rdflib(inferred=False)
    reasoner = other.PyReasoner()
    reasoner.from_graph(graph)
    asserted = _terms(graph)
    fast = _terms(reasoner.reason()) | asserted
    peer.DeductiveClosure(peer.OWLRL_Semantics).expand(graph)
    complete = _terms(graph)
    reasons: dict[str, dict[str, tuple[set[Triple], Callable[[Triple], str]]]] = {
        "owlrl": {
            "only tidelog": (mine - complete, lambda _: "unexplained"),
            "only owlrl": (complete - mine, _trivial),
        },
        "reasonable": {
            "only tidelog": (mine - fast, lambda triple: _left_out(triple) if triple in complete else "unexplained"),
            "only reasonable": (fast - mine, _trivial),
        },
    }
    found: dict[str, Any] = {"owlrl": {"both": len(mine & complete)}, "reasonable": {"both": len(mine & fast)}}
    for name, sides in reasons.items():
        found[name] |= {side: dict(Counter(map(reason, triples))) for side, (triples, reason) in sides.items()}
    return {"triples": len(mine), "asserted": len(asserted), **found}


def _terms(triples: Iterable[Iterable[Any]]) -> set[Triple]:
    return {tuple(map(tidelog.rdf.term, triple)) for triple in triples}  # type: ignore[misc]


def _trivial(triple: Triple) -> str:
    """Return the reason why tidelog does not have a triple."""
    if triple[1] == SAME_AS and triple[0] == triple[2]:
        return "everything is the same as itself (eq-ref)"
    if triple[0].startswith((OWL, RDF, RDFS, XSD)):
        return "about the vocabulary itself (axiomatic)"
    return "members of owl:Thing that no rule makes" if triple[1:] == (TYPE, f"{OWL}Thing") else "unexplained"


def _left_out(triple: Triple) -> str:
    """Return the reason why another reasoner lacks a triple that follows, and that owlrl has as well."""
    return "follows for data" if triple[1] == TYPE or CLASS in triple[1] else "follows for the schema (scm)"
