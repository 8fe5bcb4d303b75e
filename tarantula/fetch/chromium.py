"""Find Chromium, and the settings with which it is started."""

from __future__ import annotations

import os
import shutil
from importlib.util import find_spec
from typing import Any

from tarantula.core.errors import TarantulaError
from tarantula.fetch.exchange import RawHeaders

CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
RENDER_AS_ROOT = "TARANTULA_RENDER_AS_ROOT"
"""Variable that permits rendering as root, where Chromium's sandbox does not run."""
NO_ORIGIN = "https://no-origin.invalid"
"""Origin that no page has. Playwright permits every origin to read a response that names none."""
_HOP_HEADERS = frozenset({"content-encoding", "content-length", "transfer-encoding", "connection"})
CONCURRENT_PAGES = 4
"""Pages rendered at the same time."""


def find_browser() -> str | None:
    """Return the path of an installed Chromium; ``None`` if there is none, except perhaps Playwright's own."""
    named = os.environ.get("TARANTULA_CHROMIUM")
    if named and not shutil.which(named):
        raise TarantulaError(
            "TARANTULA_CHROMIUM names {named}, which cannot be run. Set it to an installed Chromium.", named=named
        )
    return named or next(filter(None, map(shutil.which, CHROMIUM_NAMES)), None)


def check_browser() -> None:
    """Raise an error if scrapy-playwright or Chromium is missing, or if its sandbox would be off without permission."""
    if _is_root() and not os.environ.get(RENDER_AS_ROOT):
        raise TarantulaError(
            "As root, Chromium runs without its sandbox. Render pages with another account, or set "
            "TARANTULA_RENDER_AS_ROOT=1 if this machine is isolated otherwise."
        )
    if find_spec("scrapy_playwright") is None:
        raise TarantulaError("Rendering needs scrapy-playwright: install tarantula[render].")
    if find_browser() is None and not os.path.exists(_playwright_browser()):
        raise TarantulaError("Rendering needs Chromium, and none was found. Install one, or set TARANTULA_CHROMIUM.")


def browser_settings(user_agent: str) -> dict[str, Any]:
    """Return the Scrapy settings with which scrapy-playwright finds and starts the browser."""
    # The browser must not resolve any host: all requests of pages go through the collector.
    options: dict[str, Any] = {
        "args": [
            "--host-resolver-rules=MAP * ~NOTFOUND",
            "--disable-background-networking",
            "--disable-sync",
            # WebRTC would send UDP to any address that a page names.
            "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
        ],
        # The key of secrets and the password of the database are not for a process that runs foreign scripts.
        "env": {name: value for name, value in os.environ.items() if not name.startswith("TARANTULA_")},
    }
    if (path := find_browser()) is not None:
        options["executable_path"] = path
    if _is_root():
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


def browser_response(
    status: int, headers: RawHeaders, body: bytes, without: frozenset[str] = frozenset()
) -> dict[str, Any]:
    """Return the arguments of `Route.fulfill`; values of a repeated header are joined by newlines.

    Pages of other origins may read it only if the server's own headers permit it.
    """
    kept: dict[str, str] = {}
    for name, value in headers:
        key = name.decode("latin-1").lower()
        if key not in _HOP_HEADERS and key not in without:
            text = value.decode("latin-1")
            kept[key] = f"{kept[key]}\n{text}" if key in kept else text
    kept.setdefault("access-control-allow-origin", NO_ORIGIN)
    return {"status": status, "headers": kept, "body": body}


def _is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


def _playwright_browser() -> str:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        return playwright.chromium.executable_path
