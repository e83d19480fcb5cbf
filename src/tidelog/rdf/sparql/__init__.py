"""SPARQL over a store: queries and updates are evaluated by pyoxigraph, over a mirror of the triples; views are rules.

    words       keywords, strings and braces of a text;  problems  what is wrong with it, as our errors
    mirror      the quads of a store in pyoxigraph, as of the last epoch
    evaluation  a query to rows of terms, within a time limit;  solutions  these rows as a relation, and as JSON, XML, …
    operations  the parts of an update;  updating  the quads that these insert and delete
    reading     the texts of views, checked and parsed
    views       queries as rules:  bodies  these rules;  conditions  filters;  paths  property paths and terms
    constructing  the triples of a CONSTRUCT as rules
    grouping    GROUP BY, BIND and sub-selects of views
    expressions of BIND and filters;  computing  functions in Python for these and for aggregates

`verbs` has the verbs of a store: `query`, `update` and `view`.
"""
