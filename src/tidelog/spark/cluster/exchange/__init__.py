"""The rows and messages that partitions and driver send each other in rounds.

pieces     rows for one partition or for all, as part of a file
rounds     rounds, tasks, replies, and the log that restores a partition
values     symbols and records between dictionaries that number them alike
texts      the texts of symbols in blocks, which driver and partitions read as they need them
births     deletions in recursions that cross partitions
wire       all of these as bytes
folder     the files that carry the bytes, on a disk or a file system of pyarrow or fsspec
reports    one report of an epoch from those of the partitions
"""
