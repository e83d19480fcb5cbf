"""A store as an HTTP server: the protocols of SPARQL 1.1 over `Store`, as an application of ASGI.

    queries      /sparql, with the processes that answer, and formats of RDF;  changes  /views
    application  all of it as one application, with /store, /update, /inconsistencies and the page at /

`tidelog.serve` has the parts that any server needs. Each call of a store runs in a thread, because it waits for its
turn there.
"""
