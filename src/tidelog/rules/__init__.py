"""Rules: from a checked program to the flat rules that an engine runs, and the graph between them.

`compile` names the rewrites in their order, `core` is the language that comes out, `graph` finds the hyper-nodes.
"""

from tidelog.rules.compile import Compiler, compile_program

__all__ = ["Compiler", "compile_program"]
