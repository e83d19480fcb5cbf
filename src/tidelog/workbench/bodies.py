"""The bodies of requests in JSON, and how they are read."""

from __future__ import annotations

import json
from typing import Annotated, Any, NoReturn, TypeVar

import msgspec
from starlette.requests import Request

from tidelog.errors import Problem
from tidelog.serve.bodies import ServerLimits, body
from tidelog.serve.media import content_type, unsupported
from tidelog.serve.problems import RequestError

JSON = "application/json"
Body = TypeVar("Body", bound=msgspec.Struct)


class NextText(msgspec.Struct, forbid_unknown_fields=True):
    """A text of a program, and the `earlier` one whose statements go with it, unless the text has them."""

    text: str
    earlier: str


class RuleChanges(msgspec.Struct, forbid_unknown_fields=True):
    """Rules to add, as texts of programs, and to remove, by name. Texts in `replace` can be there already: their named
    rules take the places of those with these names."""

    add: list[str] = msgspec.field(default_factory=list)
    replace: list[str | NextText] = msgspec.field(default_factory=list)
    remove: list[str] = msgspec.field(default_factory=list)


class TransactionBody(msgspec.Struct, forbid_unknown_fields=True):
    """The changes of a transaction: facts by relation, each a list of values or an object by columns; relations that
    lose all facts; and rules. In relations with `keys`, columns, inserted rows replace the facts of their key, and rows
    to delete have these columns only."""

    insert: dict[str, list[Any]] = msgspec.field(default_factory=dict)
    delete: dict[str, list[Any]] = msgspec.field(default_factory=dict)
    keys: dict[str, list[str]] = msgspec.field(default_factory=dict)
    clear: list[str] = msgspec.field(default_factory=list)
    rules: RuleChanges = msgspec.field(default_factory=RuleChanges)


class QueryBody(msgspec.Struct, forbid_unknown_fields=True):
    """A query with values for some of its variables, or the cursor of an answer; and a number of rows."""

    query: str = ""
    parameters: dict[str, Any] = msgspec.field(default_factory=dict)
    limit: Annotated[int, msgspec.Meta(ge=0)] | None = None
    cursor: str | None = None


class PlanBody(msgspec.Struct, forbid_unknown_fields=True):
    """A query with values for some of its variables, whose plan is wanted."""

    query: str
    parameters: dict[str, Any] = msgspec.field(default_factory=dict)


async def body_of(request: Request, limits: ServerLimits, kind: type[Body]) -> Body:
    """Return the body of a request. Raise RequestError: E0692 (400), E0694 (415), E0695 (413)."""
    found = content_type(request)
    if found != JSON:
        raise unsupported(found, (JSON,))
    return decoded(await body(request, limits), kind)


def decoded(data: bytes, kind: type[Body]) -> Body:
    """Return what a text in JSON stands for. Raise RequestError (E0692, 400) with the place of what is wrong."""
    try:
        try:
            return msgspec.json.decode(data, type=kind)
        except msgspec.DecodeError as error:
            if "out of range" not in str(error):
                raise
            # It is a number beyond the range of floats, which stands for infinity.
            return msgspec.convert(json.loads(data, parse_constant=_no_constant), kind)
    except msgspec.ValidationError as error:
        message, _, place = str(error).partition(" - at ")
        names = ", ".join(kind.__struct_fields__)
        problem = Problem(
            "E0692",
            f"the body is wrong: {message}",
            place=place.strip("`") or None,
            hint=f"send an object with some of {names}",
        )
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        problem = Problem("E0692", f"the body is no JSON: {error}", hint="send one object in JSON, in UTF-8")
    raise RequestError(400, problem)


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number of JSON")
