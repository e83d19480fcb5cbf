"""`tidelog init STORE PROG.dl -F FACTS`: make a store on disk, with the program, its facts and its views."""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tidelog.cli.shared import (
    add_fact_folder,
    add_functors,
    add_limits,
    add_preprocessing,
    functors_of,
    limits_of,
    parsed,
)

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]


def add(commands: Commands) -> None:
    """Add the command `init` to the parser."""
    command = commands.add_parser("init", help="make a store on disk", description=__doc__, allow_abbrev=False)
    command.add_argument("store", metavar="STORE", type=Path, help="a new folder")
    command.add_argument("program", metavar="PROG.dl", type=Path)
    add_fact_folder(command)
    add_limits(command)
    add_preprocessing(command)
    add_functors(command)
    command.set_defaults(execute=execute)


def execute(arguments: argparse.Namespace) -> int:
    """Make the store, or nothing."""
    import tidelog
    from tidelog.cli.facts import inputs_of, read_inputs
    from tidelog.cli.report import print_json, stats
    from tidelog.cli.run import check_folders
    from tidelog.errors import Problem, UsageError
    from tidelog.store import is_marked

    check_folders(arguments.fact_dir, None)
    if is_marked(arguments.store):
        hint = "change it with `tidelog apply`, or name another folder"
        raise UsageError(Problem("E0653", "the folder contains a store already", place=str(arguments.store), hint=hint))
    fresh = not arguments.store.exists()
    try:
        with tidelog.connect(arguments.store, functors=functors_of(arguments)) as db:
            db.options(**limits_of(arguments))
            db.load(parsed(arguments))
            read_inputs(db, arguments.fact_dir, inputs_of(db.program.directives))
            report = db.commit().report
            sizes = {name: len(db[name]) for name in db.relations}
            if arguments.json:
                document = {"ok": True, "store": arguments.store, "relations": sizes}
                if arguments.stats:
                    document["stats"] = {"report": report.to_dict(), "sizes": db.stats()}
                print_json(document)
            else:
                print(f"{arguments.store}: {len(sizes)} relations, {sum(sizes.values()):,} tuples")
                if arguments.stats:
                    sys.stdout.flush()
                    print(stats(report, db.stats()), file=sys.stderr)
    except BaseException:
        if fresh and not is_marked(arguments.store):
            shutil.rmtree(arguments.store, ignore_errors=True)
        raise
    return 0
