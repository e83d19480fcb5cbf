"""`tidelog explain STORE 'reach("a", "d")'`: print why a tuple holds, or with --not why it does not; what would end it
(--undo), or begin it (--repair)."""

from __future__ import annotations

import argparse
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tidelog.database import Database
    from tidelog.spark import SparkDatabase

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]


def add(commands: Commands) -> None:
    """Add the command `explain` to the parser."""
    from tidelog.cli.shared import add_functors, positive

    command = commands.add_parser("explain", help="say why a tuple holds", description=__doc__, allow_abbrev=False)
    command.add_argument("store", metavar="STORE", type=Path)
    command.add_argument("tuple", metavar="TUPLE", help='such as \'reach("a", "d")\'')
    sorts = command.add_mutually_exclusive_group()
    sorts.add_argument("--all", metavar="N", type=positive(int), help="print the N smallest proofs")
    sorts.add_argument("--not", dest="absence", action="store_true", help="say why the tuple does not hold")
    sorts.add_argument("--undo", metavar="N", type=positive(int), help="print N sets of facts that would end it")
    sorts.add_argument("--repair", metavar="N", type=positive(int), help="print N sets of facts that would begin it")
    forms = command.add_mutually_exclusive_group()
    forms.add_argument("--json", action="store_true", help="print the explanation, or the errors, as JSON")
    forms.add_argument("--html", metavar="FILE", type=Path, help="write a page that opens level by level")
    forms.add_argument("--dot", metavar="FILE", type=Path, help="write a text for Graphviz")
    add_functors(command)
    command.set_defaults(execute=execute)


def execute(arguments: argparse.Namespace) -> int:
    """Print or write the explanation."""
    from tidelog.cli.report import print_json
    from tidelog.cli.shared import existing, functors_of

    with existing(arguments.store, read_only=True, functors=functors_of(arguments)) as db:
        relation, values = goal_of(arguments.tuple, db)
        if arguments.html is not None or arguments.dot is not None:
            proof = db.explain(relation, values)
            path = arguments.html or arguments.dot
            path.write_text(proof.to_html() if arguments.html else proof.to_dot(), encoding="utf-8")
            print(path)
            return 0
        found, texts = _explanations(arguments, db, relation, values)
        if arguments.json:
            print_json({"ok": True, "store": arguments.store, "explanations": found})
        else:
            print("\n\n".join(texts) if texts else "nothing found")
    return 0


def _explanations(
    arguments: argparse.Namespace, db: Database, relation: str, values: tuple[Any, ...]
) -> tuple[list[Any], list[str]]:
    """Return what was asked for, as JSON has it and as texts."""
    from tidelog.explain.steps import Removal

    if arguments.absence:
        absence = db.why_not(relation, values)
        return [absence.to_dict()], [str(absence)]
    if arguments.undo or arguments.repair:
        sets = (
            islice(db.undo(relation, values), arguments.undo)
            if arguments.undo
            else map(Removal, islice(db.repair(relation, values), arguments.repair))
        )
        removals = list(sets)
        return [[[name, list(row)] for name, row in each.facts] for each in removals], [str(each) for each in removals]
    proofs = list(
        islice(db.explain(relation, values, all=True), arguments.all)
        if arguments.all
        else [db.explain(relation, values)]
    )
    return [proof.to_dict() for proof in proofs], [str(proof) for proof in proofs]


def goal_of(text: str, db: Database | SparkDatabase) -> tuple[str, tuple[Any, ...]]:
    """Return the relation and the values of a tuple. Raise ProgramError, or UsageError (E0673) for another text."""
    from tidelog.errors import Problem, UsageError
    from tidelog.queries.answers import parsed
    from tidelog.queries.pattern import atom_of, matching

    atom = atom_of(parsed(text))
    pattern = None if atom is None or atom.path is not None else matching(atom, db.workspace.programs)
    if pattern is None or len(pattern.constants) != len(pattern.kinds):
        hint = 'write a relation with a value for each attribute, such as \'reach("a", "d")\''
        raise UsageError(Problem("E0673", f"`{text}` is no tuple", hint=hint))
    return pattern.relation, tuple(value for _, value in pattern.constants)
