"""No archived page opens a connection to another server when it is shown, not even one without a request."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from html import escape
from time import process_time

import pytest
from playwright.sync_api import Browser, Error, expect
from sqlalchemy import select

from tarantula.archive.mirror.conversion import convert_item
from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.links.foreign_loads import MAX_ATTRIBUTES, without_foreign_loads
from tarantula.models import Document
from tests.support.browser import launched
from tests.support.monthly_items import BASE, Page, archive
from tests.support.replay_server import Showing, showing

XHTML = "http://www.w3.org/1999/xhtml"
FRAMES_AT_A_TIME = 12
SETTLE_MILLISECONDS = 800
REFRESH = '<meta http-equiv="refresh" content="0; url=URL">'
IFRAME = "<iframe src=URL></iframe>"
SPECULATION = '{"prefetch": [{"source": "list", "urls": ["URL"], "eagerness": "immediate"}]}'
RELATIONS = ("preconnect", "dns-prefetch", "prefetch", "preload", "modulepreload", "prerender", "next", "canonical")


def in_srcdoc(markup: str, times: int = 1) -> str:
    """Return a page in an attribute of a page, and so on."""
    for _ in range(times):
        markup = f'<iframe srcdoc="{escape(markup)}"></iframe>'
    return markup


HTML = {
    "iframe": '<iframe src="URL"></iframe>',
    "unquoted": "<IFRAME\n/SRC=URL></IFRAME>",
    "escaped": '<iframe src="&#32;&#x68;ttp&colon;//&#9;ADDRESS"></iframe><iframe src="&sol;&bsol;ADDRESS"></iframe>',
    "odd slashes": '<iframe src="\\\\ADDRESS"></iframe><iframe src="/\t/ADDRESS"></iframe><iframe src="https:ADDRESS">',
    "twice": '<iframe src="URL" src="URL"></iframe>',
    "local first": '<iframe src="page.html" src="URL"></iframe><iframe id=x src="page.html" id="><iframe src=URL>">',
    "relative": '<base href="URL"><iframe src="a.html"></iframe><a href="b.html">b</a>',
    "srcdoc": in_srcdoc(IFRAME),
    "srcdoc refresh": in_srcdoc(REFRESH),
    "srcdoc deep": in_srcdoc(REFRESH, 3),
    "srcdoc very deep": in_srcdoc(IFRAME, 7),
    "srcdoc unquoted": "<iframe srcdoc=&lt;iframe&#32;src&#61;URL&gt;>",
    "srcdoc base": in_srcdoc('<base href="URL"><iframe src=a.html></iframe>'),
    "noscript": '<noscript><iframe src="URL"></iframe></noscript>',
    "noscript in drawing": f"<svg><noscript>{escape(IFRAME)}</noscript></svg>",
    "noframes": f"<noframes>{IFRAME}</noframes><noembed>{IFRAME}</noembed><xmp>{IFRAME}</xmp>",
    "shadow": '<div><template shadowrootmode="open"><iframe src="URL"></iframe></template></div>',
    "foreign object": f"<svg><foreignObject>{IFRAME}</foreignObject></svg>",
    "drawing left": f"<svg><p>{IFRAME}",
    "math": f'<math><annotation-xml encoding="text/html">{IFRAME}</annotation-xml></math>',
    "select": f"<select>{IFRAME}</select><select><option>{IFRAME}</option><button>{IFRAME}</button></select>",
    "table": f"<table>{IFRAME}<tr>{IFRAME}</table><button><button>{IFRAME}",
    "comment": f"<!--><i>{IFRAME}--> <!-- --!>{IFRAME} <![CDATA[>{IFRAME}]]> <?php >{IFRAME}?> </ >{IFRAME}",
    "raw text": f"<textarea></textarea/>{IFRAME}<style><!--</style>{IFRAME}<title></title\n>{IFRAME}",
    "in a value": f"""<p title="<iframe srcdoc=' ">{IFRAME}<iframe x="' <iframe src=//q>'" src="URL"></iframe>""",
    "hidden by srcdoc": """<iframe x="<iframe srcdoc=' " src="URL" z=" <iframe src=//q> '"></iframe>""",
    "object": '<object data="URL" type="text/html"></object><object data="URL"></object>',
    "object parameter": '<object type="text/html"><param name=src value=URL></object>',
    "object base": "<object codebase=URL data=x></object>",
    "embed": '<embed src="URL" type="text/html"><embed src="URL">',
    "portal": '<portal src="URL"></portal><fencedframe src="URL"></fencedframe>',
    "refresh": REFRESH,
    "refresh late": f"<p>text{REFRESH}",
    "refresh in body": f"<body><div><svg><desc>{REFRESH}",
    "refresh odd": '<meta content="0;URL" HTTP-EQUIV="&#82;efresh"><meta content="0,URL" HTTP-EQUIV=refresh>',
    "refresh lenient": "".join(
        f'<meta http-equiv=refresh content="{content}">'
        for content in ("+0;url=URL", "0 URL", "0;url = &quot;URL", "&nbsp;0;URL", ".0;'URL'x", "00.0.0;URL", "0e0;URL")
    ),
    "refresh nested": """<meta x='<meta http-equiv=refresh y' content="0;url=URL">""",
    "hints": "".join(f'<link rel="{rel}" as="document" href="URL">' for rel in RELATIONS),
    "hint in body": '<p><link rel="stylesheet preconnect" crossorigin href="URL">',
    "hint image": '<link rel=preload as=image imagesrcset="URL 1x, URLa 2x">',
    "prefetch control": '<meta http-equiv=x-dns-prefetch-control content=on><link rel=dns-prefetch href="URL">',
    "speculation": f'<script type="speculationrules">{SPECULATION}</script><a href="URL">x</a>',
    "ping": '<a href="page.html" ping="URL">x</a><img attributionsrc="URL" src="x.png">',
    "form": '<form action="URL"><button formaction="URL">x</button></form>',
    "data": f"<iframe src='data:text/html,{REFRESH}'></iframe><iframe src=\"javascript:'<iframe src=URL>'\"></iframe>",
    "data object": f"<object data='data:text/html,{REFRESH}'></object><embed src='data:image/svg+xml,{REFRESH}'>",
    "resources": '<img src="URL"><video src="URL" poster="URL"></video><link rel=stylesheet href="URL">'
    '<script src="URL"></script><svg><image href="URL"/><use href="URL#x"/></svg>'
    '<style>@import "URL"; p { background: url(URL) }</style>',
}
XML = {
    "frame": f'<x:iframe xmlns:x="{XHTML}" src="URL"/>',
    "frame below a base": f'<x:iframe xmlns:x="{XHTML}" xml:base="URL" src="a.html"/>',
    "refresh": f'<x:meta xmlns:x="{XHTML}" http-equiv="refresh" content="0; url=URL"/>',
    "hint": f'<x:link xmlns:x="{XHTML}" rel="preconnect" href="URL"/><x:object xmlns:x="{XHTML}" data="URL"/>',
    "srcdoc": f'<iframe xmlns="{XHTML}" srcdoc="{escape(REFRESH)}"/>',
    "noscript": f'<noscript xmlns="{XHTML}">&lt;iframe src="URL"/></noscript>',
}
ROOTS = {
    "application/xhtml+xml": f'<html xmlns="{XHTML}"><head><title>x</title></head><body>BODY</body></html>',
    "image/svg+xml": '<svg xmlns="http://www.w3.org/2000/svg">BODY</svg>',
    "text/xml": "<root>BODY</root>",
    "application/xml": "<root>BODY</root>",
    "application/rss+xml": '<rss version="2.0">BODY</rss>',
    "application/vnd.odd+xml": "<root>BODY</root>",
}
ENTITIES = f"""<!DOCTYPE html [<!ENTITY frame "&#60;iframe xmlns='{XHTML}' src='URL'/>"><!ENTITY place "URL">]>
<html xmlns="{XHTML}"><body>&frame;<iframe src="&place;"/></body></html>"""
PLAIN_ENTITY = f"""<!DOCTYPE html [<!ENTITY place "URL"><!ATTLIST iframe src CDATA "URL">]>
<html xmlns="{XHTML}"><body><iframe src="&place;"/><iframe/></body></html>"""
TRANSFORM = f"""<?xml-stylesheet title=" type='text/css'" type="text/xsl" href="#style"?><root>
<xsl:stylesheet id="style" version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"><xsl:template match="/">
<xsl:element name="ifr{{'ame'}}" namespace="{XHTML}"><xsl:attribute name="src">URL</xsl:attribute></xsl:element>
</xsl:template></xsl:stylesheet></root>"""
MHTML = f"""MIME-Version: 1.0\nContent-Type: multipart/related; boundary="b"

