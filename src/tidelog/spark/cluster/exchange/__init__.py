"""The rows and messages that partitions and driver send each other in rounds.

pieces     rows for one partition or for all, as part of a file
rounds     rounds, tasks, replies, the log that restores a partition, and one report of an epoch
texts      symbols and records between dictionaries that number them alike, and the texts of symbols in blocks
births     deletions in recursions that cross partitions
wire       all of these as bytes
folder     the files that carry the bytes, on a disk or a file system of pyarrow or fsspec
"""
