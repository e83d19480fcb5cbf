"""The version of this package, which certificates and checkpoints carry."""

__version__ = "0.1.0"
