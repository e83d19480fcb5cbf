"""The version of this package, which certificates and checkpoints carry."""

__version__ = "0.2.0"
