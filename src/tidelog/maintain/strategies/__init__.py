"""The strategies that bring hyper-nodes up to date: one module per kind, all with the signature `visit(node, state)`.

table       which strategy a hyper-node has
mirrors     shows a closure under another name
closures    is kept as a graph
aggregates  groups that follow their members
rules       ordinary rules, by birth-ranked counting
rows        what aggregates and rules share: skip, update or bootstrap relations that have rows
dropping    relations whose last rule has gone
situation   what has changed for a hyper-node, and what an update of it may cost
pairs       the pairs of closures, shown or written for others
"""
