"""Look for violations of random shapes of SHACL that differ from those that pyshacl finds, after random changes.

`python -m tests.fuzz.shapes 600` needs pyshacl, which the extra `bench` brings.
"""

from __future__ import annotations

import random
import time
from typing import Any

import rdflib

from tests.fuzz.asked import asked, show
from tests.rdf.random_shapes import PREFIXES, shapes, triple
from tidelog.rdf import Store, connect, term

_SH = rdflib.Namespace("http://www.w3.org/ns/shacl#")
_CHANGES = 4
Violation = tuple[str, str, str, str]


def found(store: Store) -> set[Violation]:
    """Return the violations of a store; a path that is no property is its beginning."""
    return {
        (each.focus_node, "path" if each.path[:1] in ("<", "^", "(") else each.path, each.value, each.component)
        for each in store.validate()
    }


def expected(store: Store, text: str) -> set[Violation]:
    """Return the violations that pyshacl finds in the triples of a store."""
    import pyshacl

    graph = store.to_rdflib()
    _, report, _ = pyshacl.validate(graph, shacl_graph=rdflib.Graph().parse(data=PREFIXES + text, format="turtle"))
    results = []
    for each in report.objects(None, _SH.result):  # others are details of these
        path, value = report.value(each, _SH.resultPath), report.value(each, _SH.value)
        shown = "path" if isinstance(path, rdflib.BNode) else _term(path)
        component = _term(report.value(each, _SH.sourceConstraintComponent))
        results.append((_term(report.value(each, _SH.focusNode)), shown, _term(value), component))
    return set(results)


def _term(value: Any) -> str:
    return "" if value is None else term(value)


def tried(seed: int) -> str | None:
    """Return how the violations of one random case differ, None if they do not."""
    rng = random.Random(seed)
    text = shapes(rng)
    store = connect()
    present: set[str] = set()
    store.shapes(PREFIXES + text)
    for step in range(_CHANGES):
        for _ in range(12 if step == 0 else 3):
            line = triple(rng)
            store.insert(PREFIXES + line)
            present.add(line)
        for line in rng.sample(sorted(present), min(len(present), 2 if step else 0)):
            store.delete(PREFIXES + line)
            present.discard(line)
        store.commit()
        ours, theirs = found(store), expected(store, text)
        if ours != theirs:
            data = "\n".join(sorted(present))
            return f"seed {seed}, step {step}\n{text}\n\n{data}\n\nours {ours - theirs}\ntheirs {theirs - ours}"
    if seed % 10 == 0:
        store.check()
    return None


def main() -> None:
    """Try random shapes until the time is up."""
    seconds, seed = asked()
    end, first = time.monotonic() + seconds, seed
    while time.monotonic() < end:
        difference = tried(seed)
        if difference is not None:
            raise SystemExit(difference)
        seed += 1
    show(f"{seed - first} graphs of shapes, no difference; the next seed is {seed}")


if __name__ == "__main__":
    main()
