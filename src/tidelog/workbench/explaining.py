"""/v1/explain, /v1/why-not, /v1/ways-to-remove, /v1/ways-to-derive, /v1/blame: why tuples are there, or are not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeAlias, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from tidelog.database.database import Database
from tidelog.database.snapshots import Snapshot
from tidelog.explain.blame import Blame
from tidelog.explain.documents import blame_document, proof_document
from tidelog.explain.proof import Proof
from tidelog.explain.questions import DEPTH, MOST_MEMBERS, Enumeration
from tidelog.explain.steps import Facts
from tidelog.io.json_values import with_branches
from tidelog.io.values import place_in
from tidelog.serve.problems import answer_in_thread, bad_request
from tidelog.serve.requests import Parameters, of_address
from tidelog.workbench.bodies import answer_from_snapshot, as_json, is_set, number_of
from tidelog.workbench.service import Service

_MOST = 10
"""Explanations of an answer that asks for no other number."""


JsonObject: TypeAlias = dict[str, Any]
Item = TypeVar("Item")


@dataclass(frozen=True)
class TupleQuestion:
    """A question about a tuple. With `instances`, proofs have all that another process needs to check them."""

    relation: str
    values: tuple[Any, ...]
    limit: int | None
    depth: int
    members: int | None
    rules: bool
    instances: bool

    def proof(self, proof: Proof) -> JsonObject:
        """Return a proof as the answer has it."""
        return proof_document(proof) if self.instances else proof.to_dict()

    def blame(self, blame: Blame) -> JsonObject:
        """Return an answer to `blame` as the answer has it."""
        return blame_document(blame) if self.instances else blame.to_dict()


async def explain(request: Request, service: Service) -> Response:
    """Return proofs of a tuple, the smallest first: one, or `limit` of them."""

    def find(db: Snapshot, question: TupleQuestion) -> JsonObject:
        if question.limit is None:
            proof = db.explain(question.relation, question.values, members=question.members)
            return {"proofs": [question.proof(proof)]}
        found = db.explain(question.relation, question.values, all=True, members=question.members)
        return _several("proofs", found, question.proof, question.limit)

    return await _answer_from_snapshot(request, service, find)


async def why_not(request: Request, service: Service) -> Response:
    """Return how far the rules of a relation come towards a tuple that it does not have."""

    def find(db: Snapshot, question: TupleQuestion) -> JsonObject:
        return {"absence": db.why_not(question.relation, question.values, depth=question.depth).to_dict()}

    return await _answer_from_snapshot(request, service, find)


async def blame(request: Request, service: Service) -> Response:
    """Return since which epoch a relation has a tuple, by which facts and rules."""

    def find(db: Snapshot, question: TupleQuestion) -> JsonObject:
        return {"blame": question.blame(db.blame(question.relation, question.values))}

    return await _answer_from_snapshot(request, service, find)


async def ways_to_remove(request: Request, service: Service) -> Response:
    """Return the smallest sets of facts, or with `rules` of rules, without which a tuple would go."""

    def find(db: Database, question: TupleQuestion) -> JsonObject:
        found = db.ways_to_remove(question.relation, question.values, rules=question.rules)
        return _several("removals", found, lambda each: [*_facts(each.facts), *each.rules], question.limit)

    return await _answer_by_trials(request, service, find)


async def ways_to_derive(request: Request, service: Service) -> Response:
    """Return the smallest sets of facts that would make a relation have a tuple."""

    def find(db: Database, question: TupleQuestion) -> JsonObject:
        return _several("additions", db.ways_to_derive(question.relation, question.values), _facts, question.limit)

    return await _answer_by_trials(request, service, find)


async def _answer_from_snapshot(
    request: Request, service: Service, find: Callable[[Snapshot, TupleQuestion], JsonObject]
) -> Response:
    """Answer what a snapshot says about the tuple of a request."""
    question = _question(request, service)

    def read_answer(snapshot: Snapshot) -> JsonObject:
        return {**_moment(service, snapshot, question), **find(snapshot, question)}

    return await answer_from_snapshot(request, service, read_answer, service.limits.memory)


async def _answer_by_trials(
    request: Request, service: Service, find: Callable[[Database, TupleQuestion], JsonObject]
) -> Response:
    """Answer what trials say about the tuple of a request. They need the database itself."""
    question = _question(request, service)

    def answer() -> JsonObject:
        with service.db.snapshot() as snapshot:
            moment = _moment(service, snapshot, question)
        return {**moment, **find(service.db, question)}

    return as_json(await answer_in_thread(request, answer, service.limits.memory))


def _moment(service: Service, snapshot: Snapshot, question: TupleQuestion) -> JsonObject:
    """Return the epoch of an answer, and which program its instances are of."""
    program = {"program": service.program_of(snapshot).sha256} if question.instances else {}
    return {"epoch": snapshot.epoch, **program}


def _question(request: Request, service: Service) -> TupleQuestion:
    """Return what a request asks. Raise RequestError (E0692)."""
    parameters = of_address(request)
    relation, depth = parameters.one("relation"), number_of(parameters, "depth")
    if relation is None:
        raise bad_request("the parameter `relation` is missing", "pass relation=NAME and tuple=[VALUES] in JSON")
    members = None if parameters.one("members") == "all" else number_of(parameters, "members")
    return TupleQuestion(
        relation,
        _values(parameters, service, relation),
        number_of(parameters, "limit"),
        DEPTH if depth is None else depth,
        MOST_MEMBERS if "members" not in dict(parameters.pairs) else members,
        is_set(parameters, "rules"),
        is_set(parameters, "instances"),
    )


def _values(parameters: Parameters, service: Service, relation: str) -> tuple[Any, ...]:
    """Return the tuple that a request is about."""
    try:
        found = msgspec.json.decode(parameters.one("tuple") or "null")
    except (msgspec.DecodeError, RecursionError) as error:
        raise bad_request(f"the parameter `tuple` is no JSON: {error}", "pass a list such as tuple=[1,2]") from None
    if not isinstance(found, list):
        raise bad_request("the parameter `tuple` is no list", "pass a list such as tuple=[1,2]")
    declared = service.db.workspace.relation(relation)
    (row,) = with_branches([found], declared, service.db.workspace.dictionary, place_in(relation))
    return tuple(row)


def _several(name: str, found: Enumeration[Item], document: Callable[[Item], Any], limit: int | None) -> JsonObject:
    """Return the first explanations, whether there may be more, and whether a limit is the reason."""
    most = _MOST if limit is None else limit
    items = list(islice(found, most + 1))
    more = len(items) > most
    return {name: list(map(document, items[:most])), "more": more or found.is_partial, "partial": found.is_partial}


def _facts(facts: Facts) -> list[Any]:
    return [[name, list(row)] for name, row in facts]
