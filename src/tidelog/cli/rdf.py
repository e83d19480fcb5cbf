"""`tidelog rdf`: files of RDF.

`serve [STORE.tide] DATA…` is a server for SPARQL over a store in a folder, or over files, until it is interrupted.
`validate DATA… SHAPES` prints violations of shapes.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from tidelog.cli.serving import add_address, certificate_of, need_packages, tokens_of
from tidelog.cli.shared import positive, size
from tidelog.errors import Problem, UsageError

if TYPE_CHECKING:
    from tidelog.rdf import Store

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]


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
    command.add_argument(
        "--view",
        metavar="NAME=FILE.rq",
        action="append",
        default=[],
        help="a SELECT as a view, whose changes /views/NAME/changes sends; may be given several times",
    )
    add_address(command, 8080)
    command.add_argument(
        "--max-rows", metavar="N", type=positive(int), help="largest number of rows of an answer (default: no limit)"
    )
    command.add_argument(
        "--query-memory", metavar="SIZE", type=size, default=2 * 1024**3, help="memory that a query may need (2GB)"
    )
    command.set_defaults(execute=serve)
    command = verbs.add_parser("validate", help="validate files of RDF by shapes of SHACL", allow_abbrev=False)
    command.add_argument("data", metavar="DATA", nargs="+", type=Path, help="files of RDF")
    command.add_argument("shapes", metavar="SHAPES", type=Path, help="a file of shapes")
    _add_rules(command)
    command.add_argument(
        "--format",
        choices=["text", "json", "turtle", "ntriples", "jsonld"],
        default="text",
        help="a line for each violation, a list of them, or a sh:ValidationReport (default: text)",
    )
    command.set_defaults(execute=validate)


def _add_rules(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--rules",
        metavar="RULES",
        action="append",
        default=[],
        help="owl-rl, rdfs, datatypes, axioms, or the path of a program; may be given several times",
    )


def validate(arguments: argparse.Namespace) -> int:
    """Print the violations; return 1 if there are any."""
    store = _filled(arguments)
    store.shapes(arguments.shapes)
    store.commit()
    report = store.validate()
    if arguments.format == "text":
        for result in report:
            print(result)
        print("conforms" if report.conforms else f"{len(report):,} violation{'s' * (len(report) > 1)}")
    elif arguments.format == "json":
        print(json.dumps([result._asdict() for result in report], indent=2, ensure_ascii=False))
    else:
        print(report.to_text(arguments.format).rstrip())
    return 0 if report.conforms else 1


def serve(arguments: argparse.Namespace) -> int:
    """Load the files, and serve them."""
    need_packages("pyoxigraph", "starlette", "uvicorn", extras=("rdf", "serve"))
    from tidelog.rdf.serve.application import application
    from tidelog.serve.bodies import ServerLimits
    from tidelog.serve.running import address_of, listening, run

    tokens, certificate = tokens_of(arguments), certificate_of(arguments)
    with listening(arguments.host, arguments.port, bool(tokens)) as listener, _store(arguments) as store:
        address = address_of(listener, certificate)
        print(f"{len(store):,} triples at {address}/sparql; Ctrl-C ends the server", flush=True)
        limits = ServerLimits(arguments.timeout, arguments.max_body, arguments.max_rows, arguments.query_memory)
        run(application(store, tokens, limits), listener, certificate)
    return 0


def _filled(arguments: argparse.Namespace, folder: Path | None = None) -> Store:
    """Return a store, the one in a folder if there is one, with the files, which wait for a commit."""
    from tidelog.rdf import connect
    from tidelog.rdf.tables import RULE_SETS

    rules = [rules if rules in RULE_SETS else Path(rules) for rules in arguments.rules]
    store = connect(folder, rules or None)
    for path in arguments.data:
        if path != folder:
            store.insert(path)
    return store


def _store(arguments: argparse.Namespace) -> Store:
    from tidelog.rdf.sparql.bodies import rule_prefix

    folders = [path for path in arguments.data if path.suffix == ".tide"]
    if len(folders) > 1:
        hint = "start a server for each store"
        raise UsageError(Problem("E0603", f"{folders[1]} is a second store", hint=hint))
    store = _filled(arguments, folders[0] if folders else None)
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
