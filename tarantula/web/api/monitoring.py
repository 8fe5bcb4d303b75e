"""Health check and Prometheus metrics."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from time import perf_counter
from typing import Any, Literal

from fastapi import APIRouter, Request
from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Histogram,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily, Metric
from pydantic import BaseModel
from sqlalchemy import text
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tarantula import __version__
from tarantula.core.errors import TarantulaError
from tarantula.services.context import ServiceContext
from tarantula.services.overview import InstallationMetrics, collect_metrics
from tarantula.streams.export.prometheus import METRIC_HELP, METRIC_LABELS
from tarantula.web.api.common import API_DEPENDENCIES, ERROR_RESPONSES, RequestContext
from tarantula.web.auth import Authenticator

REGISTRY = CollectorRegistry()
REQUESTS = Counter(
    "tarantula_requests", "Requests that were answered.", ["method", "route", "status"], registry=REGISTRY
)
SECONDS = Histogram("tarantula_request_seconds", "How long answers took.", ["route"], registry=REGISTRY)
COUNTED_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

ProcessCollector(registry=REGISTRY)


class MetricsMiddleware:
    """Counts requests by the name of what they ask for, as OpenAPI has it: addresses are without number."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass, and note how it went."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = perf_counter(), 500

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, sending)
        finally:
            route = str(getattr(scope.get("route"), "name", None) or "other")
            method = scope["method"] if scope["method"] in COUNTED_METHODS else "other"
            REQUESTS.labels(method, route, status).inc()
            SECONDS.labels(route).observe(perf_counter() - began)


def metrics_text(desk: ServiceContext) -> bytes:
    """Return every figure, in the text format of Prometheus."""
    own = CollectorRegistry(auto_describe=False)
    own.register(_Counted(collect_metrics(desk)))
    return generate_latest(own) + generate_latest(REGISTRY)


class _Counted:
    """The figures of an installation, as Prometheus has them."""

    def __init__(self, counted: InstallationMetrics) -> None:
        self._counted = counted

    def collect(self) -> Iterator[Metric]:
        """Yield each of them."""
        counted = self._counted
        yield _gauge("info", "The program.", ["version"], {(__version__,): 1})
        yield _gauge("publications", "Publications that are described.", [], {(): counted.publications})
        yield _gauge("items", "Items, by state.", ["state", "validation"], counted.items)
        collectors = {(host,): number for host, number in counted.collectors.items()}
        yield _gauge("collectors", "Collectors at work, by machine.", ["machine"], collectors)
        for field in ("documents", "collected", "waiting", "bytes"):
            values = {names: getattr(counts, field) for names, counts in counted.under_way.items()}
            yield _gauge(f"item_{field}", f"Of an item under way: {field}.", ["publication", "item"], values)
        finished = {(name,): moment.timestamp() for name, moment in counted.finished.items()}
        yield _gauge("last_item_finished_timestamp_seconds", "When an item last ended.", ["publication"], finished)
        yield _gauge("stream_value", METRIC_HELP, list(METRIC_LABELS), counted.streams)


def _gauge(name: str, words: str, labels: list[str], values: Mapping[Any, float]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(f"tarantula_{name}", words, labels=labels)
    for names, value in values.items():
        family.add_metric(names, value)
    return family


router = APIRouter(tags=["watching"])


class Health(BaseModel):
    """Whether work can be done."""

    status: Literal["well", "unwell"]
    database: bool
    """Whether it answers."""
    home: bool
    """Whether it can be written."""


@router.get("/health", summary="Whether it is well", responses={503: {"model": Health}})
def health(request: Request, response: Response) -> Health:
    """Say whether the database answers and the home can be written. Anybody may ask."""
    gate: Authenticator = request.state.gate
    database, home = _answers(gate), os.access(gate.installation.home, os.W_OK)
    is_well = database and home
    response.status_code = 200 if is_well else 503
    return Health(status="well" if is_well else "unwell", database=database, home=home)


@router.get("/metrics", summary="Figures for Prometheus", dependencies=API_DEPENDENCIES, response_class=Response,
    responses={**ERROR_RESPONSES, 200: {"content": {"text/plain": {"schema": {"type": "string"}}}}})  # fmt: skip
def metrics(desk: RequestContext) -> Response:
    """Return every figure in the text format of Prometheus. For readers."""
    return Response(metrics_text(desk), media_type=CONTENT_TYPE_LATEST)


def _answers(gate: Authenticator) -> bool:
    try:
        with gate.database.reading() as session:
            return bool(session.scalar(text("SELECT 1")))
    except TarantulaError:
        return False
