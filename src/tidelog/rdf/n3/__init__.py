"""Rules in N3 as rules of a store, see docs/how-to/rdf.md: rdflib's parser reads them.

reading      a text as rules over triples, with their places;  builtins  those of N3 as literals
functions    their functions in Python;  translating  rules as text of the language
"""
