"""Links in HTTP headers."""

from __future__ import annotations

import pytest

from tarantula.links.extract import header_links
from tarantula.links.link import Link, LinkKind

URL = "http://a.test/dir/page.html"
REQUISITE, NAVIGATION = LinkKind.REQUISITE, LinkKind.NAVIGATION


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("Link", "</s.css>; rel=preload; as=style", [Link("http://a.test/s.css", REQUISITE)]),
        ("LINK", '<a,b;c.css>; REL="stylesheet"', [Link("http://a.test/dir/a,b;c.css", REQUISITE)]),
        (
            "Link",
            '</1>; title="a, <b>"; rel=next, </2>;rel="prev start"',
            [Link("http://a.test/1", NAVIGATION), Link("http://a.test/2", NAVIGATION)],
        ),
        ("Link", "<https://b.test>; rel=preconnect, <//c.test>; rel=dns-prefetch", []),
        ("Link", "<mailto:a@b.test>; rel=author, </no-rel>, broken", []),
        ("Refresh", "5; url=next.html", [Link("http://a.test/dir/next.html", NAVIGATION)]),
        ("Refresh", "5", []),
        ("Location", "/elsewhere", []),
    ],
)
def test_links_in_headers(name: str, value: str, expected: list[Link]) -> None:
    assert header_links([(b"Content-Type", b"text/html"), (name.encode(), value.encode())], URL) == expected
