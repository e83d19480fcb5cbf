"""From a core program to the plan of the partitions: where rows live and where rules are evaluated.

plan       the plan that every partition has: programs, exports and when they are released, the place of each relation
buckets    the partition of a word, and of a row; skewed keys, whose rows are spread over partitions
sites      the cheapest site of a rule, and the copies that it reads there
rewrites   rules and hyper-nodes in another form: such as a rule that needs two partitionings as two rules
place      all of these together: a core program becomes a plan
"""
