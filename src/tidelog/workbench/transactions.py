"""/v1/transactions: facts and rules that come and go together, as one epoch."""

from __future__ import annotations

import logging
from typing import Any

from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request
from starlette.responses import Response

from tidelog.database.transaction import Transaction
from tidelog.errors import Problem, ProgramError
from tidelog.io.encode import key_positions, with_columns
from tidelog.io.json_values import ColumnTypes, with_branches
from tidelog.io.values import place_in
from tidelog.language import read
from tidelog.language.reading import is_preprocessed
from tidelog.language.syntax import Program
from tidelog.limits.interrupts import Interrupts
from tidelog.serve.problems import RequestError, answer_in_thread, bad_request
from tidelog.serve.requests import body, content_type, of_address, unsupported_media_type
from tidelog.workbench.bodies import ARROW, JSON, TransactionBody, as_json, decode_body, is_set
from tidelog.workbench.service import Service
from tidelog.workspace.change import Change

# The answer says what is wrong with a form: without a handler, its parser would write that to the standard error, too.
logging.getLogger("python_multipart").addHandler(logging.NullHandler())

PARTS = "multipart/form-data"
_SHOWN = 10_000
"""Rows of a change that an answer has at most; the numbers of rows take their place beyond that."""


async def transactions(request: Request, service: Service) -> Response:
    """Make the changes of a body one epoch; return its number, its report and the change. With `dry_run`, only say what
    would change. Raise RequestError: E0692, E0693 (403), E0694 (415), E0695 (413), E0698 (422), and what `commit`
    raises; then nothing has changed."""
    parameters = of_address(request)
    dry_run = is_set(parameters, "dry_run")
    form = parameters.one("change") or "sizes"
    if form not in ("rows", "sizes"):
        raise bad_request(f"change={form} is not known", "pass change=rows or change=sizes")
    data = await body(request, service.limits)
    changes, tables = await _changes(request, data)
    if (changes.rules.add or changes.rules.replace or changes.rules.remove) and request.state.right != "rules":
        hint = "use a token that may change rules"
        raise RequestError(403, Problem("E0693", "this token may not change rules", hint=hint))
    if service.read_only and not dry_run:
        hint = "start the server without --read-only"
        raise RequestError(403, Problem("E0693", "this server only reads", hint=hint))
    key = request.headers.get("idempotency-key")

    def make() -> Response:
        return as_json(_make_epoch(service, changes, tables, key, data, dry_run=dry_run, rows=form == "rows"))

    return await answer_in_thread(request, make, service.limits.memory if dry_run else None)


async def _changes(request: Request, data: bytes) -> tuple[TransactionBody, dict[tuple[str, str], bytes]]:
    """Return the changes of a body, and the Arrow streams of facts to insert and delete."""
    found = content_type(request)
    if found == JSON.media_type:
        return decode_body(data, TransactionBody), {}
    if found != PARTS:
        raise unsupported_media_type(found, (JSON.media_type, PARTS))
    request._body = data  # The form is read from what has been received within the limits.
    async with request.form(max_files=1_000, max_fields=1_000) as form:
        return await _parts(form)


async def _parts(form: FormData) -> tuple[TransactionBody, dict[tuple[str, str], bytes]]:
    changes, tables = TransactionBody(), dict[tuple[str, str], bytes]()
    for name, part in form.multi_items():
        data = await part.read() if isinstance(part, UploadFile) else part.encode()
        verb, _, relation = name.partition(".")
        if name == "transaction":
            changes = decode_body(data, TransactionBody)
        elif verb in ("insert", "delete") and relation:
            tables[verb, relation] = data
        else:
            hint = f"name parts `transaction` (JSON), `insert.RELATION` and `delete.RELATION` ({ARROW.media_type})"
            raise bad_request(f"the form has a part {name!r}", hint)
    return changes, tables


def _make_epoch(
    service: Service,
    changes: TransactionBody,
    tables: dict[tuple[str, str], bytes],
    key: str | None,
    data: bytes,
    *,
    dry_run: bool,
    rows: bool,
) -> dict[str, Any]:
    db = service.db
    with Interrupts().hold(db.turns.changing):
        if dry_run:
            with db.what_if() as tried:
                _apply(service, tried, changes, tables)
            assert tried.change is not None
            return {"epoch": service.epoch, "dry_run": True, **_change_document(service, tried.change, rows=rows)}
        known = None if key is None else service.requests.epoch_of(key, data)
        if known is not None:
            return {"epoch": known, "repeated": True}
        with service.requests.note_request(key, data, service.epoch + 1), db.transaction() as transaction:
            _apply(service, transaction, changes, tables)
        assert transaction.change is not None
        return {"epoch": service.epoch, **_change_document(service, transaction.change, rows=rows)}


def _apply(
    service: Service, transaction: Transaction[Change], changes: TransactionBody, tables: dict[tuple[str, str], bytes]
) -> None:
    if changes.rules.remove:
        transaction.rules.remove(*changes.rules.remove)
    for text in changes.rules.add:
        service.db.load(_program(text))
    for each in changes.rules.replace:
        text, earlier = (each, None) if isinstance(each, str) else (each.text, _program(each.earlier))
        service.db.load(_program(text), replace=True if earlier is None else earlier)
    for name in changes.clear:
        transaction.clear(name)
    for verb, facts in (("delete", changes.delete), ("insert", changes.insert)):
        for name, rows in facts.items():
            relation, place = service.db.workspace.relation(name), place_in(name)
            key = changes.keys.get(name)
            if key is not None and verb == "delete":
                relation = with_columns(relation, key_positions(relation, key))
            given = with_branches(rows, relation, service.db.workspace.dictionary, place)
            known = [tuple(row) if isinstance(row, list) else row for row in given]
            getattr(transaction, verb)(name, known, key=key)
        for (wanted, name), data in tables.items():
            if wanted == verb:
                getattr(transaction, verb)(name, _table(name, data), key=changes.keys.get(name))


def _program(text: str) -> Program:
    """Return what a text states; it is never a path. Raise ProgramError (E0111) if it could include files: clients have
    no right to those of the server."""
    if is_preprocessed(text):
        message = "a server takes no preprocessor lines"
        raise ProgramError(Problem("E0111", message, hint="send the text that the preprocessor makes of it"))
    return read(f"{text}\n", name="<text>")


def _table(name: str, data: bytes) -> Any:
    import pyarrow as pa

    try:
        table = pa.ipc.open_stream(data).read_all()
        table.validate(full=True)  # Otherwise a wrong offset would read other memory.
        return table
    except MemoryError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        message = f"the part of {name} is no Arrow stream: {error}"
        raise bad_request(message, "write it with pyarrow.ipc.new_stream") from None


def _change_document(service: Service, change: Change, *, rows: bool) -> dict[str, Any]:
    """Return the report of an epoch and its changes; numbers of rows where there are many, otherwise with the types of
    the columns."""
    found = {}
    for name in change:
        size = len(change[name].inserted) + len(change[name].deleted)
        found[name] = change[name].to_dict(rows=rows and size <= _SHOWN)
    document = {"report": change.report.to_dict(every=False), "changes": found}
    if not rows or not found:
        return document
    columns = {name: change[name].inserted.columns for name in found}
    every = [column for each in columns.values() for column in each]
    records = service.db.workspace.dictionary.types.types_of_columns(every)
    return {**document, "types": ColumnTypes(columns, records).to_dict()}
