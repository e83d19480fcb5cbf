"""`tidelog run PROG.dl -F FACTS -D OUT`: read the facts, evaluate the program, write its outputs.

The command reads relations with `.input`, writes those with `.output`, and prints the sizes of those with `.printsize`.
It writes files after all computation, each under another name first, so that an interrupted run leaves no half-written
output.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidelog.cli.explain import goal_of, why_or_why_not
from tidelog.cli.facts import inputs_of, read_inputs
from tidelog.cli.report import print_json, print_stats
from tidelog.cli.shared import (
    QUOTES,
    add_fact_folder,
    add_functors,
    add_limits,
    add_messages,
    add_preprocessing,
    functors_of,
    limits_of,
    print_warnings,
    text,
    warnings_of,
)
from tidelog.cli.spark import spark_session
from tidelog.errors import Problem, UsageError

if TYPE_CHECKING:
    from tidelog.cli.shared import Commands
    from tidelog.database.database import Database
    from tidelog.language.syntax import CheckedProgram, Directive
    from tidelog.spark import SparkDatabase
    from tidelog.spark.change import SparkChange
    from tidelog.workspace.change import Change
    from tidelog.workspace.programs import Demanded, EvaluationNote


def add(commands: Commands) -> None:
    """Add the command `run` to the parser."""
    command = commands.add_parser("run", help="evaluate a program", description=__doc__, allow_abbrev=False)
    command.add_argument("program", metavar="PROG.dl", type=Path)
    add_fact_folder(command)
    command.add_argument(
        "-D",
        "--output-dir",
        metavar="OUT",
        default=".",
        help="folder for the files of .output (default: .); - prints them",
    )
    command.add_argument(
        "--explain", metavar="TUPLE", help="print why a tuple holds, or why it does not, instead of the outputs"
    )
    command.add_argument("--check", action="store_true", help="prove the views before writing them")
    command.add_argument("--console", metavar="FILE.html", type=Path, help="write the run as a page to look into")
    command.add_argument(
        "--profile", metavar="FILE", type=Path, help="write where the time went, as a page (.html) or as .json"
    )
    command.add_argument(
        "--engine",
        choices=("embedded", "spark"),
        default="embedded",
        help="engine that evaluates (default: %(default)s)",
    )
    add_limits(command)
    add_preprocessing(command)
    add_messages(command)
    add_functors(command)
    command.set_defaults(execute=execute)


def execute(arguments: argparse.Namespace) -> int:
    """Load, read, commit, check on request, write."""
    import tidelog
    from tidelog.common.collecting import freeze_present
    from tidelog.storage.memory import reuse_memory

    started = time.perf_counter()
    reuse_memory()
    folder = None if arguments.output_dir == "-" else Path(arguments.output_dir)
    check_folders(arguments.fact_dir, folder)
    for option, file in (("--console", arguments.console), ("--profile", arguments.profile)):
        if file is not None and arguments.engine != "embedded":
            raise UsageError(Problem("E0603", f"{option} shows runs of the embedded engine", hint="leave --engine out"))
    if arguments.profile is not None and arguments.profile.suffix not in (".html", ".json"):
        message = f"the file of --profile must end in .html or .json, found '{arguments.profile}'"
        raise UsageError(Problem("E0603", message, hint="name it run.html for a page, or run.json for data"))
    with ExitStack() as stack:
        db = _connect(arguments.engine, stack)
        db.import_functions(functors_of(arguments))
        db.options(**limits_of(arguments))
        if isinstance(db, tidelog.Database):  # Nothing changes after the commit.
            db.options(maintain=False)
        if arguments.profile is not None:
            db.options(profile=True)
        found, note = _load(db, arguments)
        stack.enter_context(freeze_present())  # A program may be a million objects, and all of them stay.
        change = _commit(db, note)
        report = change.report
        if arguments.check:
            db.check()
        if isinstance(db, tidelog.Database) and arguments.profile is not None:
            _save_profile(db, arguments.profile)
        if isinstance(db, tidelog.Database) and arguments.console is not None:
            _save_page(db, change, arguments)
        if arguments.explain is not None:
            _explain(db, arguments.explain, as_json=arguments.json)
        elif arguments.json:
            document = {"ok": True, "program": arguments.program, **_answer_as_json(db, folder)}
            if not arguments.no_warn:
                document["warnings"] = [problem.to_dict() for problem in found]
            if arguments.stats:
                document["stats"] = {"report": report.to_dict(), "sizes": db.stats()}
            print_json({**document, "seconds": round(time.perf_counter() - started, 3)})
        else:
            _answer(db, folder)
            if arguments.stats:
                print_stats(report, db.stats())
    return 0


def _load(db: Database | SparkDatabase, arguments: argparse.Namespace) -> tuple[list[Problem], EvaluationNote]:
    """Load the program and its facts; return the warnings, and what earlier runs have seen of it.

    Nothing keeps the forms of the program that are not evaluated, which may take hundreds of megabytes.
    """
    import tidelog
    from tidelog.io import reject_lost_outputs
    from tidelog.workspace.programs import Demanded

    program = Demanded(text(arguments), db.workspace.given)
    db.load(program.form(program.relations_on_demand() if arguments.explain is None else frozenset()))
    db.workspace.check_given(db.workspace.draft())  # before files are read, which may take long
    found = warnings_of(arguments, program)
    if not arguments.json:
        print_warnings(found)
    if arguments.output_dir != "-" and arguments.explain is None:
        reject_lost_outputs(_directives(db, "output"), db.program.relations)
    warns = not (arguments.json or arguments.no_warn or QUOTES in arguments.wno)
    read_inputs(db, arguments.fact_dir, inputs_of(db.program.directives), relations_needed(db.program), warns=warns)
    if isinstance(db, tidelog.Database) and arguments.explain is None:
        load_by_sizes(db, program)
    return found, program.evaluation_note


def _commit(db: Database | SparkDatabase, note: EvaluationNote) -> Change | SparkChange:
    """Commit the facts of a program, with machine code from the start where that paid before."""
    import tidelog

    if not isinstance(db, tidelog.Database):
        return db.commit()
    facts = sum(len(words) for _, _, words in db.workspace.facts)
    with note.record_evaluation(facts):
        return db.commit()


def _connect(engine: str, stack: ExitStack) -> Database | SparkDatabase:
    """Return an empty database, which the stack closes."""
    import tidelog

    if engine == "embedded":
        return stack.enter_context(tidelog.connect())
    db = stack.enter_context(tidelog.connect(spark=stack.enter_context(spark_session())))
    db.options(engine="cluster")
    return db


def _explain(db: Database | SparkDatabase, text: str, *, as_json: bool) -> None:
    """Print the proof of a tuple, or the reason why it does not hold."""
    found = why_or_why_not(db, *goal_of(text, db))
    if as_json:
        print_json({"ok": True, "explanations": [found.to_dict()]})
    else:
        print(found)


def _save_page(db: Database, change: Any, arguments: argparse.Namespace) -> None:
    from tidelog.workbench.console.page import save_page
    from tidelog.workbench.describing import EpochHistory

    history = EpochHistory()
    history.note(1, change)
    checked = {"epoch": 1, "ok": True, "wrong": None, "seconds": None} if arguments.check else None
    save_page(db, arguments.console, history.epochs, checked)


def _save_profile(db: Database, file: Path) -> None:
    """Write where the time of the run went, as a page or as JSON by the name of the file."""
    from tidelog.durable.whole_files import write_whole

    found = db.profile()
    text = found.to_html() if file.suffix == ".html" else json.dumps(found.to_dict(), indent=2)
    write_whole(file, text.encode())


def check_folders(facts: Path, outputs: Path | None) -> None:
    """Raise UsageError (E0651, E0652) unless facts come from a folder and outputs can go to one."""
    if not facts.is_dir():
        what = "is not a folder" if facts.exists() else "does not exist"
        hint = "create it, or pass the folder with -F"
        raise UsageError(Problem("E0651", f"facts folder '{facts}' {what}", hint=hint))
    if outputs is not None and outputs.exists() and not outputs.is_dir():
        hint = "pass a folder with -D, or - to print the outputs"
        raise UsageError(Problem("E0652", f"output folder '{outputs}' is not a folder", hint=hint))


def relations_needed(program: CheckedProgram) -> frozenset[str]:
    """Return the relations that the outputs of a program depend on; all if it has no outputs."""
    from tidelog.language.paths import repeats, steps
    from tidelog.language.trees import atoms

    reading: dict[str, set[str]] = {}
    for rule in program.rules:
        read = {step.relation for atom in atoms((*rule.heads, *rule.body)) if atom.path for step in steps(atom.path)}
        read |= {atom.relation for atom in atoms((*rule.heads, *rule.body)) if not atom.path}
        for atom in atoms(rule.body):
            for repeat in repeats(atom.path):
                read |= {relation for relation, _ in program.domains.get(repeat.domain or "", ())}
        for head in rule.heads:
            reading.setdefault(head.relation, set()).update(read)
    waiting = [directive.relation for directive in program.directives if directive.name in ("output", "printsize")]
    if not waiting:
        return frozenset(program.relations)
    found: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += reading.get(name, ())
    return frozenset(found)


def load_by_sizes(db: Database, demanded: Demanded) -> None:
    """Reload the program with demand by the sizes of the facts, if that gives another program. Nothing is committed
    yet, and the facts wait."""
    facts = db.workspace.facts
    sizes: Counter[str] = Counter()
    for name, _, words in facts:
        sizes[name] += len(words)
    chosen = demanded.relations_on_demand(sizes)
    if chosen == demanded.relations_on_demand():
        return
    db.rollback()
    db.load(demanded.form(chosen))
    for name, _, words in facts:
        db.insert_words(name, words)


def _directives(db: Database | SparkDatabase, name: str) -> list[Directive]:
    """Return the directives with this name, in the order of the text."""
    return [directive for directive in db.program.directives if directive.name == name]


def _write(db: Database | SparkDatabase, directive: Directive, folder: Path | None) -> Path | None:
    """Write a view into `folder`, which is made if missing, or print it without a folder; return the file's path."""
    from tidelog.io import write_view
    from tidelog.io.text_writer import REMEDY

    sys.stdout.flush()  # what follows goes to the bytes below
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    view = db.local(directive.relation)
    relation = db.program.relations[directive.relation]
    printed = folder is None or directive.options.get("IO") == "stdout"
    remedy = "add rfc4180=true to `.output`, or pass -D - --json" if printed else REMEDY
    return write_view(directive.options, folder, relation, view.words(), db.dictionary, directive.span, remedy=remedy)


def _answer(db: Database | SparkDatabase, folder: Path | None) -> None:
    """Write or print the outputs, then print the requested sizes."""
    from tidelog.io import size_line

    for directive in _directives(db, "output"):
        _write(db, directive, folder)
    for directive in _directives(db, "printsize"):
        print(size_line(db.program.relations[directive.relation], len(db.local(directive.relation))))


def _answer_as_json(db: Database | SparkDatabase, folder: Path | None) -> dict[str, Any]:
    """Write the outputs; return their part of the document, which also has everything that would be printed."""
    outputs: dict[str, Any] = {}
    for directive in _directives(db, "output"):
        view = db.local(directive.relation)
        output = {"rows": len(view), "columns": [column.name for column in view.columns], "file": None}
        if folder is None or directive.options.get("IO") == "stdout":
            from tidelog.io.relation import sorted_rows

            output["tuples"] = sorted_rows(view)
        else:
            output["file"] = str(_write(db, directive, folder))
        outputs[directive.relation] = output
    sizes = {directive.relation: len(db.local(directive.relation)) for directive in _directives(db, "printsize")}
    return {"outputs": outputs, "sizes": sizes}
