"""What every part of the API has in common: whose desk it is, how pages are asked for, what a refusal looks like."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any, TypeVar

from fastapi import Depends, HTTPException, Path, Query, Request, Security
from fastapi.security import APIKeyCookie, HTTPBearer
from pydantic import BaseModel

from tarantula.core.errors import TarantulaError
from tarantula.services.context import ServiceContext
from tarantula.services.pagination import MAX_PAGE_ROWS, ResultPage, read_cursor, write_cursor
from tarantula.web.auth_part_gate import SESSION_COOKIE, Authenticator

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
