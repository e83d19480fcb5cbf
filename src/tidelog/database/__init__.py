"""The object that a user holds.

database      the verbs over a workspace and the embedded engine
snapshots     the verbs that read, over an epoch that stays as it is
verbs         the verbs that `Database`, `SparkDatabase` and `rdf.Store` share;  reading  those that read relations
explanations  those by which `Database` and `SparkDatabase` explain tuples and try changes
ruleset       rules by name;  transaction  blocks whose changes are committed together
keeper        the hook by which a database lasts
"""
