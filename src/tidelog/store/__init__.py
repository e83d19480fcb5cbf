"""Databases that last: a folder with the facts, the program and the views of the last committed epoch.

state       the folder: what each epoch asserted and retracted, and the manifest that commits it
checkpoint  the state of an engine as one file
database    `StoredDatabase`, a Database in such a folder
"""

from tidelog.store.database import StoredDatabase, is_store

__all__ = ["StoredDatabase", "is_store"]
