"""Verdicts on response headers and bodies."""

from __future__ import annotations

import pytest

from tarantula.fetch.exchange import ResponseHead
from tarantula.links.link import LinkKind
from tarantula.publications.config import PublicationConfig
from tarantula.scope.scope import Scope
from tarantula.scope.types import TypeSet

KNOWN = {"text/html": ("html",), "application/pdf": ("pdf",), "audio/ogg": ("ogg",), "video/ogg": ("ogg",)}
CONFIG = PublicationConfig(name="fcul", base_url="http://www.fc.ul.pt/", max_size=500_000, depth=5)
BASE = "http://www.fc.ul.pt"
HTML = Scope.of(CONFIG, KNOWN, TypeSet(["text/html", "audio/*"]))
EVERYTHING = Scope.of(CONFIG, KNOWN, TypeSet(["*/*"]))


def head(path: str = "/", media_type: str | None = None, length: int | None = None, status: int = 200) -> ResponseHead:
    fields = {b"Content-Type": media_type, b"Content-Length": length}
    return ResponseHead(BASE + path, status, [(name, str(value).encode()) for name, value in fields.items() if value])


@pytest.mark.parametrize(
    ("path", "media_type", "length", "status", "decided"),
    [
        ("/", "text/html", 10, 200, ("Accepted", None)),
        ("/", "text/html", None, 200, ("Accepted", None)),
        ("/", "text/html", 500_000, 200, ("Accepted", None)),
        ("/", "text/html", 500_001, 200, ("TooLarge", -4)),
        ("/", "application/pdf", 10, 200, ("TypeNotWanted", -8)),
        ("/", "application/pdf", 10, 206, ("TypeNotWanted", -8)),
        ("/", "application/pdf", 900_000, 200, ("TypeNotWanted", -8)),
        ("/a.html", "application/pdf", 10, 200, ("TypeNotWanted", -8)),
        ("/a.pdf", "text/html", 10, 200, ("Accepted", None)),
        ("/", None, 10, 200, ("Accepted", None)),
        ("/a.xyz", None, 10, 200, ("Accepted", None)),
        ("/a?b=c.html", None, 10, 200, ("Accepted", None)),
        ("/a.html", None, 10, 200, ("Accepted", None)),
        ("/a.html?b", None, 10, 200, ("Accepted", None)),
        ("/a.ogg", None, 10, 200, ("Accepted", None)),
        ("/a.pdf", None, 10, 200, ("TypeNotWanted", -8)),
        ("/", "application/pdf", 10, 404, ("Accepted", None)),
        ("/", None, 10, 301, ("Accepted", None)),
        ("/", "text/plain", 10, 500, ("Accepted", None)),
        ("/", "text/plain", 500_001, 404, ("TooLarge", -4)),
    ],
)
def test_verdict_on_headers(
    path: str, media_type: str | None, length: int | None, status: int, decided: tuple[str, int | None]
) -> None:
    verdict = HTML.judge_head(head(path, media_type, length, status))
    assert (verdict.rule, verdict.state) == decided
    assert verdict.accepted is (verdict.state is None)


@pytest.mark.parametrize("media_type", [None, "x/y", "application/octet-stream"])
def test_the_profile_everything_accepts_known_and_unknown_types(media_type: str | None) -> None:
    assert EVERYTHING.judge_head(head("/a", media_type, 10)).accepted


def test_the_type_found_in_the_body_is_judged_again() -> None:
    assert HTML.judge_body(head(), "text/html").accepted
    assert HTML.judge_body(head(), "image/png").rule == "TypeNotWanted"
    assert HTML.judge_body(head(), None).rule == "TypeUnknown"


@pytest.mark.parametrize(
    ("header", "path", "start", "mime"),
    [
        ("text/plain; charset=utf-8", "/a.html", b"%PDF-", "text/plain"),
        (None, "/a.html", b"%PDF-", "text/html"),
        (None, "/a", b"%PDF-", "application/pdf"),
        (None, "/a.ogg", b"OggS\x00", "video/ogg"),
        (None, "/a", b"", None),
    ],
)
def test_an_extension_of_several_types_means_the_wanted_one(
    header: str | None, path: str, start: bytes, mime: str | None
) -> None:
    assert Scope.of(CONFIG, KNOWN, TypeSet(["video/*"])).type_of(header, BASE + path, start) == mime


@pytest.mark.parametrize(
    ("media_type", "length", "reason"),
    [
        ("application/pdf", 1, "Its type is application/pdf, which fcul does not want."),
        (None, 1, "Neither the Content-Type header nor the extension nor the content shows its type."),
        ("text/html", 600_000, "It has 600,000 bytes, and fcul takes at most 500,000."),
        ("text/html", 1, "No rule refuses it."),
    ],
)
def test_reasons_of_refused_bodies(media_type: str | None, length: int, reason: str) -> None:
    assert str(HTML.judge_body(head(), media_type, length).reason) == reason


@pytest.mark.parametrize(
    ("url", "options", "decided"),
    [
        (f"{BASE}/a", {}, ("BaseServer", None)),
        (" HTTP://WWW.FC.UL.PT/a b#c ", {}, ("BaseServer", None)),
        (f"{BASE}/a", {"media_type": "Text/HTML; charset=utf-8", "size": 10}, ("BaseServer", None)),
        (f"{BASE}/a", {"media_type": "application/pdf"}, ("TypeNotWanted", -8)),
        (f"{BASE}/a", {"media_type": "nonsense"}, ("TypeUnknown", -3)),
        (f"{BASE}/a", {"size": 10}, ("BaseServer", None)),
        (f"{BASE}/a", {"size": 500_001}, ("TooLarge", -4)),
        (f"{BASE}/a", {"media_type": "text/html", "size": 500_001}, ("TooLarge", -4)),
        (f"{BASE}/a", {"depth": 6}, ("TooDeep", -9)),
        (f"{BASE}/a", {"depth": 6, "kind": LinkKind.REQUISITE}, ("BaseServer", None)),
        (f"{BASE}/a.pdf", {}, ("TypeByExtension", -8)),
        ("http://www.x.pt/", {"media_type": "application/pdf"}, ("ServerNotAccepted", -5)),
        ("mailto:a@fc.ul.pt", {}, ("SchemeNotWeb", None)),
        ("www.fc.ul.pt/a", {}, ("UrlNotSane", -9)),
        ("http://", {}, ("UrlNotSane", -9)),
        ("", {}, ("UrlNotSane", -9)),
    ],
)
def test_explain_runs_the_same_rules(url: str, options: dict[str, object], decided: tuple[str, int | None]) -> None:
    verdict = HTML.explain(url, **options)  # type: ignore[arg-type]
    assert (verdict.rule, verdict.state) == decided
    assert str(verdict.reason).endswith(".")
