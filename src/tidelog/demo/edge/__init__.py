"""The second demo: a wind farm whose turbines find out together why one of them reads an odd temperature.

The story is that of *ZodiacEdge*, its rules are the paper's rule set 1, told where each tuple lives.

documents  a Turtle document per turbine, and the facts in it
farm.dl    what every node runs;  rules.dl  the six rules that come and go
networks   the farm as processes of this machine, or simulated in one
view       who knows what, as a table, and a screen that may be a terminal
story      everything in order: what `tidelog demo edge` runs
"""

from tidelog.demo.edge.story import run

__all__ = ["run"]
