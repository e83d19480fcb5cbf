"""The server of `tidelog serve`: one process has a store, and many clients read, change and follow it.

    service       the database, and what the server keeps beside it
    feed          the changes of the last epochs, for subscribers; `change_log` keeps them on the disk
    requests      the transactions that had a key, so that none happens twice
    cursors       pages of long answers, on one epoch
    files         files that the server reads for its clients
    application   the paths of the interface, by the modules that answer them

See docs/how-to/server.md.
"""
