"""What happens in an epoch: the asserted facts change, and the views follow, hyper-node by hyper-node.

engine      the state of a database, and an epoch that succeeds or leaves no trace
bootstrap   evaluates a hyper-node from its inputs, with births and counts
aggregates  evaluates aggregate rules and keeps them up to date;  large_groups  what is kept for that
assemble    join plans to the code of the kernels;  functors  what the kernels know, and Python for the rest
statistics  what the planner is told
limits      time, rows, Ctrl-C;  report  what was done
"""
