"""Maintenance: in an epoch, the asserted facts change and the views follow, hyper-node by hyper-node.

engine      an epoch that succeeds or leaves no trace;  state  a database between two epochs
frozen      the same state for readers in other threads, while epochs go on
epoch       the state of an epoch: everything that it replaces and changes, its end, and how to undo it
walk        the steps of an epoch: facts, then hyper-nodes in order;  strategies  one module per kind of hyper-node
choice      the strategies that a user allows
cooling     what goes into files first, where memory is short;  waiting  rows that are inserted together for that
structure   the hyper-nodes and their readers, until rules change;  overlay  changes over the last state
undoing     resources to undo an epoch, allocated before it begins
reclaim     reclaims symbols and records that nothing refers to any more
bootstrap   evaluates a hyper-node from its inputs, with births and counts
update      follows the changes of its inputs, facts and rules in place
showing     both for hyper-nodes that show some candidates:  selecting  selected ones;  choosing  chosen ones
searching   the best rows of selections, from scratch;  crediting  in their relations, with counts
endless     cycles that improve selections without end
aggregates  evaluates aggregate rules and keeps them up to date;  large_groups  states for that;  folds_of_texts  those
            whose values are texts
sorting     the order of many rows, computed in parts that limits can stop
closures    the edges of closures, and births of their pairs;  closed_ends  the nodes at the ends of these
component_folds  aggregates whose members are pairs of a closure
assemble    join plans to the code of the kernels;  functors  operators of the kernels, and Python for the rest
calls       columns of words as rows of values, for functions in Python;  texts  functors on texts;  ordinals  `ord`
user_functors  functors in Python;  remembered  their results;  user_aggregates  aggregates in Python;  merged_groups
            states of parts of their large groups
compiled    functions of numbers as loops
threads     work that threads share;  lanes  the memory of each;  ledgers  what they put off in an update
machine     runs assembled plans;  statistics  the planner's input
deltas      the rows that a relation gained and lost;  report  the report of an epoch
"""
