"""Automatic demand, for programs of which only the outputs are read.

`q(y) :- sg(7, y).` needs the same generation of one node. When only `q` is an output, `sg` is derived on demand as if
it had the qualifier `magic`. Only the evaluation shows how far demand spreads. So it is done where it can save a whole
recursion and begins with little (`worth_demand`): with constants that the program names, or, once facts have been read,
with a relation that has a tenth of the tuples that the recursion goes over. Where it spreads to everything all the
same, it costs one more atom in each rule, and no more tuples than the relation has.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType

from tidelog.language import check
from tidelog.language.syntax import CheckedProgram, Constant, Program
from tidelog.language.trees import walk
from tidelog.rules.compile import compile_program
from tidelog.rules.core import CoreProgram
from tidelog.rules.demand import worth_demand


@dataclass(frozen=True)
class AutomaticDemand:
    """A program of which only the outputs are read, and its form with demand."""

    program: Program

    def from_constants(self) -> Program:
        """Return the program with the qualifier `magic` on relations that need not be whole for its outputs, by the
        constants in it. Raise ProgramError for a program that is wrong."""
        has_constants = any(isinstance(part, Constant) for rule in self.program.rules for part in walk(rule.body))
        return self._qualified(MappingProxyType({})) if self._shown and has_constants else self.program

    def by_sizes(self, sizes: Mapping[str, int]) -> Program:
        """Return the program of `from_constants`, with the qualifier also where demand begins with few tuples, by the
        `sizes` of relations that have been read."""
        derived = {head.relation for rule in self.program.rules for head in rule.heads if rule.body}
        given = {name: size for name, size in sizes.items() if name not in derived}
        return self._qualified(given) if self._shown and given else self.from_constants()

    @cached_property
    def _shown(self) -> set[str]:
        return {each.relation for each in self.program.directives if each.name in ("output", "printsize", "limitsize")}

    @cached_property
    def _compiled(self) -> tuple[CheckedProgram, CoreProgram]:
        checked = check(self.program)
        return checked, compile_program(checked, as_written=True)

    def _qualified(self, sizes: Mapping[str, int]) -> Program:
        checked, core = self._compiled
        qualified = {name for name, x in checked.relations.items() if {"magic", "no_magic"} & {*x.qualifiers}}
        wanted = frozenset(checked.relations) - self._shown - qualified
        chosen = worth_demand(core.nodes, wanted, core.relations, sizes)
        declarations = tuple(
            replace(each, qualifiers=(*each.qualifiers, "magic")) if each.name in chosen else each
            for each in self.program.declarations
        )
        return replace(self.program, declarations=declarations)
