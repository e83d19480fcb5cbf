"""/healthz, /readyz and /metrics."""

from __future__ import annotations

import time
from collections.abc import Iterator

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from tidelog.workbench.service import Service

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
