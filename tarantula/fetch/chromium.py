"""Find Chromium, and the settings with which it is started."""

from __future__ import annotations

import os
import shutil
from importlib.util import find_spec
from typing import Any

from tarantula.core.errors import TarantulaError

CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CONCURRENT_PAGES = 4
"""Pages rendered at the same time."""


def find_browser() -> str | None:
    """Return the path of an installed Chromium; ``None`` if there is none, except perhaps Playwright's own."""
    named = os.environ.get("TARANTULA_CHROMIUM")
    if named and not shutil.which(named):
        raise TarantulaError(f"TARANTULA_CHROMIUM names {named}, which cannot be run. Set it to an installed Chromium.")
    return named or next(filter(None, map(shutil.which, CHROMIUM_NAMES)), None)


def check_browser() -> None:
    """Raise an error if scrapy-playwright or Chromium is missing."""
    if find_spec("scrapy_playwright") is None:
        raise TarantulaError("Rendering needs scrapy-playwright: install tarantula[render].")
    if find_browser() is None and not os.path.exists(_playwright_browser()):
        raise TarantulaError("Rendering needs Chromium, and none was found. Install one, or set TARANTULA_CHROMIUM.")


def browser_settings(user_agent: str) -> dict[str, Any]:
    """Return the Scrapy settings with which scrapy-playwright finds and starts the browser."""
    # The browser must not resolve any host: all requests of pages go through the collector.
    options: dict[str, Any] = {
        "args": ["--host-resolver-rules=MAP * ~NOTFOUND", "--disable-background-networking", "--disable-sync"]
    }
    if (path := find_browser()) is not None:
        options["executable_path"] = path
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        # Chromium's sandbox does not run as root.
        options["args"].append("--no-sandbox")
    return {
        "PLAYWRIGHT_BROWSER_TYPE": "chromium",
        "PLAYWRIGHT_LAUNCH_OPTIONS": options,
        "PLAYWRIGHT_MAX_PAGES_PER_CONTEXT": CONCURRENT_PAGES,
        "PLAYWRIGHT_CONTEXTS": {"default": page_settings(user_agent)},
    }


def page_settings(user_agent: str) -> dict[str, Any]:
    """Return the settings of a browser context."""
    return {"user_agent": user_agent, "service_workers": "block", "accept_downloads": False}


def _playwright_browser() -> str:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        return playwright.chromium.executable_path
