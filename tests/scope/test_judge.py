"""Verdicts on candidates."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarantula.core.states import DocumentState
from tarantula.core.urls import canonical
from tarantula.links.link import LinkKind
from tarantula.publications.config import PublicationConfig
from tarantula.scope.rule import Candidate, Verdict
from tarantula.scope.scope import Scope
from tarantula.scope.types import TypeSet

KNOWN = {
    "text/html": ("html", "htm", "php"),
    "image/gif": ("gif",),
    "image/bmp": ("bmp",),
    "application/pdf": ("pdf",),
    "application/zip": ("ZIP",),
    "video/mp4": (".mp4",),
    "text/javascript": ("js",),
    "text/xml": ("xml",),
    "audio/ogg": ("ogg",),
    "video/ogg": ("ogg",),
}
NAVIGATION, REQUISITE, IN_STYLE, REDIRECT = LinkKind


def config(**changes: object) -> PublicationConfig:
    return PublicationConfig.model_validate(
        {
            "name": "fcul",
            "base_url": "http://www.fc.ul.pt/index.html",
            "depth": 5,
            "accept": [".fc.ul.pt", "*.di.ul.pt:8080"],
            "exclude": ["ptmat.lmc.fc.ul.pt"],
            "max_size": 500_000,
            **changes,
        }
    )


def scope(*types: str, **changes: object) -> Scope:
    return Scope.of(config(**changes), KNOWN, TypeSet(types or ["*/*"]))


def judged(
    within: Scope, url: str, depth: int = 1, kind: LinkKind = NAVIGATION, redirects: int = 0
) -> tuple[str, int | None]:
    verdict = within.judge(Candidate.of(url, depth, kind, redirects))
    assert verdict.accepted is (verdict.rule in {"BaseServer", "ServerAccepted"})
    assert str(verdict.reason).endswith(".")
    return verdict.rule, verdict.state


@pytest.mark.parametrize(
    ("url", "decided"),
    [
        ("http://www.fc.ul.pt/a", ("BaseServer", None)),
        ("https://www.fc.ul.pt/a", ("BaseServer", None)),
        ("http://www.fc.ul.pt./a", ("BaseServer", None)),
        ("http://www.fc.ul.pt:8080/a", ("ServerAccepted", None)),
        ("http://fc.ul.pt/", ("ServerAccepted", None)),
        ("http://alf1.cii.fc.ul.pt/", ("ServerAccepted", None)),
        ("http://x.di.ul.pt:8080/", ("ServerAccepted", None)),
        ("http://x.di.ul.pt/", ("ServerNotAccepted", -5)),
        ("http://ptmat.lmc.fc.ul.pt/", ("ServerExcluded", -5)),
        ("http://ptmat.lmc.fc.ul.pt:81/", ("ServerExcluded", -5)),
        ("http://www.x.pt/", ("ServerNotAccepted", -5)),
        ("http://www.fc.ul.pt.x.pt/", ("ServerNotAccepted", -5)),
        ("http://www.x.pt/?http://www.fc.ul.pt/", ("ServerNotAccepted", -5)),
        ("http://www.fc.ul.pt@www.x.pt/", ("UrlNotSane", -9)),
        ("http://user:secret@www.fc.ul.pt/", ("UrlNotSane", -9)),
        ("http://www.fc.ul.pt/~user@home", ("BaseServer", None)),
        ("http://www.fc.ul.pt/a b", ("UrlNotSane", -9)),
        ("http://www.fc.ul.pt/a\nb", ("UrlNotSane", -9)),
        ("http://www.fc.ul.pt/ação", ("UrlNotSane", -9)),
        ("http://www.fc.ul.pt/a%0Ab", ("BaseServer", None)),
        ("http://www.fc.ul.pt/" + "a" * 8172, ("BaseServer", None)),
        ("http://www.fc.ul.pt/" + "a" * 8173, ("UrlNotSane", -9)),
        (f"http://{'a' * 246}.ul.pt:65535/", ("ServerNotAccepted", -5)),
        (f"http://{'a' * 247}.ul.pt/", ("ServerNotAccepted", -5)),
        (f"http://{'a' * 248}.ul.pt/", ("UrlNotSane", -9)),
        ("http://www.fc.ul.pt/" + "a" * 100_000, ("UrlNotSane", -9)),
        ("mailto:a@fc.ul.pt", ("SchemeNotWeb", None)),
        ("javascript:void(0)", ("SchemeNotWeb", None)),
        ("data:text/html,x", ("SchemeNotWeb", None)),
        ("ftp://www.fc.ul.pt/a", ("SchemeNotWeb", None)),
        ("file:///etc/passwd", ("SchemeNotWeb", None)),
    ],
)
def test_scheme_sanity_and_server(url: str, decided: tuple[str, int | None]) -> None:
    assert judged(scope(), url) == decided


@pytest.mark.parametrize(
    ("changes", "url", "decided"),
    [
        ({"accept": []}, "http://www.fc.ul.pt/", ("BaseServer", None)),
        ({"accept": []}, "http://fc.ul.pt/", ("ServerNotAccepted", -5)),
        ({"accept": [], "exclude": [".fc.ul.pt"]}, "http://www.fc.ul.pt/", ("BaseServer", None)),
        ({"accept": [], "exclude": [".fc.ul.pt"]}, "http://fc.ul.pt/", ("ServerExcluded", -5)),
        ({"accept": ["*"], "exclude": [".com"]}, "http://x.org/", ("ServerAccepted", None)),
        ({"accept": ["*"], "exclude": [".com"]}, "http://x.com/", ("ServerExcluded", -5)),
        ({"base_url": "http://127.0.0.1:8000/", "accept": []}, "http://127.0.0.1:8000/a", ("BaseServer", None)),
        ({"base_url": "http://127.0.0.1:8000/", "accept": []}, "http://127.0.0.1:8001/a", ("ServerNotAccepted", -5)),
        (
            {"base_url": "http://127.0.0.1:8000/", "accept": ["127.0.0.*"]},
            "http://127.0.0.9:1/",
            ("ServerAccepted", None),
        ),
    ],
)
def test_the_base_server_is_in_and_excluded_beats_accepted(
    changes: dict[str, object], url: str, decided: tuple[str, int | None]
) -> None:
    assert judged(scope(**changes), url) == decided


@pytest.mark.parametrize(
    ("kind", "deepest"),
    [(NAVIGATION, 5), (REQUISITE, 6), (IN_STYLE, 7), (REDIRECT, 7)],
)
def test_what_a_page_needs_may_lie_past_the_depth(kind: LinkKind, deepest: int) -> None:
    url = "http://www.fc.ul.pt/a"
    assert judged(scope(), url, deepest, kind) == ("BaseServer", None)
    assert judged(scope(), url, deepest + 1, kind) == ("TooDeep", -9)


def test_depth_zero_is_the_base_document_and_what_it_needs() -> None:
    alone = scope(depth=0)
    assert judged(alone, "http://www.fc.ul.pt/", 0) == ("BaseServer", None)
    assert judged(alone, "http://www.fc.ul.pt/a", 1) == ("TooDeep", -9)
    assert judged(alone, "http://www.fc.ul.pt/a.gif", 1, REQUISITE) == ("BaseServer", None)


def test_twenty_redirects_in_a_row_are_followed_and_no_more() -> None:
    assert judged(scope(), "http://www.fc.ul.pt/20", 1, REDIRECT, 20) == ("BaseServer", None)
    assert judged(scope(), "http://www.fc.ul.pt/21", 1, REDIRECT, 21) == ("TooManyRedirects", -9)


@pytest.mark.parametrize(
    ("path", "kind", "refused"),
    [
        ("/a.pdf", NAVIGATION, True),
        ("/a.PDF", NAVIGATION, True),
        ("/a.b.pdf", NAVIGATION, True),
        ("/a.zip", NAVIGATION, True),
        ("/a.mp4", REQUISITE, True),
        ("/a.ogg", NAVIGATION, True),
        ("/a.js", REQUISITE, True),
        ("/wiki/Node.js", NAVIGATION, False),
        ("/wiki/File:Lisboa.bmp", NAVIGATION, False),
        ("/a.pdf?page=2", NAVIGATION, False),
        ("/get?file=a.pdf", NAVIGATION, False),
        ("/get?dir=/a.pdf", NAVIGATION, False),
        ("/a.pdf/", NAVIGATION, False),
        ("/.pdf", NAVIGATION, False),
        ("/pdf", NAVIGATION, False),
        ("/a.", NAVIGATION, False),
        ("/a.gif", NAVIGATION, False),
        ("/a.xyz", NAVIGATION, False),
        ("/a.html", NAVIGATION, False),
        ("/a.php", NAVIGATION, False),
        ("/a.xml", NAVIGATION, False),
        ("/", NAVIGATION, False),
    ],
)
def test_an_extension_refuses_only_when_it_is_certain(path: str, kind: LinkKind, refused: bool) -> None:
    decided = judged(scope("image/gif"), f"http://www.fc.ul.pt{path}", 1, kind)
    assert decided == (("TypeByExtension", -8) if refused else ("BaseServer", None))


def test_an_extension_of_several_types_refuses_only_when_none_is_wanted() -> None:
    assert judged(scope("audio/*"), "http://www.fc.ul.pt/a.ogg") == ("BaseServer", None)
    assert judged(scope("text/html"), "http://www.fc.ul.pt/a.ogg") == ("TypeByExtension", -8)


@pytest.mark.parametrize(
    ("url", "depth", "sentence"),
    [
        ("http://www.fc.ul.pt/", 1, "www.fc.ul.pt is the base server of fcul."),
        ("http://a.fc.ul.pt/", 1, "The server a.fc.ul.pt is accepted in fcul by the pattern .fc.ul.pt."),
        ("http://www.x.pt/", 1, "The server www.x.pt is not among the accepted servers of fcul."),
        (
            "http://ptmat.lmc.fc.ul.pt/",
            1,
            "The server ptmat.lmc.fc.ul.pt is excluded from fcul by the pattern ptmat.lmc.fc.ul.pt.",
        ),
        (
            "http://www.fc.ul.pt/a",
            9,
            "Its link depth is 9, and the publication fcul has a maximum depth of 5.",
        ),
        (
            "http://www.fc.ul.pt/a.bmp",
            1,
            "The extension .bmp says that it is image/bmp, which fcul does not want.",
        ),
        ("mailto:a@x.pt", 1, "Only http and https are collected, and this is mailto."),
        ("http://www.fc.ul.pt/" + "a" * 9000, 1, "The URL has 9,020 characters, and 8,192 is the limit."),
    ],
)
def test_a_person_can_read_why(url: str, depth: int, sentence: str) -> None:
    assert str(scope("text/html").judge(Candidate.of(url, depth)).reason) == sentence


def test_a_long_server_makes_no_long_sentence() -> None:
    verdict = scope().judge(Candidate.of("http://" + "a" * 8000 + "/", 1))
    assert verdict.rule == "UrlNotSane"
    assert len(str(verdict.reason)) < 400


def test_a_kind_from_the_database_is_as_good() -> None:
    verdict = scope("text/html").judge(Candidate("http://www.fc.ul.pt/Node.js", "www.fc.ul.pt", 1, 0))
    assert verdict.accepted


@given(st.text(max_size=60), st.integers(0, 9), st.sampled_from(LinkKind), st.integers(0, 30))
def test_every_url_gets_one_verdict(tail: str, depth: int, kind: LinkKind, redirects: int) -> None:
    within = scope("text/html")
    for text in (tail, f"http://{tail}", f"http://www.fc.ul.pt/{tail}"):
        url = canonical(text) if text.isprintable() else None
        if url is not None:
            verdict = within.judge(Candidate.of(url, depth, kind, redirects))
            assert isinstance(verdict, Verdict)
            assert verdict.state in (None, *DocumentState)
