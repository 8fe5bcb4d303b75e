"""A small site with links in every place that a mirror must convert."""

from __future__ import annotations

import base64
import gzip
import hashlib

from tests.sites.drawing import png
from tests.sites.server import Answer, Route, Web

HOME, OTHER = "127.0.0.2", "127.0.0.3"
SCRIPT = b"document.documentElement.dataset.ran = 'yes';"
PIXEL = png(4, 4, (200, 30, 30))
STYLE = "@import 'more.css'; @font-face { font-family: f; src: url(f.woff) } body { font-family: f; color: #123456 }"
MORE = "/* url(no.png) */ p { background: url('../img/pixel.png?v=1') } q { background: url(../img/pixel.png?V=1) }"


def digest(content: bytes) -> str:
    """Return the integrity attribute of some content."""
    return "sha256-" + base64.b64encode(hashlib.sha256(content).digest()).decode()


def page(*parts: str, head: str = "") -> Answer:
    """Return a page that links home."""
    return Answer(f'<!doctype html><meta charset=utf-8>{head}<p>{"".join(parts)}<a href="/">Início</a>\r\n')


class TangledWeb(Web):
    """Two servers that link to each other, and to a third that does not respond."""

    def __init__(self) -> None:
        super().__init__({}, (HOME, OTHER))

    def __enter__(self) -> TangledWeb:
        super().__enter__()
        routes = self._pages() | _odd_pages() | _requisites() | _charsets() | _many()
        self.routes.update({HOME + path: route for path, route in routes.items()})
        self.routes |= {
            f"{OTHER}/": page(
                f'<a href="{self.url("/a?x=1", HOME)}">x</a><img src="//{self.server(HOME)}/img/pixel.png">'
            ),
            f"{OTHER}/robots.txt": Answer("", "text/plain"),
        }
        return self

    def _pages(self) -> dict[str, Route]:
        other = self.url("/", OTHER)
        return {
            "/": page(
                *(f'<a href="{path}">{path}</a> ' for path in (*_odd_pages(), *_charsets(), *_many())),
                f'<a href="{other}">other</a> <a href="http://nobody.invalid/">nobody</a> <a href="/missing">no</a>',
                '<a href="/loop1">loop</a> <a href="/hop">hop</a> <a href="/base.html">base</a>',
                '<a href="/rss.xml">rss</a> <a href="/atom.xml">atom</a> <a href="mailto:a@b.pt">m</a>',
                '<a href="#end">end</a> <a id=end></a>',
                head=f'<link rel=stylesheet href=/css/a.css integrity="{digest(STYLE.encode())}" crossorigin=anonymous>'
                f'<script src=/js/a.js integrity="{digest(SCRIPT)}" crossorigin></script>'
                "<meta http-equiv=Content-Security-Policy content=\"img-src 'none'\">",
            ),
            "/base.html": Answer(
                f"<base href={other}><a href=''>there</a><a href=/#x>there</a><img src=http://{self.server(HOME)}/img/pixel.png>"
                f"<a href='http://{self.server(HOME)}/'>home</a>"
            ),
            "/robots.txt": Answer("", "text/plain"),
            "/hop": Answer(status=301, headers={"Location": "/skip#jump"}),
            "/skip": Answer(status=302, headers={"Location": other}),
            "/loop1": Answer(status=302, headers={"Location": "/loop2"}),
            "/loop2": Answer(status=302, headers={"Location": "/loop1"}),
            "/rss.xml": Answer(
                f"<rss><channel><link>{self.url('/')}</link><item><link><![CDATA[{other}]]></link></item></channel></rss>",
                "application/rss+xml",
            ),
            "/atom.xml": Answer("<feed xml:base='/a/'><link href='b?c&amp;d'/></feed>", "application/atom+xml"),
        }


