"""`tidelog network`: nodes of a located program on this machine, for trying it out; `tidelog node`: one node."""

from __future__ import annotations

import argparse
import json
import queue
import re
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidelog.cli.shared import add_functor_file, functor_files
from tidelog.errors import Problem, TidelogError, UsageError

if TYPE_CHECKING:
    from tidelog.network import Node
    from tidelog.network.config import NodeConfig
    from tidelog.network.inquiry import Inquiry
    from tidelog.network.local import LocalNetwork

HELP = """\
  +link("a", "b").   assert a fact      ?link          show a relation
  -link("a", "b").   retract it         ?link("a", "b")  say why it holds
  +r3: p(@x) :- q(@x, _).               add a rule
  -r2                remove a rule      !link("a", "b")  say why it does not hold
  (an empty line: this help)            ^link("a", "b")  say since when it holds"""


def add_network(commands: Any) -> None:
    parser = commands.add_parser(
        "network", help="run a located program on processes of this machine", allow_abbrev=False
    )
    parser.add_argument("config", type=Path, help="program, nodes and facts, as TOML")
    parser.add_argument(
        "--wait", metavar="S", type=float, default=60.0, help="seconds to wait until the network is quiet (60)"
    )
    add_functor_file(parser)
    parser.set_defaults(execute=execute_network)


def execute_network(arguments: argparse.Namespace) -> int:
    """Start the network, then follow the commands of standard input."""
    from tidelog.network.config import network_config
    from tidelog.network.local import LocalNetwork

    config = network_config(arguments.config)
    files = tuple(str(path.absolute()) for path in functor_files(arguments))
    config = replace(config, functors=(*config.functors, *files))
    with LocalNetwork(config) as network:
        _print_when_quiet(network, f"{len(network.names)} nodes", arguments.wait)
        for line in sys.stdin:
            try:
                _follow(network, line.strip(), arguments.wait)
            except TidelogError as error:
                print(error, flush=True)
    return 0


def _print_when_quiet(network: LocalNetwork, what: str, wait: float) -> None:
    begin = time.monotonic()
    if network.settle(wait):
        print(f"{what}: quiet after {time.monotonic() - begin:.2f} s", flush=True)
    else:
        print(f"{what}: not quiet after {wait:g} s", flush=True)


def _follow(network: LocalNetwork, line: str, wait: float) -> None:
    """Carry out one line."""
    sign, text = line[:1], line[1:].strip()
    explanations: dict[str, Callable[..., object]]
    explanations = {"?": network.explain, "!": network.why_not, "^": network.blame}
    if sign in explanations and text and (sign != "?" or "(" in text):
        print(explanations[sign](*_fact(network, text)), flush=True)
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
    _print_when_quiet(network, line, wait)


def _fact(network: LocalNetwork, text: str) -> tuple[str, tuple[Any, ...]]:
    """Return the fact that a text states. Raise ProgramError and UsageError."""
    from tidelog.language import check, read

    base = "\n".join(line for line in network.book.text.splitlines() if line.lstrip().startswith((".decl", ".type")))
    facts = check(read(f"{base}\n{text if text.endswith('.') else f'{text}.'}\n", name="<line>")).facts
    if len(facts) != 1:
        raise UsageError(Problem("E0624", f"expected one fact, found {text!r}", hint='write `+link("a", "b").`'))
    return facts[0].relation, facts[0].values


def add_node(commands: Any) -> None:
    parser = commands.add_parser("node", help="run one node of a located program", allow_abbrev=False)
    parser.add_argument(
        "config", nargs="?", type=Path, help="name, program, keys and addresses, as TOML; -: a line of JSON from stdin"
    )
    parser.add_argument("--new-keys", metavar="FILE", type=Path, help="write a new secret key, print the public one")
    parser.add_argument("--commands", action="store_true", help="take commands as lines of JSON from standard input")
    add_functor_file(parser)
    parser.set_defaults(execute=execute_node)


