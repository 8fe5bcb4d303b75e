"""The application: the API, the pages, and who guards them."""

from __future__ import annotations

from fastapi import FastAPI, Request
from nicegui import ui
from starlette.responses import JSONResponse
from starlette.staticfiles import StaticFiles

from tarantula import __version__
from tarantula.errors import TarantulaError
from tarantula.people.roles import NotAllowed
from tarantula.web import live
from tarantula.web.gate import Doorkeeper, Gate
from tarantula.web.pages import (
    document,
    documents,
    item,
    items,
    login,
    overview,
    publication,
    publications,
    reports,
    servers,
    types,
)

__all__ = ["create_app"]

PAGES = (login, overview, publications, publication, types, reports, items, item, documents, document, servers)
"""Importing a page makes it known."""


def create_app(gate: Gate) -> FastAPI:
    """Return the management application of an installation; there is one in a process."""
    app = FastAPI(title="Tarântula", version=__version__, docs_url="/api/docs", openapi_url="/api/openapi.json")
    app.include_router(login.router)
    app.include_router(live.router)
    app.mount("/static", StaticFiles(directory=live.STATIC))
    app.add_exception_handler(TarantulaError, _refused)
    ui.run_with(app, title="Tarântula", show_welcome_message=False, binding_refresh_interval=None)
    app.add_middleware(Doorkeeper, gate=gate)
    return app


async def _refused(request: Request, error: Exception) -> JSONResponse:
    return JSONResponse({"detail": str(error)}, 403 if isinstance(error, NotAllowed) else 400)
