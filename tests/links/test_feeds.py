"""Links of sitemaps, RSS and Atom."""

from __future__ import annotations

import gzip

import pytest

from tarantula.links import extract
from tarantula.links.extract import extract_links, sitemaps_in_robots
from tarantula.links.link import Link, LinkKind

URL = "http://a.test/feeds/feed.xml"
N, R = LinkKind.NAVIGATION, LinkKind.REQUISITE

SITEMAP = """<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:xhtml="http://www.w3.org/1999/xhtml"
        xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">
  <url><loc> http://a.test/1?a=1&amp;b=2 </loc><lastmod>2026-01-01</lastmod>
    <xhtml:link rel="alternate" hreflang="pt" href="http://a.test/pt/1"/>
    <image:image><image:loc>http://a.test/1.png</image:loc></image:image></url>
  <url><loc><![CDATA[http://a.test/2?a=1&b=2]]></loc></url>
</urlset>"""
SITEMAP_LINKS = ["http://a.test/1?a=1&b=2", "http://a.test/pt/1", "http://a.test/1.png", "http://a.test/2?a=1&b=2"]

SITEMAP_INDEX = """<sitemapindex><sitemap><loc>http://a.test/s1.xml</loc></sitemap>
<sitemap><loc>http://a.test/s2.xml.gz</loc></sitemap></sitemapindex>"""

RSS = """<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom" xmlns:media="http://search.yahoo.com/mrss/">
<channel><title>T</title><link>http://a.test/</link><docs>http://no.test/</docs>
<atom:link rel="self" href="http://a.test/rss"/><atom:link rel="hub" href="http://no.test/"/>
<image><url>/logo.png</url><title>T</title><link>http://a.test/</link></image>
<item><link>item?a=1&b=2</link><guid>http://a.test/guid</guid><comments>http://a.test/talk</comments>
<enclosure url="http://a.test/1.mp3" type="audio/mpeg"/><media:thumbnail url="http://a.test/t.png"/></item>
<item><link><![CDATA[ http://a.test/3?x&y ]]></link><guid isPermaLink="false">http://no.test/</guid></item>
<item><guid>no-address</guid></item></channel></rss>"""
RSS_LINKS = [
    ("http://a.test/", N),
    ("http://a.test/rss", N),
    ("http://a.test/logo.png", R),
    ("http://a.test/feeds/item?a=1&b=2", N),
    ("http://a.test/guid", N),
    ("http://a.test/talk", N),
    ("http://a.test/1.mp3", N),
    ("http://a.test/t.png", R),
    ("http://a.test/3?x&y", N),
]

RSS_1 = """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/">
<channel rdf:about="http://no.test/"><link>http://a.test/</link></channel>
<item rdf:about="http://no.test/"><link>http://a.test/1</link></item></rdf:RDF>"""

ATOM = """<feed xmlns="http://www.w3.org/2005/Atom" xml:base="http://b.test/base/"><id>http://no.test/</id>
<link rel="self" href="/atom"/><link href="."/><icon>icon.png</icon><logo>logo.png</logo>
<entry xml:base="entries/"><link rel="alternate" href="1"/><author><uri>/who</uri></author>
<link rel="enclosure" href="1.mp3"/><content type="image/png" src="1.png"/></entry></feed>"""
ATOM_LINKS = [
    ("http://b.test/atom", N),
    ("http://b.test/base/", N),
    ("http://b.test/base/icon.png", R),
    ("http://b.test/base/logo.png", R),
    ("http://b.test/base/entries/1", N),
    ("http://b.test/who", N),
    ("http://b.test/base/entries/1.mp3", N),
    ("http://b.test/base/entries/1.png", N),
]


def addresses(body: bytes, media_type: str = "application/xml", url: str = URL) -> list[str]:
    return [link.url for link in extract_links(body, media_type, url)]


def test_sitemap() -> None:
    assert addresses(SITEMAP.encode()) == SITEMAP_LINKS


def test_sitemap_index() -> None:
    assert addresses(SITEMAP_INDEX.encode(), "text/xml") == ["http://a.test/s1.xml", "http://a.test/s2.xml.gz"]


def test_rss() -> None:
    assert extract_links(RSS.encode(), "application/rss+xml", URL) == RSS_LINKS


def test_rss_1() -> None:
    assert addresses(RSS_1.encode(), "application/rdf+xml") == ["http://a.test/", "http://a.test/1"]


def test_atom_resolves_against_xml_base() -> None:
    assert extract_links(ATOM.encode(), "application/atom+xml", URL) == ATOM_LINKS


@pytest.mark.parametrize(
    "broken",
    [
        "<urlset><url><loc>http://a.test/x?a&b</loc>",
        "\n <?xml version='1.0'?><urlset><loc>http://a.test/x?a&b</loc></url></urlset>",
        "<urlset><loc>http://a.test/x?a&b</loc>\x01\x00</urlset><again>",
        "<!DOCTYPE urlset SYSTEM 'file:///no'><urlset><a>&nbsp;&no;</a><loc>http://a.test/x?a&b</loc></urlset>",
        "<s:urlset xmlns:s='urn:what'><s:loc>http://a.test/x?a&b</s:loc></s:urlset>",
        "<urlset><x></y><url><loc>http://a.test/x?a&amp;b</loc></url></urlset>",
        "<x:urlset><x:loc>http://a.test/x?a&b</x:loc></x:urlset>",
    ],
)
def test_broken_sitemaps_give_what_can_be_read(broken: str) -> None:
    assert addresses(broken.encode()) == ["http://a.test/x?a&b"]


