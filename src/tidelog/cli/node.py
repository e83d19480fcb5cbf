"""`tidelog node CONFIG.toml`: one node of a located program, until it is interrupted."""

from __future__ import annotations

import argparse
import json
import queue
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidelog.cli.shared import add_functor_file, functor_files
from tidelog.errors import Problem, TidelogError, UsageError

if TYPE_CHECKING:
    from tidelog.network import Node
    from tidelog.network.config import NodeConfig
    from tidelog.network.inquiry import Inquiry


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser("node", help="run one node of a located program", allow_abbrev=False)
    parser.add_argument(
        "config", nargs="?", type=Path, help="name, program, keys and addresses, as TOML; -: a line of JSON from stdin"
    )
    parser.add_argument("--new-keys", metavar="FILE", type=Path, help="write a new secret key, print the public one")
    parser.add_argument("--commands", action="store_true", help="take commands as lines of JSON from standard input")
    add_functor_file(parser)
    parser.set_defaults(execute=execute)


def execute(arguments: argparse.Namespace) -> int:
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
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()

    def read() -> None:
        for line in sys.stdin:
            lines.put(line)
        lines.put("")

    threading.Thread(target=read, daemon=True).start()
    print(json.dumps("ready"), flush=True)
    while True:
        node.run(until=lambda: not lines.empty())
        line = lines.get()
        if not line:
            return
        try:
            answer = _do(node, json.loads(line))
        except TidelogError as error:
            problem = error.problems[0]
            answer = {"error": [problem.code, problem.message, problem.hint]}
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
            return sorted(node.machine.view(relation), key=repr)
        case {"asserted": relation}:
            return sorted(node.machine.asserted(relation).items(), key=repr)
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
    return {"reasons": reasons, "unanswered": inquiry.unanswered}
