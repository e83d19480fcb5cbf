"""W3C's tests of SPARQL, through a store of triples and through pyoxigraph alone.

    TIDELOG_DATA=/path/to/data python -m benchmarks.w3c [--only sparql11]

reads `w3c/rdf-tests.tar.gz` of that folder, W3C's archive of tests. It prints a table, and each test that a store
fails. The exit code is 1 if a store fails one that pyoxigraph passes, and 2 without the archive.

Tests of the protocols and of service descriptions run against a server, see `w3c_protocol`, and without pyoxigraph.
Tests of federated queries need other servers, and are left out. Those of entailment run with the rules of their regime.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import pyoxigraph
from pyoxigraph import BlankNode, Dataset, DefaultGraph, NamedNode, Quad, RdfFormat

import tidelog.rdf
from benchmarks import data, w3c_protocol
from tidelog import ProgramError, TidelogError
from tidelog.rdf import Solutions, Store
from tidelog.rdf.terms import RDF, XSD

MF = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#"
_QT = "http://www.w3.org/2001/sw/DataAccess/tests/test-query#"
_UT = "http://www.w3.org/2009/sparql/tests/test-update#"
_RS = "http://www.w3.org/2001/sw/DataAccess/tests/result-set#"
_SD = "http://www.w3.org/ns/sparql-service-description#"
_LABEL = NamedNode("http://www.w3.org/2000/01/rdf-schema#label")
_LEFT_OUT = (*w3c_protocol.SUITES, "service", "syntax-fed")
_NUMBERS = ("integer", "decimal", "float", "double", "nonNegativeInteger", "int", "long", "short", "byte")
_ROW = "urn:row:"
_SYNTAX = "a text without an error in it"


@dataclass(frozen=True)
class SparqlCase:
    """One test: its suite, its name and kind, the texts and files that it reads."""

    suite: str
    name: str
    kind: str
    text: str
    base: str
    files: tuple[tuple[str, str], ...] = ()
    """Files and their graphs, the empty text for the default graph."""
    result: str = ""
    after: tuple[tuple[str, str], ...] = ()
    rules: str | None = None


@dataclass
class Verdicts:
    """How often each engine passes, and the failures of stores, by suite."""

    number: Counter[str] = field(default_factory=Counter)
    store: Counter[str] = field(default_factory=Counter)
    library: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[SparqlCase, str, bool]] = field(default_factory=list)


# --- manifests -------------------------------------------------------------------------------------------------------


class Manifest:
    """The tests that a manifest lists."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._graph = pyoxigraph.Store()
        self._graph.extend(pyoxigraph.parse(path=str(path), base_iri=path.as_uri()))

    def _one(self, subject: Any, predicate: str) -> Any:
        return next(iter(self._all(subject, predicate)), None)

    def _all(self, subject: Any, predicate: str) -> list[Any]:
        return [quad.object for quad in self._graph.quads_for_pattern(subject, NamedNode(predicate), None)]

    def _list(self, cell: Any) -> Iterator[Any]:
        while cell is not None and cell != NamedNode(f"{RDF}nil"):
            yield self._one(cell, f"{RDF}first")
            cell = self._one(cell, f"{RDF}rest")

    def tests(self) -> Iterator[Any]:
        """Yield the nodes of the tests."""
        for quad in list(self._graph.quads_for_pattern(None, NamedNode(f"{MF}entries"), None)):
            yield from self._list(quad.object)

    def cases(self) -> Iterator[SparqlCase]:
        """Yield the tests."""
        for test in self.tests():
            yield from self._case(test)

    def _case(self, test: Any) -> Iterator[SparqlCase]:
        kind = next((each.value.rpartition("#")[2] for each in self._all(test, f"{RDF}type")), "")
        action, result = self._one(test, f"{MF}action"), self._one(test, f"{MF}result")
        if action is None or not kind:
            return
        request = action if isinstance(action, NamedNode) else None
        request = request or self._one(action, f"{_QT}query") or self._one(action, f"{_UT}request")
        if request is None:
            return
        path = as_path(request.value)
        regimes = self._all(action, f"{_SD}entailmentRegime") if not isinstance(action, NamedNode) else []
        regimes += [each for regime in regimes for each in self._list(regime) if isinstance(regime, BlankNode)]
        yield SparqlCase(
            suite=f"{self._path.parent.parent.name}/{self._path.parent.name}",
            name=test.value.rpartition("#")[2],
            kind=kind,
            text=path.read_text(encoding="utf-8"),
            base=request.value,
            files=tuple(self._files(action)) or _named(path, request.value),
            result=result.value if isinstance(result, NamedNode) else "",
            after=tuple(self._files(result)) if isinstance(result, BlankNode) else (),
            rules=_rules({getattr(each, "value", "").rpartition("/")[2] for each in regimes}),
        )

    def _files(self, node: Any) -> Iterator[tuple[str, str]]:
        if isinstance(node, NamedNode):
            return
        for vocabulary in (_QT, _UT):
            yield from ((each.value, "") for each in self._all(node, f"{vocabulary}data"))
        yield from ((each.value, each.value) for each in self._all(node, f"{_QT}graphData"))
        for each in self._all(node, f"{_UT}graphData"):
            name = self._one(each, _LABEL.value)
            yield self._one(each, f"{_UT}graph").value, name.value


