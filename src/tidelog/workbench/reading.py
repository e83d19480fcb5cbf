"""/v1/relations, /v1/relations/NAME, /v1/query, /v1/query-plan: what the views have, as of one epoch.

/v1/relations/NAME/decode: the rows that a file has for a relation, for clients that cannot read its format.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from numpy.typing import NDArray
from starlette.requests import Request
from starlette.responses import Response

from tidelog.database.snapshots import Snapshot
from tidelog.errors import DataError
from tidelog.io.files import read_facts
from tidelog.io.json_values import rows_text
from tidelog.io.record_reader import record_from_text
from tidelog.io.relation import Relation
from tidelog.io.values import Complaint
from tidelog.language.printer import quote_string
from tidelog.language.syntax import Column, Value
from tidelog.serve.problems import answer_in_thread, bad_request
from tidelog.serve.requests import Parameters, body, of_address
from tidelog.storage.dictionary import Dictionary
from tidelog.storage.ordering import order_of_words
from tidelog.storage.record_text import format_value
from tidelog.workbench.bodies import PlanBody, QueryBody, answer_from_snapshot, body_of, is_set, number_of, respond
from tidelog.workbench.describing import relations_of
from tidelog.workbench.service import PagedAnswer, Service

FILTER = re.compile(r"filter\[(.+)\]")


async def relations(request: Request, service: Service) -> Response:
    """Return all relations with their columns, their numbers of tuples and the names of their rules."""

    return await answer_from_snapshot(request, service, relations_of)


async def relation(request: Request, service: Service) -> Response:
    """Return rows of a relation: those that match all `filter[COLUMN]`, sorted by `order`, `limit` at a time. With
    `asserted`, only asserted facts. With `cursor`, the next rows of an answer."""
    parameters = of_address(request)
    limit = number_of(parameters, "limit")
    cursor = parameters.one("cursor")
    if cursor is not None:
        return await _answer_page(request, service, lambda: service.cursors.take(cursor), limit)
    name = request.path_params["name"]
    return await _answer_page(request, service, lambda: _answer(service, name, parameters), limit)


async def query(request: Request, service: Service) -> Response:
    """Return the answer to a query: an atom, a path, or the body of a rule."""
    body = await body_of(request, service.limits, QueryBody)

    def answer() -> PagedAnswer:
        if body.cursor is not None:
            return service.cursors.take(body.cursor)
        if not body.query:
            raise bad_request("the body has no query", 'send {"query": "edge(x, y), x < y"}')
        snapshot = service.db.snapshot()
        try:
            return PagedAnswer(snapshot, snapshot.query(body.query, **body.parameters))
        except BaseException:
            snapshot.close()
            raise

    return await _answer_page(request, service, answer, body.limit)


async def query_plan(request: Request, service: Service) -> Response:
    """Return how a query would be evaluated."""
    body = await body_of(request, service.limits, PlanBody)

    def read_plan(snapshot: Snapshot) -> dict[str, Any]:
        return {"epoch": snapshot.epoch, **snapshot.query_plan(body.query, **body.parameters).to_dict()}

    return await answer_from_snapshot(request, service, read_plan, service.limits.memory)


async def _answer_page(
    request: Request, service: Service, make: Callable[[], PagedAnswer], limit: int | None
) -> Response:
    def run() -> Response:
        answer = make()
        try:
            return respond(request, service, answer, limit)
        except BaseException:
            answer.snapshot.close()
            raise

    return await answer_in_thread(request, run, service.limits.memory)


def _answer(service: Service, name: str, parameters: Parameters) -> PagedAnswer:
    snapshot = service.db.snapshot()
    try:
        asserted, descending = (is_set(parameters, each) for each in ("asserted", "descending"))
        dictionary = snapshot.workspace.dictionary
        found = snapshot.asserted(name) if asserted else snapshot[name]
        conditions = {
            match[1]: value for key, value in parameters.pairs if (match := FILTER.fullmatch(key)) is not None
        }
        if conditions:
            if asserted:
                raise bad_request("asserted facts have no filter", "leave `asserted` or `filter` out")
            found = snapshot.query(_atom(found, conditions, dictionary))
        order = parameters.one("order")
        if order is not None:
            found = _sort_rows(found, order, dictionary, descending=descending)
        return PagedAnswer(snapshot, found)
    except BaseException:
        snapshot.close()
        raise


def _atom(relation: Relation, conditions: dict[str, str], dictionary: Dictionary) -> str:
    """Return the query for the rows of a relation that have these values in columns."""
    columns = {column.name: column for column in relation.columns}
    for name in conditions:
        _column(relation, name)
    values = {name: _value(text, columns[name], dictionary) for name, text in conditions.items()}
    given = {name: format_value(value, lambda symbol, _: quote_string(symbol)) for name, value in values.items()}
    return f"{relation.name}({', '.join(given.get(name, '_') for name in columns)})"


def _value(text: str, column: Column, dictionary: Dictionary) -> Value:
    """Return the value of a column that a text stands for. Raise RequestError (E0692)."""
    if column.kind == "symbol":
        return text
    try:
        if column.kind in ("number", "unsigned"):
            return int(text)
        if column.kind == "float":
            return float(text)
    except ValueError:
        raise bad_request(f"{text!r} is no value of {column.name}, which is a {column.type}", "send a number") from None
    found = record_from_text(text, column, dictionary)
    if isinstance(found, Complaint):
        raise bad_request(f"{text!r} is no value of {column.name}: {found.message}", "write it as in a program")
    return found


def _sort_rows(relation: Relation, order: str, dictionary: Dictionary, *, descending: bool) -> Relation:
    """Return the rows by the columns of `order`, such as `x,y`."""
    wanted = [_column(relation, name) for name in order.split(",")]
    kinds = [relation.columns[i].kind for i in wanted]

    def sort(words: NDArray[Any]) -> NDArray[Any]:
        places = order_of_words(words[:, wanted], kinds, dictionary)
        return words[places[::-1] if descending else places]

    return relation.map_words(sort)


def _column(relation: Relation, name: str) -> int:
    names = [column.name for column in relation.columns]
    if name not in names:
        raise bad_request(f"{relation.name} has no column {name!r}", f"its columns are {', '.join(names)}")
    return names.index(name)


_FORMATS = (".parquet", ".arrow", ".feather", ".json")


async def decode(request: Request, service: Service) -> Response:
    """Return the rows of the file in the body, in the order of the columns. `file` is its name, whose ending says the
    format. Nothing changes: the client inserts them, or not."""
    name = Path(of_address(request).one("file") or "").name
    if "\0" in name or Path(name).suffix.lower() not in _FORMATS:
        raise bad_request(f"cannot read the file {name!r}", f"pass file=NAME, which ends in {', '.join(_FORMATS)}")
    data = await body(request, service.limits)
    declared = service.db.workspace.relation(request.path_params["name"])

    def decode_file() -> Response:
        dictionary = Dictionary(service.db.workspace.dictionary.types)
        with TemporaryDirectory(prefix="tidelog-") as folder:
            path = Path(folder, f"file{Path(name).suffix.lower()}")
            path.write_bytes(data)
            try:
                words = read_facts({"filename": path.name}, folder, declared, dictionary)
            except DataError as error:
                raise DataError(
                    *(replace(each, place=(each.place or "").replace(str(path), name)) for each in error.problems)
                ) from None
        text = f'{{"relation": "{declared.name}", "rows": {rows_text(words, declared.columns, dictionary)}}}'
        return Response(text, media_type="application/json", headers={"Cache-Control": "no-store"})

    return await answer_in_thread(request, decode_file, service.limits.memory)
