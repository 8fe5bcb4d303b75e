"""The management pages, started as a person starts them and used through a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import httpx
from playwright.sync_api import Page

from tests.support.crawls import TARANTULA, start
from tests.support.waits import TIMEOUT_SECONDS


class WebServer(NamedTuple):
    """Pages that are being served."""

    address: str
    """Where they are, without a slash at the end."""
    way_in: str
    """The link that was printed."""

    def enter(self, page: Page) -> None:
        """Come in by the link that was printed."""
        page.goto(self.way_in)
        page.wait_for_url(f"{self.address}/")


def api_client(address: str, **options: Any) -> httpx.Client:
    """Return a program that asks what is at an address of loopback, and waits for its answers."""
    return httpx.Client(base_url=address, trust_env=False, timeout=TIMEOUT_SECONDS, **options)


def settled(page: Page) -> Page:
    """Return a page as soon as it hears what is clicked on it."""
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
