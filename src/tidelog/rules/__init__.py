"""Rules: from a checked program to the flat rules that an engine runs, and the graph between them.

`compile` names the rewrites in their order, `core` is the resulting language, `graph` finds the hyper-nodes, also those
of a program to which rules are added.

nesting (casts first), paths, disjunctions (and heads), aggregates (and argmin), counters, text_pieces, anonymous (and
             negations)  the rewrites;  rewrite_state  their shared state, and how values are represented
translation  a flat rule to the core language, with its equations solved
searches     paths from one node;  growth  unbounded values
cycles       negation through recursion
selections   relations that select, by their candidates;  monotone  whether dominated ones need not be read
lints        warnings, those of the language included
recursions   which relations are recursive with which, and the values that these can reach
closures     hyper-nodes that are transitive closures, and aggregates over them
projections  parts of bodies as relations;  demand  relations on demand;  automatic  where programs do not ask for it
grounding    the variables that a body binds;  plans  the order of its literals, for each position of the delta
outline      the graph as a user sees it, as text;  picture  as a picture
"""

from tidelog.rules.compile import Compiler, compile_program

__all__ = ["Compiler", "compile_program"]
