"""Mirrors opened in a real browser, from the disk, without a server."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from playwright.sync_api import Page, sync_playwright

# Everything that a page has as an address, as the browser resolves it; what its scripts have added is not the page's.
ADDRESSES = """source => {
  const found = [], seen = document.baseURI;
  const written = source === null ? document : new DOMParser().parseFromString(source, 'text/html');
  for (const element of written.querySelectorAll('*')) {
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


class Seen(NamedTuple):
    """What a browser saw of one page."""

    path: Path
    addresses: list[str]
    """Where its links lead."""
    requests: list[str]
    """What it asked for."""
    failures: list[str]
    """What it did not get."""


@contextmanager
def browser_page(chromium: str) -> Iterator[Page]:
    """Open a browser that finds no host but this one, though it may look for others."""
    options = ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--disable-background-networking"]
    if os.geteuid() == 0:
        options.append("--no-sandbox")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=options)
        yield browser.new_page()
        browser.close()


def browse(page: Page, paths: Iterable[Path]) -> Iterator[Seen]:
    """Open one file after the other."""
    requests: list[str] = []
    failures: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.on("requestfailed", lambda request: failures.append(f"{request.url}: {request.failure}"))
    for path in paths:
        requests.clear()
        failures.clear()
        page.goto(path.as_uri(), wait_until="load")
        source = path.read_text("latin-1") if path.suffix == ".html" else None
        yield Seen(path, page.evaluate(ADDRESSES, source), list(requests), list(failures))


def broken(seen: Seen, mirror: Path, collected: set[str]) -> list[str]:
    """Say what is wrong with a page of a mirror of these addresses."""
    wrong = [f"asked for {url}" for url in seen.requests if not url.startswith(("file:", "data:", "about:", "blob:"))]
    # An icon that is still being read when the next page is opened is let go; whether it is there is seen below.
    wrong += [f"did not get {failure}" for failure in seen.failures if not failure.endswith("ERR_ABORTED")]
    for address in (*seen.requests, *seen.addresses):
        parts = urlsplit(address)
        if parts.scheme == "file":
            path = Path(unquote(parts.path))
            if parts.query or not path.is_file() or mirror not in path.parents:
                wrong.append(f"leads to {address}")
        elif address.partition("#")[0] in collected:
            wrong.append(f"leads to the web for {address}")
    return [f"{seen.path.name} {one}" for one in wrong]
