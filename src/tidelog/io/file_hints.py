"""Hints about wrong values in files: for somebody who changes the file or the program, and calls nothing in Python."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from tidelog.errors import DataError
from tidelog.language.syntax import Column, RelationType
from tidelog.storage.dictionary import Dictionary

_FORMS = {"number": "a whole number", "unsigned": "a whole number from 0 on", "float": "a number", "symbol": "a text"}
_OTHERS = {"number": "float", "unsigned": "number", "float": "symbol", "symbol": "number"}
"""The types of a column that take more values, or those of the other sort."""
_OF_PYTHON = ("(…)", "pass ", "write a tuple", "write a row as a tuple", "value.")


@contextmanager
def hints_for_files(relation: RelationType, dictionary: Dictionary) -> Iterator[None]:
    """Raise the errors of the block about values of a relation with hints for files, where theirs speak of Python."""
    try:
        yield
    except DataError as error:
        problem = error.problems[0]
        if problem.hint is None or not any(each in problem.hint for each in _OF_PYTHON):
            raise
        name = (problem.place or "").rpartition(", column ")[2]
        column = next((each for each in relation.columns if each.name == name), None)
        names = ", ".join(each.name for each in relation.columns)
        by_position = " to go by position" if problem.code == "E0406" else ""
        hint = f"write each row as a list of {names}{by_position}, or as an object with these names"
        if column is not None:
            hint = f"write {_form(column, dictionary)}"
            hint += f", or declare {name} as {_OTHERS[column.kind]}" if column.kind in _OTHERS else ""
        raise DataError(replace(problem, hint=hint)) from None


def _form(column: Column, dictionary: Dictionary) -> str:
    """Return the form of the values of a column."""
    if column.kind in _FORMS:
        return _FORMS[column.kind]
    type_ = dictionary.types[column.kind]
    if not type_.branches:
        return f"[{', '.join(field.name for field in type_.fields)}], or null for nil"
    branches = (", ".join((f'["${each.name}"', *(field.name for field in each.fields))) for each in type_.branches)
    return " or ".join(f"{each}]" for each in branches)
