"""Names that a rule uses: each relation is declared and gets as many arguments as its declaration has; paths fit."""

from __future__ import annotations

from tidelog.errors import Problem
from tidelog.language.declarations import Scheme, did_you_mean
from tidelog.language.paths import steps, typed
from tidelog.language.syntax import Atom, Path, Rule
from tidelog.language.trees import atoms, whole
from tidelog.source import Span


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
                problems.append(unknown_relation(atom.relation, _name_span(atom), scheme, len(atom.args)))
        elif len(relation.columns) != len(atom.args):
            message = f"`{atom.relation}` takes {_arguments(len(relation.columns))}, found {len(atom.args)}"
            notes = ((relation.span, "declared here"),) if relation.span else ()
            problems.append(Problem("E0208", message, atom.span, notes))
    return problems


def _path_problems(atom: Atom, path: Path, scheme: Scheme, unknown: set[str]) -> list[Problem]:
    """Return the problems of the relations, the types and the number of arguments of an atom with a path."""
    problems: list[Problem] = []
    for step in steps(path):
        if step.relation not in scheme.relations and step.relation not in unknown:
            unknown.add(step.relation)
            problems.append(unknown_relation(step.relation, step.span, scheme, 2))
    typed(path, scheme, problems)
    if len(atom.args) != 2:
        hint = f"write `{atom.relation}(x, y)`, with `_` where any value will do"
        problems.append(Problem("E0208", f"a path takes 2 arguments, found {len(atom.args)}", atom.span, hint=hint))
    return problems


def unknown_relation(name: str, span: Span | None, scheme: Scheme, arity: int | None = None) -> Problem:
    hint = did_you_mean(name, scheme.relations) or _declaring(name, scheme, arity)
    return Problem("E0201", f"the relation `{name}` is not declared", span, hint=hint)


def _declaring(name: str, scheme: Scheme, arity: int | None) -> str:
    """Return the hint that says how to declare a relation."""
    instance, _, own = name.rpartition(".")
    if instance and any(f".{instance}." in f".{each}" for each in scheme.relations):
        return f"declare `{own}` in the component of the instance `{instance}`"
    if instance:
        return f"initialise a component that declares `{own}`: `.init {instance} = …`"
    if arity is None:
        return "declare it with `.decl`"
    columns = ", ".join(f"x{i + 1}: symbol" for i in range(arity)) if arity <= 4 else "…"
    return f"declare it, for example `.decl {name}({columns})`"


def _name_span(atom: Atom) -> Span | None:
    if atom.span is None:
        return None
    return Span(atom.span.source, atom.span.start, min(atom.span.end, atom.span.start + len(atom.relation)))


def _arguments(number: int) -> str:
    return "1 argument" if number == 1 else f"{number} arguments"
