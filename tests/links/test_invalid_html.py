"""Invalid HTML gives the links that a browser sees."""

from __future__ import annotations

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from playwright.sync_api import Page

from tarantula.core.urls import canonical, is_web
from tarantula.links.extract import extract_links
from tests.support.browser import launched

UTF_8 = "text/html; charset=utf-8"

MARKUP: dict[str, bytes] = {
    "no html, head or body": b"<a href=x>x<img src=y>",
    "nothing is closed": b"<div><p><a href=one><b><a href=two><i><img src=three><table><td><a href=four>",
    "upper case": b"<HTML><BODY BACKGROUND=BG.GIF><A HREF='X.HTM'><IMG SRC=\"Y.GIF\"></BODY></HTML>",
    "entities in references": b"<a href='?a=1&amp;b=2'><a href=?c=1&copy=2><a href=?d&#x3d;e&not;><a href=&sol;f>",
    "entities without semicolon": b"<a href='?a&ampb&lt&copyx=1&copy2'><a href='?&notit;'><a href='/&eacute'>",
    "blank space in references": b"<a href='\n  x\ty\r\n.html  '><img src='  a b.png'><a href=\"ja\nva.html\">",
    "no-break space is no blank": "<a href='\u00a0x'><a href='y\u3000'>".encode(),
    "control characters": b"<a href='\x01\x02x'><a href='y\x1f'><a href='z\x0b1'>",
    "null bytes": b"<a \0href=q><a href=x\0y><im\0g src=z><a href='w'>\0</a>\0<\0a href=v>",
    "duplicate attributes": b"<a href=first href=second><img src=one SRC=two>",
    "unclosed quote": b"<a href='x>text</a><a href='y'>more</a><a href=z>",
    "unclosed tag": b"<a href=x <a href=y><img src=z <p>",
    "end of file in a tag": b"<a href=x>x<a href=y",
    "quotes and equals astray": b"<a href==x><a href=\"y\"title=z><a 'href=w'><a href='v'href='u'><a =href=t>",
    "slashes astray": b"<a/href=x/><img/src=y/ /><a / href=z ><br/><a href=w/>",
    "comments half closed": b"<!--> <a href=x> <!---> <a href=y> <!-- <a href=n> --!> <a href=z> <!-- - -- <a href=m>",
    "other comments": b"<! <a href=n>x</a><? <a href=m>y</a></ <a href=l>z</a><![CDATA[ <a href=k> ]]><a href=o>",
    "nested forms": b"<form action=one><form action=two><input type=image src=i></form></form><form action=three>",
    "form by post": b"<form action=get method=what><a href=x></form><form method=POST>p</form>",
    "foster parents": b"<table><a href=x>a<tr><img src=y><td><a href=z></table><a href=w></td><b><table background=v>",
    "misnested formatting": b"<a href=x><b><p></a><a href=y></b></p></a><font><a href=z></font><i></a></i><a href=w>",
    "raw text": (
        b"<title><a href=n></title><textarea><a href=m></textarea><xmp><a href=l></xmp><a href=x>"
        b"<script>'<a href=k>'</script><style><a href=j></style><iframe src=f><a href=i></iframe><a href=y>"
    ),
    "script with comment": b"<script><!-- <script> </script> <a href=n> --></script><a href=x>",
    "two bases": b"<link rel=next href=early><base href=sub/><base href=other/><a href=x><a href=?q><a href=#f>",
    "base without href first": b"<base target=_top><base href=//b.test/z/y><a href=x><a href=/x>",
    "base that cannot be one": b"<base href=javascript:0><base href=sub/><a href=x>",
    "base with another scheme": b"<base href=ftp://f.test/d/><a href=x><a href=//h.test/><a href=http://k.test>",
    "base in a template": b"<template><base href=no/></template><base href=yes/><a href=x>",
    "base in the body": b"<body><p><a href=x><base href=late/>",
    "frameset": b"<frameset><frame src=one><frameset><frame src='two'></frameset><a href=no></frameset>",
    "frameset too late": b"<p>text<frameset><frame src=no></frameset><a href=x>",
    "image is img": b"<image src=x><svg><image href=y xlink:href=no-matter /><img src=z></svg>",
    "svg breaks out": b"<svg><a xlink:href=x><title><a href=y></title><p><a href=z></svg><svg><use href=u.svg#i />",
    "math": b"<math><mi><a href=x></mi><annotation-xml><a href=n><p><a href=z></math>",
    "objects": b"<object data=x><embed src=y><param><a href=z></object><video src=v poster=p><source src=s>",
    "backslashes": b"<a href=\\x\\y><a href='\\\\b.test\\z'><a href='http:\\\\c.test'><a href=..\\w>",
    "odd addresses": b"<a href=http:x><a href=http:/y><a href=https:z><a href=///b.test/w><a href=HTTP://B.TEST:80/>",
    "dots": b"<a href=../../../x><a href=./.><a href=a/../b><a href=%2e%2E/c><a href=...>",
    "unreadable addresses": b"<a href='http://['><a href='http://a b/'><a href='//'><a href='http://%'><a href=x>",
    "other schemes": b"<a href=mailto:a@b><a href=javascript:x><a href=tel:1><img src=data:,x><a href=blob:x>",
    "international": "<a href='//é.test/ç?ã#õ'><a href='//ＡＢＣ.test'><a href='/%zz%'>".encode(),
    "bytes that are not utf-8": b"<a href='\xe9\xff?\xc3'><a href='\xc3\xa9'>",
    "a thousand unclosed": b"<b><i><font><a href=x><p><table>" * 1000,
}
CHARSETS: dict[str, tuple[bytes, str]] = {
    "charset in the header wins": (b"<meta charset=utf-8><a href='\xe9?\xe9'>", "text/html; charset=iso-8859-1"),
    "charset in meta": (b"<meta charset=windows-1251><a href='\xe9?\xe9'>", "text/html"),
    "charset in http-equiv": (
        b"<meta content='text/html; CHARSET=koi8-r' http-equiv=Content-Type><a href='\xc1?\xc1'>",
        "text/html",
    ),
    "charset that does not exist": (b"<meta charset=windows-1251><a href='\xe9?\xe9'>", "text/html; charset=no-such"),
    "mark wins": (b"\xef\xbb\xbf<meta charset=koi8-r><a href='\xc3\xa9?\xc3\xa9'>", "text/html; charset=iso-8859-1"),
    "utf-16": ("\ufeff<a href='é?é'>".encode("utf-16-le"), "text/html"),
    "meta says utf-16": (b"<meta charset=utf-16><a href='\xc3\xa9?\xc3\xa9'>", "text/html"),
    "query outside the charset": ("<a href='?ç€∞'>".encode("cp1252", "xmlcharrefreplace"), "text/html; charset=latin1"),
    "shift_jis": ("<a href='ソ?ソ表'>".encode("cp932"), "text/html; charset=shift_jis"),
    "big5": ("<a href='許?許功'>".encode("cp950"), "text/html; charset=big5"),
    "gbk": ("<a href='中?中'>".encode("gbk"), "text/html; charset=gb2312"),
    "euc-jp": ("<a href='日?日本#日'>".encode("euc-jp"), "text/html; charset=euc-jp"),
    "euc-kr": ("<a href='한?한국'>".encode("cp949"), "text/html; charset=ks_c_5601-1987"),
    "iso-2022-jp": ("<a href='x?日本'>".encode("iso-2022-jp"), "text/html; charset=iso-2022-jp"),
    "garbage": (bytes(range(256)) * 20 + b"'\"><a href=x>", "text/html; charset=windows-1252"),
}
AWFUL = {name: (body, UTF_8) for name, body in MARKUP.items()} | CHARSETS

