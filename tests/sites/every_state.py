"""A site in which every document state occurs, and the expected state of each of its URLs.

Waiting (-6) and being collected (0) are states of a moment: ask for the web with ``hold=True``, and until `release` is
called the document at `held` is being collected, and the one at `behind_held`, on the same server, waits.
"""

from __future__ import annotations

import socket
import tempfile
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple, Self

from tests.sites import manners
from tests.sites.certificates import certificate, server_context
from tests.sites.drawing import page, pdf, png
from tests.sites.server import Answer, Route, Web

BASE, SHY, EXCLUDED, BROKEN_ROBOTS, HOLDING = (f"127.0.0.{number}" for number in (2, 3, 4, 5, 6))
BUSY, TIRED, SILENT, DRIPPING, RESETTING = (f"127.0.0.{number}" for number in (7, 8, 9, 10, 11))
UNTRUSTED, CLOSED = "127.0.0.12", "127.0.0.13"
UNRESOLVED = "does-not-resolve.invalid"
ELSEWHERE = "elsewhere.invalid"

DEPTH = 2
MAX_SIZE = 200_000
MAX_REDIRECTS = 20
PICTURE = Answer(png(16, 16, (200, 40, 40)), "image/png")
PAGE = Answer(page("A page"))


class Place(NamedTuple):
    """A document: its server, its response, and its expected state."""

    path: str
    state: int
    route: Route | None
    address: str = BASE
    linked: bool = True
    """Whether the base document links to it."""


def redirect(target: str, status: int = 302) -> Answer:
    """Return a redirect."""
    return Answer(status=status, headers={"Location": target})


def refused(status: int, **headers: str) -> Answer:
    """Return an error response."""
    return Answer(page(f"Error {status}"), status=status, headers={k.replace("_", "-"): v for k, v in headers.items()})


PLAIN = (
    Place("/page.html", 200, PAGE),
    Place("/style.css", 200, Answer("body { background: url(background.png) }", "text/css")),
    Place("/background.png", 200, PICTURE, linked=False),
    Place("/script.js", 200, Answer("var page = 1;", "text/javascript")),
    Place("/picture.png", 200, PICTURE),
    Place("/paper.pdf", 200, Answer(pdf("Relatório"), "application/pdf")),
    Place("/no-type.html", 200, Answer("<p>No Content-Type, but a name.", None)),
    Place("/charset", 200, Answer("<p>Olá", "text/html; charset=does-not-exist")),
    Place("/chunked", 200, manners.saying(
        manners.OK + manners.HTML + b"Transfer-Encoding: chunked\r\n\r\n3\r\n<p>\r\n0\r\n\r\n")),
    Place("/until-the-end", 200, manners.saying(b"HTTP/1.0 200 OK\r\n" + manners.HTML + b"\r\n<p>")),
    Place("/coding-nobody-knows", 200, manners.saying(
        manners.OK + manners.HTML + b"Content-Encoding: \0odd\r\nContent-Length: 3\r\n\r\n<p>")),
    Place("/nothing", 204, Answer(type=None, status=204)),
    Place("/not-modified", 304, Answer(type=None, status=304)),
    Place("/forbidden", 403, refused(403)),
    Place("/gone", 410, refused(410)),
    Place("/broken", 500, refused(500)),
    Place("/missing", 404, None),
    Place("/missing-without-a-type", 404, Answer("Nothing here.", None, 404)),
)  # fmt: skip
REDIRECTING = (
    Place("/moved", 301, redirect("page.html", 301)),
    Place("/moved/for/now", 302, redirect("../../arrived?by=redirect")),
    Place("/arrived?by=redirect", 200, PAGE, linked=False),
    Place("/itself", 302, redirect("/itself")),
    Place("/out", 301, redirect(f"http://{ELSEWHERE}/from-a-redirect", 301)),
    *(
        Place(f"/chain/{number}", 302, redirect(str(number + 1)), linked=number == 0)
        for number in range(MAX_REDIRECTS + 1)
    ),
    Place(f"/chain/{MAX_REDIRECTS + 1}", -9, PAGE, linked=False),
)
LIMITED = (
    Place("/not-http", -1, manners.saying(b"SSH-2.0-OpenSSH_9.2\r\n")),
    Place("/shorter-than-it-says", 200, manners.saying(
        manners.OK + manners.HTML + b"Content-Length: 1000\r\n\r\n<p>")),
    Place("/a-megabyte-of-header", -1, manners.saying(
        manners.OK + manners.HTML + b"X-Long: " + b"x" * 1_000_000 + b"\r\n\r\n")),
    Place("/no-code", -2, manners.saying(b"HTTP/1.1 abc OK\r\n" + manners.HTML + b"\r\n<p>")),
    Place("/mystery", -3, Answer(bytes(range(256)), None)),
    Place("/large-by-its-length.html", -4, Answer(b"." * (MAX_SIZE + 1))),
    Place("/large-without-a-length", -4, manners.chunks_without_end),
    Place("/bomb", -4, manners.bomb(50_000_000)),
    Place("/film.mp4", -8, Answer(b"", "video/mp4")),
    Place("/film", -8, Answer(b"", "video/mp4")),
    Place("/long?" + "x" * 100_000, -9, PAGE),
    Place("/depth/1", 200, Answer(page("One link away", ["2"]))),
    Place("/depth/2", 200, Answer(page("As far as it goes", ["3"], ["last.png"], ["last.css"])), linked=False),
    Place("/depth/3", -9, PAGE, linked=False),
    Place("/depth/last.png", 200, PICTURE, linked=False),
    Place("/depth/last.css", 200, Answer("body { background: url(in-style.png) }", "text/css"), linked=False),
    Place("/depth/in-style.png", 200, PICTURE, linked=False),
)  # fmt: skip
ON_OTHER_SERVERS = (
    Place("/private/page.html", -7, PAGE, SHY),
    Place("/public/page.html", 200, PAGE, SHY),
    Place("/page.html", -7, PAGE, BROKEN_ROBOTS),
    Place("/page.html", -5, PAGE, EXCLUDED),
    Place("/busy-once.html", 200, None, BUSY),
    Place("/always-tired.html", 503, refused(503, Retry_After="1"), TIRED),
    Place("/silent", -10, manners.silence, SILENT),
    Place("/dripping", -10, manners.drip, DRIPPING),
    Place("/reset", -11, manners.reset, RESETTING),
)
PLACES = (*PLAIN, *REDIRECTING, *LIMITED, *ON_OTHER_SERVERS)
ROBOTS = {
    f"{SHY}/robots.txt": Answer("User-agent: *\nDisallow: /private/\n", "text/plain"),
    f"{BROKEN_ROBOTS}/robots.txt": refused(500),
}


