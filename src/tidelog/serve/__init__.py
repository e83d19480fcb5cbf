"""The parts of a server that do not depend on what it serves.

requests  bodies and parameters of requests, within limits, and their formats;  access  tokens, origins and certificates
problems  errors as problem documents (RFC 9457), and the work of a request in a thread
events    changes on their way to clients that follow them
running   a server for an application on a port
"""
