"""Durable files: the disk as stores, nodes and the cluster engine use it.

files        the operations on the files of a folder, one method each, atomic replacement, and the error for damage
local        the file system of the machine, and the process that may change a folder
remote       any file system that fsspec knows, such as an object store
simulated    a file system in memory that forgets, fails and counts, for tests
whole_files  the files that a user asks for, written whole or not at all
"""
