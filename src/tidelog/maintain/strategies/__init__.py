"""The strategies that bring hyper-nodes up to date, by the kind of node: each has the signature `visit(node, state)`.

rules       ordinary rules, by birth-ranked counting
aggregates  groups that follow their members, and numbers of substitutions
closures    closures as graphs, and what shares these: mirrors, and members of groups
rows        shared by rules and aggregates: skip, update or bootstrap relations that have rows; relations without rules
situation   the changes that a hyper-node meets, and the cost that an update may have
"""
