"""Sinks: where views and changes go.

sink      the `Sink` that a user describes, and checks of what it says
folders   files of any format that the session writes, in folders
tables    tables: Delta, Iceberg, tables of files in the session's catalog, and tables of a database by JDBC
targets   a sink over a session: what is there already, whether it fits, and how it is written; topics of Kafka
"""
