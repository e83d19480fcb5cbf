"""Functions of users, in Python and in shared libraries.

importing  functions by the names under which other processes import them, and those in libraries
callables  functions for the functors and aggregates that programs declare
"""
