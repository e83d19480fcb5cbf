"""The state of a node as bytes, and back: everything that it must remember across a restart.

It holds only the messages heard and said; the consequences are rebuilt. The text is JSON, like the packets. Format 3
had no stamps of facts, and 0 in their place. Up to format 4, `ord` was the code of the first character.
"""

from __future__ import annotations

import json
from typing import Any

from tidelog.errors import Problem
from tidelog.functions.callables import GivenFunctions
from tidelog.network.choices import Given, Options
from tidelog.network.functors import NodeFunctors, results_from_json, results_to_json
from tidelog.network.grounds import root_of
from tidelog.network.limits import Limits
from tidelog.network.machine import NodeState
from tidelog.network.messages import Offer, RuleChange
from tidelog.network.peer import Peer, Said
from tidelog.network.program import LocalRule, LocatedTuple
from tidelog.network.wire import fact_from_json, support_to_json
from tidelog.rules.core import Computation

FORMAT = 5


def dump(machine: NodeState) -> bytes:
    """Return the state of a node between two steps, as bytes."""
    state = {
        "format": FORMAT,
        "name": machine.name,
        "incarnation": machine.incarnation,
        "program": machine.book.text,
        "sticky": machine.options.sticky,
        "roots": machine.options.roots,
        "limits": machine.options.limits.to_json(),
        "secret": machine.grounds.secret.hex(),
        "changes": [_change(change) for change in machine.book.changes.values()],
        "held": list(machine.book.held),
        "reasons": {name: _problem(problem) for name, problem in machine.book.reasons.items()},
        "excluded": list(machine.excluded),
        "failed": [[fact, _problem(problem)] for fact, problem in machine.excluded.items() if problem is not None],
        "functors": sorted(machine.functors.known),
        "results": results_to_json(machine.functors.used()),
        "offers": [
            [fact, sender, given.height, support_to_json(given.support), given.seq]
            for fact, offers in machine.offers.items()
            for sender, given in offers.items()
        ],
        "chosen": [[fact, chosen.source] for fact, chosen in machine.chosen.items()],
        "last": [[head, instance] for head, instance in machine.last.items()],
        "locations": machine.locations,
        "count": machine.grounds.count,
        "standing": [[fact, root[1][1]] for fact, root in machine.grounds.standing.items()],
        "dead": support_to_json(machine.grounds.dead.values()),
        "retired": support_to_json(machine.grounds.retired),
        "activity": machine.activity,
        "asked": machine.survey.number,
        "rejected": machine.rejected,
        "peers": {name: _peer(peer) for name, peer in machine.peers.items()},
    }
    return json.dumps(state, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")


def is_current(data: bytes) -> bool:
    """Return True if a state has the format that `dump` writes."""
    return data.startswith(b'{"format":%d,' % FORMAT)


def load(data: bytes, kind: type[NodeState] = NodeState, given: GivenFunctions | None = None) -> NodeState:
    """Return the node with this state, and with these functions for functors. Raise ValueError, TypeError or KeyError
    for bytes of another form."""
    state = json.loads(data.decode("utf-8", "surrogatepass"))
    if state["format"] not in (3, 4, FORMAT):
        raise ValueError(f"format {state['format']}")
    functors = NodeFunctors(given or GivenFunctions())
    functors.known = frozenset(state.get("functors", ()))
    functors.recall(results_from_json(state.get("results", ())))
    options = Options(state["sticky"], state["roots"], Limits(**state["limits"]))
    machine = kind(
        state["name"],
        state["program"],
        options,
        blank=True,
        incarnation=state["incarnation"],
        secret=bytes.fromhex(state["secret"]),
        functors=functors,
    )
    for change in state["changes"]:
        machine.book.changes[change[0]] = RuleChange(*change)
    machine.book.held = {name: machine.book.changes[name] for name in state["held"]}
    machine.book.reasons = {name: _read_problem(parts) for name, parts in state.get("reasons", {}).items()}
    machine.book.renew()
    if state["format"] != FORMAT and any(map(_uses_ord, machine.book.program.rules)):
        raise ValueError("an earlier tidelog wrote it, to which `ord` meant something else")
    machine.excluded = {fact_from_json(fact): None for fact in state["excluded"]}
    machine.excluded |= {fact_from_json(fact): _read_problem(parts) for fact, parts in state.get("failed", ())}
    machine.locations = state["locations"]
    for fact, sender, height, support, seq in state["offers"]:
        offer = Given(height, frozenset(map(fact_from_json, support)), seq)
        machine.offers.setdefault(fact_from_json(fact), {})[sender] = offer
    grounds = machine.grounds
    grounds.count = state["count"]
    grounds.standing = {fact_from_json(fact): grounds.root(number) for fact, number in state["standing"]}
    grounds.dead = {root_of(proof): proof for proof in map(fact_from_json, state["dead"])}
    grounds.retired = set(map(fact_from_json, state["retired"]))
    machine.activity = state["activity"]
    machine.survey.number = state["asked"]
    machine.rejected.update(state["rejected"])
    machine.peers = {name: _read_peer(parts) for name, parts in state["peers"].items()}
    machine.weigh_peers()
    machine.restore(
        {fact_from_json(fact): source for fact, source in state["chosen"]},
        {
            fact_from_json(head): (rule, tuple(map(fact_from_json, body)), tuple(map(fact_from_json, absent)))
            for head, (rule, body, absent) in state["last"]
        },
    )
    return machine


def _uses_ord(rule: LocalRule) -> bool:
    """Return True if a rule asks for the numbers of values."""
    return any(isinstance(each, Computation) and each.functor == "ord" for each in rule.conditions)


def _problem(problem: Problem) -> list[str | None]:
    return [problem.code, problem.message, problem.hint]


def _read_problem(parts: list[str]) -> Problem:
    return Problem(parts[0], parts[1], hint=parts[2])


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
