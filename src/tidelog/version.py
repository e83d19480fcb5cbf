"""The version of this package, which certificates and checkpoints carry."""

MEANING = 1
"""The number of what programs mean: views of another one are evaluated anew. 0 took `ord` for a code point."""

INTERFACE = "2"
"""The number of the server's interface, which it sends as `Tidelog-Interface`."""
__version__ = "0.2.0"
