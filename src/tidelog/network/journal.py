"""The store of a node: a folder with the state at some moment, and the steps since.

A node is a state machine, so the same steps lead to the same state. The journal holds the messages that came in. Each
entry is on the disk before the node sends anything that follows from it. A crash may cut the last entry off; the node
never acted on it, and drops it. Now and then the node writes its state anew and begins the journal again.

The state as bytes is everything that a node must remember across a restart. It holds only the messages heard and said;
the consequences are rebuilt. The text is JSON, like the packets. Format 3 had no stamps of facts, and 0 in their place.
Up to format 4, `ord` was the code of the first character.
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tidelog.durable.files import Files, Output
from tidelog.durable.local import LocalFiles, Owner
from tidelog.errors import DataError, Problem, UsageError, path_problem
from tidelog.functions.callables import GivenFunctions
from tidelog.network.choices import Given, Options, root_of
from tidelog.network.functors import (
    FunctorCall,
    NodeFunctors,
    Results,
    problem_from_json,
    problem_to_json,
    results_from_json,
    results_to_json,
)
from tidelog.network.limits import Limits
from tidelog.network.messages import Offer, RuleChange
from tidelog.network.node_state import Letter, NodeState
from tidelog.network.peer import Peer, Said
from tidelog.network.program import LocalRule, LocatedTuple
from tidelog.network.wire import fact_from_json, message_from_json, message_to_json, support_to_json
from tidelog.rules.core import Computation

_NEW = "state.new"
_HEADER = struct.Struct(">II")
LONGEST = 4 * 2**20
"""Bytes of journal after which the state is written anew, unless the state itself is longer."""


class Journal:
    """The store in a folder, which is made if missing. Only one process at a time can have it."""

    def __init__(self, folder: str | os.PathLike[str], files: Files | None = None) -> None:
        """Prepare the store; `files` are those of a simulated disk. Raise UsageError (E0623) for a path that no folder
        can have."""
        self._folder = Path(folder)
        if (wrong := path_problem(folder)) is not None:
            raise UsageError(Problem("E0623", wrong, place=repr(str(folder)), hint="use another folder"))
        self._files = files or LocalFiles(self._folder.absolute())
        self._file: Output | None = None
        self._owner: Owner | None = None
        self._generation = 0
        self._limit = LONGEST

    def open(self, name: str, text: str, given: GivenFunctions | None = None) -> NodeState | None:
        """Return the node as of its last step, with these functions for functors; None in a new store. Raise UsageError
        (E0623) if the store is in use, cannot be used, or belongs to another node or program, DataError (E0416) if it
        cannot be read."""
        with self._report_disk_errors():
            return self._open(name, text, given)

    def _open(self, name: str, text: str, given: GivenFunctions | None) -> NodeState | None:
        self._files.establish()
        self._look()
        found = self._files.lock("lock")
        if isinstance(found, str):
            raise self._wrong(f"is in use by process {found}")
        self._owner = Owner(found, str(self._folder))
        try:
            first, stored = self._files.read_bytes("state").split(b"\n", 1)
            self._generation = int(first)
            state = load(stored, given=given)
        except FileNotFoundError:
            return None
        except (ValueError, TypeError, KeyError, IndexError, RecursionError) as error:
            message, place = f"the state cannot be read: {error or type(error).__name__}", str(self._folder / "state")
            raise DataError(Problem("E0416", message, place=place, hint="restore the store from a copy")) from None
        if (state.name, state.book.text) != (name, text):
            what = "node" if state.name != name else "program"
            raise self._wrong(f"belongs to another {what}")
        for kind, letters, results, refused in self._replay():
            if refused:
                state.rejected["no packet"] += refused
            _repeat_step(state, kind, letters, results)
        if not is_current(stored):  # An earlier tidelog would read a journal that goes on, and leave out its facts.
            self._begin(state)
        return state

    def _look(self) -> None:
        """Raise UsageError (E0623) for a link among the files of the store, which could lead out of the folder."""
        for name, kind in self._files.entries().items():
            if kind == "link" and (name in ("lock", "state", _NEW) or name.startswith("journal.")):
                message, place = f"the store's file {name} is a symbolic link", str(self._folder / name)
                hint = "replace the link by the file"
                raise UsageError(Problem("E0623", message, place=place, hint=hint))

    def check(self) -> None:
        """Raise UsageError unless this process may write: E0602, E0623, E0627 or E0628."""
        if self._owner is None:
            raise UsageError(Problem("E0602", "the node is closed", hint="open it again from its store"))
        with self._report_disk_errors():
            self._owner.check()

    def begin(self, state: NodeState) -> None:
        """Write the state anew and empty the journal. Raise as `append`."""
        self.check()
        with self._report_disk_errors():
            self._begin(state)

    def _begin(self, state: NodeState) -> None:
        stored, before = dump(state), self._name
        self._files.write_bytes(_NEW, f"{self._generation + 1}\n".encode() + stored)
        if self._file is not None:
            self._file.close()
        self._generation += 1
        self._files.remove_tree(self._name)
        self._file = self._files.create(self._name)
        self._limit = max(LONGEST, len(stored))
        self._files.replace(_NEW, "state")
        self._files.remove_tree(before)

    def append(self, state: NodeState, kind: str, letters: Sequence[Letter] = ()) -> None:
        """Write a step of the node: a "step", a "resend" or an "ask". Raise as `check`; nothing behind an entry that
        failed to be written is ever read."""
        self.check()
        entry: list[Any] = [kind, [[sender, message_to_json(message)] for sender, message in letters]]
        if kind == "step" and state.functors.made:
            entry.append(results_to_json(state.functors.made))
        data = json.dumps(entry, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")
        assert self._file is not None
        with self._report_disk_errors():
            if self._file.tell() + len(data) > self._limit:
                self._begin(state)  # The state has it already.
                return
            self._file.write(_HEADER.pack(len(data), zlib.crc32(data)) + data)
            self._files.sync(self._file)

    def close(self) -> None:
        """Release the store for other processes."""
        if self._file is not None:
            with suppress(OSError):  # of an entry that could not be written
                self._file.close()
        if self._owner is not None:
            self._owner.release()
        self._file = self._owner = None
        self._files.close()

    @property
    def _name(self) -> str:
        return f"journal.{self._generation}"

    def _replay(self) -> Iterator[tuple[str, list[Letter], dict[FunctorCall, Results], int]]:
        """Yield the entries of the journal; leave the file open behind the last whole one."""
        files = self._files
        if files.kind(self._name) is None:  # the machine has stopped before the name was on the disk, and any entry
            files.create(self._name).close()
        data = files.read_bytes(self._name)
        end = 0
        while end + _HEADER.size <= len(data):
            length, check = _HEADER.unpack_from(data, end)
            entry = data[end + _HEADER.size : end + _HEADER.size + length]
            if not entry or len(entry) < length or zlib.crc32(entry) != check:  # zeros are no entry
                break
            end += _HEADER.size + length
            yield _read_entry(entry)
        self._file = files.extend(self._name, end)
        files.sync(self._file)
        files.sync_folder()  # a process that was killed may have begun this journal, but not for good

    @contextmanager
    def _report_disk_errors(self) -> Iterator[None]:
        """Turn errors of the disk into UsageError (E0623)."""
        try:
            yield
        except OSError as error:
            message = f"the store cannot be used: {error.strerror or error}"
            message += f" ({error.filename})" if isinstance(error.filename, str) else ""
            hint = "free disk space, or grant read and write access"
            raise UsageError(Problem("E0623", message, place=str(self._folder), hint=hint)) from error

    def _wrong(self, what: str) -> UsageError:
        return UsageError(Problem("E0623", f"the store {what}", place=str(self._folder), hint="use another folder"))


def _read_entry(entry: bytes) -> tuple[str, list[Letter], dict[FunctorCall, Results], int]:
    """Return a whole entry: the kind of step, its messages, the results of functors, and the number of messages beyond
    a bound. An older node may have stored such a message when it had no bound yet, and could not continue from it."""
    try:
        kind, parts, *results = json.loads(entry.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        return "step", [], {}, 1
    letters: list[Letter] = []
    for sender, message in parts:
        with suppress(ValueError, TypeError, LookupError, RecursionError):
            letters.append((sender, message_from_json(message)))
    return kind, letters, results_from_json(results[0] if results else ()), len(parts) - len(letters)


def _repeat_step(state: NodeState, kind: str, letters: list[Letter], results: dict[FunctorCall, Results]) -> Any:
    match kind:
        case "resend":
            return state.resend()
        case "ask":
            return state.ask()
        case _:
            return state.step(letters, results)


# --- the state as bytes ----------------------------------------------------------------------------------------------

FORMAT = 5


def dump(state: NodeState) -> bytes:
    """Return the state of a node between two steps, as bytes."""
    stored = {
        "format": FORMAT,
        "name": state.name,
        "incarnation": state.incarnation,
        "program": state.book.text,
        "sticky": state.options.sticky,
        "roots": state.options.roots,
        "limits": state.options.limits.to_json(),
        "secret": state.grounds.secret.hex(),
        "changes": [_change(change) for change in state.book.changes.values()],
        "held": list(state.book.held),
        "reasons": {name: problem_to_json(problem) for name, problem in state.book.reasons.items()},
        "excluded": list(state.excluded),
        "failed": [[fact, problem_to_json(problem)] for fact, problem in state.excluded.items() if problem is not None],
        "functors": sorted(state.functors.known),
        "results": results_to_json(state.functors.results_in_use()),
        "offers": [
            [fact, sender, given.height, support_to_json(given.support), given.seq]
            for fact, offers in state.offers.items()
            for sender, given in offers.items()
        ],
        "chosen": [[fact, chosen.source] for fact, chosen in state.chosen.items()],
        "last": [[head, instance] for head, instance in state.last.items()],
        "locations": state.locations,
        "count": state.grounds.count,
        "standing": [[fact, root[1][1]] for fact, root in state.grounds.standing.items()],
        "dead": support_to_json(state.grounds.dead.values()),
        "retired": support_to_json(state.grounds.retired),
        "activity": state.activity,
        "asked": state.survey.number,
        "rejected": state.rejected,
        "peers": {name: _peer(peer) for name, peer in state.peers.items()},
    }
    return json.dumps(stored, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")


def is_current(data: bytes) -> bool:
    """Return True if a state has the format that `dump` writes."""
    return data.startswith(b'{"format":%d,' % FORMAT)


def load(data: bytes, kind: type[NodeState] = NodeState, given: GivenFunctions | None = None) -> NodeState:
    """Return the node with this state, and with these functions for functors. Raise ValueError, TypeError or KeyError
    for bytes of another form."""
    stored = json.loads(data.decode("utf-8", "surrogatepass"))
    if stored["format"] not in (3, 4, FORMAT):
        raise ValueError(f"format {stored['format']}")
    functors = NodeFunctors(given or GivenFunctions())
    functors.known = frozenset(stored.get("functors", ()))
    functors.recall(results_from_json(stored.get("results", ())))
    options = Options(stored["sticky"], stored["roots"], Limits(**stored["limits"]))
    state = kind(
        stored["name"],
        stored["program"],
        options,
        blank=True,
        incarnation=stored["incarnation"],
        secret=bytes.fromhex(stored["secret"]),
        functors=functors,
    )
    for change in stored["changes"]:
        state.book.changes[change[0]] = RuleChange(*change)
    state.book.held = {name: state.book.changes[name] for name in stored["held"]}
    state.book.reasons = {name: problem_from_json(parts) for name, parts in stored.get("reasons", {}).items()}
    state.book.renew()
    if stored["format"] != FORMAT and any(map(_uses_ord, state.book.program.rules)):
        raise ValueError("an earlier tidelog wrote it, to which `ord` meant something else")
    state.excluded = {fact_from_json(fact): None for fact in stored["excluded"]}
    state.excluded |= {fact_from_json(fact): problem_from_json(parts) for fact, parts in stored.get("failed", ())}
    state.locations = stored["locations"]
    for fact, sender, height, support, seq in stored["offers"]:
        offer = Given(height, frozenset(map(fact_from_json, support)), seq)
        state.offers.setdefault(fact_from_json(fact), {})[sender] = offer
    grounds = state.grounds
    grounds.count = stored["count"]
    grounds.standing = {fact_from_json(fact): grounds.root(number) for fact, number in stored["standing"]}
    grounds.dead = {root_of(proof): proof for proof in map(fact_from_json, stored["dead"])}
    grounds.retired = set(map(fact_from_json, stored["retired"]))
    state.activity = stored["activity"]
    state.survey.number = stored["asked"]
    state.rejected.update(stored["rejected"])
    state.peers = {name: _read_peer(parts) for name, parts in stored["peers"].items()}
    state.weigh_peers()
    state.restore(
        {fact_from_json(fact): source for fact, source in stored["chosen"]},
        {
            fact_from_json(head): (rule, tuple(map(fact_from_json, body)), tuple(map(fact_from_json, absent)))
            for head, (rule, body, absent) in stored["last"]
        },
    )
    return state


def _uses_ord(rule: LocalRule) -> bool:
    """Return True if a rule asks for the numbers of values."""
    return any(isinstance(each, Computation) and each.functor == "ord" for each in rule.conditions)


def _change(change: RuleChange) -> list[Any]:
    return [change.name, change.version, change.author, change.text]


def _peer(peer: Peer) -> dict[str, Any]:
    return {
        "incarnation": peer.incarnation,
        "greeting": peer.greeting,
        "count": peer.count,
        "said": [[fact, said.height, support_to_json(said.support)] for fact, said in peer.said.items()],
        "out": [
            [o.seq, o.low, o.fact, o.height, support_to_json(o.support), support_to_json(o.dead)]
            for o in peer.out.values()
        ],
        "held": list(peer.held),
        "withdrawn": peer.withdrawn,
        "floor": peer.floor,
        "graves": list(peer.graves.items()),
        "changes": [_change(change) for change in peer.changes.values()],
    }


def _read_peer(parts: dict[str, Any]) -> Peer:
    out: dict[LocatedTuple, Offer] = {}
    for seq, low, fact, height, support, dead in sorted(parts["out"], key=lambda each: int(each[0])):
        fact = fact_from_json(fact)
        members = frozenset(map(fact_from_json, support)), frozenset(map(fact_from_json, dead))
        out[fact] = Offer(seq, low, fact, height, *members)
    return Peer(
        incarnation=parts["incarnation"],
        greeting=parts["greeting"],
        count=parts["count"],
        said={fact_from_json(f): Said(height, frozenset(map(fact_from_json, s))) for f, height, s in parts["said"]},
        out=out,
        numbers={offer.seq: fact for fact, offer in out.items()},
        held={fact_from_json(fact): None for fact in parts["held"]},
        withdrawn=parts["withdrawn"],
        floor=parts["floor"],
        graves={fact_from_json(fact): seq for fact, seq in parts["graves"]},
        changes={change[0]: RuleChange(*change) for change in parts["changes"]},
    )
