"""User data in and out: `encode` for what a program passes, `read_facts` and `write_view` for files."""

from tidelog.io.encode import encode

__all__ = ["encode"]