def _rules(regimes: set[str]) -> str | None:
    """Return the rules for a test of entailment."""
    if not regimes or regimes == {"simple"}:
        return None
    return "rdfs" if regimes & {"RDFS", "RDF"} else "owl-rl"


def _named(path: Path, base: str) -> tuple[tuple[str, str], ...]:
    """Return the files that a query itself names as its graphs."""
    names = re.findall(r"\bFROM\s+(?:NAMED\s+)?<([^>]*)>", path.read_text(encoding="utf-8"), re.IGNORECASE)
    files = dict.fromkeys(urljoin(base, name) for name in names)
    return tuple((file, file) for file in files if file.startswith("file:") and as_path(file).exists())


def as_path(iri: str) -> Path:
    return Path(iri.removeprefix("file://").partition("#")[0])


# --- engines ---------------------------------------------------------------------------------------------------------


class StoreEngine:
    """A store of tidelog."""

    def __init__(self, case: SparqlCase) -> None:
        self.store: Store = tidelog.rdf.connect(rules=case.rules)
        for file, graph in case.files:
            self.store.insert(as_path(file), base=file, graph=graph or None)
        self.store.commit()

    def query(self, text: str, base: str) -> Any:
        """Return results as pyoxigraph has them."""
        found = self.store.query(text, base=base)
        assert isinstance(found, Solutions)
        if found.form == "CONSTRUCT":
            return _read(found.to_text("ntriples"))
        return pyoxigraph.parse_query_results(found.to_text("json"), pyoxigraph.QueryResultsFormat.JSON)

    def written(self, text: str, base: str, format: str) -> str:
        """Return the text of results."""
        found = self.store.query(text, base=base)
        assert isinstance(found, Solutions)
        return found.to_text(format)

    def update(self, text: str, base: str) -> None:
        """Run an update."""
        self.store.update(text, base=base)

    def quads(self) -> list[Quad]:
        """Return the asserted quads."""
        return list(pyoxigraph.parse(self.store.to_text("nquads"), RdfFormat.N_QUADS))


class LibraryEngine:
    """A store of pyoxigraph."""

    def __init__(self, case: SparqlCase) -> None:
        self.store = pyoxigraph.Store()
        for file, graph in case.files:
            self.store.extend(_quads(file, graph))

    def query(self, text: str, base: str) -> Any:
        """Return results as pyoxigraph has them."""
        found = self.store.query(text, base_iri=base)
        if isinstance(found, pyoxigraph.QueryTriples):
            return [Quad(each.subject, each.predicate, each.object, DefaultGraph()) for each in found]
        return found

    def written(self, text: str, base: str, format: str) -> str:
        """Return the text of results."""
        form = getattr(pyoxigraph.QueryResultsFormat, format.upper())
        written = self.store.query(text, base_iri=base).serialize(format=form)
        assert written is not None
        return written.decode()

    def update(self, text: str, base: str) -> None:
        """Run an update."""
        self.store.update(text, base_iri=base)

    def quads(self) -> list[Quad]:
        """Return the quads."""
        return list(self.store)