--b\nContent-Type: text/html\n\n{REFRESH}\n--b--"""


def constructs() -> dict[str, Page]:
    """Return pages that name the server URL, or its ADDRESS."""
    pages = {name: Page(f"<!doctype html><title>x</title>{body}<p>shown") for name, body in HTML.items()}
    pages["frameset"] = Page('<!doctype html><title>x</title><frameset cols="*,*"><frame src="URL"><frame src="URL">')
    pages["header"] = Page("<p>shown", headers=("Refresh: 0; url=URL", "Link: <URL>; rel=preconnect"))
    pages["utf-16"] = Page("\ufeff<p><iframe src='URL'></iframe>".encode("utf-16-le"), "text/html")
    pages["iso-2022-jp"] = Page("<meta charset=iso-2022-jp><ifr\x1b(Bame src='URL'></iframe>", "text/html")
    pages["utf-16 xml"] = Page(XML["frame"].encode("utf-16"), "text/xml")
    for kind, root in ROOTS.items():
        pages.update({f"{kind} {name}": Page(root.replace("BODY", body), kind) for name, body in XML.items()})
    pages["entities"] = Page(ENTITIES, "application/xhtml+xml")
    pages["plain entity"] = Page(PLAIN_ENTITY, "application/xhtml+xml")
    pages["transform"] = Page(TRANSFORM, "text/xml")
    pages["mhtml"] = Page(MHTML, "multipart/related")
    return pages


def aimed(page: Page, url: str) -> Page:
    """Return a page that names a server."""
    codec = "utf-16" if page.bytes.startswith(b"\xff\xfe") else "utf-8"
    body = page.bytes.decode(codec).replace("URL", url).replace("ADDRESS", url.partition("://")[2])
    headers = tuple(header.replace("URL", url) for header in page.headers)
    return Page(body.encode(codec), page.type, headers=headers)


class Listener:
    """A server that never answers: connections wait in its queue until they are counted."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._socket.setblocking(False)
        self.address = f"127.0.0.1:{self._socket.getsockname()[1]}"

    def connections(self) -> int:
        """Return the number of connections since the last call."""
        number = 0
        while True:
            try:
                self._socket.accept()[0].close()
            except BlockingIOError:
                return number
            number += 1

    def close(self) -> None:
        self._socket.close()


