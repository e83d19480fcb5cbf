"""Shapes of SHACL Core as views of their violations, see docs/how-to/shapes.md.

vocabulary  the words of SHACL;  documents  a graph of shapes
shape       shapes, and what is ill-formed;  paths  of them, read, spelled and as rules
links       which shapes ask which others, and recursion
compiling   shapes to rules;  constraints  what violates each component;  wording  messages
testing     functions that look at single values;  patterns  regular expressions
verbs       shapes of a store;  report  its violations
"""
