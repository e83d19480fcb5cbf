"""Whatever is passed to a public method of a store of triples ends well or in an error of tidelog with a hint."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tidelog.rdf
from tests.database.test_wrong_arguments import VALUES, no_raw_exception
from tidelog.rdf import Store

TRIPLES: list[Any] = [
    *VALUES,
    [("a", "b")],
    [("a", "b", None)],
    [("a", "b", 2.5)],
    [(1, 2, 3)],
    [None],
    iter([5]),
    [[]],
]
OTHERS = [each for each in VALUES if not isinstance(each, str)]
"""Values that are no text, for what takes paths."""

CALLS: dict[str, tuple[list[Any], Callable[[Store, Any], object]]] = {
    "connect(…)": ([each for each in VALUES if each is not None], lambda _, value: tidelog.rdf.connect(rules=value)),
    "load": (VALUES, lambda store, value: store.load(value)),
    "remove_rule": (VALUES, lambda store, value: store.remove_rule(value)),
    **{
        f"{verb}(…)": (TRIPLES, lambda store, value, verb=verb: getattr(store, verb)(value))  # type: ignore[misc]
        for verb in ("insert", "delete")
    },
    "insert(…, format)": (VALUES, lambda store, value: store.insert("<urn:a> <urn:b> <urn:c> .", value)),
    "insert(…, base)": (VALUES, lambda store, value: store.insert("<a> <b> <c> .", base=value)),
    "contains": (VALUES, lambda store, value: store.contains(value, value, value)),
    "… in store": (TRIPLES, lambda store, value: value in store),
    "… in store, thrice": (VALUES, lambda store, value: (value, value, value) in store),
    "triples": (VALUES, lambda store, value: store.triples(value, value, value)),
    "triples(inferred=…)": (VALUES, lambda store, value: store.triples(inferred=value)),
    "to_text(inferred=…)": (VALUES, lambda store, value: store.to_text(inferred=value)),
    "transaction(dry_run=…)": (VALUES, lambda store, value: store.transaction(dry_run=value)),
    "query": (VALUES, lambda store, value: store.query(value)),
    **{
        f"query(…, {name}=…)": (VALUES, lambda store, value, name=name: store.query("ASK {}", **{name: value}))  # type: ignore[misc]
        for name in ("timeout", "inferred", "base", "nope")
    },
    "update": (VALUES, lambda store, value: store.update(value)),
    "view": (VALUES, lambda store, value: store.view("view", value)),
    "view(…)": (VALUES, lambda store, value: store.view(value, "SELECT ?x { ?x <http://a/b> 1 }")),
    "insert(…, graph)": (VALUES, lambda store, value: store.insert("<urn:a> <urn:b> <urn:c> .", graph=value)),
    "quads": (VALUES, lambda store, value: store.quads(value, value, value, value)),
    "asserted": (TRIPLES, lambda store, value: store.asserted(value)),
    "subscribe(…, view)": (VALUES, lambda store, value: store.subscribe(print, value)),
    "store[…]": (VALUES, lambda store, value: store[value]),
    "to_text": (VALUES, lambda store, value: store.to_text(value)),
    "write": (OTHERS, lambda store, value: store.write(value)),
    "write(…, format)": (VALUES, lambda store, value: store.write("/dev/null", value)),
    **{
        f"options({name}=…)": (VALUES, lambda store, value, name=name: store.options(**{name: value}))  # type: ignore[misc]
        for name in ("timeout", "max_rows", "strategy", "mirror", "nope")
    },
}


@pytest.fixture(scope="module")
def store() -> Store:
    store = tidelog.rdf.connect(rules="rdfs")
    store.insert("<urn:a> <urn:b> <urn:c> .")
    store.commit()
    return store


@pytest.mark.parametrize("call", CALLS)
def test_no_raw_exception(call: str, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    def undo() -> None:
        store.rollback()
        store.options(timeout=None, max_rows=None, strategy="auto")

    no_raw_exception(call, *CALLS[call], store, undo)
