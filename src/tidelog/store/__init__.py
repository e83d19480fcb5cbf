"""Databases that last: a folder with the facts, the program and the views of the last committed epoch.

manifest    the document that lists the valid files, and by which a store is recognised
tables      facts as files of a segment
state       the folder: asserted and retracted facts of each epoch, and the manifest that commits it
checkpoint  the state of an engine as one file
numbers     numbers of counters, as of the last epoch;  choices  the same for the tuples that choices show
keeper      `FolderKeeper`, which lets the epochs of a database last
groups      `GroupKeeper`, for which several epochs are one commit
database    `StoredDatabase`, a Database with such a keeper
"""

from tidelog.store.database import StoredDatabase
from tidelog.store.groups import GroupKeeper
from tidelog.store.manifest import is_marked

__all__ = ["GroupKeeper", "StoredDatabase", "is_marked"]
