"""A small web on loopback to point at, and a browser that points."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

from playwright.sync_api import FrameLocator, Page, expect

from tests.managing import Office, settled

PICTURE = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154"
    "08d763f8cfc0000003010100c9fe92ef0000000049454e44ae426082"
)
"""One pixel."""


class Site(NamedTuple):
    """A server that answers with what it was given, and remembers who asked for what."""

    url: str
    """With a slash at the end."""
    asked: list[tuple[str, str]]
    """Paths, with the User-Agent that asked."""
    answers: dict[str, tuple[str, bytes]]
    """Type and body by path."""


@contextmanager
def site_of(answers: Mapping[str, tuple[str, str | bytes]]) -> Iterator[Site]:
    """Serve answers by their paths on loopback; whatever else is asked for is not there."""
    known = {path: (kind, body.encode() if isinstance(body, str) else body) for path, (kind, body) in answers.items()}
    asked: list[tuple[str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append((self.path, self.headers.get("User-Agent", "")))
            kind, body = known.get(self.path, ("", b""))
            self.send_response(200 if kind else 404)
            if kind.startswith("http"):
                self.send_header("Location", kind)
            self.send_header("Content-Type", kind or "text/plain")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield Site(f"http://127.0.0.1:{server.server_address[1]}/", asked, known)
        server.shutdown()


def open_to_point_at(place: Office, window: Page, url: str) -> FrameLocator:
    """Open a page to point at, as somebody does who typed its address; return its frame."""
    window.goto(f"{place.address}/streams/new")
    settled(window)
    window.get_by_label("Address of the page").fill(url)
    window.get_by_role("button", name="Open").click()
    frame = window.frame_locator("iframe")
    expect(frame.locator("html[tabindex]")).to_be_attached()
    return frame
