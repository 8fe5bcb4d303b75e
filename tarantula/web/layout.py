"""The page layout: header, navigation, page title, and the message shown when a page fails."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from fastapi import Request
from nicegui import ui
from nicegui.language import Language
from starlette.datastructures import URL
from starlette.responses import RedirectResponse, Response

from tarantula.accounts.roles import Role
from tarantula.core.deadlines import time_budget
from tarantula.core.errors import TarantulaError
from tarantula.services.context import ServiceContext
from tarantula.web.i18n import LANGUAGES, _, language, mark, set_language
from tarantula.web.limits import error_status

PRIMARY_COLOUR = "#1d4ed8"
"""Has sufficient contrast with white, as text and as background."""
QUASAR_LANGUAGES: dict[str, Language] = {"en": "en-GB", "pt": "pt"}

NAVIGATION: list[tuple[str, str, str, Role]] = [
    ("/", mark("Overview"), "home", Role.READER),
    ("/search", mark("Search"), "search", Role.READER),
    ("/dashboard", mark("Dashboard"), "dashboard", Role.READER),
    ("/sources", mark("Sources"), "sensors", Role.READER),
    ("/streams/new", mark("Follow a value"), "ads_click", Role.CURATOR),
    ("/publications", mark("Publications"), "library_books", Role.READER),
    ("/items", mark("Items"), "inventory_2", Role.READER),
    ("/reports", mark("Reports"), "bar_chart", Role.READER),
    ("/validation", mark("Validation"), "fact_check", Role.READER),
    ("/withholding", mark("Withheld URLs"), "visibility_off", Role.CURATOR),
    ("/types", mark("Types and profiles"), "category", Role.READER),
    ("/alerts", mark("Alerts"), "notifications", Role.READER),
    ("/searches", mark("Search engine"), "monitor_heart", Role.ADMINISTRATOR),
    ("/people", mark("People"), "group", Role.ADMINISTRATOR),
    ("/audit", mark("Audit log"), "history", Role.ADMINISTRATOR),
]
"""Entries of the menu: path, label, icon, and the role that sees it."""

PAGE_SECONDS = 20.0
"""Time budget of what a page reads before it is sent; the rest is read while it is open."""
RESPONSE_SECONDS = 50.0
"""Time after which an unfinished page is given up; after 60 NiceGUI forgets clients that have not connected."""

Builder = Callable[..., Any]


class _Page(ui.page):
    """A page whose framework texts are in the reader's language."""

    def resolve_language(self) -> Language:
        """Return Quasar's name of the language."""
        return QUASAR_LANGUAGES[language()]


def page(path: str, title: str, role: Role = Role.READER) -> Callable[[Builder], Builder]:
    """Register a function as a page; its first parameter is a `ServiceContext`, the others come from the address.

    It runs in the event loop, as all of NiceGUI: what reads the database or files is called with `run_in_thread`.
    Requests without a login are redirected to the login page. A `TarantulaError` is shown on the page.
    """

    def decorate(build: Builder) -> Builder:
        parameters = list(inspect.signature(build, eval_str=True).parameters.values())[1:]

        @functools.wraps(build)
        async def render(request: Request, **arguments: Any) -> Response | None:
            person = request.state.person
            if person is None:
                return RedirectResponse(f"/login?next={request.url.path}", status_code=303)
            set_language(request.state.language)
            context = request.state.authenticator.context(person)
            ui.page_title(f"{_(title)} · Tarântula")
            _render_frame(context, request.url)
            with ui.element("main").classes("w-full max-w-screen-xl mx-auto p-2 sm:p-4").props('id="main"'):
                await _render_content(context, build, role, title, arguments)
            return None

        request = inspect.Parameter("request", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=Request)
        render.__signature__ = inspect.Signature([request, *parameters])  # type: ignore[attr-defined]
        _Page(path, response_timeout=RESPONSE_SECONDS)(render)
        return build

    return decorate


async def _render_content(
    context: ServiceContext, build: Builder, role: Role, title: str, arguments: dict[str, Any]
) -> None:
    try:
        context.person.check(role)
        with time_budget(PAGE_SECONDS):
            built = build(context, **arguments)
            if inspect.isawaitable(built):
                await built
    except TarantulaError as error:
        if error_status(error, 0):
            # The whole page is not available, and its status says so.
            raise
        ui.label(_(title)).props('role="heading" aria-level="1"').classes("text-h5")
        show_error(str(error))


def show_error(sentence: str) -> None:
    """Show an error message on the page, translated."""
    with ui.row().classes("items-center p-3 rounded border border-red-700 w-full").props('role="alert"'):
        ui.icon("error", color="red-9")
        ui.label(_(sentence))


def heading(text: str) -> None:
    """Show the title of a page."""
    ui.label(text).props('role="heading" aria-level="1"').classes("text-h5 mb-2")


def _render_frame(context: ServiceContext, address: URL) -> None:
    ui.colors(primary=PRIMARY_COLOUR)
    ui.link(_("Skip to content"), "#main").classes("sr-only focus:not-sr-only")
    with ui.header().classes("items-center bg-slate-800 text-white px-2 py-1 gap-2 flex-nowrap"):
        drawer_button = ui.button(icon="menu").props(f'flat color=white aria-label="{_("Menu")}"')
        ui.link("Tarântula", "/").classes("text-h6 text-white no-underline")
        ui.space()
        _language_links(address)
        ui.link(f"{context.person.name} · {_(context.person.role)}", "/account").classes("text-sm text-white truncate")
        with ui.element("form").props('method="post" action="/logout"'):
            ui.button(icon="logout").props(f'flat color=white type="submit" aria-label="{_("Log out")}"')
    # The browser opens it at once on wide windows.
    drawer = ui.left_drawer(value=False).classes("bg-slate-100 p-2").props("width=230 show-if-above")
    with drawer, ui.element("nav").classes("w-full").props(f'aria-label="{_("Pages")}"'):
        for target, name, icon, role in NAVIGATION:
            if context.person.role.allows(role):
                _menu_entry(target, name, icon, address.path)
    drawer_button.on_click(drawer.toggle)


def _menu_entry(target: str, name: str, icon: str, path: str) -> None:
    current = path == target or (target != "/" and path.startswith(f"{target}/"))
    with ui.link(target=target).classes("flex items-center gap-3 p-2 no-underline text-slate-900 w-full") as link:
        ui.icon(icon)
        ui.label(_(name))
    if current:
        link.props('aria-current="page"').classes("font-bold bg-slate-200 rounded")


def _language_links(address: URL) -> None:
    current = f"{address.path}?{address.query}" if address.query else address.path
    for name, label in LANGUAGES.items():
        if name != language():
            ui.link(label, f"/language/{name}?back={quote(current, safe='')}").classes("text-white").props(
                f'lang="{name}" hreflang="{name}"'
            )
