"""A real browser: its windows, and mirrors that it opens from disk without a server."""

from __future__ import annotations

import os
from asyncio import AbstractEventLoop, events
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

import playwright.sync_api
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect, sync_playwright

TIMEOUT_MILLISECONDS = 60_000
"""Long, because browser, pages and collectors share a machine with other tests."""
expect.set_options(timeout=TIMEOUT_MILLISECONDS)

# Returns all addresses on a page, as the browser resolves them.
ADDRESSES = """() => {
  const found = [], seen = document.baseURI;
  for (const element of document.querySelectorAll('*')) {
    for (const name of ['href', 'src', 'action', 'data', 'poster', 'cite', 'longDesc', 'background', 'lowsrc']) {
      const value = element.getAttribute(name.toLowerCase());
      // An author's local path is not an address on the web.
      if (value && !value.startsWith('file:')) found.push(new URL(value, seen).href);
    }
    for (const candidate of (element.getAttribute('srcset') || '').split(', ')) {
      if (candidate) found.push(new URL(candidate.trim().split(/\\s/)[0], seen).href);
    }
  }
  return found;
}"""


class OpenedMirror(NamedTuple):
    """A page of a mirror as the browser opened it."""

    path: Path
    addresses: list[str]
    """Targets of its links."""
    requests: list[str]
    """Requests without scripts: names that scripts put together are not links of the page."""
    scripted: list[str]
    """Requests with scripts running."""


class Browser:
    """A browser that resolves no host but this machine, with one window with scripts and one without."""

    def __init__(self, browser: playwright.sync_api.Browser) -> None:
        self.page = browser.new_page()
        self._running = _Window(self.page)
        self._still = _Window(browser.new_page(java_script_enabled=False))

    def browse(self, paths: Iterable[Path]) -> Iterator[OpenedMirror]:
        """Open files one after another."""
        for path in paths:
            requests = self._still.open(path)
            yield OpenedMirror(path, self._still.page.evaluate(ADDRESSES), requests, self._running.open(path))


class _Window:
    def __init__(self, page: Page) -> None:
        self.page = page
        self._requests: list[str] = []
        page.on("request", lambda request: self._requests.append(request.url))

    def open(self, path: Path) -> list[str]:
        """Open a file; return the requested URLs."""
        self._requests.clear()
        self.page.goto(path.as_uri(), wait_until="load")
        return list(self._requests)


@contextmanager
def browsing(chromium: str) -> Iterator[Browser]:
    """Start a browser for mirrors."""
    with launched(chromium) as browser:
        yield Browser(browser)


class _Driver:
    """Playwright and its browser, once per process: starting them takes seconds."""

    def __init__(self) -> None:
        self.playwright = sync_playwright().start()
        self.loop: AbstractEventLoop = events.get_running_loop()
        self.browser: playwright.sync_api.Browser | None = None

    def launch(self, chromium: str) -> playwright.sync_api.Browser:
        """Return the browser; start it, also after a crash."""
        if self.browser is None or not self.browser.is_connected():
            options = [
                "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
                "--disable-background-networking",
            ]
            if os.geteuid() == 0:
                options.append("--no-sandbox")
            self.browser = self.playwright.chromium.launch(executable_path=chromium, args=options)
        return self.browser


@cache
def _driver() -> _Driver:
    return _Driver()


@contextmanager
def _playwright_running() -> Iterator[_Driver]:
    """Let Playwright's event loop be the running one; afterwards other code of this thread can run its own again."""
    outer = events._get_running_loop()
    driver = _driver()
    events._set_running_loop(driver.loop)
    try:
        yield driver
    finally:
        events._set_running_loop(outer)


@contextmanager
def launched(chromium: str) -> Iterator[playwright.sync_api.Browser]:
    """Yield this process's browser; its windows that are opened meanwhile, each with its own cookies, are closed."""
    with _playwright_running() as driver:
        browser = driver.launch(chromium)
        before = list(browser.contexts)
        try:
            yield browser
        finally:
            for context in browser.contexts:
                if context not in before:
                    context.close()


def end_browser() -> None:
    """Stop the browser and Playwright, if they were started."""
    if _driver.cache_info().currsize:
        with _playwright_running() as driver:
            driver.playwright.stop()
        _driver.cache_clear()


VIOLATION = "Violated policy:"
# Archived pages, which violate their policies as they should, are in a sandbox.
REPORT_VIOLATIONS = f"""if (self === top) addEventListener("securitypolicyviolation", (event) => {{
  if (event.originalPolicy.includes("sandbox")) return;
  console.error("{VIOLATION}", event.effectiveDirective, event.blockedURI, event.sourceFile, event.sample);
}});"""


@contextmanager
def window_of(browser: playwright.sync_api.Browser, **options: Any) -> Iterator[Page]:
    """Open a window; script errors and violations of the content security policy on its pages fail the test.

    Motion is reduced by default: clicks on moving elements miss.
    """
    page = browser.new_page(**{"reduced_motion": "reduce"} | options)
    page.set_default_timeout(TIMEOUT_MILLISECONDS)
    raised: list[str] = []
    page.on("pageerror", lambda error: raised.append(str(error)))
    page.add_init_script(REPORT_VIOLATIONS)
    page.on("console", lambda said: raised.append(said.text) if said.text.startswith(VIOLATION) else None)
    yield page
    assert raised == [], f"script errors, or violations of the content security policy, on the page: {raised}"


def broken(seen: OpenedMirror, mirror: Path, collected: set[str]) -> list[str]:
    """Return the broken links and forbidden requests of a page of a mirror; *collected* are the mirrored addresses."""
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


def axe_violations(window: Page) -> list[str]:
    """Return what axe-core finds serious or critical on a page."""
    # Preloading copies style sheets into a document of its own, where the page's policy refuses them.
    found = Axe().run(window, options={"preload": False}).response["violations"]
    grave = [one for one in found if one["impact"] in ("serious", "critical")]
    return [f"{one['id']}: {node['html'][:200]}" for one in grave for node in one["nodes"]]