@contextmanager
def listeners(names: list[str]) -> Iterator[dict[str, Listener]]:
    """Open a listener for each name, for both schemes."""
    with ExitStack() as stack:
        opened = {f"{scheme}: {name}": Listener() for name in names for scheme in ("http", "https")}
        for listener in opened.values():
            stack.callback(listener.close)
        yield opened


def open_in_frames(browser: Browser, addresses: list[str]) -> None:
    """Show pages in frames of a window that restricts them in no way."""
    for first in range(0, len(addresses), FRAMES_AT_A_TIME):
        with browser.new_context() as context:
            window = context.new_page()
            some = addresses[first : first + FRAMES_AT_A_TIME]
            frames = "".join(f"<iframe src='{address}'></iframe>" for address in some)
            window.set_content(frames, wait_until="commit")
            with suppress(Error):
                window.wait_for_load_state("load", timeout=5000)
            window.wait_for_timeout(SETTLE_MILLISECONDS)


def reached(servers: dict[str, Listener]) -> list[str]:
    return sorted(name for name, server in servers.items() if server.connections())


@pytest.mark.parametrize("mirrored", [False, True], ids=["stored", "mirror with live requests"])
def test_no_page_connects_to_another_server(config: Config, sqlite: Database, chromium: str, mirrored: bool) -> None:
    pages = constructs()
    with listeners([*pages, "free"]) as servers, launched(chromium) as browser:
        urls = {name: f"{BASE}{number}" for number, name in enumerate(servers)}
        items = {
            urls[name]: aimed(pages[name.partition(": ")[2]], f"{name.partition(':')[0]}://{server.address}/")
            for name, server in servers.items()
            if not name.endswith("free")
        }
        urn = archive(config, sqlite, 1, items)
        if mirrored:
            convert_item(config, sqlite, urn, live_requests=True)
        folders = (config.items, config.archived)
        before = {path: path.read_bytes() for one in folders for path in one.rglob("*") if path.is_file()}
        with sqlite.reading() as session:
            ids = list(session.scalars(select(Document.id).where(Document.url != BASE)))
        with showing(config, sqlite) as server:
            addresses = [address_of(server, urn, number, mirrored) for number in ids]
            open_in_frames(browser, addresses)
            alone = browser.new_page()
            alone.goto(addresses[list(items).index(urls["http: refresh"])])
            alone.wait_for_timeout(SETTLE_MILLISECONDS)
            assert reached(servers) == []
            alone.set_content(f"<iframe src='http://{servers['http: free'].address}/'></iframe>", wait_until="commit")
            alone.wait_for_timeout(SETTLE_MILLISECONDS)
        assert reached(servers) == ["http: free"], "connections are not noticed"
        assert {path: path.read_bytes() for path in before} == before


