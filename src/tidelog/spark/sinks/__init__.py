"""Sinks: where views and changes go.

sink      the `Sink` that a user describes, and checks of what it says
apart     places that a sink must not replace
targets   a sink over a session: what is there already, whether it fits, and how it is written
folders   files of any format that the session writes, in folders
tables    tables: Delta, Iceberg, and tables of files in the session's catalog
databases tables of a database, by JDBC
kafka     changes as records of a topic
fitting   whether rows fit a table that is there
delivery  sinks of streams, to which every epoch goes once
"""
