"""Shapes of SHACL as views of their violations, see docs/how-to/shapes.md.

vocabulary  the words of SHACL;  documents  a graph of shapes
finding     the nodes that are shapes, and unknown words
shape       shapes, and what is ill-formed;  paths  of them, read, spelled and as rules
queries     constraints of SHACL-SPARQL;  matching  them as rules;  evaluating  those that no view has
links       which shapes ask which others, and what cannot be known
compiling   shapes to rules;  constraints  what violates each component;  wording  messages
testing     functions that look at single values;  patterns  regular expressions
verbs       shapes of a store;  report  its violations
"""
