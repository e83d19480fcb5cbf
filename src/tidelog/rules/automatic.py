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

from tidelog.errors import Problem
from tidelog.language import check
from tidelog.language.syntax import CheckedProgram, Constant, Program
from tidelog.language.trees import walk
from tidelog.rules.compile import compile_program
from tidelog.rules.core import CoreProgram
from tidelog.rules.demand import worth_demand
from tidelog.rules.lints import warnings


@dataclass(frozen=True)
class AutomaticDemand:
    """A program of which only the outputs are read, and the relations that it needs on demand only."""

    program: Program

    @cached_property
    def from_constants(self) -> frozenset[str]:
        """The relations that need not be whole for the outputs, by the constants in the program. Raise ProgramError for
        a program that is wrong."""
        has_constants = any(isinstance(part, Constant) for rule in self.program.rules for part in walk(rule.body))
        return self._choose_relations(MappingProxyType({})) if self._output_relations and has_constants else frozenset()

    def by_sizes(self, sizes: Mapping[str, int]) -> frozenset[str]:
        """Return the relations of `from_constants`, and those where demand begins with few tuples, by the `sizes` of
        relations that have been read."""
        derived = {head.relation for rule in self.program.rules for head in rule.heads if rule.body}
        given = {name: size for name, size in sizes.items() if name not in derived}
        return self._choose_relations(given) if self._output_relations and given else self.from_constants

    def with_magic_qualifier(self, relations: frozenset[str]) -> Program:
        """Return the program with the qualifier `magic` on these relations."""
        declarations = tuple(
            replace(each, qualifiers=(*each.qualifiers, "magic")) if each.name in relations else each
            for each in self.program.declarations
        )
        return replace(self.program, declarations=declarations) if relations else self.program

    @cached_property
    def _output_relations(self) -> set[str]:
        return {each.relation for each in self.program.directives if each.name in ("output", "printsize", "limitsize")}

    @cached_property
    def as_written(self) -> tuple[CheckedProgram, CoreProgram]:
        """The program, checked and compiled without demand. Raise ProgramError."""
        checked = check(self.program)
        return checked, compile_program(checked, as_written=True)

    @cached_property
    def warnings(self) -> list[Problem]:
        """The warnings about the program as it is written. Raise ProgramError."""
        return warnings(*self.as_written)

    def _choose_relations(self, sizes: Mapping[str, int]) -> frozenset[str]:
        checked, core = self.as_written
        qualified = {name for name, x in checked.relations.items() if {"magic", "no_magic"} & {*x.qualifiers}}
        wanted = frozenset(checked.relations) - self._output_relations - qualified
        return frozenset(worth_demand(core.nodes, wanted, core.relations, sizes))
