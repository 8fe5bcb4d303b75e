"""The web applications: the management app and the replay app."""

from __future__ import annotations

import logging
import socket
from collections.abc import Sequence
from urllib.parse import urlsplit

from fastapi import FastAPI
from nicegui import app as pages_app
from nicegui import ui
from nicegui.client import templates as nicegui_templates
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from tarantula import __version__
from tarantula.core.sockets import TrustedHosts, open_listener, trusted_hosts
from tarantula.web import api, live, public
from tarantula.web.api import monitoring
from tarantula.web.api.common import add_error_handlers, add_page_error_handler
from tarantula.web.api.monitoring import MetricsMiddleware
from tarantula.web.auth import Authenticator, AuthMiddleware
from tarantula.web.limits import REPLAY, AddressLimitMiddleware, RequestLimitMiddleware, RequestLimits
from tarantula.web.middleware import (
    DisconnectMiddleware,
    NonceExtension,
    SecurityHeadersMiddleware,
    TrustedHostMiddleware,
)
from tarantula.web.pages import (
    accounts,
    alerts,
    audit,
    browse,
    dashboard,
    documents,
    factors,
    files,
    items,
    login,
    overview,
    picker,
    publications,
    reports,
    search_engine,
    servers,
    single_sign_on,
    sources,
    types,
    validation,
    withholding,
)
from tarantula.web.picker.service import PickerService
from tarantula.web.replay.addresses import ReplayMiddleware, ReplayOrigin, checked_address
from tarantula.web.replay.app import create_replay_app
from tarantula.web.replay.security import SandboxMiddleware, TicketSigner

__all__ = ["create_app", "create_apps"]

# fmt: off
PAGES = (
    accounts, alerts, audit, browse, dashboard, documents, files, items, login, overview, picker, publications,
    reports, search_engine, servers, single_sign_on, sources, types, validation, withholding,
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


def create_app(authenticator: Authenticator, replay: ReplayOrigin, hosts: TrustedHosts) -> FastAPI:
    """Create the management app of an installation; one per process."""
    app = _App(
        title="Tarântula",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/openapi.json",
        generate_unique_id_function=lambda route: route.name,
    )
    routers = (login.router, factors.router, single_sign_on.router, public.router)
    for router in (*routers, monitoring.router, live.router, api.router):
        app.include_router(router)
    add_error_handlers(app)
    add_page_error_handler(pages_app)
    # Its lines about pages that do not exist have the whole URL, such as that of the start link with its code.
    logging.getLogger("nicegui").addFilter(lambda record: not record.getMessage().endswith(" not found"))
    app.mount("/static", StaticFiles(directory=live.STATIC))
    ui.run_with(
        app,
        title="Tarântula",
        show_welcome_message=False,
        binding_refresh_interval=None,
        reconnect_timeout=RECONNECT_SECONDS,
    )
    limits = RequestLimits(authenticator.installation)
    app.add_middleware(RequestLimitMiddleware, limits=limits)
    app.add_middleware(AuthMiddleware, authenticator=authenticator)
    app.add_middleware(AddressLimitMiddleware, limits=limits)
    app.add_middleware(ReplayMiddleware, replay=replay)
    app.add_middleware(MetricsMiddleware)
    has_proxies = bool(authenticator.installation.proxies)
    app.add_middleware(TrustedHostMiddleware, hosts=hosts, has_proxies=has_proxies)
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
    installation, limits = authenticator.installation, RequestLimits(authenticator.installation)
    hosts = trusted_hosts(installation, host, installation.public_address)
    # With an address of their own, archived pages have none of the names of the management pages.
    replay_hosts = TrustedHosts([urlsplit(address).hostname or ""]) if address else hosts
    archived: ASGIApp = create_replay_app(installation, authenticator.content, tickets, picker.routes(tickets))
    archived = AddressLimitMiddleware(RequestLimitMiddleware(archived, limits, REPLAY), limits)
    return [
        (create_app(authenticator, replay, hosts), listener),
        (SandboxMiddleware(TrustedHostMiddleware(archived, replay_hosts)), replay_socket),
    ]
