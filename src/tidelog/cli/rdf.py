"""`tidelog rdf`: files of RDF.

`serve [STORE.tide] DATA…` is a server for SPARQL over a store in a folder, or over files, until it is interrupted.
`validate DATA… SHAPES` prints violations of shapes, `inconsistencies DATA…` contradictions with their proofs.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from warnings import catch_warnings, simplefilter

from tidelog.cli.serve import add_address, certificate_of, need_packages, tokens_of
from tidelog.cli.shared import add_list, positive, size
from tidelog.errors import Problem, ShapesWarning, UsageError
from tidelog.limits.progress import step_of

if TYPE_CHECKING:
    from tidelog.cli.shared import Commands
    from tidelog.rdf import Store, ValidationReport

_STORE = ".tide"
"""The ending of the folder of a store."""
_NAME = "shapesːasked"
"""The view of the shapes that a command line names; a name that no other shapes have."""


def add(commands: Commands) -> None:
    """Add the command `rdf` to the parser."""
    rdf = commands.add_parser(
        "rdf", help="serve RDF by the protocols of SPARQL, validate it by SHACL", allow_abbrev=False
    )
    verbs = rdf.add_subparsers(title="commands", metavar="COMMAND", required=True)
    command = verbs.add_parser("serve", help="answer SPARQL over a store, or files of RDF", allow_abbrev=False)
    help_text = "a store, whose name ends with .tide, and files of RDF to load"
    command.add_argument("data", metavar="DATA", nargs="*", type=Path, help=help_text)
    _add_rules(command)
    add_list(
        command,
        "--view",
        metavar="NAME=FILE.rq",
        help="a SELECT as a view, whose changes /views/NAME/changes sends; may be given several times",
    )
    help_text = "what follows in a graph: from all graphs (union), or from it and the default graph (graph)"
    command.add_argument("--inference", choices=["union", "graph"], help=help_text)
    add_address(command, 8080)
    command.add_argument(
        "--max-rows", metavar="N", type=positive(int), help="largest number of rows of an answer (default: no limit)"
    )
    command.add_argument(
        "--query-memory", metavar="SIZE", type=size, default=2 * 1024**3, help="memory that a query may need (2GB)"
    )
    command.set_defaults(execute=serve)
    command = verbs.add_parser("validate", help="validate files, or a store, by shapes of SHACL", allow_abbrev=False)
    help_text = "files of RDF, or a store, and a file of shapes; a store alone is validated by its own shapes"
    command.add_argument("data", metavar="DATA… SHAPES", nargs="+", type=Path, help=help_text)
    _add_rules(command)
    command.add_argument(
        "--format",
        choices=["text", "json", "turtle", "ntriples", "jsonld"],
        default="text",
        help="a line for each violation, a list of them, or a sh:ValidationReport (default: text)",
    )
    help_text = "validate each file of DATA alone, by shapes that are compiled once"
    command.add_argument("--each", action="store_true", help=help_text)
    help_text = "reject shapes with parts that tidelog does not know or validate (default: print warnings)"
    command.add_argument("--strict", action="store_true", help=help_text)
    command.set_defaults(execute=validate)
    help_text = "print contradictions, each with the triples that it follows from"
    command = verbs.add_parser("inconsistencies", help=help_text, allow_abbrev=False)
    help_text = "files of RDF, or a store, whose name ends with .tide"
    command.add_argument("data", metavar="DATA", nargs="+", type=Path, help=help_text)
    _add_rules(command)
    command.add_argument(
        "--format", choices=["text", "json"], default="text", help="a proof of each, or a list (default: text)"
    )
    command.set_defaults(execute=inconsistencies)


def _add_rules(command: argparse.ArgumentParser) -> None:
    add_list(
        command,
        "--rules",
        metavar="RULES",
        help="owl-rl, rdfs, datatypes, axioms, or the path of a program; may be given several times",
    )


def validate(arguments: argparse.Namespace) -> int:
    """Print the violations; return 1 if there are any."""
    *data, last = arguments.data
    if not data and last.suffix != _STORE:
        hint = "pass the file of shapes behind the data"
        raise UsageError(Problem("E0603", f"{last} alone is not enough", hint=hint))
    if not arguments.each:
        report = _report(arguments, data, last)
        _print_warnings(report)
        if arguments.format == "text":
            for result in report:
                print(result)
            print(_verdict(report))
        elif arguments.format == "json":
            print(json.dumps([result._asdict() for result in report], indent=2, ensure_ascii=False))
        else:
            print(report.to_text(arguments.format).rstrip())
        return 0 if report.conforms else 1
    if _folders(arguments.data) or arguments.format not in ("text", "json"):
        hint = "pass files of RDF and a file of shapes, with --format text or json"
        raise UsageError(Problem("E0603", "--each does not fit these arguments", hint=hint))
    conforms, found = True, {}
    for number, (path, report) in enumerate(_reports(arguments, data, last)):
        conforms &= report.conforms
        if not number:
            _print_warnings(report)
        if arguments.format == "json":
            found[str(path)] = [result._asdict() for result in report]
            continue
        for result in report:
            print(f"{path}: {result}")
        print(f"{path}: {_verdict(report)}")
    if arguments.format == "json":
        print(json.dumps(found, indent=2, ensure_ascii=False))
    return 0 if conforms else 1


def _report(arguments: argparse.Namespace, data: list[Path], last: Path) -> ValidationReport:
    """Return the violations in files, or in a store, by the shapes of the last file, or by those of the store."""
    with catch_warnings():
        simplefilter("ignore", ShapesWarning)  # The report has them.
        if last.suffix == _STORE:
            with _open_or_load([*data, last], arguments) as store:
                return store.validate()
        if not _folders(data):
            with _store_with([], arguments) as store:
                store.shapes(last, _NAME, strict=arguments.strict)  # First, so that the cache has the same rules.
                _insert(store, data)
                store.commit()
                return store.validate(_NAME)
        with _open_or_load(data, arguments) as store:
            with store.what_if() as trial:  # A store in a folder stays as it is.
                trial.shapes(last, _NAME, strict=arguments.strict)
            assert trial.change is not None
            return store.validate_change(trial.change, _NAME)


def _reports(arguments: argparse.Namespace, data: list[Path], last: Path) -> Iterator[tuple[Path, ValidationReport]]:
    """Yield the violations in each file alone. The shapes are compiled once, and follow from one file to the next."""
    with _store_with([], arguments) as store:
        with catch_warnings():
            simplefilter("ignore", ShapesWarning)
            store.shapes(last, _NAME, strict=arguments.strict)
        for path in data:
            store.insert(path)
            store.commit()
            yield path, store.validate(_NAME)
            store.delete(store.quads())


def _print_warnings(report: ValidationReport) -> None:
    for warning in report.warnings:
        print(warning, file=sys.stderr)


def _verdict(report: ValidationReport) -> str:
    return "conforms" if report.conforms else f"{len(report):,} violation{'s' * (len(report) > 1)}"


def inconsistencies(arguments: argparse.Namespace) -> int:
    """Print the contradictions; return 1 if there are any."""
    from tidelog.rdf import justified

    with _open_or_load(arguments.data, arguments) as store:
        rows = sorted(tuple(map(str, row)) for row in store.inconsistencies())
        if arguments.format == "json":
            found = [each.to_dict() for each in justified(store.justifications())]
            print(json.dumps(found, indent=2, ensure_ascii=False))
        else:
            for row in rows:
                print(store.explain(*row))
            print(f"{len(rows):,} inconsistenc{'y' if len(rows) == 1 else 'ies'}")
    return int(bool(rows))


def serve(arguments: argparse.Namespace) -> int:
    """Load the files, and serve them."""
    need_packages("pyoxigraph", "starlette", "uvicorn", "httptools", "uvloop", extras=("rdf", "serve"))
    from tidelog.rdf.serve.application import application
    from tidelog.serve.requests import ServerLimits
    from tidelog.serve.running import address_of, open_listener, run

    tokens, certificate = tokens_of(arguments), certificate_of(arguments)
    with open_listener(arguments.host, arguments.port, bool(tokens)) as listener, _store(arguments) as store:
        address = address_of(listener, certificate)
        print(f"{len(store):,} triples at {address}/sparql; Ctrl-C ends the server", flush=True)
        limits = ServerLimits(arguments.timeout, arguments.max_body, arguments.max_rows, arguments.query_memory)
        run(application(store, tokens, limits), listener, certificate)
    return 0


def _folders(data: Iterable[Path]) -> list[Path]:
    """Return the folders of stores among some paths."""
    return [path for path in data if path.suffix == _STORE]


def _open_or_load(data: list[Path], arguments: argparse.Namespace) -> Store:
    """Return a store of some files, or the store in a folder. Raise UsageError: E0603 for both, E0654."""
    from tidelog.store import is_marked

    folders = _folders(data)
    if folders and len(data) > 1:
        hint = "pass the store alone, or files alone"
        raise UsageError(Problem("E0603", f"{folders[0]} is a store, and there are other data", hint=hint))
    for folder in folders:
        if not is_marked(folder):
            hint = "check the path, or pass files of RDF"
            raise UsageError(Problem("E0654", "the folder contains no store", place=str(folder), hint=hint))
    store = _store_with(data, arguments, *folders)
    if not folders:
        store.commit()
    return store


def _store_with(data: list[Path], arguments: argparse.Namespace, folder: Path | None = None) -> Store:
    """Return a store, the one in a folder if there is one, with the files, which wait for a commit."""
    from tidelog.rdf import connect
    from tidelog.rdf.tables import RULE_SETS

    rules = [rules if rules in RULE_SETS else Path(rules) for rules in arguments.rules]
    store = connect(folder, rules or None, inference=vars(arguments).get("inference"))
    _insert(store, [path for path in data if path != folder])
    return store


def _insert(store: Store, files: list[Path]) -> None:
    """Insert files, which wait for a commit."""
    for number, path in enumerate(files):
        with step_of(f"reading {path.name}", number, len(files)):
            store.insert(path)


def _store(arguments: argparse.Namespace) -> Store:
    from tidelog.rdf.sparql.bodies import rule_prefix

    folders = _folders(arguments.data)
    if len(folders) > 1:
        hint = "start a server for each store"
        raise UsageError(Problem("E0603", f"{folders[1]} is a second store", hint=hint))
    store = _store_with(arguments.data, arguments, folders[0] if folders else None)
    for view in arguments.view:
        name, equals, path = view.partition("=")
        if not equals:
            hint = "pass a name and the file of a SELECT: --view elders=elders.rq"
            raise UsageError(Problem("E0603", f"--view {view} names no file", hint=hint))
        text = Path(path).read_text("utf-8")
        if any(rule.startswith(rule_prefix(name)) for rule in store.database.rules):  # of an earlier server
            store.drop_view(name)
            store.commit()
        store.view(name, text)
    store.commit()
    store.options(timeout=arguments.timeout)
    return store
