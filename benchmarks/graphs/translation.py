"""A query as a program with path literals, and the same query for engines that have none.

`plan` takes the unused variables out of a conjunction one by one, so that their joins are projected at once: a view for
each such variable, of the one or two variables that it meets. Every engine gets the same views. `program` writes paths
as path literals; `definitions` spells paths out as steps and closures, from which `benchmarks.graphs.peers` makes SQL
and rules for Nemo.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from benchmarks.graphs.gmark import Path, Query, Step

ANSWER = "answer"
NODE = "node"
_WIDEST = 2
"""A variable that meets more variables than this stays where it is."""


@dataclass(frozen=True)
class Atom:
    """A view or a path, with variables."""

    of: str | Path
    variables: tuple[str, ...]


@dataclass(frozen=True)
class View:
    """A rule of a plan; views of the same name make a union."""

    name: str
    variables: tuple[str, ...]
    body: tuple[Atom, ...]


def plan(query: Query) -> list[View]:
    """Return the views of a query, each behind those that it reads; the last ones are `answer`."""
    views: list[View] = []
    for body in query.bodies:
        atoms = [Atom(conjunct.path, (conjunct.source, conjunct.target)) for conjunct in body]
        kept = set(query.head)
        while True:
            found = min(_eliminable(atoms, kept), default=None)
            if found is None:
                break
            _, variable, others = found
            meeting = [atom for atom in atoms if variable in atom.variables]
            view = View(f"part{len(views)}", others, tuple(meeting))
            views.append(view)
            atoms = [atom for atom in atoms if atom not in meeting] + [Atom(view.name, others)]
        views.append(View(ANSWER, query.head, tuple(atoms)))
    return [*(v for v in views if v.name != ANSWER), *(v for v in views if v.name == ANSWER)]


def _eliminable(atoms: Sequence[Atom], kept: set[str]) -> Iterator[tuple[int, str, tuple[str, ...]]]:
    """Yield variables that are not kept with the others that they meet, as (how many, which, those)."""
    for variable in {v for atom in atoms for v in atom.variables} - kept:
        others = {v for atom in atoms if variable in atom.variables for v in atom.variables} - {variable}
        if len(others) <= _WIDEST:
            yield len(others), variable, tuple(sorted(others))


def program(query: Query, symbols: Iterable[str]) -> str:
    """Return the query in tidelog's language, over all the symbols of its schema: a star ranges over their nodes."""
    views = plan(query)
    lines = [f".decl {name}(x: number, y: number)" for name in symbols]
    for name, variables in {view.name: view.variables for view in views}.items():
        lines.append(f".decl {name}({', '.join(f'x{i}: number' for i in range(len(variables)))})")
    for view in views:
        body = ", ".join(f"{_literal(atom.of)}({', '.join(atom.variables)})" for atom in view.body)
        lines.append(f"{view.name}({', '.join(view.variables)}) :- {body}.")
    return "\n".join(lines) + "\n"


def _literal(of: str | Path) -> str:
    """Return the text before the arguments of an atom of a view or a path."""
    return of if isinstance(of, str) else f"<{path_text(of)}>"


def path_text(path: Path) -> str:
    """Return a path in tidelog's syntax, without the brackets around it."""
    words = "|".join("/".join(_step_text(step) for step in word) for word in path.words)
    return f"({words})*" if path.star else words


def _step_text(step: Step) -> str:
    return f"^{step.symbol}" if step.inverse else step.symbol


# --- without path literals --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Definition:
    """A relation of the peers: conjunctive rules for it or, if it is a `closure`, the relation of that name to close.
    `arguments` of an atom are variables."""

    name: str
    variables: tuple[str, ...]
    bodies: tuple[tuple[tuple[str, tuple[str, ...]], ...], ...]
    closure: str | None = None


def definitions(query: Query, symbols: Iterable[str]) -> list[Definition]:
    """Return the relations of a query, each behind those that it reads: the nodes, paths, closures, the views of
    `plan`."""
    views = plan(query)
    paths = list(dict.fromkeys(atom.of for view in views for atom in view.body if isinstance(atom.of, Path)))
    names = {path: f"path{i}" for i, path in enumerate(paths)}
    found: list[Definition] = []
    if any(path.star for path in paths):
        ends = [(name, ends) for name in symbols for ends in (("x", "y"), ("y", "x"))]
        found.append(Definition(NODE, ("x",), tuple((end,) for end in ends)))
    for path, name in names.items():
        bodies = tuple(tuple(_joined(word)) for word in path.words)
        if path.star:
            found.append(Definition(f"{name}_step", ("x", "y"), bodies))
            found.append(Definition(name, ("x", "y"), (), closure=f"{name}_step"))
        else:
            found.append(Definition(name, ("x", "y"), bodies))
    for name in dict.fromkeys(view.name for view in views):
        same = [view for view in views if view.name == name]
        bodies = tuple(
            tuple((atom.of if isinstance(atom.of, str) else names[atom.of], atom.variables) for atom in view.body)
            for view in same
        )
        found.append(Definition(name, same[0].variables, bodies))
    return found


def _joined(word: Sequence[Step]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the steps of a word from x to y."""
    for i, step in enumerate(word):
        first = "x" if i == 0 else f"z{i}"
        last = "y" if i == len(word) - 1 else f"z{i + 1}"
        yield step.symbol, (last, first) if step.inverse else (first, last)
