"""Maintenance: in an epoch, the asserted facts change and the views follow, hyper-node by hyper-node.

protocol    what a database asks of an engine;  engine  an epoch that succeeds or leaves no trace
state       a database between two epochs;  frozen  the same state for readers in other threads, while epochs go on
epoch       the state of an epoch: everything that it replaces and changes, its end, and how to undo it
walk        the steps of an epoch: facts, then hyper-nodes in order;  strategies  what it does by kind of hyper-node
structure   the hyper-nodes, their readers and their names in reports, until rules change
deltas      the rows that a relation gained and lost;  statistics  the planner's input
reclaim     reclaims symbols and records that nothing refers to any more
bootstrap   evaluates a hyper-node from its inputs, with births and counts
update      follows the changes of its inputs, facts and rules in place;  update_plans  the plans for that
selecting   both for hyper-nodes that show selected candidates;  choosing  for those that show chosen ones
searching   the best rows of selections, from scratch, with births and counts;  endless  cycles that improve these
            without end
aggregates  evaluates aggregate rules and keeps them up to date;  large_groups  states for that
component_folds  aggregates whose members are pairs of a closure
assemble    join plans to the code of the kernels;  machine  runs it;  counting  profiles of that
functors    operators of the kernels, and Python for the rest;  compiled  functions of numbers as loops
user_functors  functors in Python, and their results;  user_aggregates  aggregates in Python
threads     work that threads share, the memory of each, and what they put off in an update
"""