class EveryState:
    """The site, served while the context lasts."""

    def __init__(self, hold: bool = False) -> None:
        self._released = threading.Event()
        if not hold:
            self._released.set()
        self._stack = ExitStack()
        self._closed = socket.socket()
        routes = {f"{place.address}{place.path}": place.route for place in PLACES if place.route is not None}
        remembering: dict[str, Route] = {
            f"{BUSY}/busy-once.html": manners.first_then(refused(429, Retry_After="1"), PAGE),
            f"{HOLDING}/held": manners.holding(self._released, PAGE),
            f"{HOLDING}/held/next": PAGE,
        }
        self.web = Web({**routes, **ROBOTS, **remembering}, [f"127.0.0.{number}" for number in range(2, 12)])

    def __enter__(self) -> Self:
        directory = Path(self._stack.enter_context(tempfile.TemporaryDirectory()))
        self._stack.enter_context(self.web)
        untrusted = server_context(certificate(directory, address=UNTRUSTED))
        self._untrusted = self._stack.enter_context(Web({"/": PAGE}, [UNTRUSTED], tls=untrusted))
        # Bound, so that no other process takes the port, but not listening.
        self._stack.enter_context(self._closed).bind((CLOSED, 0))
        self.web.routes[f"{BASE}/"] = Answer(page("Every state", self._linked()))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def held(self) -> str:
        """URL whose response is held back until `release`."""
        return self.web.url("/held", HOLDING)

    @property
    def behind_held(self) -> str:
        """URL that waits for `held`."""
        return self.web.url("/held/next", HOLDING)

    def release(self) -> None:
        """Send the response of `held`."""
        self._released.set()

    @property
    def expected(self) -> dict[str, int]:
        """All URLs of the site with their expected states."""
        places = {self.web.url(place.path, place.address): place.state for place in PLACES}
        return {self.web.url(): 200, **places, self.held: 200, self.behind_held: 200, **self._outside()}

    @property
    def publication(self) -> dict[str, Any]:
        """Fields of a publication that collects the site, without its name."""
        return {
            "base_url": self.web.url(),
            "depth": DEPTH,
            "accept": ["127.0.0.*", UNRESOLVED],
            "exclude": [EXCLUDED],
            "profile": "HTML_com_IMAGENS",
            "add_types": ["text/css", "text/javascript", "application/pdf"],
            "max_size": MAX_SIZE,
            "timeout": 2.0,
            "delay": 0.0,
        }

    def _linked(self) -> list[str]:
        places = [self.web.url(place.path, place.address) for place in PLACES if place.linked]
        outside = [url for url in self._outside() if not url.endswith("/from-a-redirect")]
        return [*places, self.held, self.behind_held, *outside]

    def _outside(self) -> dict[str, int]:
        return {
            f"http://{ELSEWHERE}/": -5,
            f"http://{ELSEWHERE}/from-a-redirect": -5,
            f"http://{'long' * 1000}.{ELSEWHERE}/": -9,
            f"http://{UNRESOLVED}/": -11,
            self._untrusted.url(): -11,
            f"http://{CLOSED}:{self._closed.getsockname()[1]}/": -11,
        }
