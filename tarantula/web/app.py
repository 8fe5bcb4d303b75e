"""The web applications: the management app and the replay app, and the server that runs both."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import uvicorn
from fastapi import FastAPI
from nicegui import ui
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from tarantula import __version__
from tarantula.core.sockets import open_listener
from tarantula.web import api, live
from tarantula.web.api import monitoring
from tarantula.web.api.common import add_error_handlers
from tarantula.web.api.monitoring import MetricsMiddleware
from tarantula.web.auth import Authenticator, AuthMiddleware
from tarantula.web.middleware import DisconnectMiddleware
from tarantula.web.pages import (
    accounts,
    alerts,
    audit,
    browse,
    dashboard,
    documents,
    items,
    login,
    overview,
    picker,
    publications,
    reports,
    search_engine,
    servers,
    sources,
    types,
    validation,
)
from tarantula.web.picker.service import PickerService
from tarantula.web.public import search
from tarantula.web.replay.addresses import ReplayMiddleware, ReplayOrigin, checked_address
from tarantula.web.replay.app import create_replay_app
from tarantula.web.replay.security import TicketSigner

__all__ = ["create_app"]

PAGES = (
    *(
        login,
        overview,
        publications,
        publications,
        types,
        reports,
        items,
        items,
        documents,
        documents,
        servers,
    ),
    *(
        browse,
        validation,
        search_engine,
        dashboard,
        picker,
        sources,
        sources,
        alerts,
        accounts,
        accounts,
        audit,
    ),
)
"""Importing a page makes it known."""


RECONNECT_SECONDS = 30.0
"""Seconds for which a page whose connection is lost is kept as it was filled in; then it is loaded anew."""


def create_app(gate: Authenticator, replay: ReplayOrigin) -> FastAPI:
    """Return the management application of an installation; there is one in a process."""
    app = FastAPI(
        title="Tarântula",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/openapi.json",
        generate_unique_id_function=lambda route: route.name,
    )
    for router in (
        login.router,
        search.router,
        search.suggest_router,
        monitoring.router,
        live.router,
        api.router,
    ):
        app.include_router(router)
    add_error_handlers(app)
    app.mount("/static", StaticFiles(directory=live.STATIC))
    ui.run_with(
        app,
        title="Tarântula",
        show_welcome_message=False,
        binding_refresh_interval=None,
        reconnect_timeout=RECONNECT_SECONDS,
    )
    app.add_middleware(AuthMiddleware, gate=gate)
    app.add_middleware(ReplayMiddleware, replay=replay)
    app.add_middleware(MetricsMiddleware)
    app.add_middleware(DisconnectMiddleware)
    return app


AppsWithSockets = Sequence[tuple[ASGIApp, socket.socket]]


def create_apps(gate: Authenticator, host: str, port: int, replay_port: int, replay_address: str) -> AppsWithSockets:
    """Return both applications with the ports that they took; the management pages come first."""
    address = checked_address(replay_address)
    taken = open_listener(host, port)
    apart = open_listener(host, replay_port, "--replay-port")
    tickets = TicketSigner()
    picking = PickerService(gate.installation.user_agent)
    replay = ReplayOrigin(tickets, apart.getsockname()[1], address, picking)
    return [
        (create_app(gate, replay), taken),
        (create_replay_app(gate.installation, gate.database, tickets, picking.routes(tickets)), apart),
    ]


SHUTDOWN_SECONDS = 2
"""Seconds for requests that are under way when the server ends."""


class _Server(uvicorn.Server):
    """Leaves signals to whoever started it."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Do nothing."""
        yield


def serve(applications: Sequence[tuple[ASGIApp, socket.socket]]) -> None:
    """Serve applications on their sockets until Ctrl-C."""
    asyncio.run(_serve(applications))


async def _serve(applications: Sequence[tuple[ASGIApp, socket.socket]]) -> None:
    servers = [_Server(_config(app)) for app, _ in applications]

    def end() -> None:
        for server in servers:
            server.should_exit = True

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, end)
    await asyncio.gather(
        *(server.serve(sockets=[taken]) for server, (_, taken) in zip(servers, applications, strict=True))
    )


def _config(app: ASGIApp) -> uvicorn.Config:
    return uvicorn.Config(
        app, log_level="warning", access_log=False, timeout_graceful_shutdown=SHUTDOWN_SECONDS, server_header=False
    )
