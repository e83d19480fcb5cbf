"""Databases that last: a folder with the facts, the program and the views of the last committed epoch.

files       the operations on files, one method each; `local`: those of the machine, `simulated`: those of a test
manifest    the document that says what makes up a state, and by which a store is recognised
tables      facts as files of a segment
owner       which process may change a folder, here and wherever else a folder belongs to one process
state       the folder: what each epoch asserted and retracted, and the manifest that commits it
checkpoint  the state of an engine as one file
database    `StoredDatabase`, a Database in such a folder
"""

from tidelog.store.database import StoredDatabase
from tidelog.store.manifest import is_marked

__all__ = ["StoredDatabase", "is_marked"]
