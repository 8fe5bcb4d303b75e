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
from nicegui.client import templates as nicegui_templates
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from tarantula import __version__
from tarantula.core.sockets import open_listener
from tarantula.core.termination import request_end
from tarantula.web import api, live
from tarantula.web.api import monitoring
from tarantula.web.api.common import add_error_handlers
from tarantula.web.api.monitoring import MetricsMiddleware
from tarantula.web.auth import Authenticator, AuthMiddleware
from tarantula.web.middleware import DisconnectMiddleware, NonceExtension, SecurityHeadersMiddleware
from tarantula.web.pages import (
    accounts,
    alerts,
    audit,
    browse,
    dashboard,
    documents,
    files,
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
    withholding,
)
from tarantula.web.picker.service import PickerService
from tarantula.web.public import search
from tarantula.web.replay.addresses import ReplayMiddleware, ReplayOrigin, checked_address
from tarantula.web.replay.app import create_replay_app
from tarantula.web.replay.security import TicketSigner

__all__ = ["create_app", "create_apps", "serve"]

# fmt: off
PAGES = (
    accounts, alerts, audit, browse, dashboard, documents, files, items, login, overview, picker, publications,
    reports, search_engine, servers, sources, types, validation, withholding,
)
# fmt: on
"""Importing a page module registers its routes."""

RECONNECT_SECONDS = 30.0
"""How long the server keeps the state of a page whose connection is lost; afterwards the page is reloaded."""


nicegui_templates.env.add_extension(NonceExtension)


class _App(FastAPI):
    """An app whose error responses have security headers, too."""

    def build_middleware_stack(self) -> ASGIApp:
        """Return all layers, in one that adds the headers."""
        return SecurityHeadersMiddleware(super().build_middleware_stack())


def create_app(authenticator: Authenticator, replay: ReplayOrigin) -> FastAPI:
    """Create the management app of an installation; one per process."""
    app = _App(
        title="Tarântula",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/openapi.json",
        generate_unique_id_function=lambda route: route.name,
    )
    for router in (login.router, search.router, monitoring.router, live.router, api.router):
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
    app.add_middleware(AuthMiddleware, authenticator=authenticator)
    app.add_middleware(ReplayMiddleware, replay=replay)
    app.add_middleware(MetricsMiddleware)
    app.add_middleware(DisconnectMiddleware)
    return app


AppsWithSockets = Sequence[tuple[ASGIApp, socket.socket]]


def create_apps(
    authenticator: Authenticator, host: str, port: int, replay_port: int, replay_address: str
) -> AppsWithSockets:
    """Create the management app and the replay app, each with its listening socket."""
    address = checked_address(replay_address)
    listener = open_listener(host, port)
    replay_socket = open_listener(host, replay_port, "--replay-port")
    tickets = TicketSigner()
    picker = PickerService(authenticator.installation)
    replay = ReplayOrigin(tickets, replay_socket.getsockname()[1], address, picker)
    return [
        (create_app(authenticator, replay), listener),
        (
            create_replay_app(authenticator.installation, authenticator.database, tickets, picker.routes(tickets)),
            replay_socket,
        ),
    ]


SHUTDOWN_SECONDS = 2
"""Time that running requests have when the server stops."""


class _Server(uvicorn.Server):
    """A server that leaves signal handling to the caller."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Do nothing."""
        yield


def serve(applications: Sequence[tuple[ASGIApp, socket.socket]]) -> None:
    """Serve apps on their sockets until Ctrl-C."""
    asyncio.run(_serve(applications))


async def _serve(applications: Sequence[tuple[ASGIApp, socket.socket]]) -> None:
    servers = [_Server(_config(app)) for app, _ in applications]

    def end() -> None:
        for server in servers:
            server.should_exit = True

    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, end)
    loop.add_signal_handler(signal.SIGTERM, lambda: request_end(end))
    await asyncio.gather(
        *(server.serve(sockets=[listener]) for server, (_, listener) in zip(servers, applications, strict=True))
    )


def _config(app: ASGIApp) -> uvicorn.Config:
    return uvicorn.Config(
        app, log_level="warning", access_log=False, timeout_graceful_shutdown=SHUTDOWN_SECONDS, server_header=False
    )
