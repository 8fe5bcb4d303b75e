"""Login, logout and language choice. These pages need no script."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import APIRouter, Form, Request
from starlette.responses import RedirectResponse, Response
from starlette.templating import Jinja2Templates

from tarantula.accounts import accounts
from tarantula.accounts.login import DEVICE_LIFETIME, TooManyLogins
from tarantula.web.auth import (
    DEVICE_COOKIE,
    SESSION_COOKIE,
    Authenticator,
    is_secure,
    own_cookie,
    session_cookie,
)
from tarantula.web.i18n import LANGUAGE_COOKIE, LANGUAGES, _, language

router = APIRouter(include_in_schema=False)
templates = Jinja2Templates(Path(__file__).parent.parent / "templates")


@router.get("/begin")
def log_in_by_link(request: Request, code: str = "") -> Response:
    """Log in with the printed one-time link."""
    authenticator: Authenticator = request.state.authenticator
    secret = authenticator.redeem_code(code)
    if secret is None:
        return RedirectResponse("/login?failed=code", status_code=303)
    return start_session(request, secret, RedirectResponse("/", status_code=303))


@router.get("/login")
def login_page(request: Request, next: str = "/", failed: str = "") -> Response:
    """Show the login form."""
    if failed == "code":
        used = _("This link was already used or has been replaced. Start `tarantula web` again to get a new one.")
        return login_form(request, next, complaint=used)
    return login_form(request, next)


@router.post("/login")
def log_in(
    request: Request,
    name: Annotated[str, Form()] = "",
    password: Annotated[str, Form()] = "",
    next: Annotated[str, Form()] = "/",
) -> Response:
    """Log in with name and password."""
    authenticator: Authenticator = request.state.authenticator
    try:
        device = own_cookie(request, DEVICE_COOKIE)
        secret = authenticator.log_in(name, password, request.client.host if request.client else "", device)
    except TooManyLogins as error:
        texts = _("Too many failed logins. Try again in {seconds} seconds.", seconds=error.seconds)
        return login_form(request, next, name, texts, status=429, headers={"Retry-After": str(error.seconds)})
    if secret is None:
        return login_form(request, next, name, _("The name or the password is wrong."), status=401)
    answer = start_session(request, secret, RedirectResponse(local_path(next), status_code=303))
    if known := authenticator.remember_device(secret, device):
        seconds = int(DEVICE_LIFETIME.total_seconds())
        answer.headers.append("set-cookie", session_cookie(request, known, DEVICE_COOKIE, seconds))
    return answer


def log_out_here(request: Request) -> Response:
    """End the session of the browser."""
    authenticator: Authenticator = request.state.authenticator
    if secret := own_cookie(request):
        authenticator.log_out(secret)
    answer = RedirectResponse("/login", status_code=303)
    answer.headers.append("set-cookie", session_cookie(request, "", seconds=0))
    return answer


@router.get("/language/{name}")
def choose_language(request: Request, name: str, back: str = "/") -> Response:
    """Store the language in a cookie and go back."""
    answer = RedirectResponse(local_path(back), status_code=303)
    if name in LANGUAGES:
        answer.set_cookie(LANGUAGE_COOKIE, name, max_age=365 * 86400, samesite="lax")
    return answer


def login_form(
    request: Request,
    next: str,
    name: str = "",
    complaint: str = "",
    *,
    status: int = 200,
    headers: dict[str, str] | None = None,
) -> Response:
    """Show the login form."""
    authenticator: Authenticator = request.state.authenticator
    provider = authenticator.provider
    with authenticator.database.reading() as session:
        has_accounts = accounts.exist(session)
    texts = {
        "title": _("Log in"),
        "name": _("Name"),
        "password": _("Password"),
        "provider": _("Log in with {provider}", provider=provider.settings.label) if provider else "",
        "no_account": _("There is no account yet. Open the link that `tarantula web` printed when it was started."),
    }
    others = {code: label for code, label in LANGUAGES.items() if code != language()}
    form = {"words": texts, "next": local_path(next), "name": name, "complaint": complaint}
    values = {**form, "has_accounts": has_accounts, "others": others, "language": language()}
    return templates.TemplateResponse(request, "login.html", values, status, headers)


def local_path(address: str) -> str:
    """Return the path and query of an address; a host in it is dropped."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return "/"
    # Two slashes would start a host name, and browsers read \\ as /.
    path = "/" + parts.path.replace("\\", "/").lstrip("/")
    return f"{path}?{parts.query}" if parts.query else path


def start_session(request: Request, secret: str, answer: Response) -> Response:
    """Set the cookie of a session that has just begun."""
    answer.headers.append("set-cookie", session_cookie(request, secret))
    if is_secure(request) and SESSION_COOKIE in request.cookies:
        # Earlier versions set it by https too, where it is not read any more.
        answer.delete_cookie(SESSION_COOKIE)
    return answer
