"""The demo: questions about Python's standard library, from source files through Spark into views and pictures.

facts       source files to facts, on Spark's workers
program.dl  the questions, as rules
report      the answers as a table and a page;  drawing  one answer as a picture
story       everything in order: what `tidelog demo` runs
"""

from tidelog.demo.story import run

__all__ = ["run"]