WHAT_THE_BROWSER_SEES = """() => {
    const places = {
        a: 'href', area: 'href', audio: 'src', embed: 'src', form: 'action', frame: 'src', iframe: 'src', img: 'src',
        image: 'href', input: 'src', link: 'href', object: 'data', script: 'src', source: 'src', track: 'src',
        use: 'href', video: 'src poster', body: 'background', table: 'background', td: 'background',
    };
    const seenIn = (page) => {
        const seen = [];
        for (const element of page.querySelectorAll('*'))
            for (const name of (places[element.localName] || '').split(' ')) {
                const value = element[name] ?? element.getAttribute(name);
                const written = value?.baseVal ?? element.getAttribute(name);
                if (!written?.trim() || (element.method ?? 'get') !== 'get') continue;
                if (written.startsWith('#') && page.baseURI === page.URL) continue;
                try { seen.push(new URL(value.baseVal ?? value, page.baseURI).href) } catch {}
            }
        return seen;
    };
    return Array.from(document.querySelectorAll('iframe'), (frame) => seenIn(frame.contentDocument));
}"""
ALL_PARSED = """() => Array.from(document.querySelectorAll('iframe')).every(
    ({contentDocument: page}) => page.URL !== 'about:blank' && page.readyState !== 'loading')"""


class AwfulServer(BaseHTTPRequestHandler):
    """Serves every invalid page, and at the root a page with all of them in frames."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        pages = {f"/{number}/dir/page.html": page for number, page in enumerate(AWFUL.values())}
        pages["/"] = "".join(f"<iframe src={path}></iframe>" for path in pages).encode(), UTF_8
        body, content_type = pages.get(self.path, (b"", "text/plain"))
        self.send_response(200 if self.path in pages else 404)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Do not log."""


@pytest.fixture(scope="module")
def awful_server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), AwfulServer) as server:
        Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture(scope="module")
def browser_page(chromium: str) -> Iterator[Page]:
    with launched(chromium) as browser:
        yield browser.new_page()


def addresses_of(body: bytes, content_type: str, url: str) -> set[str]:
    media_type, _, charset = content_type.partition("; charset=")
    return {link.url for link in extract_links(body, media_type, url, charset or None)}


def test_awful_pages_give_what_chromium_sees(browser_page: Page, awful_server: str) -> None:
    browser_page.goto(awful_server, wait_until="domcontentloaded")
    browser_page.wait_for_function(ALL_PARSED)
    differences = {}
    for number, (name, seen) in enumerate(zip(AWFUL, browser_page.evaluate(WHAT_THE_BROWSER_SEES), strict=True)):
        theirs = {address for address in map(canonical, seen) if address and is_web(address)}
        ours = addresses_of(*AWFUL[name], f"{awful_server}{number}/dir/page.html")
        if ours != theirs:
            differences[name] = {"only ours": ours - theirs, "only the browser's": theirs - ours}
    assert differences == {}
