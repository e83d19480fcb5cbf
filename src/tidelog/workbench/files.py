"""/v1/relations/NAME/decode: the rows that a file has for a relation, for clients that cannot read its format."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from starlette.requests import Request
from starlette.responses import Response

from tidelog.errors import DataError
from tidelog.io.files import read_facts
from tidelog.io.json_values import rows_text
from tidelog.serve.answering import answered
from tidelog.serve.bodies import body, of_address
from tidelog.serve.problems import bad_request
from tidelog.storage.dictionary import Dictionary
from tidelog.workbench.service import Service

_FORMATS = (".parquet", ".arrow", ".feather", ".json")


async def decode(request: Request, service: Service) -> Response:
    """Return the rows of the file in the body, in the order of the columns. `file` is its name, whose ending says the
    format. Nothing changes: the client inserts them, or not."""
    name = Path(of_address(request).one("file") or "").name
    if "\0" in name or Path(name).suffix.lower() not in _FORMATS:
        raise bad_request(f"cannot read the file {name!r}", f"pass file=NAME, which ends in {', '.join(_FORMATS)}")
    data = await body(request, service.limits)
    declared = service.db.workspace.relation(request.path_params["name"])

    def read() -> Response:
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

    return await answered(request, read, service.limits.memory)
