"""User data in and out: `encode` for data that a program passes, `read_facts` and `write_view` for files.

- `at_hand` reads data that are still to be made; `encode` takes any, by `values` (of Python) and `columns` (of Arrow),
  which reject values that do not fit; `declaration` declares a relation for a table.
- `files` finds the file of a directive (`options`) and leaves it to the reader or writer of its format: `text_reader`,
  `text_writer`, `table_files`, `sqlite_files`, `json_values`, with the help of `record_reader`.
- `relation` has `Relation`, the tuples that a user sees, with its `set_operators`.
"""

from tidelog.io.encode import at_hand, declaration, encode, with_declaration
from tidelog.io.files import options_for_file, read_facts, reject_lost_outputs, size_line, write_view

__all__ = [
    "at_hand",
    "declaration",
    "encode",
    "options_for_file",
    "read_facts",
    "reject_lost_outputs",
    "size_line",
    "with_declaration",
    "write_view",
]
