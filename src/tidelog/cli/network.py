"""`tidelog network FILE.toml`: a network of processes on this machine, for trying a located program out."""

from __future__ import annotations

import argparse
import re
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidelog.cli.shared import add_functor_file, functor_files
from tidelog.errors import Problem, TidelogError, UsageError

if TYPE_CHECKING:
    from tidelog.network.local import LocalNetwork

HELP = """\
  +link("a", "b").   assert a fact      ?link          show a relation
  -link("a", "b").   retract it         ?link("a", "b")  say why it holds
  +r3: p(@x) :- q(@x, _).               add a rule
  -r2                remove a rule      !link("a", "b")  say why it does not hold
  (an empty line: this help)            ^link("a", "b")  say since when it holds"""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "network", help="run a located program on processes of this machine", allow_abbrev=False
    )
    parser.add_argument("config", type=Path, help="program, nodes and facts, as TOML")
    parser.add_argument(
        "--wait", metavar="S", type=float, default=60.0, help="seconds to wait until the network is quiet (60)"
    )
    add_functor_file(parser)
    parser.set_defaults(execute=execute)


def execute(arguments: argparse.Namespace) -> int:
    """Start the network, then follow the commands of standard input."""
    from tidelog.network.config import network_config
    from tidelog.network.local import LocalNetwork

    config = network_config(arguments.config)
    files = tuple(str(path.absolute()) for path in functor_files(arguments))
    config = replace(config, functors=(*config.functors, *files))
    with LocalNetwork(config) as network:
        _settle(network, f"{len(network.names)} nodes", arguments.wait)
        for line in sys.stdin:
            try:
                _follow(network, line.strip(), arguments.wait)
            except TidelogError as error:
                print(error, flush=True)
    return 0


def _settle(network: LocalNetwork, what: str, wait: float) -> None:
    begin = time.monotonic()
    if network.settle(wait):
        print(f"{what}: quiet after {time.monotonic() - begin:.2f} s", flush=True)
    else:
        print(f"{what}: not quiet after {wait:g} s", flush=True)


def _follow(network: LocalNetwork, line: str, wait: float) -> None:
    """Carry out one line."""
    sign, text = line[:1], line[1:].strip()
    if sign == "?" and "(" in text:
        print(network.explain(*_fact(network, text)), flush=True)
        return
    if sign == "!" and text:
        print(network.why_not(*_fact(network, text)), flush=True)
        return
    if sign == "^" and text:
        print(network.blame(*_fact(network, text)), flush=True)
        return
    if sign == "?" and text:
        for row in sorted(network[text], key=repr):
            print("\t".join(map(str, row)))
        sys.stdout.flush()
        return
    if sign not in ("+", "-") or not text:
        print(HELP, flush=True)
        return
    if ":-" in text and sign == "+":
        network.rules.add(text)
    elif re.fullmatch(r"\w+", text) and sign == "-":
        network.rules.remove(text)
    else:
        relation, row = _fact(network, text)
        (network.insert if sign == "+" else network.delete)(relation, [row])
    _settle(network, line, wait)


def _fact(network: LocalNetwork, text: str) -> tuple[str, tuple[Any, ...]]:
    """Return the fact that a text states. Raise ProgramError and UsageError."""
    from tidelog.language import check, read

    base = "\n".join(line for line in network.book.text.splitlines() if line.lstrip().startswith((".decl", ".type")))
    facts = check(read(f"{base}\n{text if text.endswith('.') else f'{text}.'}\n", name="<line>")).facts
    if len(facts) != 1:
        raise UsageError(Problem("E0624", f"expected one fact, found {text!r}", hint='write `+link("a", "b").`'))
    return facts[0].relation, facts[0].values
