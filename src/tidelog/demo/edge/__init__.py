"""The second demo: a wind farm whose turbines find out together why one of them reads an odd temperature.

The story is that of *ZodiacEdge*. Its rules are the paper's rule set 1, with a location for each tuple.

documents  a Turtle document per turbine, and its facts
farm.dl    the program of every node;  rules.dl  the six rules that are added and removed
networks   the farm as processes of this machine, or simulated in one
story      everything in order, with the knowledge of each turbine as a table: the work of `tidelog demo edge`
"""

from tidelog.demo.edge.story import run

__all__ = ["run"]
