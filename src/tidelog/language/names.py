"""Names that a rule uses: each relation is declared and gets as many arguments as its declaration has; paths fit."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from tidelog.common.source import Span
from tidelog.errors import Problem
from tidelog.language.declarations import Scheme, did_you_mean
from tidelog.language.kinds import argument_kinds
from tidelog.language.paths import steps, type_path
from tidelog.language.problems import how_many, note
from tidelog.language.syntax import Atom, Path, Rule, Variable
from tidelog.language.trees import atoms, whole

OPEN = "…"
"""Stands in a hint for a type that nothing says."""


def name_problems(rule: Rule, scheme: Scheme) -> list[Problem]:
    """Return problems for undeclared relations, each once for a rule, and for wrong numbers of arguments."""
    problems: list[Problem] = []
    unknown: set[str] = set()
    for atom in atoms(whole(rule)):
        if atom.path is not None:
            problems += _path_problems(atom, atom.path, scheme, unknown)
            continue
        relation = scheme.relations.get(atom.relation)
        if relation is None:
            if atom.relation not in unknown:
                unknown.add(atom.relation)
                columns = ", ".join(_columns(atom, rule, scheme))
                problems.append(unknown_relation(atom.relation, _name_span(atom), scheme, columns))
        elif len(relation.columns) != len(atom.args):
            message = f"`{atom.relation}` takes {how_many(len(relation.columns), 'argument')}, found {len(atom.args)}"
            hint = f"write {relation.name}({', '.join(column.name for column in relation.columns)})"
            problems.append(Problem("E0208", message, atom.span, note(relation.span, "declared here"), hint))
    return problems


def _path_problems(atom: Atom, path: Path, scheme: Scheme, unknown: set[str]) -> list[Problem]:
    """Return the problems of the relations, the types and the number of arguments of an atom with a path."""
    problems: list[Problem] = []
    for step in steps(path):
        if step.relation not in scheme.relations and step.relation not in unknown:
            unknown.add(step.relation)
            problems.append(unknown_relation(step.relation, step.span, scheme, f"x: {OPEN}, y: {OPEN}"))
    type_path(path, scheme, problems)
    if len(atom.args) != 2:
        hint = f"write `{atom.relation}(x, y)`, with `_` where any value will do"
        problems.append(Problem("E0208", f"a path takes 2 arguments, found {len(atom.args)}", atom.span, hint=hint))
    return problems


def unknown_relation(name: str, span: Span | None, scheme: Scheme, columns: str | None = None) -> Problem:
    hint = did_you_mean(name, scheme.relations) or _declaration_hint(name, scheme, columns)
    return Problem("E0201", f"the relation `{name}` is not declared", span, hint=hint)


def _declaration_hint(name: str, scheme: Scheme, columns: str | None) -> str:
    """Return the hint that says how to declare a relation, of these columns if they are known."""
    instance, _, own = name.rpartition(".")
    if instance and any(f".{instance}." in f".{each}" for each in scheme.relations):
        return f"declare `{own}` in the component of the instance `{instance}`"
    if instance:
        return f"initialise a component that declares `{own}`: `.init {instance} = …`"
    if columns is None:
        return "declare it with `.decl`"
    types = f", with a type for each {OPEN}" if OPEN in columns else ""
    return f"declare it{types}: `.decl {name}({columns})`"


def _columns(atom: Atom, rule: Rule, scheme: Scheme) -> list[str]:
    """Return columns for an undeclared relation, named by the variables of an atom, with the types that its rule gives
    them."""
    names = [term.name if isinstance(term, Variable) else "" for term in atom.args]
    found: list[str] = []
    for position, kind in enumerate(argument_kinds(atom, rule, scheme)):
        name = names[position]
        types = set(_types(name, rule, scheme)) if name else set()
        shown = types.pop() if len(types) == 1 else kind
        if not name or names.index(name) < position:
            name = next(each for number in count(position + 1) if (each := f"x{number}") not in names)
        found.append(f"{name}: {shown or OPEN}")
    return found


def _types(variable: str, rule: Rule, scheme: Scheme) -> Iterator[str]:
    """Yield the declared types of the columns in which a rule has a variable: subtypes have the kinds of others."""
    for atom in atoms(whole(rule)):
        relation = scheme.relations.get(atom.relation)
        if atom.path is None and relation is not None and len(relation.columns) == len(atom.args):
            pairs = zip(atom.args, relation.columns, strict=True)
            yield from (column.type for term, column in pairs if isinstance(term, Variable) and term.name == variable)


def _name_span(atom: Atom) -> Span | None:
    if atom.span is None:
        return None
    return Span(atom.span.source, atom.span.start, min(atom.span.end, atom.span.start + len(atom.relation)))