def execute_node(arguments: argparse.Namespace) -> int:
    """Run the node; with --commands until standard input ends."""
    if arguments.new_keys is not None:
        return _new_keys(arguments.new_keys)
    if arguments.config is None:
        raise UsageError(
            Problem(
                "E0624", "the configuration file of the node is missing", hint="pass CONFIG.toml, or --new-keys FILE"
            )
        )
    config = _config(arguments.config)
    if config is None and arguments.commands:
        return 0  # whoever gives the commands has ended before the first one
    if config is None:
        raise UsageError(
            Problem("E0624", "standard input has no configuration", hint="write it as one line of JSON, or name a file")
        )
    with _node(config, functor_files(arguments)) as node:
        if arguments.commands:
            _obey(node)
        else:
            print(f"node {node.name} runs; Ctrl-C ends it", flush=True)
            node.run()
    return 0


def _new_keys(path: Path) -> int:
    from tidelog.network.zeromq import new_keys

    keys = new_keys()
    path.touch(mode=0o600, exist_ok=False)
    path.write_text(f"{keys.secret}\n", "utf-8")
    print(keys.public)
    return 0


def _config(path: Path) -> NodeConfig | None:
    """Return the configuration in a file, or on the first line of standard input; None if standard input has ended."""
    from tidelog.network.config import node_config, node_config_of_line

    if str(path) != "-":
        return node_config(path)
    line = sys.stdin.readline()
    return node_config_of_line(line) if line else None


def _node(config: NodeConfig, functors: tuple[Path, ...]) -> Node:
    from tidelog.network import Node
    from tidelog.network.zeromq import Address, ZeroMQTransport

    nodes = {name: Address(*each) for name, each in config.nodes.items()}
    transport = ZeroMQTransport(config.name, config.secret, nodes)
    try:
        node = Node(
            config.name,
            config.program,
            transport,
            peers=nodes,
            known_only=True,
            store=config.store,
            incarnation=config.incarnation,
            sticky=config.sticky,
            roots=config.roots,
            limits=config.limits,
            functors=(*config.functors, *functors),
        )
        for relation, rows in config.facts.items():
            node.insert(relation, rows)
    except TidelogError:
        transport.close()
        raise
    return node


def _obey(node: Node) -> None:
    """Take turns, and carry out the commands between them."""
    from tidelog.network.functors import problem_to_json

    lines: queue.SimpleQueue[str] = queue.SimpleQueue()

    def read_lines() -> None:
        for line in sys.stdin:
            lines.put(line)
        lines.put("")

    threading.Thread(target=read_lines, daemon=True).start()
    print(json.dumps("ready"), flush=True)
    while True:
        node.run(until=lambda: not lines.empty())
        line = lines.get()
        if not line:
            return
        try:
            answer = _do(node, json.loads(line))
        except TidelogError as error:
            answer = {"error": problem_to_json(error.problems[0])}
        print(json.dumps(answer), flush=True)


def _do(node: Node, command: dict[str, Any]) -> Any:
    """Return the answer to a command, see `network.local`."""
    from tidelog.network.wire import message_from_json, message_to_json

    match command:
        case {"insert": relation, "rows": rows, "stamp": stamp}:
            return list(map(message_to_json, node.change_rows(relation, rows, True, stamp)))
        case {"delete": relation, "rows": rows}:
            return list(map(message_to_json, node.change_rows(relation, rows, False, None)))
        case {"undo": messages}:
            node.tell(map(message_from_json, messages))
        case {"add": text, "replaces": replaces}:
            (node.rules.replace if replaces else node.rules.add)(text)
        case {"remove": names}:
            node.rules.remove(*names)
        case {"show": relation}:
            return sorted(node.state.view(relation), key=repr)
        case {"asserted": relation}:
            return sorted(node.state.asserted_facts(relation).items(), key=repr)
        case {"explain": relation, "row": row, "seconds": seconds}:
            return _reasons(node.inquire(relation, row, seconds))
        case {"quiet": seconds}:
            return node.network_quiet(seconds)
        case {"is_quiet": _}:
            return node.quiet
        case {"counts": _}:
            return {**node.messages, "bytes": node.bytes, "rejected": sum(node.rejected.values())}
    return True


def _reasons(inquiry: Inquiry) -> dict[str, Any]:
    """Return the answers to an inquiry, from which another process makes the proof."""
    from tidelog.network.wire import reason_to_json

    reasons = [[node, reason_to_json(reason)] for (node, _), reason in inquiry.reasons.items()]
    return {"reasons": reasons, "unanswered": inquiry.open_questions}
