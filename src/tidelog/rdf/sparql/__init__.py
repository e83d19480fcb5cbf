"""SPARQL over a store: queries and updates are evaluated by pyoxigraph, over a mirror of the triples; views are rules.

    texts       keywords, strings and braces of a text, and what is wrong with it, as our errors
    mirror      the quads of a store in pyoxigraph, as of the last epoch
    evaluation  a query to rows of terms, and these as a relation, JSON, XML, …;  processes  for queries within limits
    reading     the texts of updates and views, checked and parsed
    updating    the quads that the operations of an update insert and delete
    views       queries as rules;  bodies  these rules, with property paths and terms
    grouping    GROUP BY, BIND and sub-selects of views
    expressions of BIND and filters;  computing  functions in Python for these and for aggregates

`verbs` has the verbs of a store: `query`, `update` and `view`.
"""
