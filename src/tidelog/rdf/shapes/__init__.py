"""Shapes of SHACL as views of their violations, see docs/how-to/shapes.md.

documents  a graph of shapes, its nodes that are shapes, and the words of SHACL
shape      shapes, what is ill-formed, and which shapes ask which others;  paths  of them, read, spelled and as rules
queries    constraints of SHACL-SPARQL, as rules, or evaluated at each validation
compiling  shapes to rules;  constraints  what violates each component, and messages
testing    functions that look at single values, and regular expressions
verbs      shapes of a store, and the report of their violations
"""
