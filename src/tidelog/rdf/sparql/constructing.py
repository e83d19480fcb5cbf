"""The triples of a CONSTRUCT view as rules: they feed back into the store, and are the rows of the view.

Each triple of the template has two rules for each body of the pattern. One derives the triple, as any rule does, and so
may be part of a recursion. The other derives the row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tidelog.rdf.sparql.bodies import Unsupported, ViewBody, ViewRules, is_resource
from tidelog.rdf.sparql.paths import is_plain, literal_of, name_of, operand_of
from tidelog.rdf.terms import TYPE

COLUMNS = ["subject", "predicate", "object"]


def constructed(name: str, template: Sequence[Any], found: Sequence[ViewBody], rules: ViewRules) -> None:
    """Add the rules of a template, for the bodies of its pattern."""
    from rdflib import BNode, Literal, URIRef

    for triple in template:
        subject, predicate, _ = triple
        if any(isinstance(each, BNode) for each in triple):
            raise Unsupported("a blank node of a template is another one for each row", "write an IRI")
        if not isinstance(predicate, URIRef):
            raise Unsupported("a template needs IRIs as predicates", "name the predicate, or write a rule")
        if not is_plain(str(predicate)):
            raise Unsupported(f"<{predicate}> cannot be derived", "use IRIs with // as predicates")
        if isinstance(subject, Literal):
            raise Unsupported("a literal is no subject", "write an IRI or a variable")
        for body in found:
            _derive(name, triple, body, rules)


def _derive(name: str, triple: Any, body: ViewBody, rules: ViewRules) -> None:
    """Add the rules of a triple for a body that gives its variables values."""
    subject, predicate, value = triple
    names = [variable for each in triple if (variable := name_of(each)) is not None]
    if not body.variables >= set(names):
        return
    body = body.with_literals(conditions(triple, body))
    rules.derive(f"<{predicate}>({literal_of(subject)}, {literal_of(value)})", body)
    rules.derive(f"{name}({', '.join(map(operand_of, triple))})", body)


def conditions(triple: Any, body: ViewBody) -> Iterator[str]:
    """Yield the conditions of a triple that follows: its subject and its class are no literals."""
    subject, predicate, value = triple
    variable = name_of(subject)
    if variable is not None and variable not in body.resources:
        yield is_resource(f"v_{variable}")
    variable = name_of(value)
    if str(predicate) == TYPE and variable is not None and variable not in body.resources:
        yield is_resource(f"v_{variable}")
