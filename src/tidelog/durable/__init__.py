"""Durable files: the disk as stores, nodes and the cluster engine use it.

files      the operations on the files of a folder, one method each, and atomic replacement
local      the file system of the machine
simulated  a file system in memory that forgets, fails and counts, for tests
owner      which process may change a folder
damage     the error for a file that is not what was written
"""
