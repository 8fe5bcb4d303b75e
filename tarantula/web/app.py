"""The application: the API, the pages, and who guards them."""

from __future__ import annotations

from fastapi import FastAPI, Request
from nicegui import ui
from starlette.responses import JSONResponse

from tarantula import __version__
from tarantula.errors import TarantulaError
from tarantula.people.roles import NotAllowed
from tarantula.web.gate import Doorkeeper, Gate
from tarantula.web.pages import browse, login, overview, validate
from tarantula.web.replay import Beside, Replay

__all__ = ["create_app"]

PAGES = (browse, login, overview, validate)
"""Importing a page makes it known."""


def create_app(gate: Gate, replay: Replay) -> FastAPI:
    """Return the management application of an installation; there is one in a process."""
    app = FastAPI(title="Tarântula", version=__version__, docs_url="/api/docs", openapi_url="/api/openapi.json")
    app.include_router(login.router)
    app.add_exception_handler(TarantulaError, _refused)
    ui.run_with(app, title="Tarântula", show_welcome_message=False, binding_refresh_interval=None)
    app.add_middleware(Doorkeeper, gate=gate)
    app.add_middleware(Beside, replay=replay)
    return app


async def _refused(request: Request, error: Exception) -> JSONResponse:
    return JSONResponse({"detail": str(error)}, 403 if isinstance(error, NotAllowed) else 400)
