"""The browser: where it is, and how it is started."""

from __future__ import annotations

import os
import shutil
from importlib.util import find_spec
from typing import Any

from tarantula.core.errors import TarantulaError

CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CONCURRENT_PAGES = 4
"""How many pages are rendered at a time."""


def find_browser() -> str | None:
    """Return the path of an installed Chromium, or ``None`` if only Playwright's own may be there."""
    named = os.environ.get("TARANTULA_CHROMIUM")
    if named and not shutil.which(named):
        raise TarantulaError(f"TARANTULA_CHROMIUM names {named}, which cannot be run. Name a Chromium that is there.")
    return named or next(filter(None, map(shutil.which, CHROMIUM_NAMES)), None)


def check_browser() -> None:
    """Say what is missing, if pages cannot be rendered here."""
    if find_spec("scrapy_playwright") is None:
        raise TarantulaError("Rendered pages need scrapy-playwright: install tarantula[render].")
    if find_browser() is None and not os.path.exists(_own_browser()):
        raise TarantulaError(
            "Rendered pages need a Chromium, and none is here. Install one, or name one with TARANTULA_CHROMIUM."
        )


def browser_settings(user_agent: str) -> dict[str, Any]:
    """Return the Scrapy settings with which scrapy-playwright finds and starts the browser."""
    # Whatever a page asks for comes through the collector: the browser itself finds no host.
    options: dict[str, Any] = {
        "args": ["--host-resolver-rules=MAP * ~NOTFOUND", "--disable-background-networking", "--disable-sync"]
    }
    if (path := find_browser()) is not None:
        options["executable_path"] = path
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        # Chromium's sandbox refuses to work for root.
        options["args"].append("--no-sandbox")
    return {
        "PLAYWRIGHT_BROWSER_TYPE": "chromium",
        "PLAYWRIGHT_LAUNCH_OPTIONS": options,
        "PLAYWRIGHT_MAX_PAGES_PER_CONTEXT": CONCURRENT_PAGES,
        "PLAYWRIGHT_CONTEXTS": {"default": page_settings(user_agent)},
    }


def page_settings(user_agent: str) -> dict[str, Any]:
    """Return how pages are opened, those that share cookies and those that do not."""
    return {"user_agent": user_agent, "service_workers": "block", "accept_downloads": False}


def _own_browser() -> str:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        return playwright.chromium.executable_path
