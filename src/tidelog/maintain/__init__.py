"""What happens in an epoch: the asserted facts change, and the views follow, hyper-node by hyper-node.

engine      the state of a database, and an epoch that succeeds or leaves no trace
epoch       what it does: hyper-nodes in order, each in the way that is cheapest (choice: of those that a user allows)
structure   who reads what, as long as the rules do not change;  overlay  the state that an epoch changes, over the last
undoing     what taking an epoch back needs, made ready before it begins
reclaim     gives symbols and records back that nothing refers to any more
bootstrap   evaluates a hyper-node from its inputs, with births and counts
update      follows the changes of its inputs, facts and rules in place
aggregates  evaluates aggregate rules and keeps them up to date;  large_groups  what is kept for that
sorting     the order of many rows, found in parts that can be stopped
closures    hyper-nodes that are kept as components and reach sets
assemble    join plans to the code of the kernels;  functors  what the kernels know, and Python for the rest
machine     runs assembled plans;  statistics  what the planner is told
deltas      what has come and gone in a relation;  report  what was done
"""
