"""Pipelines: sources, a program and sinks, run as one epoch.

description   `Source`, `Sink` and `Pipeline`, as a user describes them in Python
toml_file     the same from a TOML file
run           one run: read and check the sources, commit, write the sinks
sinks         views and changes as files or Delta tables
result        the `Result` that a run returns
"""
