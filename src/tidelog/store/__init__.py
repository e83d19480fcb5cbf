"""Databases that last: a folder with the facts, the program and the views of the last committed epoch.

log         the file in which small commits follow one another
manifest    the document that lists the valid files, and by which a store is recognised
segments    facts as tables in files, and the changes that sinks have yet to get
state       the folder: asserted and retracted facts of each epoch, and the manifest that commits it
checkpoint  the state of an engine as one file
keeper      `FolderKeeper`, which lets the epochs of a database last, with the numbers of its counters and choices
database    `StoredDatabase`, a Database with such a keeper; `GroupKeeper`, for which several epochs are one commit
"""

from tidelog.store.database import GroupKeeper, StoredDatabase
from tidelog.store.manifest import is_marked

__all__ = ["GroupKeeper", "StoredDatabase", "is_marked"]
