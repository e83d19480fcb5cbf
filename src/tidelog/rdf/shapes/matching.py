"""Queries of SHACL-SPARQL as bodies of rules, by the compiler of views in SPARQL.

Pre-binding means that $this has its value in every part of a query, also in those where no pattern binds it. So each
group of triple patterns has the literal of the focus nodes, and the constants (`ViewRules.binding`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tidelog.errors import TidelogError
from tidelog.rdf.sparql.bodies import Unsupported, ViewBody, ViewRules
from tidelog.rdf.sparql.paths import quoted
from tidelog.rdf.sparql.reading import algebra
from tidelog.rdf.sparql.views import bodies, projection
from tidelog.rdf.sparql.words import words


def query_algebra(text: str, constants: Mapping[str, str]) -> tuple[Any, str]:
    """Return the algebra of a query that a view can have, else None and the reason."""
    if any(word.is_keyword("GRAPH", "FROM") for word in words(text)):
        return None, "it names graphs"
    try:
        found = algebra(text, {})
        matches(found, bound("nodes(v_this)", constants.items()), ViewRules("trial"))
    except Unsupported as error:
        return None, str(error)
    except TidelogError as error:
        return None, error.problems[0].message
    except RecursionError:
        return None, "its parts are nested too deeply, or too many"
    return found, ""


def bound(focus: str, constants: Iterable[tuple[str, str]]) -> ViewBody:
    """Return the body of what is pre-bound: the literal of the focus nodes, and constants."""
    atoms = {"this": focus, **{name: f"v_{name} = {quoted(value)}" for name, value in constants}}
    return ViewBody(tuple(atoms.values()), frozenset(atoms), frozenset(), atoms)


def matches(query: Any, given: ViewBody, rules: ViewRules) -> list[ViewBody]:
    """Return the bodies of the rows of a query. Raise Unsupported."""
    node, _ = projection(query.p)
    with rules.binding(given):
        return [given & body for body in bodies(node.p, rules, ViewBody())]
