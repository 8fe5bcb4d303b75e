"""Logging in and out, and choosing a language. These pages need no script, and nothing that others may not see."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import APIRouter, Form, Request
from starlette.responses import RedirectResponse, Response
from starlette.templating import Jinja2Templates

from tarantula.accounts import accounts
from tarantula.accounts.login import TooManyLogins
from tarantula.web.auth import SESSION_COOKIE, Authenticator, session_cookie
from tarantula.web.i18n import LANGUAGE_COOKIE, LANGUAGES, _, language

router = APIRouter(include_in_schema=False)
templates = Jinja2Templates(Path(__file__).parent.parent / "templates")


@router.get("/begin")
def log_in_by_link(request: Request, code: str = "") -> Response:
    """Let in whoever has the link that was printed."""
    gate: Authenticator = request.state.gate
    secret = gate.take_code(code)
    if secret is None:
        return RedirectResponse("/login?failed=code", status_code=303)
    return _in(request, secret, "/")


@router.get("/login")
def login_page(request: Request, next: str = "/", failed: str = "") -> Response:
    """Ask who it is."""
    if failed == "code":
        used = _("This link was already used or has been replaced. Start `tarantula web` again to get a new one.")
        return _page(request, next, complaint=used)
    return _page(request, next)


@router.post("/login")
def log_in(
    request: Request,
    name: Annotated[str, Form()] = "",
    password: Annotated[str, Form()] = "",
    next: Annotated[str, Form()] = "/",
) -> Response:
    """Let in whoever knows the password."""
    gate: Authenticator = request.state.gate
    try:
        secret = gate.log_in(name, password, request.client.host if request.client else "")
    except TooManyLogins as error:
        words = _("Too many logins have failed. Try again in {seconds} seconds.", seconds=error.seconds)
        return _page(request, next, name, words, status=429, headers={"Retry-After": str(error.seconds)})
    if secret is None:
        return _page(request, next, name, _("The name or the password is wrong."), status=401)
    return _in(request, secret, local_path(next))


@router.post("/logout")
def log_out(request: Request) -> Response:
    """End the session."""
    gate: Authenticator = request.state.gate
    if secret := request.cookies.get(SESSION_COOKIE):
        gate.log_out(secret)
    answer = RedirectResponse("/login", status_code=303)
    answer.delete_cookie(SESSION_COOKIE)
    return answer


@router.get("/language/{name}")
def choose_language(request: Request, name: str, back: str = "/") -> Response:
    """Remember a language, and go back."""
    answer = RedirectResponse(local_path(back), status_code=303)
    if name in LANGUAGES:
        answer.set_cookie(LANGUAGE_COOKIE, name, max_age=365 * 86400, samesite="lax")
    return answer


def _page(
    request: Request,
    next: str,
    name: str = "",
    complaint: str = "",
    *,
    status: int = 200,
    headers: dict[str, str] | None = None,
) -> Response:
    gate: Authenticator = request.state.gate
    with gate.database.reading() as session:
        has_accounts = accounts.exist(session)
    words = {
        "title": _("Log in"),
        "name": _("Name"),
        "password": _("Password"),
        "no_account": _("There is no account yet. Open the link that `tarantula web` printed when it was started."),
    }
    others = {code: called for code, called in LANGUAGES.items() if code != language()}
    told = {"words": words, "next": local_path(next), "name": name, "complaint": complaint}
    context = {**told, "has_accounts": has_accounts, "others": others, "language": language()}
    return templates.TemplateResponse(request, "login.html", context, status, headers)


def local_path(address: str) -> str:
    """Return the path and the query of an address, on these pages whatever else it names."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return "/"
    # Two slashes would begin the name of a host, and browsers take \\ for /.
    path = "/" + parts.path.replace("\\", "/").lstrip("/")
    return f"{path}?{parts.query}" if parts.query else path


def _in(request: Request, secret: str, target: str) -> Response:
    answer = RedirectResponse(target, status_code=303)
    answer.headers.append("set-cookie", session_cookie(secret, secure=request.url.scheme == "https"))
    return answer
