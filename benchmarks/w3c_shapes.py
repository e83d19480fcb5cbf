"""W3C's tests of SHACL Core and SHACL-SPARQL, through a store.

    TIDELOG_DATA=/path/to/data python -m benchmarks.w3c_shapes [FOLDER]

reads `w3c/data-shapes/data-shapes-test-suite/tests` of that folder, a checkout of W3C's repository, or FOLDER with
a `manifest.ttl`. It prints the numbers of each suite, and each test that a store fails. The exit code is 1 for a test
that fails and is not in EXPECTED, or is there and passes, and 2 without the tests.

Reports are compared as graphs. Messages count where the test has some.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyoxigraph
from pyoxigraph import BlankNode, NamedNode, Quad, RdfFormat

import tidelog.rdf
from benchmarks import data
from benchmarks.w3c import MF, Manifest, as_path, same
from tidelog import TidelogError

_SH = "http://www.w3.org/ns/shacl#"
_SHT = "http://www.w3.org/ns/shacl-test#"
_FOLDER = "w3c/data-shapes/data-shapes-test-suite/tests"
_COPIED = (f"{_SH}sourceShape", f"{_SH}focusNode", f"{_SH}value")
"""Properties whose blank nodes belong to the data and shapes."""
_TWICE = "a violation that two ways lead to is one row of the view"
EXPECTED = {
    "core/property/property-001": _TWICE,
    "core/validation-reports/shared": _TWICE,
    "sparql/pre-binding/shapesGraph-001": "a store does not keep the graph of shapes for queries",
}
"""The tests that fail, with the reason; docs/how-to/shapes.md has them, too."""


class ShapeTests(Manifest):
    """The tests of a manifest."""

    def included(self) -> Iterator[Path]:
        """Yield the manifests that this one includes."""
        for quad in list(self._graph.quads_for_pattern(None, NamedNode(f"{MF}include"), None)):
            assert isinstance(quad.object, NamedNode)
            yield as_path(quad.object.value)

    def failure(self, test: Any) -> str | None:
        """Return why a store fails a test, None if it passes."""
        action, result = self._one(test, f"{MF}action"), self._one(test, f"{MF}result")
        is_failure = result == NamedNode(f"{_SHT}Failure")
        try:
            store = tidelog.rdf.connect()
            store.insert(as_path(self._one(action, f"{_SHT}dataGraph").value), base=self._base(action, "dataGraph"))
            shapes = self._base(action, "shapesGraph")
            store.shapes(as_path(shapes), base=shapes)
            store.commit()
            graph = pyoxigraph.Store()  # which has one spelling for each number, as that of the manifest
            graph.extend(pyoxigraph.parse(store.validate().to_text("ntriples"), RdfFormat.N_TRIPLES))
        except TidelogError as error:
            return None if is_failure else str(error).splitlines()[0][:150]
        found, expected = list(graph), list(self._graph)
        has_messages = any(self._all(node, f"{_SH}resultMessage") for node in self._all(result, f"{_SH}result"))
        (report,) = (each.subject for each in found if each.predicate.value == f"{_SH}conforms")
        one, other = _reported(found, report, has_messages), _reported(expected, result, has_messages)
        return None if not is_failure and same(one, other) else "another report"

    def _base(self, action: Any, name: str) -> str:
        return str(self._one(action, f"{_SHT}{name}").value)


def _reported(quads: Iterable[Quad], node: Any, has_messages: bool) -> list[Quad]:
    """Return the part of a graph that is a report."""
    by_subject: dict[Any, list[Quad]] = {}
    for quad in quads:
        by_subject.setdefault(quad.subject, []).append(quad)
    found, waiting, seen = [], [node], {node}
    while waiting:
        for quad in by_subject.get(waiting.pop(), []):
            if quad.predicate.value == f"{_SH}resultMessage" and not has_messages:
                continue
            found.append(quad)
            if isinstance(quad.object, BlankNode) and quad.predicate.value not in _COPIED and quad.object not in seen:
                seen.add(quad.object)
                waiting.append(quad.object)
    return found


def main(arguments: list[str] | None = None) -> int:
    """Run the tests and print the verdicts."""
    given = sys.argv[1:] if arguments is None else arguments
    folder = data.folder()
    start = Path(given[0]) if given else folder / _FOLDER if folder else None
    if start is None or not (start / "manifest.ttl").exists():
        print(f"no tests there: name a folder with manifest.ttl, or have TIDELOG_DATA with {_FOLDER}", file=sys.stderr)
        return 2
    number, passed, wrong = Counter[str](), Counter[str](), []
    waiting = [(start / "manifest.ttl").resolve()]
    while waiting:
        path = waiting.pop(0)
        manifest = ShapeTests(path)
        waiting += manifest.included()
        for test in manifest.tests():
            suite, name = str(path.parent.relative_to(start.resolve())), test.value.rpartition("/")[2]
            reason = manifest.failure(test)
            number[suite] += 1
            passed[suite] += reason is None
            if (reason is None) == (f"{suite}/{name}" in EXPECTED):
                wrong.append(f"{suite}/{name}: {reason or 'passes, and is expected to fail'}")
    for suite, count in sorted(number.items()):
        print(f"{suite:24} {passed[suite]:4} of {count:4}")
    print(f"{'all':24} {passed.total():4} of {number.total():4}")
    print("\n".join(wrong))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
