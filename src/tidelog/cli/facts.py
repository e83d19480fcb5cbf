"""Facts that commands read: from the files of `.input`, and as arguments such as `edge=new.csv` and `edge("a", 3)`.

A file that an argument names is read with the options of the relation's `.input`. Options in the argument override
these: `edge(delimiter=";")=new.csv`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tidelog.cli.explain import goal_of
from tidelog.cli.shared import QUOTES
from tidelog.errors import DataError, Problem, UsageError
from tidelog.limits.progress import step_of

if TYPE_CHECKING:
    from tidelog.common.arrays import Words
    from tidelog.common.source import Span
    from tidelog.database.database import Database
    from tidelog.io.options import GivenOptions
    from tidelog.language.syntax import Directive, RelationType
    from tidelog.spark import SparkDatabase
    from tidelog.storage.dictionary import Dictionary

FACTS = re.compile(
    r"""\s*(?:(?P<relation>[^\s=("-][^\s=("]*)\s*(?P<options>\((?:[^"()]|"[^"]*")*\))?=(?P<file>.+)"""
    r"""|(?P<fact>[^\s=("-][^\s=("]*\s*\(.*\))[\s.]*)""",
    re.DOTALL,
)
"""REL=FILE, REL(OPTIONS)=FILE, or one fact."""

_LOOKED_AT = 100


@dataclass(frozen=True)
class FactsArgument:
    """Facts to insert or to delete: the `file` of a relation, read with `options` such as `(headers=true)`, or the
    `text` of one fact."""

    text: str
    relation: str = ""
    options: str = ""
    file: str | None = None

    @classmethod
    def of(cls, text: str) -> FactsArgument:
        """Return the facts that a text names. Raise UsageError (E0603) if it names none."""
        found = FACTS.fullmatch(text)
        if found is None:
            message = f"expected a fact such as 'edge(1, 2)', or REL=FILE, found '{text}'"
            hint = 'write +FACTS to assert and -FACTS to retract, a fact in quotes: +\'edge("a", "b")\''
            raise UsageError(Problem("E0603", message, hint=hint))
        return cls(found["fact"] or "", found["relation"] or "", found["options"] or "", found["file"])

    def insert_into(self, db: Database) -> None:
        """Assert the facts. Raise DataError for a file that is missing or wrong, UsageError (E0601) for an unknown
        relation, ProgramError or UsageError (E0673) for a text that is no fact."""
        if self.file is None:
            relation, values = goal_of(self.text, db)
            db.insert(relation, [values])
        else:
            db.insert_words(self.relation, _words(db, self.relation, self.options, self.file))

    def delete_from(self, db: Database) -> None:
        """Retract the facts, of a text those that match its atom. Raise as `insert_into`."""
        if self.file is None:
            db.delete(self.text)
        else:
            db.delete_words(self.relation, _words(db, self.relation, self.options, self.file))


def _words(db: Database, name: str, options: str, file: str) -> Words:
    """Return the facts of a file."""
    from tidelog.io import read_facts
    from tidelog.language import read
    from tidelog.language.directives import unknown_options

    relation = db.program.relations[db[name].name]
    own: GivenOptions = {}
    if options:
        (directive,) = read(f".input {relation.name}{options}\n", name=f"{name}{options}").directives
        for problem in unknown_options([directive]):
            raise DataError(replace(problem, code="E0413", severity="error"))
        own = directive.options
    found = declared_options(db, relation.name, file, own)
    words = read_facts(found, Path(), relation, db.dictionary)
    _warn_of_quotes(found, relation, words, db.dictionary, None)
    return words


def declared_options(db: Database, name: str, file: str, own: GivenOptions | None = None) -> GivenOptions:
    """Return the options to read a file of a relation with, see `options_for_file`."""
    from tidelog.io import options_for_file

    declared = [each.options for each in inputs_of(db.program.directives) if each.relation == name]
    return options_for_file(file, own or {}, declared, name)


def inputs_of(directives: Iterable[Directive]) -> list[Directive]:
    """Return the `.input` directives, in the order of the text."""
    return [directive for directive in directives if directive.name == "input"]


def read_inputs(
    db: Database | SparkDatabase,
    folder: Path,
    inputs: list[Directive],
    needed: Collection[str] | None = None,
    *,
    warns: bool = True,
) -> None:
    """Insert the facts of `.input` directives; print warnings (E0417), unless `warns` is False. Raise DataError for a
    file that cannot be read.

    The file of a relation that is not in `needed` may be missing, as for Soufflé.
    """
    from tidelog.io import read_facts

    _check_standard_input(inputs)
    for number, directive in enumerate(inputs):
        relation = db.program.relations[directive.relation]
        try:
            with step_of(f"reading {relation.name}", number, len(inputs)):
                words = read_facts(directive.options, folder, relation, db.dictionary, directive.span)
        except DataError as error:
            if error.code == "E0410" and needed is not None and directive.relation not in needed:
                continue
            raise
        if warns:
            _warn_of_quotes(directive.options, relation, words, db.dictionary, directive.span)
        db.insert_words(directive.relation, words)


def _warn_of_quotes(
    options: GivenOptions, relation: RelationType, words: Words, dictionary: Dictionary, span: Span | None
) -> None:
    """Print a warning (E0417) if all symbols of a column of a plain text are in quotes, as far as its first rows
    say."""
    from tidelog.io.options import FileOptions

    wanted = FileOptions.of(options)
    if wanted.rfc4180 or wanted.io not in (None, "file", "stdin") or not len(words):
        return
    for position, column in enumerate(relation.columns):
        texts = dictionary.decode_list(words[:_LOOKED_AT, position], column.kind) if column.kind == "symbol" else [""]
        if all(len(text) > 1 and text[0] == text[-1] == '"' for text in map(str, texts)):
            message = f"the values of {relation.name} keep the quotes around them in column {column.name}"
            hint = "add rfc4180=true to `.input`, unless the quotes are a part of the values"
            print(Problem(QUOTES, message, span=span, hint=hint, severity="warning"), file=sys.stderr)
            return


def _check_standard_input(inputs: list[Directive]) -> None:
    """Raise DataError (E0413) if several relations read the standard input, which the first one would read to its
    end."""
    reading = [directive for directive in inputs if directive.options.get("IO") == "stdin"]
    if len(reading) > 1:
        first, second = reading[:2]
        message = f"`{first.relation}` and `{second.relation}` both read the standard input"
        notes = ((first.span, f"`{first.relation}` reads it to its end"),) if first.span is not None else ()
        hint = 'read all but one from files, such as `filename="/dev/fd/3"`'
        raise DataError(Problem("E0413", message, second.span, notes, hint))
