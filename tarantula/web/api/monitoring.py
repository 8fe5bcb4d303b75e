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
from tarantula.streams.export import METRIC_HELP, METRIC_LABELS
from tarantula.web.api.common import API_DEPENDENCIES, ERROR_RESPONSES, RequestContext
from tarantula.web.auth import Authenticator
from tarantula.web.limits import PooledRoute

REGISTRY = CollectorRegistry()
REQUESTS = Counter(
    "tarantula_requests", "Requests that were answered.", ["method", "route", "status"], registry=REGISTRY
)
SECONDS = Histogram("tarantula_request_seconds", "How long answers took.", ["route"], registry=REGISTRY)
COUNTED_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

ProcessCollector(registry=REGISTRY)


class MetricsMiddleware:
    """Count requests and response times by operation id; addresses would be too many labels."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and record its status and duration."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, status = perf_counter(), 500

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
            SECONDS.labels(route).observe(perf_counter() - started)


def metrics_text(context: ServiceContext) -> bytes:
    """Return all metrics in the Prometheus text format."""
    own = CollectorRegistry(auto_describe=False)
    own.register(_InstallationCollector(collect_metrics(context)))
    return generate_latest(own) + generate_latest(REGISTRY)


class _InstallationCollector:
    """Prometheus collector of the metrics of an installation."""

    def __init__(self, figures: InstallationMetrics) -> None:
        self._figures = figures

    def collect(self) -> Iterator[Metric]:
        """Yield each metric."""
        figures = self._figures
        yield _gauge("info", "The program.", ["version"], {(__version__,): 1})
        yield _gauge("publications", "Publications that are described.", [], {(): figures.publications})
        yield _gauge("items", "Items, by state.", ["state", "validation"], figures.items)
        collectors = {(host,): number for host, number in figures.collectors.items()}
        yield _gauge("collectors", "Collectors at work, by machine.", ["machine"], collectors)
        yield _gauge("collectors_paused", "Collectors that pause, by reason.", ["machine", "reason"], figures.paused)
        for field in ("documents", "collected", "waiting", "bytes"):
            values = {names: getattr(counts, field) for names, counts in figures.under_way.items()}
            yield _gauge(f"item_{field}", f"{field} of a running item.", ["publication", "item"], values)
        finished = {(name,): moment.timestamp() for name, moment in figures.finished.items()}
        yield _gauge("last_item_finished_timestamp_seconds", "When an item last ended.", ["publication"], finished)
        files = {(state,): number for state, number in figures.fixity.files.items()}
        yield _gauge("files", "WARC files, by state.", ["state"], files)
        yield _gauge(
            "damaged_bodies", "Stored bodies that could not be read back.", [], {(): figures.fixity.damaged_bodies}
        )
        oldest = figures.fixity.oldest_check
        checked = {(): oldest.timestamp()} if oldest is not None else {}
        yield _gauge("oldest_check_timestamp_seconds", "When the file checked longest ago was read back.", [], checked)
        yield _gauge("stream_value", METRIC_HELP, list(METRIC_LABELS), figures.streams)


def _gauge(name: str, help_text: str, labels: list[str], values: Mapping[Any, float]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(f"tarantula_{name}", help_text, labels=labels)
    for names, value in values.items():
        family.add_metric(names, value)
    return family


router = APIRouter(tags=["watching"], route_class=PooledRoute)


class Health(BaseModel):
    """State of the installation."""

    status: Literal["well", "unwell"]
    database: bool
    """Whether the database answers."""
    home: bool
    """Whether the home folder is writable."""


@router.get("/health", summary="Health check", responses={503: {"model": Health}})
def health(request: Request, response: Response) -> Health:
    """Return whether the database answers and the home folder is writable. No login is needed."""
    authenticator: Authenticator = request.state.authenticator
    database, home = _database_answers(authenticator), os.access(authenticator.installation.home, os.W_OK)
    is_well = database and home
    response.status_code = 200 if is_well else 503
    return Health(status="well" if is_well else "unwell", database=database, home=home)


@router.get("/metrics", summary="Metrics for Prometheus", dependencies=API_DEPENDENCIES, response_class=Response,
    responses={**ERROR_RESPONSES, 200: {"content": {"text/plain": {"schema": {"type": "string"}}}}})  # fmt: skip
def metrics(context: RequestContext) -> Response:
    """Return all metrics in the Prometheus text format. For readers."""
    return Response(metrics_text(context), media_type=CONTENT_TYPE_LATEST)


def _database_answers(authenticator: Authenticator) -> bool:
    try:
        with authenticator.health.reading() as session:
            return bool(session.scalar(text("SELECT 1")))
    except TarantulaError:
        return False
