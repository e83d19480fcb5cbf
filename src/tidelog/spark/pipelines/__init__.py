"""Pipelines: sources, a program and sinks, run as one epoch.

description   the fields of a pipeline with its sources and sinks, and checks of them
toml_file     a description from a TOML file, and the errors of a run for those who have written the file
unread        what is new in a source since the last run
pipeline      the `Pipeline` that a user makes, reads from TOML and runs
result        the `Result` of a run
"""
