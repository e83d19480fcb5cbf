"""A network of node processes on this machine, with keys and ports of its own: for trying out and for measuring.

Each process is `tidelog node - --commands`, which takes its configuration and then commands, as lines of JSON, and
answers each command with one line.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from tidelog.database.transaction import Earlier, no_earlier
from tidelog.errors import Problem, SetupError, UsageError, wrong_argument
from tidelog.functions.callables import FunctorSource, GivenFunctions
from tidelog.network.config import NetworkConfig, NodeConfig, line_of
from tidelog.network.functors import nested_tuple, problem_from_json
from tidelog.network.gathering import NetworkVerbs
from tidelog.network.inquiry import Inquiry
from tidelog.network.limits import checked_seconds
from tidelog.network.messages import WallClock
from tidelog.network.program import LocatedProgram, NodeRow
from tidelog.network.rulebook import program_text
from tidelog.network.values import fact_of, facts_of, require_relation, shown_rows
from tidelog.network.wire import fact_from_json, reason_from_json
from tidelog.network.zeromq import new_keys

if TYPE_CHECKING:
    from tidelog.explain.proof import Proof


class LocalNetwork(NetworkVerbs):
    """The processes of `config`, all running and with their facts. Raises ProgramError, UsageError and DataError for a
    wrong configuration.

    Nothing is written to a disk. Each process ends with its standard input: however this process ends, no other process
    and no secret remains.
    """

    def __init__(self, config: NetworkConfig) -> None:
        if not isinstance(config, NetworkConfig):
            raise wrong_argument("a network", "a NetworkConfig", config)
        super().__init__(program_text(config.program))
        self.names = config.nodes
        self._functors = config.functors
        self._clock = WallClock()
        self._processes: dict[str, subprocess.Popen[str]] = {}
        initial = [(relation, self._split(relation, rows)) for relation, rows in config.facts.items()]
        configs, stamp = node_configs(config, self.book.text), self._clock()
        try:
            for name in config.nodes:
                self._processes[name] = subprocess.Popen(
                    [sys.executable, "-m", "tidelog", "node", "-", "--commands"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                    encoding="utf-8",
                    start_new_session=True,  # Ctrl-C is for us; nodes end when their standard input does
                )
                self._write(name, line_of(configs[name]))
            for name in self.names:
                self._answer(name)  # that it is ready
            for relation, by_node in initial:
                self._tell({"insert": relation, "stamp": stamp}, by_node)
        except BaseException:
            self.close()
            raise

    # --- changes -----------------------------------------------------------------------------------------------------

    def insert(self, relation: str, rows: Iterable[Any]) -> None:
        """Assert facts, each at its own node. If one node refuses its facts, raise UsageError or DataError, and let the
        others undo the change."""
        by_node = self._split(relation, rows)
        self._tell({"insert": relation, "stamp": self._clock()}, by_node)

    def delete(self, relation: str, rows: Iterable[Any]) -> None:
        """Retract facts. Raise as `insert`."""
        self._tell({"delete": relation}, self._split(relation, rows))

    def _add_rules(self, text: str, replace: Earlier) -> None:
        replaces = no_earlier(replace)
        changes, stamp = self.book.additions(text, self.names[0], replaces=replaces), self._clock()
        undoing = self.book.invert_changes(changes)
        self._take(changes, stamp)
        try:
            self._ask(self.names[0], {"add": text, "replaces": replaces})
        except UsageError:
            self._take(undoing, stamp)  # the node has done the same
            raise

    def _remove_rules(self, *names: str) -> None:
        changes, stamp = self.book.removals(names, self.names[0]), self._clock()
        self._ask(self.names[0], {"remove": names})
        self._take(changes, stamp)

    # --- reading -----------------------------------------------------------------------------------------------------

    def __getitem__(self, relation: str) -> set[tuple[Any, ...]]:
        """Return the tuples of a relation at all nodes together, as far as they know by now."""
        return self.views([relation])[relation]

    def views(self, relations: Sequence[str]) -> dict[str, set[tuple[Any, ...]]]:
        """Return the tuples of several relations; this asks every node once."""
        if isinstance(relations, str) or not isinstance(relations, Sequence):
            raise wrong_argument("the relations", "a list of names", relations)
        for relation in relations:
            require_relation(relation, self.book.program)
            self._post(self.names, {"show": relation})
        found = {name: {nested_tuple(row) for node in self.names for row in self._answer(node)} for name in relations}
        return {name: shown_rows(rows, name, self.book.program) for name, rows in found.items()}

    def explain(self, relation: str, values: Iterable[Any], *, at: str | None = None, seconds: float = 10.0) -> Proof:
        """Return a proof of a tuple, for which the process of the node `at`, else that of the tuple, asks the others
        for at most `seconds`. Where no answer comes, the proof is open, and names the node. Raise UsageError if the
        tuple does not hold at its node (E0670), if there is no such relation (E0601) or node (E0624), DataError if the
        values do not fit."""
        from tidelog.network.proofs import proof_of

        program, seconds = self.book.program, checked_seconds(seconds)
        fact = fact_of(relation, values, program)
        name = self._known_node(program.owner(fact) or self.names[0] if at is None else at, self.names)
        answer = self._ask(name, {"explain": relation, "row": fact[1], "seconds": seconds})
        inquiry = Inquiry(0, self.book, program.owner(fact) or name, fact, messages=0, room=0)
        inquiry.recall(
            ((node, reason_from_json(parts)) for node, parts in answer["reasons"]),
            ((node, fact_from_json(parts)) for node, parts in answer["unanswered"]),
        )
        return proof_of(inquiry, GivenFunctions.of(self._functors))

    def settle(self, seconds: float) -> bool:
        """Wait until the whole network is quiet, at most `seconds`; return True if it is."""
        return bool(self._ask(self.names[0], {"quiet": checked_seconds(seconds)}))

    def is_quiet(self) -> bool:
        """Return True if the process of every node says that the node is quiet now; cheaper than `settle`, and no
        proof."""
        self._post(self.names, {"is_quiet": True})
        answers = [self._answer(name) for name in self.names]  # of all, or the next answer would be an old one
        return all(answers)

    def counts(self) -> dict[str, int]:
        """Return the numbers of messages and bytes sent, and of rejections, over all nodes."""
        self._post(self.names, {"counts": True})
        found: dict[str, int] = {}
        for name in self.names:
            for key, number in self._answer(name).items():
                found[key] = found.get(key, 0) + number
        return found

    # --- processes ---------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """End all processes."""
        for process in self._processes.values():
            if process.stdin is not None:
                with suppress(BrokenPipeError):  # of a process that has ended by itself
                    process.stdin.close()
        end = time.monotonic() + 5
        for process in self._processes.values():
            try:
                process.wait(max(0.1, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            if process.stdout is not None:
                process.stdout.close()

    def __enter__(self) -> LocalNetwork:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _functions(self) -> FunctorSource:
        return self._functors

    def _split(self, relation: str, rows: Iterable[Any]) -> dict[str, list[Any]]:
        program: LocatedProgram = self.book.program
        by_node: dict[str, list[Any]] = {}
        for fact in facts_of(relation, rows, program):
            by_node.setdefault(str(program.owner(fact)), []).append(fact[1])
        for name in by_node:
            if name not in self.names:
                message = f"a fact of {relation} lives at {name}, which is not a node of this network"
                raise UsageError(Problem("E0624", message, hint=f"use one of {', '.join(self.names)}"))
        return by_node

    def _stamps_of(self, relation: str) -> dict[NodeRow, int]:
        self._post(self.names, {"asserted": relation})
        answers = [self._read_reply(name) for name in self.names]
        return {nested_tuple(row): stamp for answer in answers for row, stamp in _answer_or_error(answer)}

    def _moment(self, stamp: int) -> datetime:
        return datetime.fromtimestamp(stamp / 1_000_000, UTC)

    def _tell(self, command: Mapping[str, Any], by_node: Mapping[str, list[Any]]) -> None:
        for name, rows in by_node.items():
            self._post([name], {**command, "rows": rows})
        answers = {name: self._read_reply(name) for name in by_node}  # of all, before the first error is raised
        if any(map(_is_error, answers.values())):
            for name, undoing in answers.items():
                if not _is_error(undoing):
                    self._ask(name, {"undo": undoing})
        for answer in answers.values():
            _answer_or_error(answer)

    def _ask(self, name: str, command: dict[str, Any]) -> Any:
        self._post([name], command)
        return self._answer(name)

    def _post(self, names: Iterable[str], command: dict[str, Any]) -> None:
        line = json.dumps(command)
        for name in names:
            self._write(name, line)

    def _write(self, name: str, line: str) -> None:
        stdin = self._processes[name].stdin
        assert stdin is not None
        try:
            stdin.write(f"{line}\n")
            stdin.flush()
        except BrokenPipeError:
            raise _process_ended_error(name) from None

    def _answer(self, name: str) -> Any:
        return _answer_or_error(self._read_reply(name))

    def _read_reply(self, name: str) -> Any:
        """Return what the process of a node says next. Raise SetupError (E0791) if it has ended."""
        stdout = self._processes[name].stdout
        assert stdout is not None
        line = stdout.readline()
        if not line:
            raise _process_ended_error(name)
        return json.loads(line)


def node_configs(config: NetworkConfig, program: str) -> dict[str, NodeConfig]:
    """Return the configuration of each node of a network whose program is this text, each with a key and a port of its
    own."""
    keys = {name: new_keys() for name in config.nodes}
    ports = _free_ports(len(config.nodes))
    nodes = {
        name: (f"tcp://127.0.0.1:{port}", keys[name].public) for name, port in zip(config.nodes, ports, strict=True)
    }
    return {
        name: NodeConfig(
            name=name,
            program=program,
            secret=keys[name].secret,
            nodes=nodes,
            sticky=config.sticky,
            roots=config.roots,
            limits=config.limits,
            functors=config.functors,
        )
        for name in config.nodes
    }


def _is_error(answer: Any) -> bool:
    return isinstance(answer, dict) and "error" in answer


def _answer_or_error(answer: Any) -> Any:
    """Return the answer of a node. Raise UsageError if it is an error."""
    if _is_error(answer):
        raise UsageError(problem_from_json(answer["error"]))
    return answer


def _process_ended_error(name: str) -> SetupError:
    return SetupError(Problem("E0791", f"the process of node {name} ended", hint="read its error above"))


def _free_ports(number: int) -> list[int]:
    """Return ports on which nobody listens now."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(number)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports
