"""The server of `tidelog serve`: one process has a store, and many clients read, change and follow it.

    service       the database, and what the server keeps beside it: cursors, known requests, the last epochs
    feed          the changes of the last epochs, for subscribers and on the disk; `following` sends them
    routes        the paths of the interface, with their rights, and the OpenAPI document: `reading`, `explaining`,
                  `transactions` and `status` answer them
    bodies        bodies of requests, and rows as answers;  describing  a database as JSON
    tools         the same paths as tools of the Model Context Protocol
    application   all of it as an application of ASGI

See docs/how-to/server.md.
"""
