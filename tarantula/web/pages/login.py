"""Login, logout and language choice. Only security keys need a script."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import quote, urlsplit

from fastapi import APIRouter, Form, Request
from starlette.responses import RedirectResponse, Response

from tarantula import __version__
from tarantula.accounts import accounts, login
from tarantula.accounts.factors import FactorRefused
from tarantula.accounts.throttle import TooManyLogins
from tarantula.core.errors import TarantulaError
from tarantula.web.auth import (
    DEVICE_COOKIE,
    SESSION_COOKIE,
    Authenticator,
    is_secure,
    key_site,
    own_cookie,
    session_cookie,
)
from tarantula.web.i18n import LANGUAGE_COOKIE, LANGUAGES, _, language
from tarantula.web.limits import PooledRoute
from tarantula.web.middleware import templates_with_nonces

router = APIRouter(include_in_schema=False, route_class=PooledRoute)
templates = templates_with_nonces()
templates.env.globals.update(_=_, version=__version__)
ATTEMPT_COOKIE = "tarantula_login"
"""Cookie of a login that waits for a second factor or a passkey."""


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
        secret = authenticator.log_in(name, password, _address(request), device)
    except login.SecondFactorNeeded as needed:
        return _ask_for_factor(request, needed.attempt, next)
    except TooManyLogins as error:
        headers = {"Retry-After": str(error.seconds)}
        return login_form(request, next, name, _(str(error)), status=429, headers=headers)
    if secret is None:
        return login_form(request, next, name, _("The name or the password is wrong."), status=401)
    return _start_known_session(request, secret, local_path(next))


@router.post("/login/passkey")
def begin_passkey_login(request: Request, next: Annotated[str, Form()] = "/") -> Response:
    """Begin a login with a passkey, which needs no name and no password."""
    authenticator: Authenticator = request.state.authenticator
    with authenticator.database.session() as session:
        attempt = login.begin_attempt(session, None)
    return _ask_for_factor(request, attempt, next)


@router.get("/login/factor")
def factor_page(request: Request, next: str = "/") -> Response:
    """Ask for the second factor, or a passkey."""
    return _factor_form(request, next)


@router.post("/login/factor")
def log_in_with_factor(
    request: Request,
    code: Annotated[str, Form()] = "",
    recovery: Annotated[str, Form()] = "",
    response: Annotated[str, Form()] = "",
    next: Annotated[str, Form()] = "/",
) -> Response:
    """Finish a login with a code, a recovery code, or the response of a security key."""
    authenticator: Authenticator = request.state.authenticator
    attempt, device = own_cookie(request, ATTEMPT_COOKIE) or "", own_cookie(request, DEVICE_COOKIE)
    try:
        if response:
            proof = login.key_proof(key_site(request, authenticator.installation.public_address), response)
        else:
            proof = login.recovery_proof(recovery) if recovery else login.code_proof(code)
        secret = login.finish_log_in(authenticator.database, attempt, proof, _address(request), device)
    except TooManyLogins as error:
        return _factor_form(request, next, _(str(error)), 429, {"Retry-After": str(error.seconds)})
    except FactorRefused as error:
        return _factor_form(request, next, _(str(error)), 401)
    except TarantulaError as error:
        return _factor_form(request, next, _(str(error)), 503)
    answer = _start_known_session(request, secret, local_path(next))
    _set_attempt(request, answer, "", 0)
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


def _ask_for_factor(request: Request, attempt: str, next: str) -> Response:
    answer = RedirectResponse(f"/login/factor?next={quote(local_path(next), safe='/')}", status_code=303)
    _set_attempt(request, answer, attempt, int(login.ATTEMPT_LIFETIME.total_seconds()))
    return answer


def _set_attempt(request: Request, answer: Response, attempt: str, seconds: int) -> None:
    answer.headers.append("set-cookie", session_cookie(request, attempt, ATTEMPT_COOKIE, seconds))


def _factor_form(
    request: Request, next: str, complaint: str = "", status: int = 200, headers: dict[str, str] | None = None
) -> Response:
    authenticator: Authenticator = request.state.authenticator
    site, problem = None, _("Your security keys are registered for another address of these pages. Open them there.")
    try:
        site = key_site(request, authenticator.installation.public_address)
    except TarantulaError as error:
        problem = _(str(error))
    try:
        waiting = login.waiting(authenticator.database, own_cookie(request, ATTEMPT_COOKIE) or "", site)
    except login.AttemptOver as error:
        return login_form(request, next, complaint=_(str(error)), status=401)
    title = _("Use a passkey") if waiting.is_passkey else _("Second factor")
    others = {code: label for code, label in LANGUAGES.items() if code != language()}
    values = {"words": {"title": title}, "next": local_path(next), "complaint": complaint, "waiting": waiting}
    values |= {"problem": problem, "others": others, "language": language()}
    return templates.TemplateResponse(request, "second_factor.html", values, status, headers)


def _address(request: Request) -> str:
    return request.client.host if request.client else ""


def _start_known_session(request: Request, secret: str, target: str) -> Response:
    """Set the cookie of a session, and that of a browser in which the account has logged in."""
    authenticator: Authenticator = request.state.authenticator
    answer = start_session(request, secret, RedirectResponse(target, status_code=303))
    if known := authenticator.remember_device(secret, own_cookie(request, DEVICE_COOKIE)):
        seconds = int(login.DEVICE_LIFETIME.total_seconds())
        answer.headers.append("set-cookie", session_cookie(request, known, DEVICE_COOKIE, seconds))
    return answer


def start_session(request: Request, secret: str, answer: Response) -> Response:
    """Set the cookie of a session that has just begun."""
    answer.headers.append("set-cookie", session_cookie(request, secret))
    if is_secure(request) and SESSION_COOKIE in request.cookies:
        # Earlier versions set it by https too, where it is not read any more.
        answer.delete_cookie(SESSION_COOKIE)
    return answer
