"""The program, and how the engine follows it: /v1/program, /v1/rules, /v1/graph, /v1/profile, /v1/stats.

The check of the last epoch, independent of the engine: /v1/check, /v1/certificate. The state of the server: /healthz,
/readyz, /metrics.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response, StreamingResponse

from tidelog.database.snapshots import Snapshot
from tidelog.errors import CertificateRejected
from tidelog.serve.problems import answer_in_thread, as_tidelog_error, document_of
from tidelog.serve.requests import choose_format
from tidelog.workbench.bodies import JSON, NDJSON, answer_from_snapshot, as_json
from tidelog.workbench.describing import graph_of, rules_of
from tidelog.workbench.service import Service


async def program(request: Request, service: Service) -> Response:
    """Return the program as one text without its facts, with the places where its statements were written."""

    def read_program(snapshot: Snapshot) -> dict[str, Any]:
        found = service.program_of(snapshot)
        return {"epoch": snapshot.epoch, "text": found.text, "sha256": found.sha256}

    return await answer_from_snapshot(request, service, read_program)


async def rules(request: Request, service: Service) -> Response:
    """Return the rules with their names and texts, and the relations that they derive and read."""

    return await answer_from_snapshot(request, service, rules_of)


async def graph(request: Request, service: Service) -> Response:
    """Return the rule graph: boxes of hyper-nodes and given relations, with what the last epochs did in them."""

    def find() -> dict[str, Any]:
        with service.db.turns.using:
            core, number = service.db.workspace.committed.core, service.epoch
        return graph_of(core, number, service.history.epochs)

    return as_json(await answer_in_thread(request, find))


async def profile(request: Request, service: Service) -> Response:
    """Return where the time of the last epochs went, as `db.profile()`: plans over all epochs, not of each."""
    found = await answer_in_thread(request, lambda: service.db.profile().to_dict(plans=False))
    return as_json({"epoch": service.epoch, **found})


async def stats(request: Request, service: Service) -> Response:
    """Return sizes and totals, as `db.stats()`, and the reports of the last epochs."""
    found = await answer_in_thread(request, service.db.stats)
    return as_json({"epoch": service.epoch, "stats": found, "epochs": service.history.epochs})


_BEAT = 1.0


async def check(request: Request, service: Service) -> Response:
    """Check the last epoch; return whether its views are right. Lines of JSON say each second how long it has taken;
    the last one has the result, or a problem document under `problem`."""
    format = choose_format(request, (JSON, NDJSON))
    if format is JSON:
        return as_json(await answer_in_thread(request, lambda: _check_epoch(service)))
    return StreamingResponse(
        _lines(request, service), media_type=format.media_type, headers={"Cache-Control": "no-store"}
    )


async def last_check(request: Request, service: Service) -> Response:
    """Return the result of the last check, null without one."""
    return as_json({"epoch": service.epoch, "last": service.checked})


async def certificate(request: Request, service: Service) -> Response:
    """Return the certificate of the last epoch as a zip file of its folder, whose name has the number of the epoch."""
    folder = TemporaryDirectory(prefix="tidelog-")
    try:
        epoch, archive = await answer_in_thread(request, lambda: _pack_certificate(service, Path(folder.name)))
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


def _pack_certificate(service: Service, folder: Path) -> tuple[int, str]:
    with service.db.snapshot() as snapshot:
        epoch, name = snapshot.epoch, f"certificate-{snapshot.epoch}"
        snapshot.save_certificate(folder / name)
    return epoch, shutil.make_archive(str(folder / "packed"), "zip", folder, name)


async def _lines(request: Request, service: Service) -> AsyncIterator[bytes]:
    started, task = time.monotonic(), asyncio.ensure_future(answer_in_thread(request, lambda: _check_epoch(service)))
    # A client that leaves ends this generator: nobody asks the task for its error then, which asyncio would report.
    task.add_done_callback(lambda done: done.cancelled() or done.exception())
    while not (await asyncio.wait([task], timeout=_BEAT))[0]:
        yield json.dumps({"seconds": round(time.monotonic() - started, 1)}).encode() + b"\n"
    try:
        found = task.result()
    except Exception as error:  # The status has been sent.
        found = {"problem": document_of(as_tidelog_error(error))}
    yield json.dumps(found).encode() + b"\n"


def _check_epoch(service: Service) -> dict[str, object]:
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


_BOUNDS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)


class Metrics:
    """The metrics that Prometheus reads: requests by path and status with their seconds, and the state of a service."""

    def __init__(self, service: Service) -> None:
        from prometheus_client import CollectorRegistry, Counter, Histogram

        self._service = service
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "tidelog_requests", "Requests that were answered.", ("path", "status"), registry=self.registry
        )
        self._seconds = Histogram(
            "tidelog_request_seconds",
            "Seconds until an answer begins.",
            ("path",),
            buckets=_BOUNDS,
            registry=self.registry,
        )
        self.registry.register(self)  # type: ignore[arg-type]  # It has `collect`, which is all that is asked for.

    def note(self, path: str, status: int, started: float) -> None:
        """Count a request that began at a time of `perf_counter`."""
        self._requests.labels(path, status).inc()
        self._seconds.labels(path).observe(time.perf_counter() - started)

    def collect(self) -> Iterator[object]:
        """Yield the metrics of the database."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        service, found = self._service, self._service.db.stats()
        yield CounterMetricFamily("tidelog_epochs", "Epochs that were committed.", value=service.feed.last)
        yield GaugeMetricFamily("tidelog_followers", "Clients that follow changes.", value=service.feed.followers)
        memory = sum(found["memory"].values())
        yield GaugeMetricFamily("tidelog_memory_bytes", "Bytes of rows, indexes and dictionary.", value=memory)
        tuples = GaugeMetricFamily("tidelog_relation_tuples", "Tuples of a relation.", labels=("relation",))
        for name, size in found["relations"].items():
            tuples.add_metric((name,), size)
        yield tuples


async def metrics(request: Request, service: Service, kept: Metrics) -> Response:
    """Return the metrics in the text format of Prometheus."""
    from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

    return Response(await run_in_threadpool(generate_latest, kept.registry), media_type=CONTENT_TYPE_LATEST)


async def is_alive(_: Request) -> Response:
    """Answer as soon as the process does."""
    return PlainTextResponse("alive\n")


async def is_ready(_: Request) -> Response:
    """Answer once the store has been opened: the server does not listen before."""
    return PlainTextResponse("ready\n")
