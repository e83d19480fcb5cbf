"""The bodies of requests in JSON, and rows of relations as answers: JSON with pages, lines of JSON, CSV, and Arrow."""

from __future__ import annotations

import io
import json
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Annotated, Any, NoReturn, TypeAlias, TypeVar

import msgspec
from starlette.concurrency import iterate_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from tidelog.database.snapshots import Snapshot
from tidelog.errors import Problem
from tidelog.io.json_values import METADATA, ColumnTypes, json_text, plain, rows_text
from tidelog.io.relation import Relation
from tidelog.io.text_reader import TextFormat
from tidelog.io.text_writer import text_of
from tidelog.serve.problems import RequestError, answer_in_thread, bad_request
from tidelog.serve.requests import (
    MediaFormat,
    Parameters,
    ServerLimits,
    body,
    choose_format,
    content_type,
    unsupported_media_type,
)
from tidelog.storage.dictionary import Dictionary
from tidelog.workbench.service import PagedAnswer, Service

Body = TypeVar("Body", bound=msgspec.Struct)
RowsByRelation: TypeAlias = Annotated[dict[str, list[Any]], msgspec.Meta(description="rows by relation")]
ValuesOfVariables: TypeAlias = Annotated[dict[str, Any], msgspec.Meta(description="values of variables")]

# --- requests --------------------------------------------------------------------------------------------------------


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

    insert: RowsByRelation = msgspec.field(default_factory=dict)
    delete: RowsByRelation = msgspec.field(default_factory=dict)
    keys: dict[str, list[str]] = msgspec.field(default_factory=dict)
    clear: list[str] = msgspec.field(default_factory=list)
    rules: RuleChanges = msgspec.field(default_factory=RuleChanges)


class QueryBody(msgspec.Struct, forbid_unknown_fields=True):
    """A query with values for some of its variables, or the cursor of an answer; and a number of rows."""

    query: str = ""
    parameters: ValuesOfVariables = msgspec.field(default_factory=dict)
    limit: Annotated[int, msgspec.Meta(ge=0)] | None = None
    cursor: Annotated[str, msgspec.Meta(description="the cursor of the page before")] | None = None


class PlanBody(msgspec.Struct, forbid_unknown_fields=True):
    """A query with values for some of its variables, whose plan is wanted."""

    query: str
    parameters: ValuesOfVariables = msgspec.field(default_factory=dict)


async def body_of(request: Request, limits: ServerLimits, kind: type[Body]) -> Body:
    """Return the body of a request. Raise RequestError: E0692 (400), E0694 (415), E0695 (413)."""
    found = content_type(request)
    if found != JSON.media_type:
        raise unsupported_media_type(found, (JSON.media_type,))
    return decode_body(await body(request, limits), kind)


def decode_body(data: bytes, kind: type[Body]) -> Body:
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


# --- answers ---------------------------------------------------------------------------------------------------------

JSON = MediaFormat("application/json", "json")
NDJSON = MediaFormat("application/x-ndjson", "ndjson")
CSV = MediaFormat("text/csv", "csv")
ARROW = MediaFormat("application/vnd.apache.arrow.stream", "arrow")
FORMATS = (JSON, NDJSON, CSV, ARROW)
PAGE = 1_000
"""Rows of an answer in JSON that asks for no other number."""
MOST = 100_000
"""Rows of an answer in JSON at most."""
_CSV = TextFormat(",", headers=True, quoted=True)
_CHUNK = 20_000
_AT_ONCE = 1_000


def number_of(parameters: Parameters, name: str) -> int | None:
    """Return the number in a parameter, None without one. Raise RequestError (E0692)."""
    text = parameters.one(name)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise bad_request(f"{name}={text} is no number", f"pass a number such as {name}=100")
    return int(text)


def is_set(parameters: Parameters, name: str) -> bool:
    """Return True for a parameter that is there, unless it says false. Raise RequestError (E0692)."""
    found = parameters.one(name)
    if found not in (None, "", "true", "false"):
        raise bad_request(f"{name}={found} is neither true nor false", f"pass {name}=true, or leave it out")
    return found in ("", "true")


