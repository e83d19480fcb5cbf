"""From a core program to the plan of the partitions: where rows live and where rules are evaluated.

plan            the plan that every partition has: programs, exports, and the place of each relation
buckets         the partition of a word, and of a row
skew            skewed keys: words with so many rows that these are spread over partitions
sites           the cheapest site of a rule, and the copies that it reads there
intermediates   a rule that needs two partitionings as two rules
levels          when exports are released
place           all of these together: a core program becomes a plan
"""
