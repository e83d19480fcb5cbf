"""A second checker of exported proofs, by the published format and rules of CertifyingDatalog.

The format is that of `CertifyingDatalog/Parsing.lean` (`OrderedGraphProblemInput`), the rules are those of
`OrderedGraphValidation.lean`: each edge's label, with the labels of its predecessors as the body, is a ground instance
of a rule of the program, and predecessors come before. The checker in Lean takes labels without predecessors for facts
of an unknown database; this one needs a rule without a body for each.
"""

from __future__ import annotations

import json
from typing import Any

Ground = tuple[str, tuple[str, ...]]


class NoProofError(Exception):
    """The text is not of the format, or an edge follows from no rule."""


def conclusions(text: str) -> list[Ground]:
    """Return the labels that a text proves, in its order. Raise NoProofError."""
    document = _record(json.loads(text), "graph", "program")
    rules = [_rule(each) for each in _list(document["program"])]
    arities: dict[str, int] = {}
    for head, body in rules:
        for symbol, terms in (head, *body):
            if arities.setdefault(symbol, len(terms)) != len(terms):
                raise NoProofError(f"two arities of {symbol}")
    labels: list[Ground] = []
    for edge in _list(_record(document["graph"], "edges")["edges"]):
        parts = _record(edge, "label", "predecessors")
        label = _ground(_atom(parts["label"]))
        if arities.get(label[0]) != len(label[1]):
            raise NoProofError(f"{label} is no atom of the program")
        before = [number for number in _list(parts["predecessors"]) if 0 <= number < len(labels)]
        if len(before) != len(parts["predecessors"]):
            raise NoProofError(f"{label} stands before a predecessor")
        if not any(_fits(rule, [label, *(labels[number] for number in before)]) for rule in rules):
            raise NoProofError(f"no rule for {label} from {before}")
        labels.append(label)
    return labels


Terms = list[tuple[str, str]]


def _rule(document: Any) -> tuple[tuple[str, Terms], list[tuple[str, Terms]]]:
    parts = _record(document, "head", "body")
    return _atom(parts["head"]), [_atom(each) for each in _list(parts["body"])]


def _atom(document: Any) -> tuple[str, Terms]:
    parts = _record(document, "symbol", "terms")
    terms: Terms = []
    for each in _list(parts["terms"]):
        ((form, text),) = each.items()
        if form not in ("constant", "variable") or not isinstance(text, str):
            raise NoProofError(f"{each} is no term")
        terms.append((form, text))
    return parts["symbol"], terms


def _ground(atom: tuple[str, Terms]) -> Ground:
    if any(form != "constant" for form, _ in atom[1]):
        raise NoProofError(f"{atom} has variables")
    return atom[0], tuple(text for _, text in atom[1])


def _fits(rule: tuple[tuple[str, Terms], list[tuple[str, Terms]]], labels: list[Ground]) -> bool:
    """Return True if labels, the first one for the head, are a ground instance of a rule."""
    head, body = rule
    if len(labels) != 1 + len(body):
        return False
    bound: dict[str, str] = {}
    for (symbol, terms), (name, values) in zip([head, *body], labels, strict=True):
        if symbol != name or len(terms) != len(values):
            return False
        for (form, text), value in zip(terms, values, strict=True):
            if (text if form == "constant" else bound.setdefault(text, value)) != value:
                return False
    return True


def _record(document: Any, *names: str) -> dict[str, Any]:
    if not isinstance(document, dict) or document.keys() != set(names):
        raise NoProofError(f"{document} has not the fields {names}")
    return document


def _list(document: Any) -> list[Any]:
    if not isinstance(document, list):
        raise NoProofError(f"{document} is no list")
    return document
