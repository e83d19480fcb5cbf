"""The meaning of scalars and literals on Python values, for the reference evaluators and the nodes of networks.

    values      kinds in Python, and how a value is stored
    functors    functors and comparisons;  ordinals  the numbers that `ord` gives
    user_functors  functors in Python and in libraries, on single values and on arrays, and their errors
    aggregates  aggregates over the values of a group;  user_aggregates  those in Python
    literals    a literal of the core language, given a substitution

Kernels (on words) and the certificate checker (in SQL) have the same meaning in other terms; tests compare them with
this room.
"""
