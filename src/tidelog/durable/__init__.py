"""Durable files: the disk as stores, nodes and the cluster engine use it.

files        the operations on the files of a folder, one method each, and atomic replacement
local        the file system of the machine
remote       any file system that fsspec knows, such as an object store
simulated    a file system in memory that forgets, fails and counts, for tests
owner        the process that may change a folder
whole_files  the files that a user asks for, written whole or not at all
damage       the error for a file with wrong content
"""
