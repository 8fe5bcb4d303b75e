from __future__ import annotations

import pytest

from tarantula.links.link import LinkKind
from tarantula.publications.config import PublicationConfig
from tarantula.scope.scope import Scope
from tarantula.scope.types import TypeSet

KNOWN = {"text/html": ("html",), "application/pdf": ("pdf",), "audio/ogg": ("ogg",), "video/ogg": ("ogg",)}
CONFIG = PublicationConfig(name="fcul", base_url="http://www.fc.ul.pt/", max_size=500_000, depth=5)
BASE = "http://www.fc.ul.pt"
HTML = Scope.of(CONFIG, KNOWN, TypeSet(["text/html", "audio/*"]))
EVERYTHING = Scope.of(CONFIG, KNOWN, TypeSet(["*/*"]))


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
def test_headers_decide_before_the_body_is_read(
    path: str, media_type: str | None, length: int | None, status: int, decided: tuple[str, int | None]
) -> None:
    verdict = HTML.judge_head(BASE + path, media_type, length, status)
    assert (verdict.rule, verdict.state) == decided
    assert verdict.accepted is (verdict.state is None)


@pytest.mark.parametrize("media_type", [None, "x/y", "application/octet-stream"])
def test_everything_takes_every_type_and_none(media_type: str | None) -> None:
    assert EVERYTHING.judge_head(f"{BASE}/a", media_type, 10, 200).accepted


def test_the_type_is_judged_again_when_the_body_shows_it() -> None:
    assert HTML.judge_type(f"{BASE}/", "text/html").accepted
    assert HTML.judge_type(f"{BASE}/", "image/png").rule == "TypeNotWanted"
    assert HTML.judge_type(f"{BASE}/", None).rule == "TypeUnknown"


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
def test_an_extension_means_the_wanted_type_first(
    header: str | None, path: str, start: bytes, mime: str | None
) -> None:
    assert Scope.of(CONFIG, KNOWN, TypeSet(["video/*"])).type_of(header, BASE + path, start) == mime


@pytest.mark.parametrize(
    ("media_type", "length", "sentence"),
    [
        ("application/pdf", 1, "Its type is application/pdf, which fcul does not want."),
        (None, 1, "Neither a Content-Type header nor its extension nor its content tells what type it is."),
        ("text/html", 600_000, "It has 600,000 bytes, and fcul takes at most 500,000."),
        ("text/html", 1, "No rule refuses it."),
    ],
)
def test_a_person_can_read_why(media_type: str | None, length: int, sentence: str) -> None:
    assert HTML.judge_type(f"{BASE}/", media_type, length).reason == sentence


@pytest.mark.parametrize(
    ("url", "told", "decided"),
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
def test_explaining_runs_the_same_rules(url: str, told: dict[str, object], decided: tuple[str, int | None]) -> None:
    verdict = HTML.explain(url, **told)  # type: ignore[arg-type]
    assert (verdict.rule, verdict.state) == decided
    assert verdict.reason.endswith(".")
