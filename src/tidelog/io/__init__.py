"""User data in and out: `encode` for data that a program passes, `read_facts` and `write_view` for files.

- `at_hand` reads data that are still to be made; `encode` takes any, by `rows` (Python values) and `columns` (Arrow),
  which reject values that do not fit: `values`; `declaring` declares a relation for a table.
- `files` finds the file of a directive (`options`) and leaves it to the reader or writer of its format: `text_reader`,
  `text_writer`, `table_files`, `json_files`, `sqlite_files`, with the help of `split_text`, `record_reader`,
  `json_values`, `packed` and `sorting`; `file_hints` has the hints about their values.
"""

from tidelog.io.declaring import declaration, with_declaration
from tidelog.io.encode import at_hand, encode
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
