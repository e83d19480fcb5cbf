"""The certificate of the last committed epoch of a database, and its program as a text of its own."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

import numpy

from tidelog.certificate.certificate import Certificate, certified
from tidelog.common.arrays import AnyWords
from tidelog.common.looking import Look, unlimited
from tidelog.language.syntax import CheckedProgram, Program
from tidelog.maintain.state import EngineState
from tidelog.rules import compile_program


def certificate_of(engine: EngineState, checked: CheckedProgram, look: Look = unlimited) -> Certificate:
    """Return the certificate of an engine's state, for the program that the engine should evaluate. Compile the program
    anew, and take only rows and births from the engine. Call `look` meanwhile and while the certificate is read; it may
    raise."""
    program = certified(compile_program(checked, look=look), engine.unsettled)

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


def program_text(programs: Iterable[Program], look: Look = unlimited) -> str:
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
