"""The application: the API, the pages, and who guards them."""

from __future__ import annotations

from fastapi import FastAPI
from nicegui import ui
from starlette.staticfiles import StaticFiles

from tarantula import __version__
from tarantula.web import api, live
from tarantula.web.api import monitoring_part_watching
from tarantula.web.api.common_part_refusals import add_error_handlers
from tarantula.web.api.monitoring import MetricsMiddleware
from tarantula.web.auth import AuthMiddleware
from tarantula.web.auth_part_gate import Authenticator
from tarantula.web.middleware_part_leaving import DisconnectMiddleware
from tarantula.web.pages import (
    accounts,
    accounts_part_account,
    alerts,
    audit,
    browse,
    dashboard,
    documents,
    documents_part_document,
    items,
    items_part_item,
    login,
    overview,
    picker,
    publications,
    publications_part_publication,
    reports,
    search_engine,
    servers,
    sources,
    sources_part_source,
    types,
    validation,
)
from tarantula.web.public import search, search_part_suggest
from tarantula.web.replay.addresses import ReplayMiddleware, ReplayOrigin

__all__ = ["create_app"]

PAGES = (
    *(
        login,
        overview,
        publications,
        publications_part_publication,
        types,
        reports,
        items,
        items_part_item,
        documents,
        documents_part_document,
        servers,
    ),
    *(
        browse,
        validation,
        search_engine,
        dashboard,
        picker,
        sources,
        sources_part_source,
        alerts,
        accounts_part_account,
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
        search_part_suggest.suggest_router,
        monitoring_part_watching.router,
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
