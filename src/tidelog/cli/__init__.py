"""The command line. A command has a function that adds it with its arguments, and one that does its work.

    process     the process, which begins and ends
    entry       the parser; errors as messages, JSON and exit codes; tidelog completion SHELL
    run         tidelog run PROG.dl -F FACTS -D OUT
    check       tidelog check PROG.dl, or FOLDER
    programs    tidelog format FILE…, graph PROG.dl -o FILE, lsp
    stores      tidelog init STORE PROG.dl -F FACTS, show STORE REL, report STORE FILE.html
    apply       tidelog apply STORE
    query       tidelog query STORE QUERY, watch ADDRESS REL…
    explain     tidelog explain STORE TUPLE
    serve       tidelog serve STORE;  options of all commands that serve
    network     tidelog network FILE.toml, node CONFIG.toml
    spark       tidelog pipeline run FILE.toml, demo; a session for users without one
    rdf         tidelog rdf serve DATA…, validate, inconsistencies
    warm        tidelog warm;  warming  the programs that it runs
    prompt      tidelog, without a command
    facts       facts from files and arguments
    shared      options of several commands, and a store that must exist
    report      tables for --stats, JSON for --json, progress

Command modules import the engine inside of these functions, so that `tidelog --help` answers at once.
"""

from tidelog.cli.process import run_process

__all__ = ["run_process"]
