"""`connect`: a store with rule sets and programs, in memory or in a folder."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from types import NoneType
from typing import Any, Literal, TypeAlias, overload

from tidelog.durable.files import Files
from tidelog.errors import Problem, UsageError, quote, wrong_argument
from tidelog.limits.watch import WithinMemory
from tidelog.rdf.graphwise import GRAPH_BY_GRAPH, UNION, GraphwiseStore, refuse
from tidelog.rdf.state import NOTE, LastingState
from tidelog.rdf.store import Store
from tidelog.rdf.tables import RULE_SETS, table

Rules: TypeAlias = str | os.PathLike[str]
_OPENING = WithinMemory("the folder is as it was; open it on a machine with more memory")
_PROGRAM = re.compile(r":-|^\s*(?:\.(?:decl|type|comp|include|input)|@prefix)\b|\.(?:dl|n3)$", re.MULTILINE)
"""In no sensible name of a folder, but in most programs and their paths."""


@overload
def connect(folder: str | os.PathLike[str] | None = None, rules: Rules | Sequence[Rules] | None = None) -> Store: ...
@overload
def connect(
    folder: str | os.PathLike[str] | None = None,
    rules: Rules | Sequence[Rules] | None = None,
    *,
    inference: Literal["graph"],
) -> GraphwiseStore: ...
@overload
def connect(
    folder: str | os.PathLike[str] | None = None,
    rules: Rules | Sequence[Rules] | None = None,
    *,
    inference: str | None,
) -> Store: ...


def connect(
    folder: str | os.PathLike[str] | None = None,
    rules: Rules | Sequence[Rules] | None = None,
    *,
    inference: str | None = None,
) -> Store:
    """Return a new, empty store in memory; with a `folder`, the store in that folder, which is made if need be, see
    docs/how-to/stores.md.

    `rules` are "owl-rl", "rdfs", "datatypes" (literals of one value are the same), "axioms" (the axiomatic triples of
    RDF and RDFS), a program (text or a path, see `Store.load`), several of these, or none. A store in a folder keeps
    its rules: leave them out from then on, or pass the same ones.

    `inference` is "union", the default: rules see all graphs as one; or "graph": what follows in a named graph follows
    from it and the default graph, and is in that graph, see `GraphwiseStore`. A store in a folder keeps it, too.

    Raise UsageError (E0610) for rules in place of a folder, (E0662) for an unknown name, (E0603) for other inferences,
    (E0679) for programs with inferences per graph, (E0657) for other rules or inferences than those of the folder,
    (E0680, E0681) for a folder that another process has or that cannot be used; DataError (E0682) for a damaged one;
    ProgramError for a wrong program; LimitError (E0503).
    """
    given: list[Any] = [] if rules is None else list(rules) if isinstance(rules, (list, tuple)) else [rules]
    sets = [each for each in given if isinstance(each, str) and each in RULE_SETS]
    programs = [each for each in given if not (isinstance(each, str) and each in RULE_SETS)]
    for each in programs:
        if not isinstance(each, (str, os.PathLike)) or not str(each).strip() or _is_name(str(each)):
            hint = f"pass {', '.join(RULE_SETS)}, the text of a program, or the path of one"
            raise UsageError(Problem("E0662", f"unknown rules {quote(each)}", hint=hint))
    if not isinstance(inference, (str, NoneType)) or inference not in (None, UNION, GRAPH_BY_GRAPH):
        hint = f'pass "{UNION}" or "{GRAPH_BY_GRAPH}"'
        raise UsageError(Problem("E0603", f"unknown inference {quote(inference)}", hint=hint))
    if inference == GRAPH_BY_GRAPH and programs:
        refuse("a program", f"pass {', '.join(RULE_SETS)}")
    if folder is None:
        return GraphwiseStore(_tables(sets)) if inference == GRAPH_BY_GRAPH else Store(_tables(sets), programs)
    if not isinstance(folder, (str, os.PathLike)) or not os.fspath(folder):
        raise wrong_argument("a store", "the path of a folder", folder)
    if is_rules(folder):
        hint = "write connect(rules=…) for a store in memory, and connect(folder, rules=…) for one that lasts"
        raise UsageError(Problem("E0610", "connect takes a folder first, and these are rules", hint=hint))
    return open_store(folder, sets, programs, rules is None, inference=inference)


def is_rules(value: object) -> bool:
    """Return True for the name of a rule set, and for a text that looks like a program or the path of one."""
    text = os.fspath(value) if isinstance(value, (str, os.PathLike)) else ""
    return text in RULE_SETS or _PROGRAM.search(text) is not None


@_OPENING
def open_store(
    folder: Rules,
    sets: Sequence[str],
    programs: Sequence[Rules],
    is_open: bool,
    files: Files | None = None,
    inference: str | None = None,
) -> Store:
    """Return the store in a folder, with any rules if `is_open`, and any inferences for None; `files` are those of a
    simulated disk."""
    from tidelog.store import GroupKeeper

    keeper = GroupKeeper(folder, files=files)
    try:
        given = {"sets": sorted(set(sets)), "programs": [] if is_open else sorted(map(_digest, programs))}
        note = keeper.notes.get(NOTE)
        if note is not None:
            known = note.get("inference", UNION)
            if inference not in (None, known):
                raise UsageError(_other_inferences(keeper.state.address, known, str(inference)))
            inference = known
            kept = {key: note[key] for key in given}
            if not is_open and kept != given:
                raise UsageError(_other_rules(keeper.state.address, kept, given))
            given, programs = kept, ()
        lasting = LastingState(keeper, {**given, "inference": inference or UNION})
        if inference == GRAPH_BY_GRAPH:
            return GraphwiseStore(_tables(given["sets"]), lasting)
        return Store(_tables(given["sets"]), programs, lasting)
    except BaseException:
        keeper.close()
        raise


def _tables(sets: Sequence[str]) -> dict[Any, None]:
    """Return the rules of sets, in the order of RULE_SETS."""
    return {rule: None for name in RULE_SETS if name in sets for rule in table(name)}


def _digest(program: Rules) -> str:
    """Return a checksum of a program: of the text, or of the file."""
    is_path = isinstance(program, os.PathLike) or ("\n" not in program and program.endswith((".dl", ".n3")))
    try:
        text = Path(program).read_bytes() if is_path else str(program).encode("utf-8", "surrogatepass")
    except (OSError, ValueError):  # `Store.load` says what is wrong with it, or with its path.
        text = b""
    return sha256(text).hexdigest()


def _other_rules(folder: str, kept: Mapping[str, Sequence[str]], given: Mapping[str, Sequence[str]]) -> Problem:
    """Return the problem of rules that are not those of a folder."""
    if kept["sets"] == given["sets"]:
        hint = "leave `rules` out; add and remove rules of programs by store.rules"
        return Problem("E0657", "the store was made with other programs than these", place=folder, hint=hint)
    was, wanted = (", ".join(each["sets"]) or "no rule set" for each in (kept, given))
    hint = "leave `rules` out, or give another folder, and load the triples there"
    return Problem("E0657", f"the store was made with {was}, not with {wanted}", place=folder, hint=hint)


def _other_inferences(folder: str, kept: str, given: str) -> Problem:
    """Return the problem of inferences that are not those of a folder."""
    hint = "leave `inference` out, or give another folder, and load the quads there"
    return Problem("E0657", f'the store was made with inference="{kept}", not "{given}"', place=folder, hint=hint)


def _is_name(text: str) -> bool:
    """Return True if a text is the misspelled name of a rule set and not a program."""
    return not text.endswith(".dl") and all(character.isalnum() or character in "-_ " for character in text)
