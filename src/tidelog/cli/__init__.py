"""The command line: one file per command, each with `add` (its arguments) and `execute` (what it does).

    entry       the parser, and what becomes of errors: exit codes, messages, JSON
    run         tidelog run PROG.dl -F FACTS -D OUT
    check       tidelog check PROG.dl, or FOLDER
    init        tidelog init STORE PROG.dl -F FACTS
    apply       tidelog apply STORE
    show        tidelog show STORE REL
    graph       tidelog graph PROG.dl -o FILE
    node        tidelog node CONFIG.toml
    network     tidelog network FILE.toml
    pipeline    tidelog pipeline run FILE.toml
    demo        tidelog demo
    on_spark    a database over Spark as `run` takes it, and a session for those who have none
    shared      options of several commands, and the store that has to be there
    report      tables for --stats, JSON for --json

Command modules import the engine inside `execute`, so that `tidelog --help` answers at once.
"""

from tidelog.cli.entry import main

__all__ = ["main"]
