"""Rules: from a checked program to the flat rules that an engine runs, and the graph between them.

`compile` names the rewrites in their order, `core` is the resulting language, `graph` finds the hyper-nodes, `growing`
those of a program to which rules are added.

casts, paths, disjunctions, arguments, counters, aggregates, pieces, anonymous, heads, negations, nesting
             the rewrites, one after the other;  bench  their shared state
translation  a flat rule to the core language;  equalities  solved on the way;  kinds  how its values are represented
path_forms   equal paths are one relation;  searches  paths from one node;  growth  unbounded values
cycles       negation through recursion
selections   relations that select, by their candidates;  monotone  whether dominated ones need not be read
shifting     recursions that only add to what they select by
lints        warnings, those of the language included
recursions   which relations are recursive with which
reached      the values that a recursion can reach, for the groups of its aggregates
components   of any graph;  edges  of the rule graph;  closures  hyper-nodes that are transitive closures
folds        aggregates over closures
grounding    the variables that a body binds;  plans  the order of its literals, for each position of the delta
printer      core rules as text
outline      the graph as a user sees it;  describe  as text;  picture  as a picture
"""

from tidelog.rules.compile import Compiler, compile_program

__all__ = ["Compiler", "compile_program"]
