"""Find Chromium, and the settings with which it is started.

All requests of its pages come to this program through Playwright's pipes, so that Chromium itself needs no network.
Where the system permits it, Chromium runs in an empty network namespace: then not even a fault in Chromium connects.
"""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tarantula.core.errors import TarantulaError
from tarantula.fetch.exchange import RawHeaders

logger = logging.getLogger(__name__)

CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
RENDER_AS_ROOT = "TARANTULA_RENDER_AS_ROOT"
"""Variable that permits rendering as root, where Chromium's sandbox does not run."""
NAMESPACE_SETTING = "TARANTULA_BROWSER_NAMESPACE"
NAMESPACE_VALUES = ("auto", "required", "off")
NAMESPACE_OPTIONS = ("--user --map-current-user --net", "--net")
"""Options of unshare. The first needs no privilege; the second serves root where user namespaces are switched off."""
LAUNCHER = Path(__file__).with_name("chromium_without_network.sh")
"""Starts Chromium in a network namespace."""
PROBE_SECONDS = 10
ONLINE_SCRIPT = "Object.defineProperty(Navigator.prototype, 'onLine', {get: () => true, configurable: true})"
"""Without network interfaces Chromium reports to pages that they are offline, though their requests are answered."""
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
    """Raise an error if rendering is not possible, or not as safely as the settings demand."""
    if _is_root() and not os.environ.get(RENDER_AS_ROOT):
        raise TarantulaError(
            "As root, Chromium runs without its sandbox. Render pages with another account, or set "
            "TARANTULA_RENDER_AS_ROOT=1 if this machine is isolated otherwise."
        )
    if find_spec("scrapy_playwright") is None:
        raise TarantulaError("Rendering needs scrapy-playwright: install tarantula[render].")
    if find_browser() is None and not os.path.exists(_playwright_browser()):
        raise TarantulaError("Rendering needs Chromium, and none was found. Install one, or set TARANTULA_CHROMIUM.")
    namespace_options()


def browser_settings(user_agent: str) -> dict[str, Any]:
    """Return the Scrapy settings with which scrapy-playwright finds and starts the browser."""
    # The browser must not resolve any host: all requests of pages go through the collector.
    options: dict[str, Any] = {
        "args": [
            "--host-resolver-rules=MAP * ~NOTFOUND",
            "--disable-background-networking",
            "--disable-sync",
            "--no-proxy-server",
            # WebRTC would send UDP to any address that a page names.
            "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
        ],
        # Playwright starts Chromium without its sandbox unless configured otherwise.
        "chromium_sandbox": not _is_root(),
        # The key of secrets and the password of the database are not for a process that runs foreign scripts.
        "env": {name: value for name, value in os.environ.items() if not name.startswith("TARANTULA_")},
    }
    path, namespace = find_browser(), namespace_options()
    if namespace:
        options["env"] |= {"CHROMIUM_NAMESPACE": namespace, "CHROMIUM_PATH": path or _playwright_browser()}
        path = str(LAUNCHER)
    if path is not None:
        options["executable_path"] = path
    return {
        "PLAYWRIGHT_BROWSER_TYPE": "chromium",
        "PLAYWRIGHT_LAUNCH_OPTIONS": options,
        "PLAYWRIGHT_MAX_PAGES_PER_CONTEXT": CONCURRENT_PAGES,
        "PLAYWRIGHT_CONTEXTS": {"default": page_settings(user_agent)},
    }


def namespace_options() -> str:
    """Return the options of unshare with which Chromium gets no network; empty if it has to share ours.

    Raise an error if `TARANTULA_BROWSER_NAMESPACE` demands a namespace and none can be made.
    """
    wanted = os.environ.get(NAMESPACE_SETTING) or "auto"
    if wanted not in NAMESPACE_VALUES:
        raise TarantulaError(
            "TARANTULA_BROWSER_NAMESPACE is {wanted!r}. Set it to one of: {values}.",
            wanted=wanted[:100],
            values=", ".join(NAMESPACE_VALUES),
        )
    if wanted == "off":
        return ""
    options, problem = _probe_namespaces()
    if wanted == "required" and not options:
        raise TarantulaError(
            "TARANTULA_BROWSER_NAMESPACE demands that Chromium runs in a network namespace of its own, and none can be "
            "made here: {problem}. Permit user namespaces, or set it to auto.",
            problem=problem,
        )
    return options


@cache
def log_isolation() -> None:
    """Log once if Chromium has no network namespace of its own."""
    if not namespace_options():
        problem = _probe_namespaces()[1] or f"{NAMESPACE_SETTING} is off"
        logger.warning("Chromium runs without a network namespace of its own: %s. See docs/rendering.md.", problem)


@cache
def _probe_namespaces() -> tuple[str, str]:
    """Return the options of unshare that work here, or empty ones and the reason."""
    problem = "there is no command unshare"
    if shutil.which("unshare") is None:
        return "", problem
    if not os.access(LAUNCHER, os.X_OK):
        return "", f"{LAUNCHER} is not executable"
    # Chromium's sandbox makes user namespaces inside this one.
    inside = ["true"] if _is_root() else ["unshare", "--user", "true"]
    for options in NAMESPACE_OPTIONS:
        command = ["unshare", *options.split(), "--", *inside]
        try:
            tried = subprocess.run(command, capture_output=True, text=True, timeout=PROBE_SECONDS)
        except (OSError, subprocess.TimeoutExpired) as error:
            problem = str(error)
        else:
            if tried.returncode == 0:
                return options, ""
            problem = (tried.stderr.strip() or f"unshare ended with {tried.returncode}").splitlines()[0]
    return "", problem


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


@cache
def _playwright_browser() -> str:
    """Return the path of Playwright's own Chromium, whether it is installed or not."""
    # Playwright refuses to run in a thread with an event loop.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(_ask_playwright).result()


def _ask_playwright() -> str:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        return playwright.chromium.executable_path
