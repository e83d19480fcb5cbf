"""Patterns of facts to retract: one atom of a relation, over constants, `_`, variables and parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tidelog.errors import Problem, UsageError, quote
from tidelog.language.syntax import Variable
from tidelog.queries.meanings import check_text, parsed
from tidelog.queries.parameters import check_names, checked_value
from tidelog.queries.pattern import Pattern, atom_of, matching
from tidelog.workspace.workspace import Workspace


def deletion(text: str, values: Mapping[str, object], workspace: Workspace[Any]) -> Pattern:
    """Return the pattern of the facts to retract, with values for its parameters. Raise ProgramError, UsageError
    (E0611 to E0613), or DataError for a wrong value."""
    check_text(text)
    atom = atom_of(parsed(text))
    if atom is None or atom.path is not None:
        message = f"expected one atom of a relation as the pattern of facts to delete, found {quote(text)}"
        hint = 'write for example db.delete("edge(1, _)"), or db.delete("edge", db.query(…)) for a query'
        raise UsageError(Problem("E0613", message, hint=hint))
    names = [term.name if isinstance(term, Variable) else None for term in atom.args]
    check_names(values, [name for name in names if name is not None])
    pattern = matching(atom, workspace.programs)
    kinds = zip(names, workspace.with_tuples(pattern.relation).columns, strict=True)
    given = tuple(
        (place, checked_value(values[name], replace(column, name=name), workspace.dictionary))
        for place, (name, column) in enumerate(kinds)
        if name is not None and name in values
    )
    return replace(pattern, constants=(*pattern.constants, *given))