def respond(request: Request, service: Service, answer: PagedAnswer, limit: int | None) -> Response:
    """Return the next rows of an answer in the format that the client accepts. Only JSON has pages; the others have all
    rows, or the first ones up to the limit. Raise RequestError (E0694, 406)."""
    format = choose_format(request, FORMATS)
    epoch, dictionary = answer.snapshot.epoch, answer.snapshot.workspace.dictionary
    headers = {"Tidelog-Epoch": str(epoch), "Cache-Control": "no-store", "Vary": "Accept"}
    if format is JSON:
        page = answer.page(min(PAGE if limit is None else limit, MOST))
        document = {
            "epoch": epoch,
            "relation": answer.relation.name,
            "columns": [{"name": each.name, "type": str(each.type)} for each in page.columns],
            "total": len(answer.relation),
        }
        text = json.dumps(document, ensure_ascii=False)[:-1] + f', "rows": [{_rows(page, dictionary)}], "cursor": '
        text += json.dumps(_cursor_of(service, answer)) + "}"
        return Response(text, media_type=JSON.media_type, headers=headers)
    page = answer.page(limit)
    parts = (
        _lines(page, dictionary)
        if format is NDJSON
        else text_of(page.words(), page.columns, dictionary, _CSV)
        if format is CSV
        else _arrow(page, dictionary)
    )
    return StreamingResponse(_close_at_end(parts, answer), media_type=format.media_type, headers=headers)


def _rows(page: Relation, dictionary: Dictionary) -> str:
    """Return the rows as JSON, without the brackets around them: some at a time, so that other threads can run."""
    words = page.words()
    parts = (words[start : start + _AT_ONCE] for start in range(0, len(words), _AT_ONCE))
    return ", ".join(rows_text(part, page.columns, dictionary)[1:-1] for part in parts)


def _cursor_of(service: Service, answer: PagedAnswer) -> str | None:
    if answer.has_more:
        return service.cursors.keep(answer)
    answer.snapshot.close()
    return None


async def _close_at_end(parts: Iterator[bytes], answer: PagedAnswer) -> AsyncIterator[bytes]:
    """Yield the parts of a body, and let the snapshot go at the end."""
    try:
        async for part in iterate_in_threadpool(parts):
            yield part
    finally:
        answer.snapshot.close()


def _texts(page: Relation, dictionary: Dictionary) -> Iterator[str]:
    """Yield each row as JSON, records as lists."""
    kinds = [column.kind for column in page.columns]
    if set(kinds) <= {"number", "unsigned", "symbol"}:
        yield from (json.dumps(row, ensure_ascii=False) for row in page)
        return
    for row in page:
        cells = (json_text(value, kind, dictionary, False) for value, kind in zip(row, kinds, strict=True))
        yield f"[{', '.join(cells)}]"


def _lines(page: Relation, dictionary: Dictionary) -> Iterator[bytes]:
    lines: list[str] = []
    for text in _texts(page, dictionary):
        lines.append(text)
        if len(lines) == _CHUNK:
            yield ("\n".join(lines) + "\n").encode()
            lines = []
    if lines:
        yield ("\n".join(lines) + "\n").encode()


def _arrow(page: Relation, dictionary: Dictionary) -> Iterator[bytes]:
    import pyarrow as pa

    types = ColumnTypes({page.name: page.columns}, dictionary.types.types_of_columns(page.columns)).to_dict()
    table = page.arrow()
    schema = table.schema.with_metadata({METADATA: json.dumps(types, ensure_ascii=False)})
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, schema) as writer:
        for batch in table.to_batches(max_chunksize=_CHUNK):
            writer.write_batch(batch)
            yield sink.getvalue()
            sink.seek(0)
            sink.truncate()
    yield sink.getvalue()


def as_json(document: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return a document as JSON; numbers that JSON lacks become strings."""
    return JSONResponse(plain(document), status, {"Cache-Control": "no-store", **(headers or {})})


async def answer_from_snapshot(
    request: Request, service: Service, read: Callable[[Snapshot], dict[str, Any]], memory: int | None = None
) -> Response:
    """Answer a request by what `read` says about the last epoch, for which the process may grow by `memory` bytes."""

    def find() -> dict[str, Any]:
        with service.db.snapshot() as snapshot:
            return read(snapshot)

    return as_json(await answer_in_thread(request, find, memory))
