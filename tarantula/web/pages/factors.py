"""The page of the second factors of the current account: forms that need no script, except for security keys."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

import segno
from fastapi import APIRouter, Form, Request
from starlette.responses import Response

from tarantula.accounts.factors import FactorRefused
from tarantula.core.errors import TarantulaError
from tarantula.services import factors
from tarantula.services.context import ServiceContext
from tarantula.web.auth import FACTORS_PAGE, Authenticator, key_site
from tarantula.web.i18n import _
from tarantula.web.limits import PooledRoute
from tarantula.web.public import render

router = APIRouter(prefix=FACTORS_PAGE, include_in_schema=False, route_class=PooledRoute)
QR_CODE_SCALE = 5
"""Pixels of a module."""

Password = Annotated[str, Form()]
Text = Annotated[str, Form()]


@router.get("")
def factors_page(request: Request) -> Response:
    """Show the second factors of the account."""
    return _answer(request, dict[str, Any])


@router.post("/totp")
def begin_totp(request: Request, password: Password = "") -> Response:
    """Show the secret of an authenticator app."""

    def begin() -> dict[str, Any]:
        totp = factors.begin_totp(_context(request), password)
        return {"totp": totp, "qr_code": segno.make(totp.uri, micro=False).svg_inline(scale=QR_CODE_SCALE)}

    return _answer(request, begin)


@router.post("/totp/confirm")
def confirm_totp(request: Request, code: Text = "") -> Response:
    """Make the app active with its first code."""

    def confirm() -> dict[str, Any]:
        try:
            return {"codes": factors.confirm_totp(_context(request), code), **_changed()}
        except FactorRefused as error:
            return {"complaint": _(str(error)), "is_confirming": True}

    return _answer(request, confirm)


@router.post("/totp/remove")
def remove_totp(request: Request, password: Password = "") -> Response:
    """Remove the app."""
    return _answer(request, partial(factors.remove_totp, _context(request), password))


@router.post("/key/begin")
def begin_key(request: Request, password: Password = "", name: Text = "") -> Response:
    """Ask the browser for a new security key."""

    def begin() -> dict[str, Any]:
        context = _context(request)
        site = key_site(request, context.installation.public_address)
        return {"key_options": factors.begin_key(context, password, name, site)}

    return _answer(request, begin, key_name=name)


@router.post("/key")
def finish_key(request: Request, name: Text = "", response: Text = "") -> Response:
    """Register the key that the browser created."""

    def finish() -> dict[str, Any]:
        context = _context(request)
        site = key_site(request, context.installation.public_address)
        return {"codes": factors.finish_key(context, name, site, response), **_changed()}

    return _answer(request, finish)


@router.post("/key/remove")
def remove_key(request: Request, number: Annotated[int, Form(ge=1, lt=2**31)], password: Password = "") -> Response:
    """Remove a security key."""
    return _answer(request, partial(factors.remove_key, _context(request), password, number))


@router.post("/codes")
def replace_codes(request: Request, password: Password = "") -> Response:
    """Show new recovery codes."""
    return _answer(request, lambda: {"codes": factors.new_recovery_codes(_context(request), password), **_changed()})


def _context(request: Request) -> ServiceContext:
    authenticator: Authenticator = request.state.authenticator
    return authenticator.context(request.state.person)


def _changed() -> dict[str, Any]:
    return {"done": _("The second factors are changed. Other sessions have ended.")}


def _answer(request: Request, act: Callable[[], dict[str, Any] | None], key_name: str = "") -> Response:
    """Show the page after an action, or why it was refused."""
    context, status, problem = _context(request), 200, ""
    try:
        values = act()
        values = _changed() if values is None else values
    except TarantulaError as error:
        values, status = {"complaint": _(str(error))}, 400
    try:
        key_site(request, context.installation.public_address)
    except TarantulaError as error:
        problem = _(str(error))
    try:
        shown = factors.overview(context)
    except TarantulaError as error:
        return render(request, "message.html", {"title": _("Second factors"), "complaint": _(str(error))}, 403)
    values = {"factors": shown, "problem": problem, "key_name": key_name, **values}
    return render(request, "factors.html", values, status)
