"""The demos. The first asks questions about Python's standard library: Spark reads source files, tidelog derives views
and pictures. The second is in `edge`.

facts       source files to facts, on Spark's workers
program.dl  the questions, as rules
report      the answers as a table and a page, and one of them as a picture
story       everything in order: the work of `tidelog demo`
edge        a wind farm of nodes: the work of `tidelog demo edge`
"""
