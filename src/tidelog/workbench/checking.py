"""/v1/check, /v1/certificate: the check of the last epoch, independent of the engine."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import AsyncIterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import FileResponse, Response, StreamingResponse

from tidelog.errors import CertificateRejected
from tidelog.serve.answering import answered
from tidelog.serve.media import accepted
from tidelog.serve.problems import document_of, known
from tidelog.workbench.rows import JSON, NDJSON, as_json
from tidelog.workbench.service import Service

_BEAT = 1.0


async def check(request: Request, service: Service) -> Response:
    """Check the last epoch; return whether its views are right. Lines of JSON say each second how long it has taken;
    the last one has the result, or a problem document under `problem`."""
    format = accepted(request, (JSON, NDJSON))
    if format is JSON:
        return as_json(await answered(request, lambda: _checked(service)))
    return StreamingResponse(
        _lines(request, service), media_type=format.media_type, headers={"Cache-Control": "no-store"}
    )


async def last(request: Request, service: Service) -> Response:
    """Return the result of the last check, null without one."""
    return as_json({"epoch": service.epoch, "last": service.checked})


async def certificate(request: Request, service: Service) -> Response:
    """Return the certificate of the last epoch as a zip file of its folder, whose name has the number of the epoch."""
    folder = TemporaryDirectory(prefix="tidelog-")
    try:
        epoch, archive = await answered(request, lambda: _packed(service, Path(folder.name)))
    except BaseException:
        folder.cleanup()
        raise
    headers = {"Tidelog-Epoch": str(epoch), "Cache-Control": "no-store"}
    return FileResponse(
        archive,
        media_type="application/zip",
        filename=f"certificate-{epoch}.zip",
        headers=headers,
        background=BackgroundTask(folder.cleanup),
    )


def _packed(service: Service, folder: Path) -> tuple[int, str]:
    with service.db.snapshot() as snapshot:
        epoch, name = snapshot.epoch, f"certificate-{snapshot.epoch}"
        snapshot.save_certificate(folder / name)
    return epoch, shutil.make_archive(str(folder / "packed"), "zip", folder, name)


async def _lines(request: Request, service: Service) -> AsyncIterator[bytes]:
    import json

    started, task = time.monotonic(), asyncio.ensure_future(answered(request, lambda: _checked(service)))
    # A client that leaves ends this generator: nobody asks the task for its error then, which asyncio would report.
    task.add_done_callback(lambda done: done.cancelled() or done.exception())
    while not (await asyncio.wait([task], timeout=_BEAT))[0]:
        yield json.dumps({"seconds": round(time.monotonic() - started, 1)}).encode() + b"\n"
    try:
        found = task.result()
    except Exception as error:  # The status has been sent.
        found = {"problem": document_of(known(error))}
    yield json.dumps(found).encode() + b"\n"


def _checked(service: Service) -> dict[str, object]:
    started = time.perf_counter()
    wrong: dict[str, Any] | None = None
    with service.db.snapshot() as snapshot:
        try:
            snapshot.check()
        except CertificateRejected as error:
            wrong = error.problems[0].to_dict()
        result: dict[str, object] = {
            "epoch": snapshot.epoch,
            "ok": wrong is None,
            "wrong": wrong,
            "seconds": round(time.perf_counter() - started, 3),
        }
    service.checked = result
    return result
