"""Small loopback sites for the picker, and a browser that picks."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from time import sleep
from types import MappingProxyType
from typing import NamedTuple
from urllib.parse import parse_qs

from playwright.sync_api import FrameLocator, Page, expect

from tarantula.streams.sources.config import BrowserAction, BrowserStep
from tests.support.web_server import WebServer, settled

PICTURE = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154"
    "08d763f8cfc0000003010100c9fe92ef0000000049454e44ae426082"
)
"""A picture of one pixel."""


class Site(NamedTuple):
    """A running server with fixed responses, and the requests it got."""

    url: str
    """URL with a slash at the end."""
    asked: list[tuple[str, str]]
    """Paths and User-Agents of the requests."""
    answers: dict[str, tuple[str, bytes]]
    """Type and body by path."""


@contextmanager
def site_of(answers: Mapping[str, tuple[str, str | bytes]]) -> Iterator[Site]:
    """Serve responses by path on loopback; other paths are 404."""
    known = {path: (kind, body.encode() if isinstance(body, str) else body) for path, (kind, body) in answers.items()}
    asked: list[tuple[str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append((self.path, self.headers.get("User-Agent", "")))
            kind, body = known.get(self.path, ("", b""))
            self.send_response(302 if kind.startswith("http") else 200 if kind else 404)
            if kind.startswith("http"):
                self.send_header("Location", kind)
            self.send_header("Content-Type", kind or "text/plain")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield Site(f"http://127.0.0.1:{server.server_address[1]}/", asked, known)
        server.shutdown()


class Request(NamedTuple):
    """A request."""

    path: str
    body: bytes
    cookies: str


class Reply(NamedTuple):
    """A response."""

    body: bytes
    status: int = 200
    headers: Mapping[str, str] = MappingProxyType({})
    kind: str = "text/html"
    wait: float = 0.0
    """Seconds before it is sent."""


@contextmanager
def site_that(answer: Callable[[Request], Reply]) -> Iterator[str]:
    """Serve the responses of a function; yields the URL with a slash at the end."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            reply = answer(Request(self.path, body, self.headers.get("Cookie", "")))
            sleep(reply.wait)
            self.send_response(reply.status)
            for name, value in {**reply.headers, "Content-Type": reply.kind, "Content-Length": len(reply.body)}.items():
                self.send_header(name, str(value))
            self.end_headers()
            with suppress(BrokenPipeError):
                self.wfile.write(reply.body)

        do_POST = do_GET

        def log_message(self, format: str, *args: object) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()


def open_to_point_at(place: WebServer, window: Page, url: str) -> FrameLocator:
    """Open a page in the picker by typing its address; return its frame."""
    window.goto(f"{place.address}/streams/new")
    settled(window)
    window.get_by_label("Address of the page").fill(url)
    window.get_by_role("button", name="Open").click()
    frame = window.frame_locator("iframe")
    expect(frame.locator("html[tabindex]")).to_be_attached()
    return frame


def behind_a_door(request: Request) -> Reply:
    """Respond as a site with a login form, a session cookie, and a value that a script fetches."""
    is_known = "session=1" in request.cookies
    match request.path:
        case "/":
            return Reply(
                b"<form method=post action=/in><input name=user><input name=word type=password><button>in</button>"
            )
        case "/in":
            said = parse_qs(request.body.decode())
            if (said.get("user"), said.get("word")) == (["ana"], ["segredo"]):
                return Reply(b"", 303, {"Location": "/home", "Set-Cookie": "session=1; Path=/; HttpOnly"})
            return Reply(b"<p>no", 403)
        case "/home":
            script = b"<p id=v></p><script>fetch('/v').then(a => a.text()).then(t => { v.textContent = t })</script>"
            return Reply(script if is_known else b"<p>stranger")
        case "/v":
            return Reply(b"42" if is_known else b"", kind="text/plain")
        case _:
            return Reply(b"", 404)


DOOR = [
    BrowserStep(action=BrowserAction.FILL, where="[name=user]", value="{name}"),
    BrowserStep(action=BrowserAction.FILL, where="[name=word]", value="{word}"),
    BrowserStep(action=BrowserAction.CLICK, where="button"),
    BrowserStep(action=BrowserAction.WAIT, where="#v:not(:empty)"),
]