def _read(text: str) -> list[Quad]:
    return list(pyoxigraph.parse(text, RdfFormat.N_TRIPLES))


def _quads(file: str, graph: str) -> Iterator[Quad]:
    name = NamedNode(graph) if graph else None
    for quad in pyoxigraph.parse(path=str(as_path(file)), base_iri=file):
        own = quad.graph_name if name is None or not isinstance(quad.graph_name, DefaultGraph) else name
        yield Quad(quad.subject, quad.predicate, quad.object, own)


# --- judging ---------------------------------------------------------------------------------------------------------


def failure(case: SparqlCase, make: Callable[[SparqlCase], Any]) -> str | None:
    """Return why an engine fails a test, None if it passes."""
    try:
        engine = make(case)
        if "Syntax" in case.kind:
            return _syntax(case, engine)
        if "Update" in case.kind:
            engine.update(case.text, case.base)
            expected = [quad for file, graph in case.after for quad in _quads(file, graph)]
            return None if same(engine.quads(), expected) else "other quads"
        if case.kind == "CSVResultFormatTest":
            lines, expected_lines = (
                sorted(re.sub(r"_:\w+", "_:b", text).splitlines())
                for text in (engine.written(case.text, case.base, "csv"), as_path(case.result).read_text())
            )
            return None if lines == expected_lines else "other lines"
        found, wanted = _facts(engine.query(case.text, case.base)), _facts(_expected(case.result))
        return None if same(found, wanted) else "other results"
    except (TidelogError, SyntaxError, OSError, RuntimeError, ValueError) as error:
        return str(error).splitlines()[0][:150]


def _syntax(case: SparqlCase, engine: Any) -> str | None:
    """Return why an engine judges the syntax of a text wrongly."""
    act = partial(engine.update if "Update" in case.kind or case.base.endswith(".ru") else engine.query)
    try:
        act(case.text, case.base)
    except (ProgramError, SyntaxError) as error:
        return None if "Negative" in case.kind else str(error).splitlines()[0][:150]
    except (TidelogError, OSError, RuntimeError):
        return _SYNTAX if "Negative" in case.kind else None
    return _SYNTAX if "Negative" in case.kind else None


def same(one: Iterable[Quad], other: Iterable[Quad]) -> bool:
    """Return True if two sets of quads are the same but for the names of blank nodes."""
    datasets = Dataset(one), Dataset(other)
    for each in datasets:
        each.canonicalize(pyoxigraph.CanonicalizationAlgorithm.UNSTABLE)
    return set(datasets[0]) == set(datasets[1])


def _expected(iri: str) -> Any:
    """Return the results in a file as pyoxigraph has them, or as quads."""
    path = as_path(iri)
    form = pyoxigraph.QueryResultsFormat.from_extension(path.suffix[1:])
    if form is not None:
        return pyoxigraph.parse_query_results(path=str(path), format=form)
    quads = list(_quads(iri, ""))
    is_set = any(quad.object == NamedNode(f"{_RS}ResultSet") for quad in quads)
    return _ResultSet(quads) if is_set else quads


class _ResultSet:
    """Results that are written as triples."""

    def __init__(self, quads: list[Quad]) -> None:
        self._quads = quads

    def _pairs(self, name: str) -> Iterator[tuple[Any, Any]]:
        return ((quad.subject, quad.object) for quad in self._quads if quad.predicate.value == f"{_RS}{name}")

    def facts(self) -> Iterator[Quad]:
        """Yield the results as `_facts` does."""
        yield from (_row(BlankNode("r"), "ask", value) for _, value in self._pairs("boolean"))
        yield from (_row(row, "row", NamedNode(_ROW)) for _, row in self._pairs("solution"))
        names, values = dict(self._pairs("variable")), dict(self._pairs("value"))
        for row, binding in self._pairs("binding"):
            yield _row(row, names[binding].value, values[binding])


