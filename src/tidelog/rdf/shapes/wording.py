"""The messages of violations whose shapes have none of their own."""

from __future__ import annotations

from tidelog.rdf.shapes.queries import ShapeQuery
from tidelog.rdf.shapes.shape import Constraint, ParsedShape
from tidelog.rdf.shapes.vocabulary import SH, SPARQL
from tidelog.rdf.terms import literal, ntriples
from tidelog.rdf.values import parts

_TEXTS = {
    "class": "the value is not an instance of {0}",
    "datatype": "the value is not a literal of the datatype {0}",
    "nodeKind": "the value is not of the kind {0}",
    "minCount": "there are fewer values than {0}",
    "maxCount": "there are more values than {0}",
    "minExclusive": "the value is not greater than {0}",
    "minInclusive": "the value is less than {0}, or does not compare with it",
    "maxExclusive": "the value is not less than {0}",
    "maxInclusive": "the value is greater than {0}, or does not compare with it",
    "minLength": "the text of the value is shorter than {0}",
    "maxLength": "the text of the value is longer than {0}",
    "pattern": "the value does not match the pattern {0}",
    "languageIn": "the language of the value is not one of {0}",
    "uniqueLang": "several values have one language",
    "equals": "only one of this path and {0} has the value",
    "disjoint": "the value is a value of {0}, too",
    "lessThan": "the value is not less than each value of {0}",
    "lessThanOrEquals": "the value is greater than a value of {0}, or does not compare with it",
    "not": "the value conforms to {0}, and must not",
    "and": "the value does not conform to all shapes of a list",
    "or": "the value conforms to no shape of a list",
    "xone": "the value does not conform to exactly one shape of a list",
    "node": "the value does not conform to {0}",
    "qualifiedMinCount": "fewer values than {0} conform to the shape",
    "qualifiedMaxCount": "more values than {0} conform to the shape",
    "closed": "the shape is closed, and does not have this property",
    "hasValue": "the value {0} is missing",
    "in": "the value is not one of {0}",
}
_MOST = 5
"""A message names so many members of a list."""


def message_of(shape: ParsedShape, constraint: Constraint) -> str:
    """Return the message of a violation, a literal: that of the shape, in English if there are several languages."""
    if shape.messages:
        return _chosen(shape.messages)
    members = [_shown(each) for each in constraint.members[:_MOST]]
    if len(constraint.members) > _MOST:
        members.append("…")
    return literal(_TEXTS[constraint.parameter].format(", ".join(members) if members else _shown(constraint.value)))


def query_message(shape: ParsedShape, query: ShapeQuery) -> str:
    """Return the message of the rows of a query, a literal that may have variables."""
    if query.messages or shape.messages:
        return _chosen(query.messages or shape.messages)
    what = "the query of the shape" if query.component == SPARQL else ntriples(query.component)
    return literal(f"the value violates {what}")


def _chosen(messages: tuple[str, ...]) -> str:
    return min(messages, key=lambda each: (parts(each)[1] not in ("", "en"), each))


def _shown(term: str) -> str:
    """Return a term for people: numbers and texts without their datatype."""
    if term.startswith("_:"):
        return "a shape inside of this one"
    if term.startswith('"'):
        text, language, _ = parts(term)
        return f'"{text}"@{language}' if language else text
    return f"sh:{term.removeprefix(SH)}" if term.startswith(SH) else ntriples(term)