def _odd_pages() -> dict[str, Route]:
    long = "long/" * 60
    return {
        "/a": page("a file"),
        "/a/": page("a directory"),
        "/a/b?c&d": page("in it"),
        "/A": page("another"),
        "/a?x=1": page("one"),
        "/a?X=1": page("two"),
        "/con/aux.html": page("a device"),
        "/..%2f..%2f..%2fetc/passwd": page("outside"),
        "/%C3%A9/%E6%96%87.html": page('<a href="../é/文.html">itself</a>'),
        f"/{long}": page("deep"),
        "/space%20and%22quote.html": page("<a href='space and\"quote.html#&#233;'>itself</a>"),
        "/frames.html": Answer("<frameset cols=*,*><frame src=/a><frame src=/a/></frameset>"),
        "/pictures.html": page(
            "<picture><source srcset='/img/pixel.png 1x, /img/pixel.png?v=1 2x'>"
            "<img src=/img/pixel.png lowsrc=/img/no.gif></picture>"
            "<table background=/img/pixel.png><tr><td background='/img/pixel.png?v=1'>x</table>"
            "<svg><image xlink:href=/img/pixel.png /></svg><img src=/img/drawing.svg>"
            "<object data=/img/drawing.svg></object>"
            "<video poster=/img/pixel.png></video><input type=image src=/img/pixel.png><embed src=/img/drawing.svg>"
        ),
        "/styles.html": page(
            "<b style='background: url(&quot;/img/pixel.png&quot;)'>b</b>",
            "<i style=\"background:url('img/pixel.png?v=1')\">i</i>",
            head="<style>@import url(/css/more.css); u { background: url(/img/pixel.png) }</style>",
        ),
        "/inner.html": page(
            "<iframe srcdoc='<img src=/img/pixel.png><a href=&quot;/a&quot;>a</a>'></iframe><iframe src=/a></iframe>"
            "<noscript><img src=/img/pixel.png></noscript><template><a href=/a>a</a></template>"
        ),
        "/refresh.html": page(head="<meta http-equiv=refresh content='3600; url=/a#x'>"),
        "/form.html": page("<form method=post action=/post><input formaction=/a></form><form action=/a></form>"),
        "/tags.html": Answer(
            "<a\nhref = '/a'\n><a class=x href=/a><b><a href='/A'><p></b></a><table><a href='/a/'></table>"
        ),
        "/xhtml": Answer(
            "<html xmlns='http://www.w3.org/1999/xhtml'><head><script src='/js/a.js'/></head>"
            "<body><a href='/a?x=1'/></body></html>",
            "application/xhtml+xml",
        ),
        "/packed.html": Answer(
            gzip.compress(b"<a href='/a'>a</a><img src=/img/pixel.png>"), headers={"Content-Encoding": "gzip"}
        ),
        "/plain.txt": Answer("<a href='/a'>not a link</a>", "text/plain"),
        "/nothing.html": Answer("<!DOCTYPE html>\r\n<p\tclass = x >Nada &eacute; aqui</P>\0"),
    }


def _requisites() -> dict[str, Route]:
    names = "xmlns='http://www.w3.org/2000/svg' xmlns:xlink='http://www.w3.org/1999/xlink'"
    drawing = f"<svg {names}><image xlink:href='pixel.png'/></svg>"
    return {
        "/css/a.css": Answer(STYLE, "text/css"),
        "/css/more.css": Answer(MORE, "text/css"),
        "/css/f.woff": Answer(b"wOFF no font", "font/woff"),
        "/js/a.js": Answer(SCRIPT, "text/javascript"),
        "/img/pixel.png": Answer(PIXEL, "image/png"),
        "/img/pixel.png?v=1": Answer(PIXEL, "image/png"),
        "/img/pixel.png?V=1": Answer(PIXEL, "image/png"),
        "/img/drawing.svg": Answer(drawing, "image/svg+xml"),
    }


def _charsets() -> dict[str, Route]:
    words = {"iso-8859-1": "ação", "shift_jis": "表ソ", "utf-16le": "文", "windows-1251": "Русский"}
    return {
        f"/charset-{name}.html": Answer(
            f'<p title="{text}">{text}<a href="/a" title="{text}">{text}</a>'.encode(name), f"text/html; charset={name}"
        )
        for name, text in words.items()
    }


def _many() -> dict[str, Route]:
    """Return a catalogue of several pages."""
    return {
        f"/list.php?p={number}": page(f'<a href="?p={(number + 1) % 8}">on</a> <a href=?p={number}#here>here</a>')
        for number in range(8)
    }
