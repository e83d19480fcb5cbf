"""Demand without being asked for it, where nothing but the outputs of a program is looked at.

`q(y) :- sg(7, y).` needs the same generation of one node. When only `q` is an output, `sg` is derived on demand as if
it had the qualifier `magic`. How much that saves nobody knows before the evaluation. So it is done where it can save a
whole recursion and costs little: where demand begins with constants that the program names (`from_constants`).
"""

from __future__ import annotations

from dataclasses import replace

from tidelog.language import check
from tidelog.language.syntax import Constant, Program
from tidelog.rules.compile import compile_program
from tidelog.rules.demand import from_constants
from tidelog.rules.trees import walk


def with_automatic_demand(program: Program) -> Program:
    """Return the program with the qualifier `magic` on relations that need not be whole for its outputs. Raises
    ProgramError for a program that is wrong."""
    shown = {each.relation for each in program.directives if each.name in ("output", "printsize", "limitsize")}
    if not shown or not any(isinstance(part, Constant) for rule in program.rules for part in walk(rule.body)):
        return program
    checked = check(program)
    qualified = {name for name, relation in checked.relations.items() if {"magic", "no_magic"} & {*relation.qualifiers}}
    core = compile_program(checked, as_written=True)
    chosen = from_constants(core.nodes, frozenset(checked.relations) - shown - qualified, core.relations)
    declarations = tuple(
        replace(each, qualifiers=(*each.qualifiers, "magic")) if each.name in chosen else each
        for each in program.declarations
    )
    return replace(program, declarations=declarations)
