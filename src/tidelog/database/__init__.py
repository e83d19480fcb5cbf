"""The object that a user holds.

verbs           what all databases have: turns with other threads, and the verbs from commit to close
relation_reads  the verbs that read relations and explain tuples, for snapshots as well
relation_verbs  those by which `Database` and `SparkDatabase` change relations, and try changes
transaction     blocks whose changes are committed together, and rules by name
snapshots       the verbs that read an embedded engine, over an epoch that stays as it is
database        `Database`, over a workspace and the embedded engine, and the hook by which it lasts
"""
