"""The application: the API, the pages, and who guards them."""

from __future__ import annotations

from fastapi import FastAPI
from nicegui import ui
from starlette.staticfiles import StaticFiles

from tarantula import __version__
from tarantula.web import api, live
from tarantula.web.api import watching
from tarantula.web.api.refusals import refuse_in_sentences
from tarantula.web.door.doorkeeper import Doorkeeper
from tarantula.web.door.gate import Gate
from tarantula.web.door.leaving import Leaving
from tarantula.web.metrics import Measured
from tarantula.web.pages import (
    account,
    alerts,
    audit,
    browse,
    dashboard,
    document,
    documents,
    item,
    items,
    login,
    overview,
    people,
    picker,
    publication,
    publications,
    reports,
    searches,
    servers,
    source,
    sources,
    types,
    validate,
)
from tarantula.web.plain import search, suggest
from tarantula.web.replay.addresses import Beside, Replay

__all__ = ["create_app"]

PAGES = (
    *(login, overview, publications, publication, types, reports, items, item, documents, document, servers),
    *(browse, validate, searches, dashboard, picker, sources, source, alerts, account, people, audit),
)
"""Importing a page makes it known."""


AWAY = 30.0
"""Seconds for which a page whose connection is lost is kept as it was filled in; then it is loaded anew."""


def create_app(gate: Gate, replay: Replay) -> FastAPI:
    """Return the management application of an installation; there is one in a process."""
    app = FastAPI(
        title="Tarântula",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/openapi.json",
        generate_unique_id_function=lambda route: route.name,
    )
    for router in (login.router, search.router, suggest.router, watching.router, live.router, api.router):
        app.include_router(router)
    refuse_in_sentences(app)
    app.mount("/static", StaticFiles(directory=live.STATIC))
    ui.run_with(
        app,
        title="Tarântula",
        show_welcome_message=False,
        binding_refresh_interval=None,
        reconnect_timeout=AWAY,
    )
    app.add_middleware(Doorkeeper, gate=gate)
    app.add_middleware(Beside, replay=replay)
    app.add_middleware(Measured)
    app.add_middleware(Leaving)
    return app
