"""Stores in the terms of `w3c`: triples of prefixed names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tests.rdf.w3c import Triple
from tidelog.rdf import Store, connect
from tidelog.rdf.terms import PREFIXES, XSD

EXAMPLE = "http://example.org/"
_PREFIXES = {**PREFIXES, "": EXAMPLE}


def full(name: str) -> str:
    """The term of a prefixed name; digits are a number."""
    if name.isdigit():
        return f'"{name}"^^<{XSD}nonNegativeInteger>'
    prefix, colon, local = name.partition(":")
    return _PREFIXES[prefix] + local if colon and prefix in _PREFIXES else name


def short(term: str) -> str:
    """The prefixed name of a term."""
    if term.startswith('"') and term.endswith(f"^^<{XSD}nonNegativeInteger>"):
        return term[1 : term.index('"', 1)]
    return next((f"{p}:{term.removeprefix(i)}" for p, i in _PREFIXES.items() if term.startswith(i)), term)


def triples(text: str) -> set[Triple]:
    """Triples of prefixed names, one per line or after a semicolon."""
    return {tuple(line.split()) for line in text.replace(";", "\n").splitlines() if line.strip()}  # type: ignore[misc]


def terms(found: Iterable[Triple]) -> list[tuple[str, ...]]:
    """The terms of triples of prefixed names."""
    return [tuple(map(full, triple)) for triple in found]


def insert(store: Store, found: Iterable[Triple]) -> None:
    """Insert triples of prefixed names."""
    store.insert(terms(found))


def delete(store: Store, found: Iterable[Triple]) -> None:
    """Delete triples of prefixed names."""
    store.delete(terms(found))


def everything(store: Store) -> set[Triple]:
    """The triples of a store."""
    return {tuple(map(short, triple)) for triple in store.triples()}  # type: ignore[misc, arg-type]


def clashes(store: Store) -> set[str]:
    """The names of the rules that find an inconsistency."""
    return {str(row[0]).replace("eq-diff0", "eq-diff1") for row in store.inconsistencies()}


def stored(
    data: Any,
    format: str | None = None,
    *,
    base: str | None = None,
    graph: str | None = None,
    prefix: str | None = None,
    **options: Any,
) -> Store:
    """A store with data, which `insert` takes; `prefix` is the IRI of `:`, and `connect` takes the `options`."""
    store: Store = connect(**options)
    if prefix is not None:
        store.prefixes[""] = prefix
    store.insert(data, format, base=base, graph=graph)
    store.commit()
    return store
