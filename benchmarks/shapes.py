"""A view of violations of SHACL beside pyshacl: the first commit, and changes of 100 triples.

    python -m benchmarks.shapes [TRIPLES]

validates data like LUBM's by `rdf/university-shapes.ttl`. pyshacl validates the whole graph once; it has no updates.
Times are CPU seconds of this process. The exit code is 1 if the violations differ.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import pyshacl
import rdflib

import tidelog.rdf
from benchmarks.rdf.graphs import DATA, ONTOLOGY, written

SHAPES = ONTOLOGY.with_name("university-shapes.ttl")
_TRIPLES, _CHANGED, _TIMES = 100_000, 100, 11
_RESULT = rdflib.URIRef("http://www.w3.org/ns/shacl#result")


def _seconds(call: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    found = call()
    return time.process_time() - start, found


def _store(path: Path) -> tuple[tidelog.rdf.Store, float, float]:
    """Return a store with shapes, and the seconds for its data and for the first view."""
    store = tidelog.rdf.connect()
    store.insert(ONTOLOGY)
    store.insert(path.read_bytes(), format="ntriples")
    data, _ = _seconds(store.commit)
    store.shapes(SHAPES)
    view, _ = _seconds(store.commit)
    return store, data, view


def main(arguments: list[str]) -> int:
    """Measure, and print a table."""
    triples = int(arguments[0]) if arguments else _TRIPLES
    with tempfile.TemporaryDirectory() as folder:
        _store(written(Path(folder), 1_000))  # compiles the kernels
        store, data, view = _store(written(Path(folder), triples))
    asserted = [each for each in store.triples(inferred=False) if str(each[0]).startswith(DATA)]
    rng = random.Random(7)
    seconds, bootstraps, changed = [], 0, 0
    for _ in range(_TIMES):
        sample = rng.sample(asserted, _CHANGED)
        for change in (store.delete, store.insert):
            change(sample)
            took, found = _seconds(store.commit)
            seconds.append(took)
            bootstraps += found.bootstraps
            changed += len(found["shapes"].inserted) + len(found["shapes"].deleted)
    report, ours = _seconds(store.validate)
    shapes = rdflib.Graph().parse(SHAPES)
    full, (_, graph, _) = _seconds(lambda: pyshacl.validate(store.to_rdflib(), shacl_graph=shapes))
    theirs = len(set(graph.objects(None, _RESULT)))
    change_seconds = median(seconds)
    print(f"{len(store):,} triples, {len(ours):,} violations ({theirs:,} of pyshacl)")
    print(f"data                      {data:9.3f} s")
    print(f"first view of violations  {view:9.3f} s")
    print(f"a change of {_CHANGED} triples    {change_seconds:9.4f} s, {bootstraps} bootstraps, {changed} violations")
    print(f"report of all             {report:9.3f} s")
    print(f"pyshacl, the whole graph  {full:9.3f} s")
    print(f"pyshacl / change          {full / change_seconds:9.0f}")
    print(f"pyshacl / data and view   {full / (data + view):9.1f}")
    return int(len(ours) != theirs)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
