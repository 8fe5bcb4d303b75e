"""Turns what goes wrong into an answer: always JSON, always a sentence."""

from __future__ import annotations

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic_core import ErrorDetails
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.routing import Match, Mount
from starlette.types import Scope

from tarantula.accounts.roles import NotAllowed
from tarantula.core.errors import ConflictError, DatabaseUnavailableError, NotFoundError, TarantulaError, UnusableError
from tarantula.core.messages import detail_messages

ERROR_STATUS = (
    *((NotAllowed, 403), (NotFoundError, 404), (ConflictError, 409)),
    *((DatabaseUnavailableError, 503), (UnusableError, 503), (TarantulaError, 400)),
)
"""The first that fits."""
HTTP_METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"]


def add_error_handlers(app: FastAPI) -> None:
    """Make every refusal a sentence."""
    app.add_exception_handler(TarantulaError, _refused)
    app.add_exception_handler(RequestValidationError, _unreadable)
    app.add_exception_handler(HTTPException, _other)
    app.add_api_route("/api/{rest:path}", _nowhere, methods=HTTP_METHODS, include_in_schema=False)


async def _refused(request: Request, error: Exception) -> Response:
    status = next(status for kind, status in ERROR_STATUS if isinstance(error, kind))
    fields = {place: sentence for place, sentence in getattr(error, "fields", {}).items() if place}
    return JSONResponse({"detail": str(error), **({"fields": fields} if fields else {})}, status)


async def _unreadable(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    complaints = [_without_place(details) for details in error.errors()]
    fields = {".".join(map(str, one["loc"])): detail_messages([one], ())[0] for one in reversed(complaints)}
    return JSONResponse({"detail": " ".join(detail_messages(complaints, ())), "fields": fields}, 422)


async def _other(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return JSONResponse({"detail": error.detail}, error.status_code, error.headers)


async def _nowhere(request: Request) -> Response:
    """Say that nothing is at an address, or not for what was wanted of it; the pages never see it."""
    allowed = [method for method in HTTP_METHODS if _is_somewhere({**request.scope, "method": method})]
    if allowed:
        sentence = f"{request.method} cannot be done here; {', '.join(allowed)} can."
        return JSONResponse({"detail": sentence}, 405, {"Allow": ", ".join(allowed)})
    return JSONResponse({"detail": f"There is nothing at {request.url.path[:200]}."}, 404)


def _is_somewhere(scope: Scope) -> bool:
    others = (route for route in scope["app"].routes if getattr(route, "endpoint", None) is not _nowhere)
    return any(route.matches(scope)[0] == Match.FULL for route in others if not isinstance(route, Mount))


def _without_place(details: ErrorDetails) -> ErrorDetails:
    """Leave out whether it was in the body or in the address."""
    place = details["loc"][1:] or ("body",)
    return {**details, "loc": place}
