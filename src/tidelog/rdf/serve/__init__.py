"""A store as an HTTP server: the protocols of SPARQL 1.1 over `Store`, as an application of ASGI.

    queries      /sparql;  evaluators  the processes that answer, and answers piece by piece;  formats  of RDF
    description  of the service;  updates  /update;  graphs  /store;  changes  /views
    pages        a form for queries at /
    application  all of it as one application

`tidelog.serve` has the parts that any server needs. Each call of a store runs in a thread, because it waits for its
turn there.
"""
