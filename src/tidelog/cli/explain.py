"""`tidelog explain STORE 'reach("a", "d")'`: print why a tuple holds, or why it does not (--not: an error if it does);
since when (--blame); what would end it (--ways-to-remove), or begin it (--ways-to-derive)."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidelog.cli.report import print_json
from tidelog.cli.shared import add_functors, functors_of, hints, open_existing, positive
from tidelog.errors import Problem, UsageError
from tidelog.explain.questions import MOST_MEMBERS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tidelog.cli.shared import Commands
    from tidelog.database.database import Database
    from tidelog.explain.absence import Absence
    from tidelog.explain.blame import Blame
    from tidelog.explain.proof import Proof
    from tidelog.explain.steps import Facts, Removal
    from tidelog.spark import SparkDatabase


def add(commands: Commands) -> None:
    """Add the command `explain` to the parser."""
    command = commands.add_parser("explain", help="say why a tuple holds", description=__doc__, allow_abbrev=False)
    command.add_argument("store", metavar="STORE", type=Path)
    command.add_argument("tuple", metavar="TUPLE", help='such as \'reach("a", "d")\'')
    sorts = command.add_mutually_exclusive_group()
    sorts.add_argument("--all", metavar="N", type=positive(int), help="print the N smallest proofs")
    sorts.add_argument("--not", dest="absence", action="store_true", help="say why the tuple does not hold")
    sorts.add_argument("--blame", action="store_true", help="say since when the tuple holds, and what brought it")
    for name, earlier, what in (("ways-to-remove", "undo", "end"), ("ways-to-derive", "repair", "begin")):
        help_text = f"print N sets of facts that would {what} it"
        sorts.add_argument(f"--{name}", metavar="N", type=positive(int), help=help_text)
        sorts.add_argument(f"--{earlier}", metavar="N", type=positive(int), help=argparse.SUPPRESS)
    forms = command.add_mutually_exclusive_group()
    forms.add_argument("--json", action="store_true", help="print the explanation, or the errors, as JSON")
    forms.add_argument("--html", metavar="FILE", type=Path, help="write a page that opens level by level")
    forms.add_argument("--dot", metavar="FILE", type=Path, help="write a text for Graphviz")
    forms.add_argument("--draw", metavar="FILE", type=Path, help="draw the proof: .svg, .png or .pdf")
    forms.add_argument("--lean", metavar="FILE", type=Path, help="write the proof for the checker in Lean")
    command.add_argument("--members", action="store_true", help="show all members of aggregates, not only three")
    command.add_argument("--timeout", metavar="SECONDS", type=positive(float), help="stop after so long, with a part")
    add_functors(command)
    command.set_defaults(execute=partial(execute, command))


def execute(command: argparse.ArgumentParser, arguments: argparse.Namespace) -> int:
    """Print or write the explanation. Files have one proof: end with a message where another explanation is asked
    for."""
    from tidelog.explain.questions import Enumeration
    from tidelog.explain.steps import Removal

    _rename(arguments, "undo", "ways_to_remove")
    _rename(arguments, "repair", "ways_to_derive")
    path = arguments.html or arguments.dot or arguments.lean or arguments.draw
    others = arguments.all, arguments.absence, arguments.blame, arguments.ways_to_remove, arguments.ways_to_derive
    if path is not None and any(others):
        command.error("--html, --dot, --draw and --lean write one proof: print other explanations, or pass --json")
    advice = hints(E0670="ask with --not for the reason", E0672="ask without --not and --ways-to-derive for a proof")
    with advice, open_existing(arguments.store, read_only=True, functors=functors_of(arguments)) as db:
        relation, values = goal_of(arguments.tuple, db)
        db.options(timeout=arguments.timeout)
        if path is not None:
            _write(arguments, path, db.explain(relation, values, members=_members(arguments)))
            print(path)
            return 0
        every = _explanations(arguments, db, relation, values)
        found: list[Any] = list(islice(every, arguments.all or arguments.ways_to_remove or arguments.ways_to_derive))
        if arguments.ways_to_derive:
            found = list(map(Removal, found))
        limit = every.limit if isinstance(every, Enumeration) else None
        if arguments.json:
            print_json({"ok": True, "store": arguments.store, "explanations": list(map(_as_json, found))})
        else:
            print("\n\n".join(map(str, found)) if found else "nothing found")
        if limit is not None:
            raise limit
    return 0


def _rename(arguments: argparse.Namespace, earlier: str, later: str) -> None:
    """Let an option that was given under its earlier name count, and say so. The names go with the next version."""
    given = getattr(arguments, earlier)
    if given is not None:
        print(f"tidelog: --{earlier} is --{later.replace('_', '-')} now", file=sys.stderr)
        setattr(arguments, later, given)


def _write(arguments: argparse.Namespace, path: Path, proof: Proof) -> None:
    """Write a proof in the form of the file that was asked for."""
    from tidelog.durable.whole_files import write_whole

    if arguments.draw:
        proof.draw(path)
    elif arguments.lean:
        write_whole(path, proof.export("lean").encode())
    else:
        write_whole(path, (proof.to_html() if arguments.html else proof.to_dot()).encode())


def _as_json(found: Proof | Absence | Blame | Removal) -> Any:
    from tidelog.explain.steps import Removal

    return [[name, list(row)] for name, row in found.facts] if isinstance(found, Removal) else found.to_dict()


def _members(arguments: argparse.Namespace) -> int | None:
    """Return how many members of an aggregate are shown, None for all."""
    return None if arguments.members else MOST_MEMBERS


def _explanations(
    arguments: argparse.Namespace, db: Database, relation: str, values: tuple[Any, ...]
) -> Iterable[Proof | Absence | Blame | Removal | Facts]:
    """Return what was asked for, or more of it."""
    members = _members(arguments)
    if arguments.absence:
        return [db.why_not(relation, values)]
    if arguments.blame:
        return [db.blame(relation, values)]
    if arguments.ways_to_remove:
        return db.ways_to_remove(relation, values)
    if arguments.ways_to_derive:
        return db.ways_to_derive(relation, values)
    if arguments.all:
        return db.explain(relation, values, all=True, members=members)
    return [why_or_why_not(db, relation, values, members)]


def why_or_why_not(
    db: Database | SparkDatabase, relation: str, values: tuple[Any, ...], members: int | None = MOST_MEMBERS
) -> Proof | Absence:
    """Return the proof of a tuple, or the reason why it does not hold. Raise what else `explain` raises."""
    try:
        return db.explain(relation, values, members=members)
    except UsageError as error:
        if error.code != "E0670":
            raise
        return db.why_not(relation, values)


def goal_of(text: str, db: Database | SparkDatabase) -> tuple[str, tuple[Any, ...]]:
    """Return the relation and the values of a tuple. Raise ProgramError, or UsageError (E0673) for another text."""
    from tidelog.queries.meanings import parse_query
    from tidelog.queries.pattern import atom_of, pattern_of

    atom = atom_of(parse_query(text))
    pattern = None if atom is None or atom.path is not None else pattern_of(atom, db.workspace.programs)
    if pattern is None or len(pattern.constants) != len(pattern.kinds):
        hint = 'write a relation with a value for each attribute, such as \'reach("a", "d")\''
        raise UsageError(Problem("E0673", f"`{text}` is no tuple", hint=hint))
    return pattern.relation, tuple(value for _, value in pattern.constants)
