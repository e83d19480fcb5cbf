"""The locations of all relations, from the marks `@` of declarations and atoms.

A mark in the declaration settles the location; without one, the marks of the atoms do, and they have to agree. Atoms
need no mark if the declaration has one. A relation without any mark is one that every node has for itself: its facts
stand in the program, and its rules read no others.

Rewrites make auxiliary relations. Such a relation lives with most of the relations that derive it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set

from tidelog.common.source import Span
from tidelog.errors import Problem, ProgramError
from tidelog.language.syntax import CheckedProgram
from tidelog.language.trees import atoms
from tidelog.network.program import LOCATABLE, RelationLocation
from tidelog.rules import core


def declared_locations(checked: CheckedProgram) -> dict[str, int | None]:
    """Return the location of each relation of a program. Raise ProgramError if marks disagree (E0310), if a value
    cannot name a node (E0311), and if nothing is located at all (E0312)."""
    found: dict[str, int | None] = {name: relation.location for name, relation in checked.relations.items()}
    said: dict[str, Span | None] = {
        name: relation.span for name, relation in checked.relations.items() if relation.location is not None
    }
    problems = []
    for atom in (atom for rule in checked.rules for atom in atoms((*rule.heads, *rule.body))):
        if atom.location is None:
            continue
        before = found[atom.relation]
        if before is None:
            found[atom.relation], said[atom.relation] = atom.location, atom.span
        elif before != atom.location:
            columns = checked.relations[atom.relation].columns
            message = (
                f"the location of `{atom.relation}` is its column `{columns[before].name}`, "
                f"but this atom marks `{columns[atom.location].name}`"
            )
            span = said[atom.relation]
            notes = ((span, "the location is marked here"),) if span else ()
            problems.append(Problem("E0310", message, atom.span, notes, "mark the same column in every atom"))
    for name, location in found.items():
        column = checked.relations[name].columns[location] if location is not None else None
        if column is not None and column.kind not in LOCATABLE:
            message = f"`{name}` has the location `{column.name}`, but a {column.kind} cannot name a node"
            hint = "use a symbol, a number or an unsigned as location"
            problems.append(Problem("E0311", message, said[name], hint=hint))
    if problems:
        raise ProgramError(*problems)
    if all(location is None for location in found.values()):
        message = "no relation of the program has a location, so nodes cannot share the program"
        hint = "mark the argument that says where a tuple lives: `.decl link(@x: symbol, y: symbol)`"
        raise ProgramError(Problem("E0312", message, place="program", hint=hint))
    return found


def places(program: core.CoreProgram, declared: Mapping[str, int | None]) -> dict[str, RelationLocation]:
    """Return the place of every relation of a compiled program, auxiliary ones included."""
    found = {
        name: RelationLocation(name, info.columns, declared.get(name), info.auxiliary)
        for name, info in program.relations.items()
    }
    settled = {name for name, info in program.relations.items() if not info.auxiliary}
    rules = [rule for node in program.nodes for rule in node.rules]
    for rule in rules:
        if isinstance(rule, core.AggregateRule):
            location = _location({rule.outer, rule.inner}, rules, found, rule.groups)
            for name in (rule.outer, rule.inner, rule.head):
                found[name] = RelationLocation(name, found[name].columns, location, auxiliary=True)
                settled.add(name)
    for node in program.nodes:  # each node comes behind those that it reads
        for name in node.relations:
            if name not in settled:
                location = _location({name}, rules, found, len(found[name].columns))
                found[name] = RelationLocation(name, found[name].columns, location, auxiliary=True)
    return found


def _location(
    names: Set[str],
    rules: Sequence[core.CoreRule | core.AggregateRule],
    found: Mapping[str, RelationLocation],
    width: int,
) -> int | None:
    """Return the column, among the first `width`, that most often holds the location of an atom in the rules that
    derive auxiliary relations; else in those that read them. Return None if every node has all atoms that derive it."""
    votes: Counter[int] = Counter()
    located = False
    plain = [rule for rule in rules if isinstance(rule, core.CoreRule)]
    for rule in plain:
        if rule.head.relation in names:
            here = _locations_of(rule, found)
            located |= bool(here)
            votes.update(i for i, arg in enumerate(rule.head.args[:width]) if arg in here)
    if not located:
        return None
    for rule in plain if not votes else ():
        here = {*_locations_of(rule, found), *_location_of(rule.head, found)}
        for literal in rule.body:
            if isinstance(literal, core.CoreAtom) and literal.relation in names:
                votes.update(i for i, arg in enumerate(literal.args[:width]) if arg in here)
    if not votes:
        columns = found[min(names)].columns[:width]
        votes.update(i for i, column in enumerate(columns) if column.kind in LOCATABLE)
    return min(votes, key=lambda column: (-votes[column], column), default=None)


def _locations_of(rule: core.CoreRule, found: Mapping[str, RelationLocation]) -> set[core.CoreValue]:
    """Return the variables and constants that give the locations of a body's atoms."""
    return {
        value for literal in rule.body if isinstance(literal, core.CoreAtom) for value in _location_of(literal, found)
    }


def _location_of(atom: core.CoreAtom, found: Mapping[str, RelationLocation]) -> Iterable[core.CoreValue]:
    location = found[atom.relation].location
    return () if location is None else (atom.args[location],)
