"""W3C's tests of the formats of RDF 1.1 and 1.2, through a store.

    TIDELOG_DATA=/path/to/data python -m benchmarks.w3c_documents

reads `w3c/rdf-tests.tar.gz` of that folder, W3C's archive of tests. It prints the numbers of each suite, and each test
that a store fails. The exit code is 1 if it fails any, and 2 without the archive.

A store has to insert texts with the right syntax, and refuse all others. Where a test has a result, the store writes
its triples as N-Quads, and these must be the result's, but for the names of blank nodes. Tests of canonical N-Triples
and N-Quads compare the lines that a store writes.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyoxigraph
from pyoxigraph import NamedNode, RdfFormat

import tidelog.rdf
from benchmarks import data
from benchmarks.w3c import MF, Manifest, as_path, same
from tidelog import TidelogError
from tidelog.rdf import Store
from tidelog.rdf.terms import RDF

_FORMATS = {"NTriples": "ntriples", "NQuads": "nquads", "Turtle": "turtle", "Trig": "trig", "XML": "rdfxml"}
"""The formats, by the names that the kinds of tests have for them."""
_ELSEWHERE = ("rdf-mt", "rdf-mt/az-tests", "rdf-semantics")
"""The suites of `w3c_entailment`."""


class DocumentTests(Manifest):
    """The tests of a manifest."""

    def reasons(self) -> Iterator[tuple[str, str | None]]:
        """Yield the name of each test with the reason why a store fails it, None if it passes."""
        for test in self.tests():
            yield test.value.rpartition("#")[2], self._failure(test)

    def _failure(self, test: Any) -> str | None:
        kind = self._one(test, f"{RDF}type").value.rpartition("#Test")[2]
        form = next(name for word, name in _FORMATS.items() if kind.startswith(word))
        document = as_path(self._one(test, f"{MF}action").value)
        store = tidelog.rdf.connect(rules=None)
        try:
            store.insert(document, format=form, base=self._base(document))
            store.commit()
        except TidelogError as error:
            return None if "Negative" in kind else str(error).splitlines()[0]
        if "Negative" in kind:
            return "a text without an error in it"
        result = self._one(test, f"{MF}result")
        return None if result is None else _differs(store, as_path(result.value), form if "C14N" in kind else None)

    def _base(self, document: Path) -> str | None:
        """Return the address at which W3C publishes a document."""
        bases = self._graph.quads_for_pattern(None, NamedNode(f"{MF}assumedTestBase"), None)
        folder = self._path.parent
        return next((f"{quad.object.value}{document.relative_to(folder)}" for quad in bases), None)  # type: ignore[union-attr]


def _differs(store: Store, result: Path, canonical: str | None) -> str | None:
    """Return how the triples of a store differ from a result, None if they do not."""
    if canonical is not None:
        found, wanted = (
            sorted(re.sub(r"_:\w+", "_:b", text).splitlines())
            for text in (store.to_text(canonical), result.read_text(encoding="utf-8"))
        )
        return None if found == wanted else f"other lines: {found}"
    found_quads = pyoxigraph.parse(store.to_text("nquads"), RdfFormat.N_QUADS)
    return None if same(found_quads, pyoxigraph.parse(path=str(result))) else "other triples"


def main() -> int:
    """Run the tests and print the failures."""
    with data.w3c_archive() as archive:
        if archive is None:
            return 2
        passed = number = 0
        for path in sorted(archive.glob("rdf/rdf1[12]/rdf-*/**/manifest.ttl")):
            suite = str(path.parent.relative_to(archive / "rdf"))
            reasons = [] if suite.endswith(_ELSEWHERE) else list(DocumentTests(path).reasons())
            right = sum(reason is None for _, reason in reasons)
            for name, reason in reasons:
                if reason is not None:
                    print(f"{suite} {name}: {reason}")
            if reasons:
                print(f"{suite:24} {right} of {len(reasons)} tests")
            passed, number = passed + right, number + len(reasons)
        print(f"{'all':24} {passed} of {number} tests")
    return int(passed < number)


if __name__ == "__main__":
    sys.exit(main())
