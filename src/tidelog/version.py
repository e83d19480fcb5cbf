"""The version of this package, which certificates and checkpoints carry."""

INTERFACE = "1"
"""The number of the server's interface, which it sends as `Tidelog-Interface`."""
__version__ = "0.2.0"
