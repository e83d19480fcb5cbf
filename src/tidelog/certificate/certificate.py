"""A certificate: the program, the facts, the views, and a birth for every tuple; that of the last committed epoch of a
database, and its program as a text of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Literal, TypeAlias

import numpy

from tidelog.common.arrays import AnyWords
from tidelog.common.looking import Look, ignore_limits
from tidelog.language.counters import COUNTER
from tidelog.language.syntax import CheckedProgram, Program
from tidelog.maintain.state import EngineState
from tidelog.rules import compile_program
from tidelog.rules.core import AggregateRule, CoreProgram, CoreRule, HyperNode, NodeSelection, head_of
from tidelog.rules.graph import components
from tidelog.rules.selections import candidates_of
from tidelog.storage.dictionary import Dictionary

CertifiedRows: TypeAlias = tuple[AnyWords, AnyWords | None]
"""Rows of a relation; those of a view have a birth each."""


@dataclass(frozen=True)
class CertifiedProgram:
    """The program of views that are checked, what its words mean, and the origin of the views, for messages.

    `program` is compiled from the text for the check, never taken from where the views come from. All else that follows
    from the program is computed here: which relations are declared, the `rules`, and the `strata`.
    """

    program: CoreProgram
    dictionary: Dictionary
    place: str

    @cached_property
    def declared_relations(self) -> tuple[str, ...]:
        """The relations that the program declares; all others are intermediate results of its rules."""
        return tuple(name for name, info in self.program.relations.items() if not info.auxiliary)

    @cached_property
    def selects(self) -> dict[str, NodeSelection]:
        """The relations whose views have selected tuples of what their rules derive, with the selections."""
        return {each.shown: each for node in self.program.nodes for each in node.selects}

    @cached_property
    def rules(self) -> tuple[CoreRule | AggregateRule, ...]:
        """The rules of the program."""
        return tuple(rule for node in self.program.nodes for rule in node.rules)

    @property
    def trusted_functors(self) -> tuple[str, ...]:
        """The functors whose values the checker takes as given: those in Python, and counters."""
        return (*self.program.functors, *([COUNTER] if self.program.counters else []))

    @cached_property
    def strata(self) -> dict[str, int]:
        """The stratum of each relation: those that depend on each other share one, all others that a relation depends
        on have smaller ones."""
        reads: dict[str, dict[str, None]] = {name: {} for name in self.program.relations}
        for rule in self.rules:
            reads[head_of(rule)] |= dict.fromkeys(name for name, _ in rule.reads)
        return {name: number for number, group in enumerate(components(reads)) for name in group}


@dataclass(frozen=True)
class Certificate(CertifiedProgram):
    """`facts(name)` are the asserted rows of a relation and `view(name)` its rows with a birth each (integers, shape
    (n,)); relations are called for one by one, so that not all of them have to be in memory at once."""

    facts: Callable[[str], AnyWords]
    """Called for declared relations only: no other relation has facts."""
    view: Callable[[str], tuple[AnyWords, AnyWords]]
    whole: tuple[str, ...] = ()
    """Relations whose selection is certified by all of their candidates, although their rules are monotone."""

    def parts(self, name: str, part: Literal["facts", "views"]) -> Iterator[CertifiedRows]:
        """Yield the facts of a relation, or its rows with their births."""
        yield self.view(name) if part == "views" else (self.facts(name), None)


@dataclass(frozen=True)
class PartedCertificate(CertifiedProgram):
    """A certificate whose rows come some at a time, to be written. `parts` and `whole` are those of a `Certificate`."""

    parts: Callable[[str, Literal["facts", "views"]], Iterator[CertifiedRows]]
    whole: tuple[str, ...] = ()


def drop_candidates(program: CoreProgram, whole: Iterable[str] = ()) -> CoreProgram:
    """Return the program whose views prove themselves: relations that select have no candidates, and rules derive them
    up to tuples that are dominated or not free, except for those of `whole` and those whose rules are not monotone."""
    nodes = tuple(
        _drop_node_candidates(node) if node.selects else node for node in program.nodes_to_evaluate(tuple(whole))
    )
    kept = {name for node in nodes for name in node.relations}
    shown = {each.shown for node in nodes for each in node.selects}
    removed = {name for node in program.nodes for name in node.relations} - kept
    removed |= {candidates_of(name) for name in shown}  # No rules derive those of facts only.
    return replace(
        program,
        relations={name: info for name, info in program.relations.items() if name not in removed},
        nodes=nodes,
        candidates={name: each for name, each in program.candidates.items() if each not in removed},
        dropping=(),
    )


def _drop_node_candidates(node: HyperNode) -> HyperNode:
    """Return a hyper-node whose rules derive shown relations themselves."""
    shown = {each.candidates: each.shown for each in node.selects}
    rules = tuple(
        replace(rule, head=replace(rule.head, relation=shown.get(rule.head.relation, rule.head.relation)))
        if isinstance(rule, CoreRule)
        else rule
        for rule in node.rules
    )
    return replace(node, relations=tuple(name for name in node.relations if name not in shown), rules=rules, whole=())


def certificate_of(engine: EngineState, checked: CheckedProgram, look: Look = ignore_limits) -> Certificate:
    """Return the certificate of an engine's state, for the program that the engine should evaluate. Compile the program
    anew, and take only rows and births from the engine. Call `look` meanwhile and while the certificate is read; it may
    raise."""
    program = drop_candidates(compile_program(checked, look=look), engine.unsettled)

    def facts(name: str) -> AnyWords:
        kept = engine.program.candidates.get(name, name)
        return engine.asserted[kept].words() if kept in engine.asserted else _none(name)

    def view(name: str) -> tuple[AnyWords, AnyWords]:
        if name not in engine.views:
            return _none(name), numpy.empty(0, numpy.int64)
        return engine.views[name].words(), engine.births(name, look)

    def _none(name: str) -> AnyWords:
        return numpy.empty((0, len(program.relations[name].columns)), numpy.int64)

    whole = tuple(sorted(engine.unsettled.keys() & program.relations.keys()))
    return Certificate(program, engine.dictionary, "the database", facts, view, whole)


def program_text(programs: Iterable[Program], look: Look = ignore_limits) -> str:
    """Return types, declarations and rules of loaded programs as one text; rules keep their names.

    Leave out directives, and facts, which are data of the certificate. Call `look` for each of them; it may raise.
    """
    programs = tuple(programs)
    sections = (
        [node for program in programs for node in program.types],
        [node for program in programs for node in program.functors],
        [node for program in programs for node in program.declarations],
        [rule for program in programs for rule in program.rules if rule.name is not None],  # facts have none
    )
    lines = []
    for node in chain.from_iterable(sections):
        look()
        lines.append(f"{node}\n")
    return "".join(lines)
