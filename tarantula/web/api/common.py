"""What all API modules share: authentication, paging, path parameters, and errors as JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any, TypeVar

from fastapi import Depends, FastAPI, HTTPException, Path, Query, Request, Security
from fastapi.exceptions import RequestValidationError
from fastapi.security import APIKeyCookie, HTTPBearer
from pydantic import BaseModel
from pydantic_core import ErrorDetails
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.responses import JSONResponse, Response
from starlette.routing import Match, Mount
from starlette.types import Scope

from tarantula.accounts.roles import NotAllowed
from tarantula.core.errors import ConflictError, DatabaseUnavailableError, NotFoundError, TarantulaError, UnusableError
from tarantula.core.messages import detail_messages
from tarantula.services.context import ServiceContext
from tarantula.services.pagination import MAX_PAGE_ROWS, ResultPage, read_cursor, write_cursor
from tarantula.web.auth import SESSION_COOKIE, Authenticator

T = TypeVar("T")

MAX_JSON_NUMBER = 2**53 - 1
"""A number that every program reads alike."""

_token = HTTPBearer(auto_error=False, scheme_name="token", description="A token: see docs/people.md.")
_session = APIKeyCookie(name=SESSION_COOKIE, auto_error=False, scheme_name="session", description="Of a browser.")


class ApiError(BaseModel):
    """Why it was refused."""

    detail: str
    """A sentence that says what was wrong and what to do."""


ERROR_RESPONSES: dict[int | str, dict[str, Any]] = {
    400: {"model": ApiError, "description": "What was told cannot be used."},
    401: {"model": ApiError, "description": "Nobody has logged in, and no token was shown."},
    403: {"model": ApiError, "description": "The role is not enough, or another site is behind it."},
    404: {"model": ApiError, "description": "There is no such thing."},
    409: {"model": ApiError, "description": "It cannot be done as things are: a name is taken, an item is busy."},
    413: {"model": ApiError, "description": "The request is too large."},
    422: {"model": ApiError, "description": "A value is missing, or is not what it should be."},
    503: {"model": ApiError, "description": "The database cannot be used at the moment."},
}


def request_context(request: Request) -> ServiceContext:
    """Return the desk of whoever asks."""
    person = request.state.person
    if person is None:
        raise HTTPException(401, "Show a token that is valid, or log in.", {"WWW-Authenticate": "Bearer"})
    gate: Authenticator = request.state.gate
    return gate.desk(person)


async def check_body(request: Request) -> None:
    """Refuse JSON that no database could keep: zero bytes, halves of characters, numbers without end."""
    if request.method in ("POST", "PUT", "PATCH") and "json" in request.headers.get("content-type", ""):
        try:
            body = await request.json()
        except ValueError:
            # Whoever reads it next says what is wrong with it.
            return
        _check(body)


def _check(body: Any) -> None:
    left = [body]
    while left:
        value = left.pop()
        if isinstance(value, str):
            if not _is_text(value):
                raise TarantulaError(f"{value[:40]!r} holds a zero byte or half a character, which is no text.")
        elif isinstance(value, int | float):
            if not math.isfinite(value) or abs(value) > MAX_JSON_NUMBER:
                raise TarantulaError(f"A number is at most {MAX_JSON_NUMBER}, and {str(value)[:40]} is not.")
        elif isinstance(value, dict):
            left += [*value.keys(), *value.values()]
        elif isinstance(value, list):
            left += value


def _is_text(value: str) -> bool:
    return "\0" not in value and not any("\ud800" <= sign <= "\udfff" for sign in value)


def page_of(rows: Sequence[T], limit: int, after: str | None) -> ResultPage[T]:
    """Return some rows of a list that was asked for in whole."""
    began = read_cursor(after) or 0
    more = began + limit < len(rows)
    return ResultPage(rows=list(rows[began : began + limit]), next=write_cursor(began + limit) if more else None)


RequestContext = Annotated[ServiceContext, Depends(request_context)]
"""The first argument of every function of the API."""
API_DEPENDENCIES = [Security(_token), Security(_session), Depends(check_body)]
"""The first two say in the OpenAPI document how to come in; who comes in has been seen at the door."""

Limit = Annotated[int, Query(ge=1, le=MAX_PAGE_ROWS, description="How many rows.")]
Cursor = Annotated[
    str | None, Query(max_length=100, description="Where to go on: the `next` of the page before, as it is.")
]
Name = Annotated[str, Path(max_length=100)]
Urn = Annotated[str, Path(max_length=200, description="The item.")]
Number = Annotated[int, Path(ge=1, le=2**31 - 1)]


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
    app.add_exception_handler(StarletteHTTPException, _other)
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
    assert isinstance(error, StarletteHTTPException)
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