def test_a_link_out_of_xhtml_is_reported_and_not_followed(config: Config, sqlite: Database, chromium: str) -> None:
    page = ROOTS["application/xhtml+xml"].replace("BODY", '<a href="http://b.pt/?a&amp;b#c">out</a>')
    urn = archive(config, sqlite, 1, {f"{BASE}x": Page(page, "application/xhtml+xml")})
    with showing(config, sqlite) as server, launched(chromium) as browser, sqlite.reading() as session:
        number = session.scalars(select(Document.id).where(Document.url == f"{BASE}x")).one()
        window = browser.new_page()
        window.set_content(f"<iframe src='{address_of(server, urn, number, False)}'></iframe>")
        window.evaluate("addEventListener('message', event => { document.title = event.data.leads })")
        window.frame_locator("iframe").locator("a").click()
        expect(window).to_have_title("http://b.pt/?a&b#c")


def address_of(server: Showing, urn: str, number: int, mirrored: bool) -> str:
    """Return the address of a document on the replay server."""
    path = f"/{server.tickets.sign(urn)}/{urn}/document/{number}"
    path = server.get(path).headers["location"]
    assert ("/copy/" in path) is mirrored
    return f"http://127.0.0.1:{server.port}{path}"


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("<iframe src=a.html><iframe src='/b'><iframe src=#c>", None),
        ("<iframe src=about:blank><iframe src='about:blank#http://b.pt/'>", None),
        ("\ufeff\ufeff\ufeff<p>", "<p>"),
        ("<iframe src=//b.pt>", "<iframe src=about:blank#//b.pt>"),
        ('<IFRAME SRC = "http&colon;//b.pt/?a&amp;b">', '<IFRAME SRC = "about:blank#http&colon;//b.pt/?a&amp;b">'),
        ("<a href='http://b.pt/' ping='http://b.pt/'>", "<a href='http://b.pt/' ping=''>"),
        ("<link rel=canonical href=http://b.pt/>", "<link rel=canonical href=about:blank#http://b.pt/>"),
        ("<link rel=stylesheet href=data:text/css,a>", None),
        ("<meta name=viewport content='width=device-width'>", None),
        ("<meta http-equiv=refresh content='5'><meta http-equiv=refresh content='0; url=b.html'>", None),
        ("<meta http-equiv=refresh content='5; url=//b.pt'>", "<meta http-equiv=refresh content='off: 5; url=//b.pt'>"),
        ("<script type=SpeculationRules>", "<script type=off-SpeculationRules>"),
        ("<base href=http://b.pt/>", '<base href="">'),
        ("<base href=sub/><base target=a>", None),
        ("<iframe srcdoc='<a href=//b.pt>&lt;'>", "<iframe srcdoc='&lt;a href=about:blank#//b.pt>&lt;'>"),
        ("<svg><a><set attributeName=xlink:href to=//b.pt>", "<svg><a><set attributeName=off-xlink:href to=//b.pt>"),
        ("<!-- é <p>&lt;iframe src=//b.pt&gt; <img src=http://b.pt/>", None),
    ],
)
def test_what_is_served(markup: str, expected: str | None) -> None:
    assert without_foreign_loads(markup.encode(), "text/html", "utf-8") == (expected or markup)


def test_links_of_xml_and_its_declarations() -> None:
    svg = "<!DOCTYPE svg [<!ENTITY ns 'http://www.w3.org/2000/svg'>]><svg xmlns='&ns;'><a href='HREF'/></svg>"
    served = without_foreign_loads(svg.replace("HREF", "http://b.pt/").encode(), "image/svg+xml", None)
    assert served == svg.replace("HREF", "about:blank#http://b.pt/")
    assert without_foreign_loads(svg.replace("'http", "'&#60;http").encode(), "image/svg+xml", None) is None
    sheet = '<?xml-stylesheet href="a.css" type="text/css"?><a/>'
    assert without_foreign_loads(sheet.encode(), "text/xml", None) == sheet


@pytest.mark.parametrize(
    "markup", ["<iframe ", "<iframe a='", "<meta a=\"<meta b='", "<iframe/x", "<a\n", "<iframe srcdoc='", "<a><b:"]
)
def test_hostile_markup_takes_little_time(markup: str) -> None:
    began = process_time()
    without_foreign_loads(markup.encode() * (3_000_000 // len(markup)), "text/html", "utf-8")
    assert process_time() - began < 5


def test_a_page_with_too_many_attributes_is_shown_as_text(config: Config, sqlite: Database) -> None:
    body = "<iframe" + " a" * (MAX_ATTRIBUTES + 1) + ">"
    urn = archive(config, sqlite, 1, {f"{BASE}many.html": Page(body)})
    with showing(config, sqlite) as server, sqlite.reading() as session:
        number = session.scalars(select(Document.id).where(Document.url == f"{BASE}many.html")).one()
        reply = server.item(urn, f"page/{number}")
    assert reply.headers["content-type"].startswith("text/plain")
    assert reply.body == body.encode()
