"""A real browser: windows of it, and mirrors that are opened in it from the disk, without a server."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

import playwright.sync_api
from playwright.sync_api import Page, expect, sync_playwright

TIMEOUT_MILLISECONDS = 60_000
"""Milliseconds. Browser, pages and collectors share a machine with other tests, and waiting costs nothing there."""
expect.set_options(timeout=TIMEOUT_MILLISECONDS)

# Everything that a page has as an address, as the browser resolves it.
ADDRESSES = """() => {
  const found = [], seen = document.baseURI;
  for (const element of document.querySelectorAll('*')) {
    for (const name of ['href', 'src', 'action', 'data', 'poster', 'cite', 'longDesc', 'background', 'lowsrc']) {
      const value = element.getAttribute(name.toLowerCase());
      // An address on somebody's own disk is none on the web.
      if (value && !value.startsWith('file:')) found.push(new URL(value, seen).href);
    }
    for (const candidate of (element.getAttribute('srcset') || '').split(', ')) {
      if (candidate) found.push(new URL(candidate.trim().split(/\\s/)[0], seen).href);
    }
  }
  return found;
}"""


class OpenedMirror(NamedTuple):
    """What a browser saw of one page."""

    path: Path
    addresses: list[str]
    """Where its links lead."""
    requests: list[str]
    """What it asked for by itself. What scripts ask for, by names that they put together, is no link of the page."""
    scripted: list[str]
    """What it asked for when it was opened again, with its scripts running."""


class Browser:
    """A browser that finds no host but this one, though it may look for others; with scripts, and without."""

    def __init__(self, browser: playwright.sync_api.Browser) -> None:
        self.page = browser.new_page()
        self._running = _Window(self.page)
        self._still = _Window(browser.new_page(java_script_enabled=False))

    def browse(self, paths: Iterable[Path]) -> Iterator[OpenedMirror]:
        """Open one file after the other."""
        for path in paths:
            requests = self._still.open(path)
            yield OpenedMirror(path, self._still.page.evaluate(ADDRESSES), requests, self._running.open(path))


class _Window:
    def __init__(self, page: Page) -> None:
        self.page = page
        self._requests: list[str] = []
        page.on("request", lambda request: self._requests.append(request.url))

    def open(self, path: Path) -> list[str]:
        """Open a file; return what was asked for."""
        self._requests.clear()
        self.page.goto(path.as_uri(), wait_until="load")
        return list(self._requests)


@contextmanager
def browsing(chromium: str) -> Iterator[Browser]:
    """Start a browser for mirrors."""
    with launched(chromium) as browser:
        yield Browser(browser)


@contextmanager
def launched(chromium: str) -> Iterator[playwright.sync_api.Browser]:
    """Start a browser."""
    options = ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--disable-background-networking"]
    if os.geteuid() == 0:
        options.append("--no-sandbox")
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium, args=options)
        yield browser
        browser.close()


@contextmanager
def window_of(browser: playwright.sync_api.Browser, **options: Any) -> Iterator[Page]:
    """Open a window; what goes wrong on its pages is an error of the test.

    Nothing moves on them unless told: what is clicked while it moves is no longer where it was seen.
    """
    page = browser.new_page(**{"reduced_motion": "reduce"} | options)
    page.set_default_timeout(TIMEOUT_MILLISECONDS)
    raised: list[str] = []
    page.on("pageerror", lambda error: raised.append(str(error)))
    yield page
    assert raised == [], "scripts of the page went wrong"


def broken(seen: OpenedMirror, mirror: Path, collected: set[str]) -> list[str]:
    """Say what is wrong with a page of a mirror of these addresses."""
    asked = (*seen.requests, *seen.scripted)
    wrong = [f"asked for {url}" for url in asked if not url.startswith(("file:", "data:", "about:", "blob:"))]
    for address in {*seen.requests, *seen.addresses}:
        parts = urlsplit(address)
        if parts.scheme == "file":
            path = Path(unquote(parts.path))
            if parts.query or not path.is_file() or mirror not in path.parents:
                wrong.append(f"leads to {address}")
        elif address.partition("#")[0] in collected:
            wrong.append(f"leads to the web for {address}")
    return [f"{seen.path.name} {one}" for one in wrong]
