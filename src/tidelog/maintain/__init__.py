"""What happens in an epoch: the asserted facts change, and the views follow, hyper-node by hyper-node.

engine      an epoch that succeeds or leaves no trace;  state  a database between two epochs
epoch       the state of an epoch: what it replaces and changes, how it ends and how it is taken back
walk        what an epoch does: facts, then hyper-nodes in order;  strategies  one module per kind of hyper-node
choice      the strategies that a user allows
structure   who reads what, as long as the rules do not change;  overlay  the state that an epoch changes, over the last
undoing     what taking an epoch back needs, made ready before it begins
reclaim     gives symbols and records back that nothing refers to any more
bootstrap   evaluates a hyper-node from its inputs, with births and counts
update      follows the changes of its inputs, facts and rules in place
aggregates  evaluates aggregate rules and keeps them up to date;  large_groups  what is kept for that
sorting     the order of many rows, found in parts that can be stopped
closures    the edges of closures, and births of their pairs
assemble    join plans to the code of the kernels;  functors  what the kernels know, and Python for the rest
machine     runs assembled plans;  statistics  what the planner is told
deltas      what has come and gone in a relation;  report  what was done
"""
