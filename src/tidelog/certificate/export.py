"""The certificate of the last committed epoch of a database, and its program as a text of its own."""

from __future__ import annotations

from collections.abc import Iterable

from tidelog.certificate.certificate import Certificate, Words
from tidelog.language.syntax import Program
from tidelog.maintain.engine import Engine


def certificate_of(engine: Engine) -> Certificate:
    """The certificate of an engine's state. A stratum is a hyper-node as it is maintained, 0 what no rule derives."""
    strata = dict.fromkeys(engine.program.relations, 0)
    for number, node in enumerate(engine.nodes, 1):
        strata |= {name: number for name in node.relations if name in strata}

    def facts(name: str) -> Words:
        return engine.asserted[name].words()

    def view(name: str) -> tuple[Words, Words]:
        return engine.views[name].words(), engine.births(name)

    return Certificate(engine.program, engine.dictionary, strata, facts, view, "the database")


def program_text(programs: Iterable[Program]) -> str:
    """Types, declarations and rules of loaded programs as one text; rules keep their names. Facts are left out, which
    are data of the certificate, and so are directives."""
    programs = tuple(programs)
    sections = (
        [node for program in programs for node in program.types],
        [node for program in programs for node in program.declarations],
        [rule for program in programs for rule in program.rules if rule.name is not None],  # facts have none
    )
    return "".join(f"{node}\n" for nodes in sections for node in nodes)
