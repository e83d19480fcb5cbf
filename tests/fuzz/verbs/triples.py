"""Stores of triples in memory and in folders, with inferences over the union of graphs or per graph."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyoxigraph
import rdflib

import tidelog.rdf
from tests.fuzz.verbs.databases import waiting
from tests.fuzz.verbs.kind import Kind, Known
from tidelog.rdf import GraphwiseStore, Store
from tidelog.rdf.names import COLON

_MOST_ROWS = 20_000
"""Tuples that an epoch may derive; the axioms of OWL 2 RL are some hundred."""
_SECONDS = 60.0
"""For a query, as some paths and products have no end."""
_PREFIXES = """
@prefix : <http://example.org/> . @prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> . @prefix sh: <http://www.w3.org/ns/shacl#> .
"""
_DATA = f"""{_PREFIXES}
:Dog rdfs:subClassOf :Animal . :rex a :Dog ; :knows :tom, _:someone ; :age 5 ; :name "Rex"@en .
:tom :knows :rex ; :age 7.5 . :parent rdfs:subPropertyOf :knows . :tom :parent :rex .
:Cat owl:disjointWith :Dog . :tom a :Cat .
"""
_PROGRAM = """
@prefix : <http://example.org/>
.decl near(x: symbol, y: symbol)  .decl old(x: symbol, n: number)
near: near(x, y) :- :knows(x, y).  far: near(x, z) :- near(x, y), :knows(y, z).
old: old(x, n) :- :age(x, v), xsd:integer(v, n), n > 3.  friend: :friend(y, x) :- :knows(x, y), :Dog(x).
"""
_SHAPES = f"{_PREFIXES} :s sh:targetNode :rex, :tom ; sh:property [ sh:path :age ; sh:datatype xsd:integer ] ."
_SELECT = "PREFIX : <http://example.org/> SELECT ?x ?y { ?x :knows ?y }"
_BEGIN = """
db = opened(store, **options)
proof = db.explain(*goal); change = db.commit(); kept = kept2 = db.triples(); report = db.query("ASK {}")
each = db.explain(*goal, all=True)
"""


def opened(store: str | None, **options: Any) -> Store:
    """Return a store, with the triples, programs, views and shapes unless its folder is there."""
    is_new = store is None or not Path(store).exists()
    db: Store = tidelog.rdf.connect(store, **options)
    db.prefixes[""] = "http://example.org/"
    if is_new:
        db.insert(_DATA)
        db.insert([("urn:a", "urn:b", 5)], graph="urn:g")
        if not isinstance(db, GraphwiseStore):
            db.load(_PROGRAM)
            db.view("pairs", _SELECT)
            db.shapes(_SHAPES)
        db.commit()
    db.options(max_rows=_MOST_ROWS, timeout=_SECONDS)
    return db


def _contents(db: Store) -> dict[str, Any]:
    """Return the triples, the relations of programs, and the rules as of the last commit."""
    committed = db.database.workspace.committed.checked
    own = [name for name in committed.relations if COLON not in name]
    return {
        "triples": sorted(map(str, db.triples())),
        "quads": sorted(map(str, db.quads())),
        "inconsistencies": sorted(map(str, db.inconsistencies())),
        **{name: sorted(map(repr, db[name])) for name in own},
        "rules": sorted(map(str, committed.rules)),
    }


def _state(known: Known) -> dict[str, Any]:
    db: Store = known["db"]
    if db.turns.closed:
        return {"closed": True}
    words = db._triples.dictionary.strings
    changes = [
        (each.asserts, [*map(words, each.words)], None if each.graphs is None else words(each.graphs))
        for each in db._pending
    ]
    more = {"changes": changes, "options": db._options, "prefixes": dict(db.prefixes)}
    program = db.database.workspace.program
    return {
        **_contents(db),
        "facts": waiting(db.database)["pending"],
        "program": sorted(map(str, program.rules)),
        **more,
    }


def _lasting(known: Known) -> dict[str, Any] | None:
    db: Store = known["db"]
    return None if known["store"] is None or db.turns.closed else _contents(db)


def _tidy(known: Known) -> None:
    db: Store = known["db"]
    if db._options.max_rows is None or db._options.timeout is None:
        db.options(max_rows=_MOST_ROWS, timeout=_SECONDS)


TRIPLES = Kind(
    name="triples",
    relations={"near": "x iri y iri", "old": "x iri n number", "pairs": "x iri y iri", "nope": "s term p iri o term"},
    names={
        "opened": opened, "rdflib": rdflib, "pyoxigraph": pyoxigraph, "rdf": tidelog.rdf, "PREFIXES": _PREFIXES,
        "DATA": _DATA, "SHAPES": _SHAPES, "goal": ("http://example.org/rex", tidelog.rdf.TYPE, "http://example.org/Dog"),
    },
    begin=_BEGIN,
    state=_state,
    changing=re.compile(
        r"\b(insert|delete|replace|load|load_n3|rules|view|drop_view|shapes|update|commit|rollback|options|close"
        r"|opened|subscribe|with)\b"
    ),
    check="db.turns.closed or (db.options(timeout=None, memory=None, max_rows=None), db.check())",
    reopen="db.close(); db = opened(store, **options)",
    lasting=_lasting,
    tidy=_tidy,
)  # fmt: skip
