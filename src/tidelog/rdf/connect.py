"""`connect`: a new store with rule sets and programs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, TypeAlias

from tidelog.errors import Problem, UsageError
from tidelog.rdf.store import Store
from tidelog.rdf.tables import RULE_SETS, table

Rules: TypeAlias = str | os.PathLike[str]


def connect(rules: Rules | Sequence[Rules] | None = None) -> Store:
    """Return a new, empty store in memory with `rules`: "owl-rl", "rdfs", "datatypes" (literals of one value are the
    same), "axioms" (the axiomatic triples of RDF and RDFS), a program (text or a path, see `Store.load`), several of
    these, or none.

    Raise UsageError (E0662) for an unknown name, ProgramError for a wrong program.
    """
    given: list[Any] = [] if rules is None else list(rules) if isinstance(rules, (list, tuple)) else [rules]
    sets = [each for each in given if isinstance(each, str) and each in RULE_SETS]
    programs = [each for each in given if not (isinstance(each, str) and each in RULE_SETS)]
    for each in programs:
        if not isinstance(each, (str, os.PathLike)) or not str(each).strip() or _is_name(str(each)):
            hint = f"pass {', '.join(RULE_SETS)}, the text of a program, or the path of one"
            raise UsageError(Problem("E0662", f"unknown rules {each!r}", hint=hint))
    found = {rule: None for name in dict.fromkeys(sets) for rule in table(name)}
    return Store(found, programs)


def _is_name(text: str) -> bool:
    """Return True if a text is the misspelled name of a rule set and not a program."""
    return not text.endswith(".dl") and all(character.isalnum() or character in "-_ " for character in text)
