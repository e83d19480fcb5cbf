"""Queries of SHACL-SPARQL that no view has: evaluated over the mirror of a store at each validation.

pyoxigraph substitutes a variable in patterns and filters, but BOUND and BIND do not see it. So each group of a query
begins with VALUES, which has the pre-bound terms. VALUES takes no blank nodes: these are substituted, or come from a
function where the query has such keywords.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

from tidelog.rdf.formats import load
from tidelog.rdf.shapes.testing import filled
from tidelog.rdf.sparql.evaluation import symbol_of
from tidelog.rdf.sparql.mirror import named_graph
from tidelog.rdf.sparql.words import words
from tidelog.rdf.terms import ntriples
from tidelog.rdf.values import parts

QUERIES = "queries"
"""The relation beside the view of violations with such queries, in the columns of `StoredQuery`."""
_NODE = "urn:tidelog:this"
_SEEING = ("AS", "BOUND", "COALESCE", "IF")
"""Keywords of parts that do not see a variable that is substituted."""
Ask = Callable[[str, Mapping[str, Any], bool], Any]
"""Evaluates a text with options of pyoxigraph, with or without the triples that follow."""


class StoredQuery(NamedTuple):
    """A query as the program of a store keeps it: the relation of its focus nodes, the path of its shape, the text as a
    literal, the constants as `name term` with tabs between, and whether it sees the triples that follow."""

    focus: str
    path: str
    shape: str
    component: str
    severity: str
    message: str
    detail: str
    text: str
    constants: str
    scope: str

    def rows(self, nodes: Iterable[str], ask: Ask) -> Iterator[tuple[str, ...]]:
        """Yield the violations for some focus nodes, as the view has them."""
        template = _Template(parts(self.text)[0])
        constants = dict(pair.split(" ", 1) for pair in self.constants.split("\t") if pair)
        for node in nodes:
            text, options = template.bound(node, constants)
            results = ask(text, options, self.scope == "inferred")
            names = [variable.value for variable in results.variables]
            for solution in results:
                terms = {name: symbol_of(solution[name]) for name in names} | {"this": node} | constants
                yield self._row(node, {name: term for name, term in terms.items() if term})

    def _row(self, node: str, terms: Mapping[str, str]) -> tuple[str, ...]:
        value = terms.get("value", "" if self.path else node)
        message = terms.get("message") or filled(self.message, "\t".join(terms), "\t".join(terms.values()))
        fixed = self.shape, self.component, self.severity, message, self.detail
        return node, terms.get("path", self.path), value, *fixed


class _Template:
    """A query, to be asked for many nodes."""

    def __init__(self, text: str) -> None:
        found = words(text)
        groups = [
            one.end
            for one, other in pairwise(found)
            if one.is_mark("{") and not other.is_keyword("SELECT") and text[one.end : one.end + 1] != "|"
        ]
        places = [0, *groups, len(text)]
        self._pieces = [text[i:j] for i, j in pairwise(places)]
        self._is_seeing = any(word.is_keyword(*_SEEING) for word in found)

    def bound(self, node: str, constants: Mapping[str, str]) -> tuple[str, dict[str, Any]]:
        """Return the text and the options of the query for a node."""
        pairs, options = dict(constants), dict[str, Any]()
        start = " "
        if not node.startswith("_:"):
            pairs["this"] = node
        elif self._is_seeing:
            start = f" BIND (<{_NODE}>() AS ?this) "
            options["custom_functions"] = {load().NamedNode(_NODE): lambda: named_graph(node)}
        else:
            options["substitutions"] = {load().Variable("this"): named_graph(node)}
        if pairs:
            names, terms = " ".join(f"?{name}" for name in pairs), " ".join(map(ntriples, pairs.values()))
            start += f" VALUES ({names}) {{ ({terms}) }} "
        return start.join(self._pieces), options
