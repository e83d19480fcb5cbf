"""The strategies that bring hyper-nodes up to date: one module per kind, all with the signature `visit(node, state)`.

table       the strategies in the order in which they apply
mirrors     relations that show a closure under another name
closures    hyper-nodes kept as graphs
members     members of an aggregate's groups that are pairs of a closure
counters    numbers of substitutions
aggregates  groups that follow their members
rules       ordinary rules, by birth-ranked counting
rows        shared by aggregates and rules: skip, update or bootstrap relations that have rows
dropping    relations without rules
situation   the changes that a hyper-node meets, and the cost that an update may have
stopped     why a hyper-node reached a limit
pairs       the pairs of closures, shown or written for others
"""