def _row(row: Any, name: str, value: Any) -> Quad:
    return Quad(row, NamedNode(f"{_ROW}{name}"), _plain(value), DefaultGraph())


def _plain(value: Any) -> Any:
    """Return a number in one spelling, for W3C compares values."""
    if not isinstance(value, pyoxigraph.Literal) or value.datatype.value.removeprefix(XSD) not in _NUMBERS:
        return value
    try:
        number = Decimal(value.value) if value.datatype.value == f"{XSD}decimal" else float(value.value)
    except (ValueError, ArithmeticError):
        return value
    return pyoxigraph.Literal(f"{float(number):.12g}", datatype=value.datatype)


def _facts(results: Any) -> Iterator[Quad]:
    """Yield results as quads: a blank node for each row, with its values."""
    if isinstance(results, _ResultSet):
        yield from results.facts()
    elif isinstance(results, list):
        yield from results
    elif isinstance(results, pyoxigraph.QueryBoolean):
        yield _row(BlankNode("r"), "ask", pyoxigraph.Literal(bool(results)))
    else:
        names = [variable.value for variable in results.variables]
        for solution in results:
            row = BlankNode()
            yield _row(row, "row", NamedNode(_ROW))
            for name, value in zip(names, solution, strict=True):
                if value is not None:
                    yield _row(row, name, value)


# --- the run ---------------------------------------------------------------------------------------------------------


def verdicts(folder: Path, only: str | None) -> Verdicts:
    """Return the verdicts about the tests in an unpacked archive."""
    found = Verdicts()
    for path in sorted(folder.glob("**/sparql1[012]/*/manifest.ttl")):
        if path.parent.name in _LEFT_OUT or (only and only not in str(path)):
            continue
        for case in Manifest(path).cases():
            suite = case.suite
            found.number[suite] += 1
            reason, other = failure(case, StoreEngine), failure(case, LibraryEngine)
            found.store[suite] += reason is None
            found.library[suite] += other is None
            if reason is not None:
                found.failures.append((case, reason, other is None))
    return found


def main(arguments: list[str] | None = None) -> int:
    """Run the tests and print the verdicts."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.w3c", description="W3C's tests of SPARQL")
    parser.add_argument("--only", help="run the suites with this in their path")
    asked = parser.parse_args(arguments)
    with data.w3c_archive() as archive:
        if archive is None:
            return 2
        found = verdicts(archive, asked.only)
        served = Counter[tuple[str, str]]()
        for path in sorted(archive.glob("**/sparql11")):
            for test, reason in w3c_protocol.failures(path, asked.only):
                verdict = "passes" if reason is None else "wrong" if test.name in w3c_protocol.WRONG else "fails"
                served[test.suite, verdict] += 1
                if verdict != "passes":
                    print(f"server {verdict}  {test.suite}/{test.name}: {w3c_protocol.WRONG.get(test.name, reason)}")
    for suite, number in sorted(found.number.items()):
        print(f"{suite:40} {number:4} tests  store {found.store[suite]:4}  pyoxigraph {found.library[suite]:4}")
    for suite in sorted({suite for suite, _ in served}):
        passing, wrong, failing = (served[suite, verdict] for verdict in ("passes", "wrong", "fails"))
        number = passing + wrong + failing
        print(f"{'sparql11/' + suite:40} {number:4} tests  server {passing:3}  wrong tests {wrong}")
    number, ours, theirs = (each.total() for each in (found.number, found.store, found.library))
    print(f"{'all':40} {number:4} tests  store {ours:4}  pyoxigraph {theirs:4}")
    for case, reason, is_ours in found.failures:
        print(f"{'WORSE' if is_ours else 'as pyoxigraph'}  {case.suite}/{case.name} ({case.kind}): {reason}")
    return int(any(is_ours for _, _, is_ours in found.failures) or any(verdict == "fails" for _, verdict in served))


if __name__ == "__main__":
    sys.exit(main())
