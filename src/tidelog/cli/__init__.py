"""The command line: one file per command, each with `add` (its arguments) and `execute` (its work).

    entry       the parser; errors as messages, JSON and exit codes
    run         tidelog run PROG.dl -F FACTS -D OUT
    check       tidelog check PROG.dl, or FOLDER
    format      tidelog format FILE…
    init        tidelog init STORE PROG.dl -F FACTS
    apply       tidelog apply STORE
    show        tidelog show STORE REL
    query       tidelog query STORE QUERY
    watch       tidelog watch ADDRESS REL…
    graph       tidelog graph PROG.dl -o FILE
    node        tidelog node CONFIG.toml
    network     tidelog network FILE.toml
    pipeline    tidelog pipeline run FILE.toml
    rdf         tidelog rdf serve DATA…
    lsp         tidelog lsp
    demo        tidelog demo
    on_spark    a database over Spark for `run`, and a session for users without one
    completion  tidelog completion SHELL
    prompt      tidelog, without a command
    shared      options of several commands, and a store that must exist
    report      tables for --stats, JSON for --json

Command modules import the engine inside `execute`, so that `tidelog --help` answers at once.
"""

from tidelog.cli.entry import main, run_process

__all__ = ["main", "run_process"]
