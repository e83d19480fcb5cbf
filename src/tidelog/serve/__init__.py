"""The parts of a server that do not depend on what it serves.

problems  errors as problem documents (RFC 9457) with codes, places and hints;  access  tokens and origins
bodies    the bodies and parameters of requests, within limits;  media  formats by `Accept` and `Content-Type`
answering the work of a request in a thread, which ends when its client leaves
running   a server for an application on a port;  tls  its certificate and key
"""
