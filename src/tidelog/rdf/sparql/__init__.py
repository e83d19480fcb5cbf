"""SPARQL over a store: queries and updates are evaluated by pyoxigraph, over a mirror of the triples.

words       keywords, strings and braces of a text;  problems  what is wrong with it, as our errors
mirror      the quads of a store in pyoxigraph, as of the last epoch
evaluation  a query to rows of terms, within a time limit;  solutions  these rows as a relation, and as JSON, XML, …
updating    the operations of an update, and the quads that they insert and delete
verbs       `query` and `update` of a store
"""