@pytest.mark.parametrize("other", ["<root><link>http://no.test/</link></root>", "", "text", "<", "<!-- -->"])
def test_other_xml_names_nothing(other: str) -> None:
    assert addresses(other.encode()) == []


@pytest.mark.parametrize(
    ("media_type", "root"),
    [
        ("text/xml", "<note>other XML</note>"),
        ("application/rss+xml", "<rss/>"),
        ("application/xhtml+xml", "<html><base href='/feeds/'/></html>"),
        ("image/svg+xml", "<svg/>"),
        ("text/xml", "<svg/>"),
    ],
)
def test_stylesheets_of_instructions_before_the_root(media_type: str, root: str) -> None:
    body = (
        "\ufeff<?xml version='1.0'?>\n<!-- <?xml-stylesheet href='no'?> --><!DOCTYPE x [<!ENTITY a 'b>']>"
        "<?xml-stylesheet type='text/xsl' href='a.xsl?b&amp;c'?>"
        '<?xml-stylesheet title="href=\'no\'" href = "/b.css"?>'
        "<?xml-stylesheet href='#here'?><?xml-stylesheet?><?xml-stylesheets href='no'?>"
        f"{root}<?xml-stylesheet href='no'?>"
    )
    assert extract_links(body.encode(), media_type, URL) == [
        Link("http://a.test/feeds/a.xsl?b&c", R),
        Link("http://a.test/b.css", R),
    ]


def test_references_to_surrogates_are_passed_over() -> None:
    assert addresses(b"<rss><link>&#xD800;</link><link href='&#xDFFF;'/><link>/x</link>") == ["http://a.test/x"]


def test_entities_do_not_grow() -> None:
    entities = "".join(f'<!ENTITY e{i + 1} "{f"&e{i};" * 10}">' for i in range(9))
    bomb = f'<!DOCTYPE urlset [<!ENTITY e0 "http://no.test/">{entities}]><urlset><loc>&e9;</loc></urlset>'
    assert all(len(address) < 100 for address in addresses(bomb.encode()))


@pytest.mark.parametrize(
    ("body", "charset"),
    [
        ('<?xml version="1.0" encoding="ISO-8859-1"?><urlset><loc>/é?é</loc></urlset>'.encode("latin-1"), None),
        ('<?xml version="1.0" encoding="UTF-8"?><urlset><loc>/é?é</loc></urlset>'.encode("latin-1"), "latin1"),
    ],
)
def test_charset(body: bytes, charset: str | None) -> None:
    assert extract_links(body, "text/xml", URL, charset) == [Link("http://a.test/%C3%A9?%E9")]


@pytest.mark.parametrize(
    ("media_type", "url"),
    [
        ("application/gzip", URL),
        ("application/x-gzip", URL),
        ("application/octet-stream", "http://a.test/s.xml.gz?v=1"),
    ],
)
def test_packed_sitemap(media_type: str, url: str) -> None:
    assert addresses(gzip.compress(SITEMAP.encode()), media_type, url) == SITEMAP_LINKS


def test_packed_sitemap_is_unpacked_no_further_than_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extract, "MAX_SITEMAP_BYTES", 1000)
    bomb = gzip.compress(b"<urlset><loc>http://a.test/x</loc>" + b" " * 1000 + b"<loc>http://no.test/</loc></urlset>")
    assert addresses(bomb, "application/gzip") == ["http://a.test/x"]


@pytest.mark.parametrize("body", [b"", b"\x1f\x8b", b"\x1f\x8b\x08\0\0\0\0\0\0\0garbage", gzip.compress(b"a tarball")])
def test_what_is_not_a_packed_sitemap_names_nothing(body: bytes) -> None:
    assert addresses(body, "application/gzip") == []


ROBOTS = """\ufeffSitemap: http://A.test/s.xml
User-agent: *
Disallow: /x
  SITEMAP :https://a.test/t.xml trailing
sitemap: http://a.test/s.xml
Sitemap: /relative
Sitemap: ftp://a.test/s.xml
# Sitemap: http://no.test/
Sitemap:
"""


def test_sitemaps_in_robots() -> None:
    url = "http://a.test/robots.txt"
    found = ["http://a.test/s.xml", "https://a.test/t.xml", "http://a.test/relative"]
    assert sitemaps_in_robots(ROBOTS, url) == addresses(ROBOTS.encode(), "text/plain", url) == found
    assert addresses(ROBOTS.encode(), "text/plain", "http://a.test/other.txt") == []


def test_a_sitemap_may_be_a_text() -> None:
    body = "\ufeffhttp://a.test/1\r\n\n \u00a0HTTPS://b.test/é \nno address\n/relative\n".encode()
    assert addresses(body, "text/plain", "http://a.test/Sitemap-2.txt") == ["http://a.test/1", "https://b.test/%C3%A9"]
    assert addresses(body, "text/plain", "http://a.test/sitemap/notes.txt") == []


def test_no_break_spaces_around_an_address_are_ignored() -> None:
    body = "<urlset><url><loc>\u00a0http://a.test/1\u00a0\n</loc></url></urlset>".encode()
    assert addresses(body, "application/xml") == ["http://a.test/1"]
