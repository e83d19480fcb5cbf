"""RDF: triples in and out, with RDFS and OWL 2 RL kept up to date while data and ontology change (docs/how-to/rdf.md).

    reader      input to columns of terms: documents  a text and its errors;  lines  N-Triples
    terms       RDF terms as symbols, and datatypes;  formats  their names, and pyoxigraph
    data        columns to relations of a database, and back;  quads  the graphs of triples
    names       which relation is which property or class, and prefixes
    tables      the rules, as W3C writes them, from `rule_sets/`
    schema      the consequences of the ontology alone, and guards for what data add;  matching  patterns over it
    specialise  tables and schema to rules about relations;  rules  those in force at the moment
    literals    their values, and facts about these that the data ask for
    prefixes    rule text with `foaf:knows(x, y)`;  naming  its syntax tree, and what its paths lead to itself
    derivations why triples hold: rules with the axioms that they are specialised to, and their texts
    proofs      of triples, and what the tables say to a step;  explaining  from a triple to an explanation
    justifications  the asserted triples from which inconsistencies follow
    verbs       of a store: explanations, transactions, triples in and out;  change, output  their results
    store       all of it together;  connect  a new one;  state  as it was before a commit, and as a folder has it
    graphwise   a store whose named graphs have inferences of their own;  closures  these, and what it shows
    sparql      queries and updates in SPARQL, over a mirror in pyoxigraph;  plugin  a store for rdflib
    serve       a store as a server for SPARQL
    shapes      views of the violations of shapes of SHACL;  n3  rules in N3

>>> import tidelog.rdf
>>> store = tidelog.rdf.connect(rules="rdfs")
>>> store.insert('''@prefix : <http://example.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
... :Dog rdfs:subClassOf :Animal . :rex a :Dog .''')
>>> change = store.commit()
>>> store.contains("http://example.org/rex", tidelog.rdf.TYPE, "http://example.org/Animal")
True
"""

from typing import TYPE_CHECKING

from tidelog.errors import ShapesWarning
from tidelog.rdf.change import StoreChange, StoreTransaction
from tidelog.rdf.closures import GraphwiseChange
from tidelog.rdf.connect import connect
from tidelog.rdf.graphwise import GraphwiseStore
from tidelog.rdf.justifications import Justification, justified
from tidelog.rdf.shapes.verbs import ValidationReport, ValidationResult
from tidelog.rdf.sparql.evaluation import Solutions
from tidelog.rdf.store import Store
from tidelog.rdf.terms import TYPE, literal, term

__all__ = [  # noqa: RUF022 - in the order of all rooms, sorted()
    "GraphwiseChange",
    "GraphwiseStore",
    "Justification",
    "ShapesWarning",
    "Solutions",
    "Store",
    "StoreChange",
    "StoreTransaction",
    "TYPE",
    "TripleProof",
    "ValidationReport",
    "ValidationResult",
    "connect",
    "justified",
    "literal",
    "term",
]

if TYPE_CHECKING:
    from tidelog.rdf.proofs import TripleProof
else:

    def __getattr__(name: str) -> object:
        """`TripleProof` is loaded when first used, as all that explains is."""
        if name == "TripleProof":
            from tidelog.rdf.proofs import TripleProof

            return TripleProof
        raise AttributeError(f"module 'tidelog.rdf' has no attribute {name!r}")
