"""A store as an HTTP server: the protocols of SPARQL 1.1 over `Store`, as an application of ASGI.

    problems      errors as problem documents (RFC 9457) with codes, places and hints;  access  tokens and origins
    bodies        the bodies and parameters of requests, within limits;  media  formats by `Accept` and `Content-Type`
    queries       /sparql;  description  of the service;  updates  /update;  graphs  /store;  changes  /views
    application   all of it as one application;  running  a server for it on a port

The functions of a request run in threads, because each call of a store waits for its turn there.
"""
