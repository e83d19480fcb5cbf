"""RDF: triples in and out, with RDFS and OWL 2 RL kept up to date while data and ontology change (docs/how-to/rdf.md).

    reader      input to columns of terms: documents  a text and its errors;  lines  N-Triples;  xml_documents  RDF/XML;
                depth  of texts that are nested
                terms, datatypes  RDF terms as symbols;  values  of literals;  formats  their names, and pyoxigraph
    data        columns to relations of a database, and back;  names  which relation is which property or class
    tables      the rules, as W3C writes them
    schema      the consequences of the ontology alone;  matching, lists  patterns over it
    specialise  tables and schema to rules about relations;  hierarchies  fewer of them;  parts  by what they rest on
    rules       those in force at the moment
    guards      rules for schema facts that the data derive;  literals  facts about values that the data ask for
    prefixes    rule text with `foaf:knows(x, y)`;  naming  its syntax tree;  nodes  what paths lead to itself
    prefix_table  the prefixes of a store
    quads       the graphs of triples;  graph_verbs  triples in and out, graph by graph
    derivations why triples hold: rules with the axioms that they are specialised to;  proofs, wording  their steps and
                texts;  table_checks  what the tables say to a step;  explaining, verbs  from a triple to an explanation
    justifications  the asserted triples from which inconsistencies follow
    store       all of it together;  connect  a new one;  change, output  its results
    graphwise   a store whose named graphs have inferences of their own;  closures  these;  visible  what it shows
    sparql      queries and updates in SPARQL, over a mirror in pyoxigraph;  plugin  a store for rdflib
    replacing   blank nodes of two versions of a graph;  serve  a store as a server for SPARQL
    shapes      views of the violations of shapes of SHACL;  n3  rules in N3;  functions  in Python, which both call
    transaction changes that are committed together;  earlier  a store as it was before
    lasting     stores in folders

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
from tidelog.rdf.change import StoreChange
from tidelog.rdf.connect import connect
from tidelog.rdf.graphwise import GraphwiseStore
from tidelog.rdf.justifications import Justification, justified
from tidelog.rdf.shapes.report import ValidationReport, ValidationResult
from tidelog.rdf.sparql.solutions import Solutions
from tidelog.rdf.store import Store
from tidelog.rdf.terms import TYPE, literal, term
from tidelog.rdf.transaction import StoreTransaction
from tidelog.rdf.visible import GraphwiseChange

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
