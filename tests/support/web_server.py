"""The management pages, started as a process and used through a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import httpx
from playwright.sync_api import Page

from tests.support.crawls import TARANTULA, start
from tests.support.waits import TIMEOUT_SECONDS


class WebServer(NamedTuple):
    """A running web server."""

    address: str
    """URL without a slash at the end."""
    way_in: str
    """The link that the command printed."""

    def enter(self, page: Page) -> None:
        """Log in with the link that the command printed."""
        page.goto(self.way_in)
        page.wait_for_url(f"{self.address}/")


def api_client(address: str, **options: Any) -> httpx.Client:
    """Return an HTTP client for a server on loopback."""
    return httpx.Client(base_url=address, trust_env=False, timeout=TIMEOUT_SECONDS, **options)


def settled(page: Page) -> Page:
    """Wait until a page handles clicks, and return it."""
    page.wait_for_load_state("networkidle")
    page.wait_for_function("window.did_handshake")
    return page


@contextmanager
def web_server(*arguments: str, command: str = "web") -> Iterator[WebServer]:
    """Serve the pages of the installation that the environment names."""
    process = start([TARANTULA, command, "--port", "0", "--replay-port", "0", *arguments])
    try:
        assert process.stdout is not None
        printed = process.stdout.readline().strip()
        assert printed.startswith("http"), process.communicate(timeout=TIMEOUT_SECONDS)
        yield WebServer(printed.partition("/begin")[0].rstrip("/"), printed)
    finally:
        process.terminate()
        process.communicate(timeout=TIMEOUT_SECONDS)
