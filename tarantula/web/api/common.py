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
from tarantula.core.errors import (
    ConflictError,
    NotFoundError,
    TarantulaError,
    UnusableError,
    WithheldError,
)
from tarantula.core.validation import detail_messages
from tarantula.services.context import MAX_PAGE_ROWS, ResultPage, ServiceContext, read_cursor, write_cursor
from tarantula.web.auth import SESSION_COOKIE, Authenticator
from tarantula.web.limits import error_response, error_status, retry_headers

T = TypeVar("T")

MAX_JSON_NUMBER = 2**53 - 1
"""Largest integer that every JSON parser reads exactly."""

MAX_JSON_VALUES = 10_000
"""Maximum number of values in a JSON body: texts, numbers, lists, objects and their keys."""

_token = HTTPBearer(auto_error=False, scheme_name="token", description="A token: see docs/people.md.")
_session = APIKeyCookie(
    name=SESSION_COOKIE,
    auto_error=False,
    scheme_name="session",
    description="The session cookie of a browser; by https with the prefix __Host-.",
)


class ApiError(BaseModel):
    """Body of an error response."""

    detail: str
    """A sentence that says what was wrong and what to do."""


ERROR_RESPONSES: dict[int | str, dict[str, Any]] = {
    400: {"model": ApiError, "description": "A value in the request cannot be used."},
    401: {"model": ApiError, "description": "No login and no valid token."},
    403: {"model": ApiError, "description": "The role does not suffice, or the request comes from another site."},
    404: {"model": ApiError, "description": "Not found."},
    409: {"model": ApiError, "description": "Conflict with the present state: a name is taken, an item is busy."},
    413: {"model": ApiError, "description": "The request is too large."},
    422: {"model": ApiError, "description": "A value is missing or invalid."},
    451: {"model": ApiError, "description": "The URL is taken down or under embargo."},
    429: {"model": ApiError, "description": "Too many requests: see `Retry-After`."},
    503: {"model": ApiError, "description": "The database is not available, the server is busy, or it took too long."},
}


async def request_context(request: Request) -> ServiceContext:
    """Return the service context of the request's account; raise 401 without an account."""
    person = request.state.person
    if person is None:
        raise HTTPException(401, "Send a valid token, or log in.", {"WWW-Authenticate": "Bearer"})
    authenticator: Authenticator = request.state.authenticator
    return authenticator.context(person)


async def check_body(request: Request) -> None:
    """Refuse JSON of very many values, and JSON that no database can store: NUL characters, lone surrogates, infinite
    numbers."""
    if request.method in ("POST", "PUT", "PATCH") and "json" in request.headers.get("content-type", ""):
        try:
            body = await request.json()
        except ValueError:
            # The next parser reports the error.
            return
        _check_values(body)


def _check_values(body: Any) -> None:
    pending, count = [body], 0
    while pending:
        value, count = pending.pop(), count + 1
        # Each value may be an error of its own, and all of them would be described in one answer.
        if count + len(pending) > MAX_JSON_VALUES:
            raise TarantulaError(
                "The request has more than {limit:,} values, which is the limit.", limit=MAX_JSON_VALUES
            )
        if isinstance(value, str):
            if not _is_text(value):
                raise TarantulaError("{value!r} contains a NUL character or a lone surrogate.", value=value[:40])
        elif isinstance(value, int | float):
            if not math.isfinite(value) or abs(value) > MAX_JSON_NUMBER:
                raise TarantulaError(
                    "Numbers may be at most {limit}; {value} is larger.", limit=MAX_JSON_NUMBER, value=str(value)[:40]
                )
        elif isinstance(value, dict):
            pending += [*value.keys(), *value.values()]
        elif isinstance(value, list):
            pending += value


def _is_text(value: str) -> bool:
    return "\0" not in value and not any("\ud800" <= character <= "\udfff" for character in value)


def page_of(rows: Sequence[T], limit: int, after: str | None) -> ResultPage[T]:
    """Return one page of a complete list of rows."""
    start = read_cursor(after) or 0
    more = start + limit < len(rows)
    return ResultPage(rows=list(rows[start : start + limit]), next=write_cursor(start + limit) if more else None)


RequestContext = Annotated[ServiceContext, Depends(request_context)]
"""First parameter of every API function."""
API_DEPENDENCIES = [Security(_token), Security(_session), Depends(check_body)]
"""The first two document authentication in OpenAPI; `AuthMiddleware` has already done it."""

Limit = Annotated[int, Query(ge=1, le=MAX_PAGE_ROWS, description="Maximum number of rows.")]
Cursor = Annotated[str | None, Query(max_length=100, description="Continue after a page: its `next`, unchanged.")]
Name = Annotated[str, Path(max_length=100)]
Urn = Annotated[str, Path(max_length=200, description="The item.")]
Number = Annotated[int, Path(ge=1, le=2**31 - 1)]


ERROR_STATUS = (
    *((NotAllowed, 403), (NotFoundError, 404), (ConflictError, 409), (WithheldError, 451)),
    *((UnusableError, 503), (TarantulaError, 400)),
)
"""Status of each exception class; the first match counts."""
MAX_FIELD_ERRORS = 100
"""Maximum number of errors that one response describes."""
HTTP_METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"]


def add_error_handlers(app: FastAPI) -> None:
    """Register handlers that return every error as JSON with a sentence."""
    app.add_exception_handler(TarantulaError, _service_error)
    app.add_exception_handler(RequestValidationError, _validation_error)
    app.add_exception_handler(StarletteHTTPException, _http_error)
    app.add_api_route("/api/{rest:path}", _not_found, methods=HTTP_METHODS, include_in_schema=False)


def add_page_error_handler(app: FastAPI) -> None:
    """Register the handler of errors for which there is no page, such as a database that is away."""
    app.add_exception_handler(TarantulaError, _service_error)


async def _service_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, TarantulaError)
    status = error_status(error, next(status for kind, status in ERROR_STATUS if isinstance(error, kind)))
    if headers := retry_headers(error):
        return error_response(request.scope, str(error), status, headers)
    fields = {field: sentence for field, sentence in getattr(error, "fields", {}).items() if field}
    return JSONResponse({"detail": str(error), **({"fields": fields} if fields else {})}, status)


async def _validation_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    errors = [_without_origin(details) for details in error.errors()[:MAX_FIELD_ERRORS]]
    fields = {".".join(map(str, one["loc"])): detail_messages([one], ())[0] for one in reversed(errors)}
    return JSONResponse({"detail": " ".join(detail_messages(errors, ())), "fields": fields}, 422)


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, StarletteHTTPException)
    return JSONResponse({"detail": error.detail}, error.status_code, error.headers)


async def _not_found(request: Request) -> Response:
    """Return 405 if the address exists for other methods, else 404; only for addresses below /api."""
    allowed = [method for method in HTTP_METHODS if _has_route({**request.scope, "method": method})]
    if allowed:
        sentence = f"{request.method} is not allowed here; allowed: {', '.join(allowed)}."
        return JSONResponse({"detail": sentence}, 405, {"Allow": ", ".join(allowed)})
    return JSONResponse({"detail": f"There is nothing at {request.url.path[:200]}."}, 404)


def _has_route(scope: Scope) -> bool:
    others = (route for route in scope["app"].routes if getattr(route, "endpoint", None) is not _not_found)
    return any(route.matches(scope)[0] == Match.FULL for route in others if not isinstance(route, Mount))


def _without_origin(details: ErrorDetails) -> ErrorDetails:
    """Remove the first part of the location: body, path or query."""
    field = details["loc"][1:] or ("body",)
    return {**details, "loc": field}
