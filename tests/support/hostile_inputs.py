"""Inputs that try to exhaust, confuse or stop a process that reads them: bytes and expressions, by family.

All are made by code and are the same in every run. `DOCUMENTS` are bodies with a media type, `RESPONSES` say what a
server writes to a connection, `ROBOTS` are files of rules, `SOURCES` are sources of streams with the body that they
read, `REQUESTS` are requests to the web process. `tools.hostile` sends them all.
"""

from __future__ import annotations

import gzip
import io
import json
import struct
import zipfile
import zlib
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, count, repeat
from typing import Any
from urllib.parse import quote

import brotli  # type: ignore[import-untyped]  # It has no type annotations.
from backports import zstd

from tests.sites.raw import Handler, Peer
from tests.support.hostile_documents import (
    attributes_page,
    huge_stream_pdf,
    looping_pdf,
    nested_feed,
    pdf_of,
    root_attributes,
)

MEGABYTE = 1_000_000
DRIP_SECONDS = 0.05


@dataclass(frozen=True)
class HostileDocument:
    """A body that a server sends with a media type."""

    family: str
    name: str
    media_type: str
    make: Callable[[], bytes]
    headers: tuple[str, ...] = ()

    def respond(self, peer: Peer) -> None:
        """Send it as the response to a request."""
        peer.write(response(self.make(), self.media_type, *self.headers))


@dataclass(frozen=True)
class HostileResponse:
    """Bytes that a server writes to the connection after a request."""

    family: str
    name: str
    respond: Handler


@dataclass(frozen=True)
class HostileSource:
    """A source of streams, and what it reads."""

    family: str
    name: str
    adapter: str
    place: Mapping[str, Any]
    body: Callable[[], bytes]
    media_type: str = "text/html"
    options: Mapping[str, Any] = field(default_factory=dict)

    def fields(self) -> dict[str, Any]:
        """Return the fields of the source, except name and URL."""
        return {
            "adapter": self.adapter,
            "fields": [{"key": "value", "place": dict(self.place)}],
            "options": dict(self.options),
            "delay": 0,
        }

    def respond(self, peer: Peer) -> None:
        """Send what it reads."""
        peer.write(response(self.body(), self.media_type))


@dataclass(frozen=True)
class HostileRequest:
    """A request to the web process; `{token}` in its headers is the token of an administrator."""

    family: str
    name: str
    pieces: Callable[[], Iterable[bytes]]
    pause: float = 0.0
    """Seconds between two pieces."""


def response(body: bytes, media_type: str, *headers: str, status: str = "200 OK") -> bytes:
    """Return a valid HTTP response."""
    lines = [f"HTTP/1.1 {status}", f"Content-Type: {media_type}", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode("latin-1") + body


def documents(
    family: str, media_type: str, bodies: Mapping[str, bytes | str | Callable[[], bytes]]
) -> Iterator[HostileDocument]:
    """Return documents of one media type."""
    for name, body in bodies.items():
        yield HostileDocument(family, name, media_type, body if callable(body) else partial(bytes, as_bytes(body)))


def many_attributes() -> bytes:
    """Return a page with elements that have very many attributes."""
    return attributes_page().encode()


def as_bytes(text: bytes | str) -> bytes:
    """Return UTF-8."""
    return text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text


# Documents.

NESTED_TAGS = ("div", "b", "a href=x", "table", "span style='color:red'", "svg", "math", "template", "select", "button")
LABELS = (
    *("utf-7", "utf-16", "utf-16be", "utf-32", "utf-8\0", "x" * 5_000, "iso-2022-jp", "hz-gb-2312", "big5", "cp437"),
    *("replacement", "x-user-defined", "unicode-1-1-utf-7", "idna", "punycode", "zip", "unicode_escape", "shift_jis"),
)
ODD_TEXTS = {
    "overlong UTF-8": b"\xc0\xaf\xe0\x80\xaf\xf0\x80\x80\xaf" * 1000,
    "lone surrogates": b"\xed\xa0\x80\xed\xbf\xbf" * 1000,
    "NUL everywhere": b"<\0p\0>\0" * 10_000,
    "order mark in the middle": b"<p>a\xff\xfe\xef\xbb\xbf<a href=x>" * 500,
    "bidirectional overrides": "<title>\u202egpj.exe\u2066\u2069</title>\u202e<a href='/\u202etxt.exe'>x".encode(),
    "combining marks": ("<p>a" + "\u0301" * 50_000).encode(),
    "confusable host": "<a href='http://www.fс.ul.pt/'>fс</a><a href='http://xn--80ak6aa92e.com'>apple</a>".encode(),
    "expanding ligatures": ("<title>" + "\ufdfa" * 20_000 + "</title>").encode(),
    "controls": bytes(range(32)) * 500 + "\x9b31m\x1b]52;c;eA==\x07".encode(),
}


def html_documents() -> Iterator[HostileDocument]:
    """Return pages that are deep, wide, unclosed or full of entities."""
    html = partial(documents, "HTML", "text/html")
    for tag in NESTED_TAGS:
        yield from html({f"nested {tag.split()[0]}": f"<{tag}>".encode() * 50_000})
    links = b"".join(b"<a href='/%d?%d'>x</a>" % (number % 7, number) for number in range(7))
    yield from html(
        {
            "attributes of one element": many_attributes,
            "attributes of the root": root_attributes(),
            "misnested formatting": b"<b><i><u><a href=x><table><p>" * 10_000,
            "formatting without end": b"<p><b><i><em><font size=1>" * 20_000,
            "entities": b"&amp;&notit;&#x10ffff;&#xd800;&CounterClockwiseContourIntegral;" * 20_000,
            "entity without end": b"<p>&" + b"a" * 2 * MEGABYTE,
            "number without end": b"<p>&#" + b"9" * 2 * MEGABYTE,
            "comment without end": b"<p>a<!-" + b"-- -" * 500_000,
            "tag without end": b"<p " + b"a='" * 500_000,
            "markup declarations": b"<!DOCTYPE <!DOCTYPE [<![CDATA[" * 50_000,
            "plaintext in plaintext": b"<plaintext>" * 100_000,
            "frames in frames": b"<frameset>" * 50_000 + b"<iframe srcdoc='" * 50_000,
            "headings in headings": b"<h1>texto" * 50_000,
            "one line": b"<p>" + b"palavra " * 500_000,
            "one word": b"<p>" + b"a" * 3 * MEGABYTE,
            "empty lines": b"<p>\n" * 500_000,
            "bases": b"<base href='a/'>" * 50_000 + links,
            "refreshes": b"<meta http-equiv=refresh content='0;url=/'>" * 20_000,
            "charsets": b"<meta charset=utf-8><meta charset=big5>" * 20_000,
            "srcset": b"<img srcset='" + b", (" * 200_000 + b"'>",
            "style attribute": b"<p style='" + b"url( image-set(((\\" * 50_000 + b"'>",
            "data URL": b"<img src='data:image/png;base64," + b"A" * 3 * MEGABYTE + b"'>",
            "reference of a megabyte": b"<a href='" + b"x/" * (MEGABYTE // 2) + b"'>x</a>",
            "dots in a reference": b"<a href='" + b"../" * 300_000 + b"'>x</a>",
            "fragments": b"".join(b"<a href='#%d'>x</a>" % number for number in range(50_000)),
            "100,000 foreign links": b"".join(b"<a href=http://s%d.example/>" % number for number in range(100_000)),
            "odd schemes": b"<a href='javascript:x'><a href='file:///etc/passwd'><a href='gopher://x'><a href='//'>"
            * 99,
            "odd hosts": b"<a href='http://[::1'><a href='http://a..b/'><a href='http://%00/'><a href=http://1.2.3.4.5>",
            "odd ports": b"<a href='http://a:99999/'><a href='http://a:-1/'><a href=http://a:0x/><a href='http://a:/'>",
            "script without end": b"<script>" + b"<!--<script>" * 100_000,
            "json in scripts": b"<script type=application/ld+json>" + b"[" * 500_000 + b"</script>",
            "templates and shadows": b"<template shadowrootmode=open>" * 50_000,
            "list items": b"<ul><li>" * 50_000,
            "tables with wide cells": b"<table><tr><td colspan=1000 rowspan=65534>x" * 5_000,
            "definition of everything": b"<dl><dt><dd><option><optgroup><rp><rt><p>" * 20_000,
        }
    )


def encoded_documents() -> Iterator[HostileDocument]:
    """Return pages whose encoding is odd, or another than they say."""
    for label in LABELS:
        meta = f"<meta charset='{label}'><title>\xe1</title><a href='/\xe9?\xe7'>x</a>".encode("latin-1")
        shown = f"label {label[:20]!r}".replace("\\x00", "NUL")
        yield HostileDocument("encodings", shown, "text/html", partial(bytes, meta * 20))
        kind = f"text/html; charset={label[:200]}".replace("\0", "")
        yield HostileDocument("encodings", f"{shown} in the header", kind, partial(bytes, meta))
    yield from documents("encodings", "text/html", ODD_TEXTS)
    yield from documents("encodings", "text/plain", {f"{name} as text": text for name, text in ODD_TEXTS.items()})


def css_documents() -> Iterator[HostileDocument]:
    """Return stylesheets."""
    yield from documents(
        "CSS",
        "text/css",
        {
            "nested blocks": b"a{" * 200_000,
            "nested functions": b"a{b:" + b"calc(" * 200_000,
            "nested brackets": b"a" + b"[" * 300_000,
            "comment without end": b"/*" + b"*" * 2 * MEGABYTE,
            "comments": b"/**/" * 500_000,
            "string without end": b"@import '" + b"a" * 2 * MEGABYTE,
            "escapes": b"a{b:url(" + b"\\" * 500_001 + b")}",
            "escaped surrogates": b"a{b:url(\\d800\\dfff\\110000 x)}" * 10_000,
            "url without end": b"a{b:url(" + b" x" * MEGABYTE,
            "urls": b"".join(b"a{b:url(%d.png)}" % number for number in range(2_000)),
            "imports": b"@import url(self.css);" * 20_000,
            "imports in media": b"@media all{@import 'x';" * 20_000,
            "image sets": b"a{b:image-set(" * 20_000 + b"'x' 1x",
            "variables in circles": b":root{--a:var(--b);--b:var(--a)}" * 10_000,
            "selectors": b":not(:not(:is(" * 100_000,
            "one selector": b"a," * 500_000 + b"a{}",
            "charset twice": b"@charset 'utf-16';@charset 'x';" * 10_000,
            "fonts": b"@font-face{src:url(x)format('y'),local(z)}" * 10_000,
            "unicode ranges": b"@font-face{unicode-range:U+" + b"?" * 500_000 + b"}",
            "markup": b"</style><script>alert(1)</script><!-- --> " * 10_000,
            "NUL": b"a\0{b:url(\0x)}" * 10_000,
            "UTF-16": "a{b:url(x)}".encode("utf-16") * 1_000,
        },
    )


def entity_bomb(levels: int, width: int = 10, root: str = "a", content: str = "") -> str:
    """Return XML whose entities contain each other: *width* to the power of *levels* texts."""
    entities = ['<!ENTITY e0 "lollollol">']
    entities += [f'<!ENTITY e{n} "{f"&e{n - 1};" * width}">' for n in range(1, levels + 1)]
    return f"<?xml version='1.0'?><!DOCTYPE {root} [{''.join(entities)}]><{root}>{content or f'&e{levels};'}</{root}>"


XML_BODIES: dict[str, bytes | str | Callable[[], bytes]] = {
    "a billion laughs": entity_bomb(9),
    "a quadrillion laughs": entity_bomb(15),
    "quadratic blow-up": f'<!DOCTYPE a [<!ENTITY e "{"x" * 100_000}">]><a>{"&e;" * 20_000}</a>',
    "entity in itself": '<!DOCTYPE a [<!ENTITY a "&b;"><!ENTITY b "&a;">]><a>&a;</a>',
    "external entity": '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>',
    "external entity from the network": '<!DOCTYPE a [<!ENTITY x SYSTEM "http://127.0.0.1:9/x">]><a>&x;</a>',
    "external definition": '<!DOCTYPE a SYSTEM "http://127.0.0.1:9/x.dtd"><a/>',
    "parameter entities": "<!DOCTYPE a [<!ENTITY % x \"<!ENTITY y SYSTEM 'file:///etc/passwd'>\">%x;]><a>&y;</a>",
    "endless device": '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///dev/zero">]><a>&x;</a>',
    "inclusion": '<a xmlns:x="http://www.w3.org/2001/XInclude"><x:include href="/etc/passwd" parse="text"/></a>',
    "nested elements": b"<a>" * 300_000,
    "nested and closed": b"<a>" * 100_000 + b"</a>" * 100_000,
    "attributes": many_attributes,
    "namespaces": b"".join(b"<a%d xmlns:n%d='u%d'>" % (n, n, n) for n in range(20_000)),
    "one attribute": b"<a b='" + b"x" * 3 * MEGABYTE + b"'/>",
    "characters": b"<a>" + b"&#38;&#x26;" * 200_000 + b"</a>",
    "sections": b"<a>" + b"<![CDATA[x]]>" * 100_000,
    "instructions": b"<?xml-stylesheet href='x.css'?>" * 20_000 + b"<a/>",
    "declared UTF-16": b"<?xml version='1.0' encoding='utf-16'?><a href='x'>x</a>",
    "declared nonsense": b"<?xml version='1.0' encoding='" + b"x" * 10_000 + b"'?><a/>",
    "UTF-32": "<?xml version='1.0'?><a>x</a>".encode("utf-32"),
}


def xml_documents() -> Iterator[HostileDocument]:
    """Return XML and SVG."""
    yield from documents("XML", "application/xml", XML_BODIES)
    svg = "<svg xmlns='http://www.w3.org/2000/svg' xmlns:x='http://www.w3.org/1999/xlink'>"
    yield from documents(
        "images",
        "image/svg+xml",
        {
            "SVG of a billion laughs": entity_bomb(9, root="svg"),
            "SVG that uses itself": f"{svg}<g id='a'><use x:href='#a'/><use x:href='#a'/></g></svg>",
            "SVG of patterns": f"{svg}{'<pattern id=p><rect fill=url(#p) />' * 20_000}</svg>",
            "SVG of 10^15 pixels": f"{svg[:-1]} width='1000000' height='1e9'><rect width='1e30'/></svg>",
            "SVG path": f"{svg}<path d='{'M0 0' * 500_000}'/></svg>",
            "SVG filters": f"{svg}{'<feImage x:href=x /><feGaussianBlur stdDeviation=1e9 />' * 10_000}</svg>",
            "SVG script": f"{svg}<script x:href='data:,alert(1)'/><foreignObject><iframe/></foreignObject></svg>",
            "SVG groups": (svg + "<g>" * 300_000).encode(),
        },
    )


# Images: the dimensions in the headers are enormous, the bytes are few.

SIDES = (65_535, 2**31 - 1)


def _png(width: int, height: int, *chunks: tuple[bytes, bytes]) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + b"".join(chunk(*one) for one in chunks) + chunk(b"IEND", b"")


def image_documents() -> Iterator[HostileDocument]:
    """Return pictures."""
    zeros = zlib.compress(bytes(20 * MEGABYTE), 9)
    frame = b"\x2c" + struct.pack("<HHHHB", 0, 0, 65535, 65535, 0) + b"\x02\x02\x4c\x01\0"
    gif = b"GIF89a" + struct.pack("<HHBBB", 65535, 65535, 0x80, 0, 0) + bytes(6)
    for side in SIDES:
        yield from documents(
            "images",
            "image/png",
            {
                f"PNG of {side} pixels": _png(side, side, (b"IDAT", zeros)),
                f"PNG of {side} pixels without data": _png(side, side),
            },
        )
        yield from documents(
            "images",
            "image/bmp",
            {f"BMP of {side} pixels": b"BM" + struct.pack("<IIIIiiHH", 0, 0, 54, 40, side, -side, 1, 24) + bytes(30)},
        )
        ifd = b"".join(struct.pack("<HHII", tag, 4, 1, side) for tag in (256, 257, 273, 278, 279))
        yield from documents(
            "images",
            "image/tiff",
            {f"TIFF of {side} pixels": b"II*\0\x08\0\0\0" + struct.pack("<H", 5) + ifd + struct.pack("<I", 8)},
        )
    yield from documents(
        "images",
        "image/png",
        {
            "PNG text bomb": _png(1, 1, (b"zTXt", b"x\0\0" + zeros), (b"iCCP", b"x\0\0" + zeros)),
            "PNG with 50,000 chunks": _png(1, 1, *repeat((b"tEXt", b"a\0b"), 50_000)),
            "PNG with a chunk of 2 GB": b"\x89PNG\r\n\x1a\n" + b"\x7f\xff\xff\xffIHDR" + bytes(100),
            "PNG that is HTML": b"\x89PNG\r\n\x1a\n<html><script>alert(1)</script><a href=x>",
        },
    )
    yield from documents(
        "images",
        "image/gif",
        {
            "GIF of 65535 pixels": gif + frame + b";",
            "GIF of 5,000 huge frames": gif + frame * 5_000 + b";",
            "GIF without end": gif + frame[:-1] + b"\xff" + bytes(100),
            "GIF comments": gif + b"\x21\xfe\x01x\0" * 50_000 + b";",
        },
    )
    jpeg = b"\xff\xd8\xff\xc2\x00\x11\x08\xff\xff\xff\xff\x03\x01\x22\0\x02\x11\0\x03\x11\0"
    scan = b"\xff\xda\x00\x0c\x03\x01\0\x02\0\x03\0\0\x3f\0\0"
    yield from documents(
        "images",
        "image/jpeg",
        {
            "JPEG of 65535 pixels": jpeg + scan,
            "JPEG of 10,000 scans": jpeg + scan * 10_000,
            "JPEG of thumbnails": b"\xff\xd8" + b"\xff\xe1\xff\xffExif\0\0" * 10_000,
            "JPEG segment of no length": b"\xff\xd8\xff\xe0\0\0" * 1_000,
        },
    )
    webp = b"RIFF\xff\xff\xff\x7fWEBPVP8X\x0a\0\0\0\x02\0\0\0\xff\xff\xff\xff\xff\xff"
    yield from documents(
        "images",
        "image/webp",
        {"WebP of 16 million pixels": webp, "WebP frames": webp + b"ANMF\x10\0\0\0" + bytes(16) * 5_000},
    )
    yield from documents(
        "images",
        "image/x-icon",
        {"icon of 65,535 pictures": b"\0\0\1\0\xff\xff" + struct.pack("<BBBBHHII", 0, 0, 0, 0, 1, 32, 2**31, 22) * 999},
    )
    yield from documents(
        "images", "image/avif", {"AVIF boxes in boxes": b"\0\0\0\x18ftypavif" + b"\0\0\xff\xffmeta" * 10_000}
    )


# PDF.

PAGE = (
    b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << /XObject << /X 5 0 R >> >> >>"
)
CATALOG, PAGES = b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>"


def pdf_stream(data: bytes, entries: bytes = b"") -> bytes:
    """Return a stream object of a PDF."""
    return b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(data), entries, data)


def _page_pdf(contents: bytes, *objects: bytes) -> bytes:
    return pdf_of(CATALOG, PAGES, PAGE, contents, *objects)


def _filters(times: int) -> bytes:
    data = b"BT (a) Tj ET" * 100_000
    for _ in range(times):
        data = zlib.compress(data, 9)
    return pdf_stream(data, b"/Filter [" + b"/FlateDecode " * times + b"]")


def pdf_documents() -> Iterator[HostileDocument]:
    """Return PDF files that are recursive, compressed, damaged or dishonest."""
    form = b"/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /X 5 0 R >> >>"
    image = b"/Type /XObject /Subtype /Image /ColorSpace /DeviceRGB /BitsPerComponent 8 /Filter /FlateDecode "
    plain = _page_pdf(pdf_stream(b"/X Do"), pdf_stream(b"", form))
    outlines = b"<< /Type /Catalog /Pages 2 0 R /Outlines 1 0 R /First 1 0 R /Next 1 0 R /Parent 1 0 R >>"
    deep = [b"<< /Type /Pages /Parent %d 0 R /Kids [%d 0 R] /Count 1 >>" % (n - 1, n + 1) for n in range(2, 20_000)]
    text = zlib.compress(b"BT /F1 1 Tf " + b"(aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa) Tj " * 200_000 + b" ET", 9)
    fonts = b"/Resources << /Font << /F1 << /Type /Font /Subtype /Type0 /ToUnicode 4 0 R /Encoding 4 0 R >> >> >>"
    yield from documents(
        "PDF",
        "application/pdf",
        {
            "page of 12 million texts": lambda: huge_stream_pdf(),
            "pages that contain themselves": looping_pdf(),
            "form that draws itself": _page_pdf(pdf_stream(b"/X Do"), pdf_stream(b"/X Do " * 20, form)),
            "picture of 10 billion pixels": _page_pdf(
                pdf_stream(b"/X Do"),
                pdf_stream(zlib.compress(bytes(MEGABYTE)), image + b"/Width 100000 /Height 100000"),
            ),
            "filters": _page_pdf(_filters(5)),
            "50 filters": _page_pdf(_filters(50)),
            "zeros of 500 MB": lambda: _page_pdf(
                pdf_stream(zlib.compress(bytes(500 * MEGABYTE), 9), b"/Filter /FlateDecode")
            ),
            "long texts": _page_pdf(pdf_stream(text, b"/Filter /FlateDecode")),
            "nested arrays": pdf_of(CATALOG + b"[" * 300_000, PAGES),
            "nested dictionaries": pdf_of(b"<< /A " * 200_000),
            "outline in circles": pdf_of(outlines, PAGES, PAGE, pdf_stream(b"")),
            "chain of pages": lambda: pdf_of(CATALOG, *deep, b"<< /Type /Page >>"),
            "a million pages": pdf_of(
                CATALOG, b"<< /Type /Pages /Kids [%s] /Count 1000000 >>" % (b"3 0 R " * 200_000), PAGE
            ),
            "negative count": pdf_of(CATALOG, b"<< /Type /Pages /Kids [3 0 R] /Count -5 >>", PAGE),
            "length of another stream": _page_pdf(b"<< /Length 4 0 R >>\nstream\nBT ET\nendstream"),
            "lying length": _page_pdf(b"<< /Length 999999999 >>\nstream\nBT ET\nendstream"),
            "table before itself": plain.replace(b"trailer\n<< ", b"trailer\n<< /Prev %d " % plain.rindex(b"xref\n0")),
            "table at its own offset": plain[: plain.rindex(b"startxref")] + b"startxref\n0\n%%EOF",
            "table of a billion objects": plain.replace(b"xref\n0 6", b"xref\n0 1000000000"),
            "root is a page": plain.replace(b"/Root 1 0 R", b"/Root 3 0 R"),
            "root is itself": pdf_of(b"1 0 R"),
            "encrypted": plain.replace(b"/Root 1 0 R", b"/Root 1 0 R /Encrypt << /Filter /Standard /V 5 /R 6 >>"),
            "no objects": b"%PDF-1.7\n%%EOF",
            "header only": b"%PDF-1.7\n",
            "cut": plain[: len(plain) // 2],
            "not PDF": b"<html><p>texto" * 100,
            "random": bytes((n * n * 7919 >> 5) & 255 for n in range(300_000)),
            "map of characters": pdf_of(
                CATALOG,
                PAGES,
                b"<< /Type /Page /Parent 2 0 R " + fonts + b" /Contents 5 0 R >>",
                pdf_stream(
                    b"begincmap 1 begincodespacerange <00> <ffffffff> endcodespacerange "
                    b"1 beginbfrange <00000000> <ffffffff> <0041> endbfrange"
                ),
                pdf_stream(b"BT /F1 1 Tf <0041> Tj ET"),
            ),
            "functions": pdf_of(
                CATALOG, PAGES, PAGE, pdf_stream(b"{" * 100_000, b"/FunctionType 4"), pdf_stream(b"", form)
            ),
            "script": pdf_of(
                b"<< /Type /Catalog /Pages 2 0 R /OpenAction << /S /JavaScript /JS (while(1);) >> >>", PAGES, PAGE
            ),
            "title of 5 MB": plain.replace(
                b"/Root 1 0 R", b"/Root 1 0 R /Info << /Title (" + b"T" * 5 * MEGABYTE + b") >>"
            ),
        },
    )


# Archives and office files.


def _zip(files: Mapping[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name), data, method)
    return made.getvalue()


def _overlapping_zip(entries: int) -> bytes:
    """Return a ZIP whose entries all are the same compressed bytes."""
    data = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = data.compress(bytes(10 * MEGABYTE)) + data.flush()
    local = struct.pack("<IHHHHHIIIHH", 0x04034B50, 20, 0, 8, 0, 0, 0, len(packed), 10 * MEGABYTE, 1, 0) + b"a" + packed
    head = struct.pack("<IHHHHHHIIIHHHHHII", 0x02014B50, 20, 20, 0, 8, 0, 0, 0, len(packed), 10 * MEGABYTE, 1, *[0] * 6)
    centre = (head + b"a") * entries
    return local + centre + struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, entries, entries, len(centre), len(local), 0)


OFFICE = {
    "docx": ("application/vnd.openxmlformats-officedocument.wordprocessingml.document", "word/document.xml"),
    "xlsx": ("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xl/sharedStrings.xml"),
    "pptx": ("application/vnd.openxmlformats-officedocument.presentationml.presentation", "ppt/slides/slide1.xml"),
    "odt": ("application/vnd.oasis.opendocument.text", "content.xml"),
    "epub": ("application/epub+zip", "OEBPS/chapter.xhtml"),
}


def archive_documents() -> Iterator[HostileDocument]:
    """Return archives and office files."""
    for ending, (kind, inside) in OFFICE.items():
        yield from documents(
            "office files",
            kind,
            {
                f"{ending} of 100 MB": lambda inside=inside: _zip({inside: bytes(100 * MEGABYTE)}),  # type: ignore[misc]
                f"{ending} of a billion laughs": _zip({inside: entity_bomb(9).encode()}),
                f"{ending} of nested elements": _zip({inside: b"<a>" * 300_000}),
                f"{ending} of 20,000 files": lambda inside=inside: _zip({f"{inside}{n}": b"" for n in range(20_000)}),  # type: ignore[misc]
                f"{ending} with names that climb": _zip(
                    {"../../../../etc/passwd": b"x", "/etc/passwd": b"x", inside: b"<a/>"}
                ),
                f"{ending} that is cut": _zip({inside: b"<a>texto</a>" * 1000})[:-40],
            },
        )
    inner = _zip({"zeros": bytes(10 * MEGABYTE)})
    for _ in range(4):
        inner = _zip({f"{n}.zip": inner for n in range(10)})
    tar = b"a" * 100 + b"0000644\0" * 3 + b"77777777777\0" + b"0" * 12 + bytes(376)
    yield from documents(
        "archives",
        "application/zip",
        {
            "ZIP in ZIP in ZIP": inner,
            "ZIP of overlapping entries": _overlapping_zip(60_000),
            "ZIP with a comment": _zip({"a": b"x"}) + b"PK\x05\x06" * 10_000,
            "ZIP of 4 GB by its header": _zip({"a": b"x"}).replace(struct.pack("<I", 1), struct.pack("<I", 2**32 - 1)),
        },
    )
    yield from documents(
        "archives",
        "application/gzip",
        {
            "gzip of 100 MB": lambda: gzip.compress(bytes(100 * MEGABYTE), 9, mtime=0),
            "gzip of gzip of gzip": lambda: gzip.compress(
                gzip.compress(gzip.compress(bytes(50 * MEGABYTE), mtime=0), mtime=0), mtime=0
            ),
            "20,000 gzip members": gzip.compress(b"", mtime=0) * 20_000,
            "gzip name without end": b"\x1f\x8b\x08\x08\0\0\0\0\0\xff" + b"a" * MEGABYTE,
        },
    )
    yield from documents(
        "archives",
        "application/x-tar",
        {
            "tar with a file of 8 GB": tar,
            "tar of names": tar * 5_000,
            "tar with a negative size": tar.replace(b"7", b"-"),
        },
    )
    yield from documents(
        "archives", "application/x-7z-compressed", {"7z header": b"7z\xbc\xaf\x27\x1c\0\4" + b"\xff" * 500}
    )
    yield from documents("archives", "application/x-rar", {"RAR header": b"Rar!\x1a\7\1\0" + b"\xff" * 500})
    warc = b"WARC/1.1\r\nWARC-Type: response\r\nContent-Length: 99999999999\r\n\r\nHTTP/1.1 200 OK\r\n\r\n"
    yield from documents("archives", "application/warc", {"WARC that lies": warc, "WARC of records": warc * 5_000})


# Feeds, sitemaps, robots.txt.


def feed_documents() -> Iterator[HostileDocument]:
    """Return feeds, which are also the bodies of sources."""
    rss = "<rss version='2.0'><channel><title>x</title>"
    yield from documents(
        "feeds",
        "application/rss+xml",
        {
            "entity bomb": entity_bomb(9, root="rss", content="<channel><item><title>&e9;</title></item></channel>"),
            "entries": (rss + "<item><title>a</title><link>http://a.example/</link></item>" * 30_000),
            "entry of links": rss + "<item>" + "<link>http://a.example/</link>" * 50_000,
            "enclosures": rss + "<item>" + "<enclosure url='/a' length='9e999'/>" * 30_000,
            "nested channels": "<channel>" * 100_000,
            "nested markup": nested_feed(20_000),
            "escaped markup": rss + f"<item><title>{'&lt;b&gt;' * 100_000}</title></item>",
            "bases": "<feed xml:base='a/'>" * 20_000 + "<link href='x'/>",
            "dates": rss + "<item><pubDate>" + "9" * 100_000 + "</pubDate></item>" * 50,
            "odd dates": rss
            + "".join(f"<item><pubDate>{d}</pubDate></item>" for d in ("32 Foo 99999", "-1", "\u0661")),
            "ids": rss + "".join(f"<item><guid>{'g' * 1000}{n}</guid></item>" for n in range(2_000)),
            "unclosed": rss + "<item><title><![CDATA[" + "x]]" * 100_000,
            "namespaces": "<rss " + " ".join(f"xmlns:n{n}='u{n}'" for n in range(20_000)) + "><channel/>",
            "HTML": b"<html><body><p>x" * 1_000,
            "sections": rss + "<item><description>" + "<![CDATA[<p>]]>" * 30_000,
            "unknown version": "<rss version='" + "9" * 50_000 + "'><channel/></rss>",
            "external entity": '<!DOCTYPE rss [<!ENTITY x SYSTEM "file:///etc/passwd">]><rss><channel><title>&x;',
            "media": rss + "<item>" + "<media:group xmlns:media='m'><media:content url='x'>" * 20_000,
        },
    )


def sitemap_documents() -> Iterator[HostileDocument]:
    """Return sitemaps."""
    yield from documents(
        "sitemaps",
        "application/xml",
        {
            "index of itself": "<sitemapindex>" + "<sitemap><loc>self.xml</loc></sitemap>" * 20_000,
            "nested locations": "<urlset>" + "<url><loc>" * 100_000,
            "entity bomb": entity_bomb(9, root="urlset", content="<url><loc>http://a.example/&e9;</loc></url>"),
            "foreign locations": "<urlset>" + "<url><loc>http://b.example/x</loc></url>" * 30_000,
            "location of a megabyte": f"<urlset><url><loc>http://a.example/{'x' * MEGABYTE}</loc></url>",
            "odd locations": "<urlset>" + "<url><loc>javascript:x</loc><loc>http://[</loc><loc>\0</loc></url>" * 1_000,
            "priorities": "<urlset>"
            + "<url><loc>/a</loc><priority>1e999</priority><lastmod>x</lastmod></url>" * 10_000,
            "references": "<urlset><url><loc>&#x0;&#xffffffff;&amp;&undefined;</loc></url></urlset>",
            "images": "<urlset><url>" + "<image:image><image:loc>/x</image:loc></image:image>" * 20_000,
            "attributes": many_attributes,
        },
    )
    yield from documents(
        "sitemaps",
        "text/plain",
        {"text of lines": b"\n" * 2 * MEGABYTE, "text of one line": b"http://a.example/" + b"x" * 2 * MEGABYTE},
    )


def robots_files() -> Iterator[HostileDocument]:
    """Return robots.txt files; each is for a server of its own."""
    star = "User-agent: *\n"
    yield from documents(
        "robots.txt",
        "text/plain",
        {
            "rules": star + "".join(f"Disallow: /{n}\n" for n in range(50_000)),
            "stars": star + "Disallow: /" + "*a" * 5_000 + "$\n",
            "stars in many rules": star + f"Disallow: /{'*a' * 200}b\n" * 500,
            "agents": "".join(f"User-agent: a{n}\n" for n in range(50_000)) + "Disallow: /",
            "delay of years": star + "Crawl-delay: 99999999999999999999\n",
            "delay that is no number": star + "Crawl-delay: nan\nCrawl-delay: -1\nCrawl-delay: inf\n",
            "rate": star + "Request-rate: 1/0\nRequest-rate: 0/999999999999h\nVisit-time: 9999-0\n",
            "sitemaps": "Sitemap: /self.xml\n" * 20_000,
            "one line": "Disallow: " + "a" * 2 * MEGABYTE,
            "no line ends": star.strip() + "\r" * MEGABYTE,
            "NUL": star.encode() + b"Disallow: /\0" * 10_000,
            "percent signs": star + "Disallow: /" + "%" * 50_000 + "\nAllow: /%zz%00%ff%C3%28\n",
            "UTF-16": (star + "Disallow: /").encode("utf-16"),
            "a picture": _png(9, 9),
            "HTML": "<html><body>User-agent: *<br>Disallow: /" * 100,
            "gzip without its header": gzip.compress(star.encode() * 1000, mtime=0),
            "empty": b"",
        },
    )


# Compressed bodies, and responses that are wrong.


def _packed(coding: str, data: bytes) -> bytes:
    if coding == "gzip":
        return gzip.compress(data, 9, mtime=0)
    if coding == "deflate":
        return zlib.compress(data, 9)
    return bytes(brotli.compress(data, quality=4)) if coding == "br" else zstd.compress(data, 3)


CODINGS = ("gzip", "deflate", "br", "zstd")


def compressed_documents() -> Iterator[HostileDocument]:
    """Return compressed bodies: bombs, nested, damaged, and others than the header says."""

    def compressed(name: str, header: str, make: Callable[[], bytes]) -> HostileDocument:
        return HostileDocument("compressed bodies", name, "text/html", make, (f"Content-Encoding: {header}",))

    page = b"<title>x</title><p>texto <a href=x>x</a>" * 100
    for coding in CODINGS:
        packed = partial(_packed, coding)
        yield compressed(f"{coding} of 200 MB", coding, lambda packed=packed: packed(bytes(200 * MEGABYTE)))  # type: ignore[misc]
        yield compressed(
            f"{coding} of {coding} of 100 MB",
            f"{coding}, {coding}",
            lambda packed=packed: packed(packed(bytes(100 * MEGABYTE))),  # type: ignore[misc]
        )
        yield compressed(f"{coding} cut", coding, partial(bytes, packed(page)[:-7]))
        yield compressed(f"{coding} and more", coding, partial(bytes, packed(page) + b"more" * 10_000))
        damaged = bytearray(packed(page))
        damaged[len(damaged) // 2] ^= 255
        yield compressed(f"{coding} damaged", coding, partial(bytes, bytes(damaged)))
        yield compressed(f"{coding} that is plain", coding, partial(bytes, page))
        yield compressed(f"{coding} of nothing", coding, partial(bytes, b""))
    yield compressed("50 codings", ", ".join(["gzip"] * 50), partial(_layers, page, 50))
    yield compressed("5,000 codings by the header", ", ".join(["gzip"] * 5_000), partial(bytes, page))
    yield compressed("all codings", "gzip, br, deflate, zstd", partial(bytes, page))
    yield compressed("unknown coding", "x-nonsense", partial(bytes, page))
    yield compressed("empty members", "gzip", lambda: gzip.compress(b"", mtime=0) * 50_000)
    yield compressed("gzip of deflate", "gzip", lambda: _packed("gzip", _packed("deflate", page)))
    yield compressed("window of 2 GB", "zstd", lambda: b"\x28\xb5\x2f\xfd\x00\xa8" + bytes(200))


def _layers(data: bytes, number: int) -> bytes:
    for _ in range(number):
        data = gzip.compress(data, 1, mtime=0)
    return data


OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
WRONG_RESPONSES: dict[str, bytes] = {
    "nothing": b"",
    "one byte": b"H",
    "line ends": b"\r\n" * 100_000,
    "no status line": b"<html><p>x",
    "HTTP/0.9": b"<title>x</title>",
    "HTTP/9.9": b"HTTP/9.9 200 OK\r\n\r\nx",
    "lower case": b"http/1.1 200 ok\r\n\r\nx",
    "status of 5 digits": b"HTTP/1.1 20000 OK\r\n\r\nx",
    "negative status": b"HTTP/1.1 -200 OK\r\n\r\nx",
    "status of letters": b"HTTP/1.1 abc OK\r\n\r\nx",
    "status of other digits": "HTTP/1.1 \u0662\u0660\u0660 OK\r\n\r\nx".encode(),
    "status 000": b"HTTP/1.1 000 x\r\n\r\nx",
    "status 999": b"HTTP/1.1 999 x\r\nContent-Length: 1\r\n\r\nx",
    "status line of 2 MB": b"HTTP/1.1 200 " + b"x" * 2 * MEGABYTE,
    "header of 5 MB": OK + b"X: " + b"x" * 5 * MEGABYTE + b"\r\n\r\nx",
    "50,000 headers": OK + b"".join(b"X-%d: x\r\n" % n for n in range(50_000)) + b"\r\nx",
    "the same header 20,000 times": OK + b"Set-Cookie: a=b\r\n" * 20_000 + b"\r\nx",
    "folded header": OK + b"X: a\r\n" + b" folded\r\n" * 10_000 + b"\r\nx",
    "header without a colon": OK + b"nonsense\r\n\r\nx",
    "header without a name": OK + b": x\r\n\r\nx",
    "NUL in a header": OK + b"X: a\0b\r\n\r\nx",
    "control characters in headers": OK + b"X\x1b[31m: \x1b]0;x\x07\x9b\r\n\r\nx",
    "line feeds only": b"HTTP/1.1 200 OK\nContent-Type: text/html\nContent-Length: 1\n\nx",
    "carriage returns only": b"HTTP/1.1 200 OK\rContent-Type: text/html\r\rx",
    "other bytes than ASCII": OK + b"X: \xff\xfe\xe9\r\n\xe9: x\r\n\r\nx",
    "content types": OK + b"Content-Type: text/css\r\nContent-Type: image/png\r\n\r\nx",
    "content type of 100 KB": b"HTTP/1.1 200 OK\r\nContent-Type: text/html;" + b"a=b;" * 25_000 + b"\r\n\r\nx",
    "content type of quotes": b'HTTP/1.1 200 OK\r\nContent-Type: text/html; charset="' + b'\\"' * 20_000 + b"\r\n\r\nx",
    "length too large": OK + b"Content-Length: 5000\r\n\r\nx",
    "length too small": OK + b"Content-Length: 1\r\n\r\n" + b"x" * 100_000,
    "length of 10^30": OK + b"Content-Length: 1" + b"0" * 30 + b"\r\n\r\nx",
    "length of 100,000 digits": OK + b"Content-Length: " + b"9" * 100_000 + b"\r\n\r\nx",
    "negative length": OK + b"Content-Length: -1\r\n\r\nx",
    "length of letters": OK + b"Content-Length: 0x10\r\n\r\n" + b"x" * 16,
    "length with a sign": OK + b"Content-Length: +1\r\n\r\nx",
    "two lengths": OK + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nxy",
    "length and chunks": OK + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
    "chunk of 2^64": CHUNKED + b"ffffffffffffffff1\r\nx",
    "negative chunk": CHUNKED + b"-1\r\nx\r\n0\r\n\r\n",
    "chunk of letters": CHUNKED + b"zz\r\nx",
    "chunk size of 1 MB": CHUNKED + b"0" * MEGABYTE + b"1\r\nx\r\n0\r\n\r\n",
    "chunk extension of 2 MB": CHUNKED + b"1;" + b"a" * 2 * MEGABYTE + b"\r\nx\r\n0\r\n\r\n",
    "200,000 chunks of a byte": CHUNKED + b"1\r\nx\r\n" * 200_000 + b"0\r\n\r\n",
    "chunk without its end": CHUNKED + b"1\r\nxx\r\n0\r\n\r\n",
    "no last chunk": CHUNKED + b"1\r\nx\r\n",
    "trailers": CHUNKED + b"0\r\n" + b"X: y\r\n" * 50_000 + b"\r\n",
    "trailers without end": CHUNKED + b"0\r\n" + b"X" * 2 * MEGABYTE,
    "chunked twice": OK + b"Transfer-Encoding: chunked, chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
    "chunked and unknown": OK + b"Transfer-Encoding: nonsense, chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
    "10,000 interim responses": b"HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n" * 10_000 + OK + b"\r\nx",
    "switching protocols": b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n" + bytes(1000),
    "two responses": OK + b"Content-Length: 1\r\n\r\nx" + OK + b"Content-Length: 1\r\n\r\ny",
    "body of a 304": b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\nxxxxx",
    "body of a 204": b"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nxxxxx",
    "redirect to itself": b"HTTP/1.1 302 Found\r\nLocation: ?\r\nContent-Length: 0\r\n\r\n",
    "redirect of 1 MB": b"HTTP/1.1 302 Found\r\nLocation: /" + b"x" * MEGABYTE + b"\r\nContent-Length: 0\r\n\r\n",
    "redirect to a file": b"HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\n\r\n",
    "redirect to a script": b"HTTP/1.1 302 Found\r\nLocation: javascript:alert(1)\r\nContent-Length: 0\r\n\r\n",
    "redirect to odd hosts": b"HTTP/1.1 302 Found\r\nLocation: http://[::ffff:1/\0\r\nContent-Length: 0\r\n\r\n",
    "redirect without a place": b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n",
    "retry after a thousand years": b"HTTP/1.1 503 x\r\nRetry-After: 99999999999\r\nContent-Length: 0\r\n\r\n",
    "retry after nonsense": b"HTTP/1.1 429 x\r\nRetry-After: \xff-1 Foo\r\nContent-Length: 0\r\n\r\n",
    "10,000 links in the header": OK + b"Link: " + b"<x>;rel=next," * 10_000 + b"\r\n\r\nx",
    "link of brackets": OK + b"Link: " + b"<" * 50_000 + b"\r\n\r\nx",
    "odd dates": OK + b"Date: 99 Foo 99999\r\nLast-Modified: -1\r\nExpires: \xff\r\nAge: 1e99\r\n\r\nx",
    "disposition": OK + b'Content-Disposition: attachment; filename="../../../etc/passwd\0"\r\n\r\nx',
    "cookies": OK + b"Set-Cookie: " + b"a" * 100_000 + b"=b; Max-Age=-9e99; Path=" + b"/" * 9_999 + b"\r\n\r\nx",
    "FTP": b"220 FTP server ready\r\n",
    "SSH": b"SSH-2.0-OpenSSH_9.9\r\n",
    "TLS alert": b"\x15\x03\x01\x00\x02\x02\x46",
    "HTTP/2": b"\x00\x00\x12\x04\x00\x00\x00\x00\x00" + bytes(200),
    "random": bytes((n * n * 104729 >> 7) & 255 for n in range(500_000)),
}


def _endless(beginning: bytes, piece: bytes, peer: Peer) -> None:
    peer.write(beginning)
    while True:
        peer.write(piece)


def _slow(pieces: Callable[[], Iterable[bytes | int]], peer: Peer) -> None:
    peer.drip(pieces(), DRIP_SECONDS)


def _then_waiting(beginning: bytes, peer: Peer) -> None:
    peer.write(beginning)
    peer.wait()


def responses() -> Iterator[HostileResponse]:
    """Return responses that are wrong, endless, slow or missing."""
    for name, words in WRONG_RESPONSES.items():
        yield HostileResponse("HTTP responses", name, lambda peer, words=words: peer.write(words))  # type: ignore[misc]
    endless = {
        "endless body": (OK + b"\r\n", b"<p>x" * 4096),
        "endless chunks": (CHUNKED, b"1000\r\n" + b"." * 4096 + b"\r\n"),
        "endless headers": (OK, b"X: y\r\n" * 1000),
        "endless status line": (b"HTTP/1.1 200 ", b"x" * 65536),
        "endless interim responses": (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 1000),
        "endless line ends": (b"", b"\r\n" * 10_000),
        "endless length of 1 GB": (OK + b"Content-Length: 1000000000\r\n\r\n", bytes(65536)),
        "endless gzip": (OK + b"Content-Encoding: gzip\r\n\r\n", gzip.compress(bytes(MEGABYTE), mtime=0)),
        "endless trailers": (CHUNKED + b"0\r\n", b"X: y\r\n" * 1000),
    }
    for name, (beginning, piece) in endless.items():
        yield HostileResponse("HTTP responses", name, partial(_endless, beginning, piece))
    slow: dict[str, Callable[[], Iterable[bytes | int]]] = {
        "slow status line": lambda: repeat(b"H"),
        "slow headers": lambda: chain([OK], (b"X-%d: x\r\n" % n for n in count())),
        "slow body": lambda: chain([OK + b"\r\n"], repeat(b".")),
        "slow chunks": lambda: chain([CHUNKED], repeat(b"1\r\nx\r\n")),
        "slow chunk size": lambda: chain([CHUNKED], repeat(b"0")),
    }
    for name, pieces in slow.items():
        yield HostileResponse("HTTP responses", name, partial(_slow, pieces))
    silent = {"silence": b"", "silence after the headers": OK + b"\r\n", "silence in a chunk": CHUNKED + b"5\r\nx"}
    for name, beginning in silent.items():
        yield HostileResponse("HTTP responses", name, partial(_then_waiting, beginning))
    yield HostileResponse("HTTP responses", "reset", Peer.reset)


# Sources of streams: bodies, and expressions.

SMALL_PAGE = b"<p>1<p>2<p>3<table><tr><th>A<td>1</table>" + b"<div>" * 200
SMALL_JSON = b'{"a": {"b": [1, 2, 3]}, "list": [{"x": 1}, {"x": 2}]}'
SMALL_XML = b"<a><b>1</b><b>2</b><c><d x='1'/></c></a>"
JSON_BODIES: dict[str, bytes] = {
    "nested lists": b"[" * 200_000 + b"]" * 200_000,
    "nested lists without end": b"[" * 500_000,
    "nested objects": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "number of 1 million digits": b'{"a": ' + b"9" * MEGABYTE + b"}",
    "number with a huge exponent": b'{"a": 1e999999999}',
    "not a number": b'{"a": NaN, "b": Infinity, "c": -Infinity}',
    "200,000 keys": ("{" + ",".join(f'"{n}":1' for n in range(200_000)) + "}").encode(),
    "the same key": b"{" + b'"a":1,' * 200_000 + b'"a":2}',
    "500,000 rows": b"[" + b"{}," * 500_000 + b"{}]",
    "text of 3 MB": b'{"a": "' + b"x" * 3 * MEGABYTE + b'"}',
    "surrogates": b'{"a": "\\ud800\\udfff\\ud800", "\\ud800": 1}',
    "NUL": b'{"a": "\\u0000", "\\u0000": 1}',
    "invalid UTF-8": b'{"a": "\xff\xfe"}',
    "UTF-16": '{"a": 1}'.encode("utf-16"),
    "escapes": b'"' + b"\\u0041" * 300_000 + b'"',
    "cut": b'{"a": [1, 2, {"b": "',
    "nothing": b"",
    "HTML": b"<html><p>x",
}
CSV_BODIES = {
    "quote without end": b'a,b\n"' + b"x" * 2 * MEGABYTE,
    "100,000 columns": b"a," * 100_000 + b"\n" + b"1," * 100_000,
    "500,000 rows": b"a,b\n" + b"1,2\n" * 500_000,
    "delimiters": b",;\t|" * 200_000,
    "quotes": b'a\n"' + b'""' * 300_000,
    "NUL": b"a,b\n1,\0\n" * 1_000,
    "line ends": b"a\r\n\r\r\n\n\r" * 50_000,
    "formulas": b"a\n=cmd|'/c calc'!A1\n@SUM(1)\n+1\n",
    "UTF-16 without its mark": "a,b\n1,2\n".encode("utf-16-le") * 1_000,
}
TABLE_BODIES = {
    "spans": b"<table><tr>" + b"<td colspan=1000 rowspan=1000>x" * 2_000,
    "tables in tables": b"<table><tr><th>A<td>" * 2_000,
    "5,000 columns": b"<table>" + (b"<tr>" + b"<td>1" * 5_000) * 20,
    "100,000 rows": b"<table><tr><th>A<th>B" + b"<tr><td>1<td>2" * 100_000,
    "cells without rows": b"<table><td>" * 20_000,
    "headings": b"<table><tr><th>A" + b"<th>" * 50_000,
}
CALENDAR = b"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\n"
CALENDAR_EVENT = b"BEGIN:VEVENT\r\nUID:%d\r\nDTSTART:20261118T100000Z\r\nSUMMARY:x\r\n%sEND:VEVENT\r\n"
CALENDAR_BODIES = {
    "every second for ever": CALENDAR + CALENDAR_EVENT % (1, b"RRULE:FREQ=SECONDLY\r\n") + b"END:VCALENDAR\r\n",
    "every second until 9999": CALENDAR
    + CALENDAR_EVENT % (1, b"RRULE:FREQ=SECONDLY;UNTIL=99991231T235959Z\r\n")
    + b"END:VCALENDAR\r\n",
    "by every part": CALENDAR
    + CALENDAR_EVENT % (1, b"RRULE:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30;BYDAY=MO;BYHOUR=1,2,3;COUNT=999999999\r\n")
    + b"END:VCALENDAR\r\n",
    "interval of nothing": CALENDAR + CALENDAR_EVENT % (1, b"RRULE:FREQ=DAILY;INTERVAL=0\r\n") + b"END:VCALENDAR\r\n",
    "20,000 events": CALENDAR + b"".join(CALENDAR_EVENT % (n, b"") for n in range(20_000)) + b"END:VCALENDAR\r\n",
    "exceptions": CALENDAR
    + CALENDAR_EVENT % (1, b"RRULE:FREQ=DAILY\r\n" + b"EXDATE:20261119T100000Z\r\n" * 20_000)
    + b"END:VCALENDAR\r\n",
    "nested": b"BEGIN:VCALENDAR\r\n" * 20_000,
    "folded": CALENDAR + CALENDAR_EVENT % (1, b"DESCRIPTION:x\r\n" + b" x\r\n" * 200_000),
    "dates": CALENDAR + CALENDAR_EVENT % (1, b"DTEND:00000000T999999Z\r\nDURATION:P99999999999D\r\n"),
    "time zones": CALENDAR
    + b"BEGIN:VTIMEZONE\r\nTZID:x\r\nBEGIN:STANDARD\r\nDTSTART:19000101T000000\r\nRRULE:FREQ=SECONDLY\r\n"
    b"TZOFFSETFROM:+9999\r\nTZOFFSETTO:-9999\r\nEND:STANDARD\r\nEND:VTIMEZONE\r\n"
    + CALENDAR_EVENT
    % (1, b"DTEND;TZID=x:20261118T110000\r\n"),
}


def source_bodies() -> Iterator[HostileSource]:
    """Return bodies that sources read with small expressions."""
    for name, body in JSON_BODIES.items():
        yield HostileSource("JSON", name, "json", {"path": "a"}, partial(bytes, body), "application/json")
    for name, body in CSV_BODIES.items():
        yield HostileSource("CSV", name, "csv", {"number": 1}, partial(bytes, body), "text/csv")
    for name, body in TABLE_BODIES.items():
        yield HostileSource("tables", name, "table", {"column": "A"}, partial(bytes, body))
    for name, body in CALENDAR_BODIES.items():
        yield HostileSource("calendars", name, "ical", {"part": "summary"}, partial(bytes, body), "text/calendar")
    for feed in feed_documents():
        yield HostileSource("feeds", f"{feed.name} as a source", "feed", {"part": "title"}, feed.make, feed.media_type)
    for name, text in XML_BODIES.items():
        made = text if callable(text) else partial(bytes, as_bytes(text))
        yield HostileSource("XML", f"{name} as a source", "xml", {"xpath": "/a/b"}, made, "application/xml")
    for page in list(html_documents())[::3]:
        yield HostileSource("HTML", f"{page.name} as a source", "page", {"css": "p"}, page.make)


XPATHS = {
    "counts in counts": "//*[count(" * 40 + "//*" + ")>0]" * 40,
    "descendants": "//*" * 60,
    "ancestors": "//*" + "/ancestor::*/descendant::*" * 12,
    "following": "//*" + "/following::*/preceding::*" * 12,
    "unions": " | ".join(["//*//*//*"] * 50),
    "concatenation": "concat(" * 30 + "string(/)" + ", string(/))" * 30,
    "text doubling": "concat(string(/),string(/))" + "|//*" * 50,
    "translate": f"translate(string(/), '{'a' * 5000}', '{'b' * 5000}')",
    "predicates": "//*" + "[//*]" * 50,
    "sums": "//*[sum(//*[sum(//*[sum(//*)>=0])>=0])>=0]",
    "parentheses": "(" * 5_000 + "//p" + ")" * 5_000,
    "not": "//p[" + "not(" * 3_000 + "1" + ")" * 3_000 + "]",
    "document": "document('file:///etc/passwd')",
    "foreign function": "evil:run('id')",
    "regular expressions": "//*[re:test(., '^(a+)+$')]",
    "string length": "string-length(concat(//*,//*,//*,//*,//*,//*,//*))" * 20,
    "numbers": "//p[" + "1 + " * 20_000 + "1]",
    "long name": "//" + "a" * 50_000,
    "NUL": "//p[text()='\0']",
    "nothing": "",
}
CSS_SELECTORS = {
    "has in has": ":has(" * 20 + "*" + ")" * 20,
    "not in not": ":not(" * 200 + "p" + ")" * 200,
    "is of many": ":is(" + ",".join(["* *"] * 100) + ") " * 5,
    "descendants": "* " * 60,
    "siblings": "* ~ " * 60 + "*",
    "commas": "p," * 5_000 + "p",
    "contains": ":contains('a')" * 500,
    "attributes": "[a]" * 5_000,
    "nth": ":nth-child(999999999999999999999n + 99999999999999999999)",
    "nth of": ":nth-child(2n+1 of :has(*))" * 20,
    "escapes": "\\" * 4_999,
    "strings": "[a='" + "x" * 50_000,
    "brackets": "[" * 5_000,
    "NUL": "p\0",
    "nonsense": "%%%)(",
}
JMESPATHS = {
    "lists of two": "|".join(["[@,@]"] * 27),
    "objects": "|".join(["{a:@,b:@}"] * 27),
    "joins": "join(',', [to_string(@), to_string(@)])" + "|[@,@]|join(',',@)" * 20,
    "maps": "map(&[@,@], " * 20 + "list" + ")" * 20,
    "flatten": "[@,@][]" * 25,
    "sort by": "sort_by(list, &to_string(@))" * 20,
    "brackets": "[" * 2_000 + "0" + "]" * 2_000,
    "parentheses": "(" * 2_000 + "a" + ")" * 2_000,
    "pipes": "a|" * 5_000 + "a",
    "filters": "list[?" * 200 + "x" + "]" * 200,
    "literal": "`" + "[" * 5_000 + "`",
    "slice": "list[99999999999999999999:-99999999999999999999:1]",
    "slice of nothing": "list[::0]",
    "negation": "!" * 5_000 + "a",
    "long name": "a" * 100_000,
}
PATTERNS = {
    "alternatives": r"^(a|aa|aaa)+$",
    "plus in plus": r"^(a+)+$",
    "classes": r"^(([a-z])+.)+[A-Z]([a-z])+$",
    "stars": r"a*a*a*a*a*a*a*a*a*a*a*b",
    "lookahead": r"(?=(a+))a*b\1",
    "reference": r"(a*)*\1\1\1b",
    "counts": r"(a{1,100}){1,100}b",
    "count of a billion": r"a{999999999}",
    "counts of counts": r"((a{1000}){1000}){1000}",
    "fuzzy": r"(?:aaaaaaaaaaaaaaaaaaaa){e<=15}",
    "recursion": r"(a(?R)?b)+",
    "sets": r"[[a-z]--[aeiou]]" * 20,
    "case folding": "(?if)" + "ß" * 200,
    "groups": "(" * 200 + "a" + ")" * 200,
    "unclosed": "(" * 400,
    "named lists": r"\L<words>",
    "properties": r"\p{L}" * 90,
    "bad property": r"\p{Nonsense}",
    "quantified nothing": r"(?:)*(?:)*(?:)*a",
    "overlap": r"(?r)(a|a)*b",
    "grapheme clusters": r"(\X+)+$",
    "long": "a" * 50_000,
    "NUL": "\0",
}


def source_expressions() -> Iterator[HostileSource]:
    """Return expressions on small documents."""
    text = b"<p>" + b"a" * 60 + b"!</p>" + SMALL_PAGE
    for name, expression in XPATHS.items():
        yield HostileSource("XPath", name, "page", {"xpath": expression}, partial(bytes, SMALL_PAGE))
        yield HostileSource(
            "XPath", f"{name} in XML", "xml", {"xpath": expression}, partial(bytes, SMALL_XML), "text/xml"
        )
    for name, expression in CSS_SELECTORS.items():
        yield HostileSource("CSS selectors", name, "page", {"css": expression}, partial(bytes, SMALL_PAGE))
    for name, expression in JMESPATHS.items():
        json_type = "application/json"
        yield HostileSource("JMESPath", name, "json", {"path": expression}, partial(bytes, SMALL_JSON), json_type)
    for name, pattern in PATTERNS.items():
        yield HostileSource("regular expressions", name, "page", {"css": "p", "regex": pattern}, partial(bytes, text))


# Requests to the web process.


def request(
    method: str, path: str, body: bytes = b"", media_type: str = "application/json", *headers: str
) -> Iterable[bytes]:
    """Return the pieces of a valid request."""
    lines = [f"{method} {path} HTTP/1.1", "Host: {host}", "Authorization: Bearer {token}", "Connection: close"]
    if body or method != "GET":
        lines += [f"Content-Type: {media_type}", f"Content-Length: {len(body)}"]
    yield "\r\n".join([*lines, *headers, "", ""]).encode()
    yield body


def _json(path: str, value: object, method: str = "POST") -> Callable[[], Iterable[bytes]]:
    return partial(request, method, path, json.dumps(value).encode())


SERIES = "hostile.values"
"""Source whose values alerts and views are evaluated on."""
CONDITIONS = {
    "parentheses": "(" * 900 + "value > 1" + ")" * 900,
    "not": "not " * 400 + "value > 1",
    "alternatives": " or ".join(["value > 1"] * 150),
    "and or": " and ".join(["(value > 1 or value < 2)"] * 60),
    "catastrophic pattern": 'value matches "^(a|aa|aaa)+$"',
    "many patterns": " or ".join([f'value matches "^(a+)+{n}$"' for n in range(40)]),
    "number of digits": "value > " + "9" * 1_500,
    "exponent": "value > 1e999999999",
    "percent": "value changed by 1e308% in 1s",
    "period of ages": "value changed by 5% in 99999999999999999999d",
    "silence of ages": "silent for 1e99d",
    "record": "value is record high in 100000w",
    "quote without end": 'value contains "' + "x" * 1_000,
    "quotes": 'value contains "' + '\\"' * 700 + '"',
    "unknown field": "nothing > 1",
    "NUL": "value contains \0",
    "confusable digits": "value > \u0663\u0660 and v\u0430lue > \uff11",
    "bidirectional": "value contains \u202e\u2066",
    "signs": "value <>=≠ 3",
    "nothing": "",
    "date": "value > 99 Foo 99999",
    "units": "value > 5 " + "kg·" * 200,
}
FORMULAS = {
    "parentheses": "(" * 240 + "a" + ")" * 240,
    "powers": "9^9^9^9^9^9",
    "tower": "^".join(["9"] * 200),
    "factorial of signs": "-" * 499 + "1",
    "functions": "max(" * 100 + "a" + ")" * 100,
    "arguments": "max(" + "a," * 200 + "a)",
    "division": "1/0",
    "huge": "1e308*1e308",
    "long number": "9" * 499,
    "unknown letter": "z+1",
    "attribute": "a.__class__",
    "call": "__import__('os')",
    "other digits": "\u0663+\uff11",
    "round": "round(a, 999999999)",
    "log": "log(-1)",
    "NUL": "a\0",
    "nothing": "",
}
QUERIES = {
    "parentheses": "(" * 2_000 + "a" + ")" * 2_000,
    "quotes": '"' * 3_001,
    "words": "a " * 3_000,
    "alternatives": " OR ".join(["palavra"] * 1_000),
    "negations": "-" * 3_000 + "a",
    "stars": "*" * 3_000,
    "prefixes": " ".join(f"{letter}*" for letter in "abcdefghijklmnopqrstuvwxyz" * 20),
    "phrase": '"' + "a " * 2_000 + '"~999999999',
    "fields": "site:" * 2_000,
    "field of dates": "after:99999-99-99 before:-1",
    "boosts": "a^99999999999999999999",
    "ranges": "[* TO *] {a TO z}",
    "regular expression": "/(a+)+$/",
    "long word": "a" * 6_000,
    "combining marks": "a" + "\u0301" * 2_000,
    "other scripts": "ﷺ" * 500 + "𝕬" * 500,
    "bidirectional": "\u202egpj.exe\u202c",
    "NUL": "a\0b",
    "surrogates": "%ED%A0%80",
    "fuzzy": "palavra~50",
}
TOML_TEXTS: dict[str, str | bytes] = {
    "nested lists": "a = " + "[" * 50_000,
    "nested tables": "a = " + "{a = " * 5_000 + "1" + "}" * 5_000,
    "dotted key": "a" + ".a" * 50_000 + " = 1",
    "header": "[" + "a." * 50_000 + "a]",
    "headers": "".join(f"[a{n}]\n" for n in range(50_000)),
    "arrays of tables": "[[publications]]\n" * 20_000,
    "arrays of nested tables": "".join(f"[[a{'.a' * n}]]\n" for n in range(400)),
    "keys": "".join(f"k{n} = 1\n" for n in range(100_000)),
    "the same key": "a = 1\na = 2\n",
    "number": "a = " + "9" * 500_000,
    "hexadecimal number": "a = 0x" + "f" * 500_000,
    "float": "a = 1e99999999999\nb = nan\nc = -inf\n",
    "dates": "a = 9999-12-31T23:59:60.999999999999999999Z\nb = 0000-00-00\n",
    "text without end": 'a = """' + "x" * MEGABYTE,
    "escapes": 'a = "' + "\\u0041" * 200_000 + '"',
    "surrogate": 'a = "\\ud800"',
    "NUL": "a = '\0'",
    "invalid UTF-8": b"a = '\xff\xfe'",
    "UTF-16": "a = 1".encode("utf-16"),
    "comments": "#" * 2 * MEGABYTE,
    "line ends": "\r" * 200_000,
    "settings": "[publication.x]\nbase_url = 'http://a.example/'\n[publication.x.settings]\nLOG_FILE = '/tmp/x'\n",
    "10,000 publications": "".join(f"[publication.x{n}]\nbase_url = 'http://a.example/'\n" for n in range(10_000)),
    "servers": f"[publication.x]\nbase_url='http://a.example/'\naccept = {json.dumps(['*' * 200 + 'a'] * 200)}\n",
    "description": f"[publication.x]\nbase_url='http://a.example/'\ndescription = '{'x' * 2 * MEGABYTE}'\n",
}


def _alert(condition: str) -> dict[str, str]:
    return {"source": SERIES, "name": "x", "condition": condition}


def _view(formula: str) -> dict[str, Any]:
    return {"title": "x", "parts": [{"source": SERIES, "field": "value"}], "formulas": [{"text": formula}]}


def _tree(depth: int) -> dict[str, Any]:
    tree: dict[str, Any] = {"kind": "compare", "field": "value", "sign": ">", "value": "1"}
    for _ in range(depth):
        tree = {"kind": "not", "of": tree}
    return tree


def requests() -> Iterator[HostileRequest]:
    """Return requests to the API, and requests that are not HTTP."""
    for name, condition in CONDITIONS.items():
        yield HostileRequest("alert conditions", name, _json("/api/checks/alert", _alert(condition)))
        yield HostileRequest(
            "alert conditions", f"{name}, on the past", _json("/api/checks/alert/past", _alert(condition))
        )
    for name, formula in FORMULAS.items():
        yield HostileRequest("view formulas", name, _json("/api/views", _view(formula)))
    for name, query in QUERIES.items():
        yield HostileRequest("queries", name, partial(request, "GET", f"/api/search?q={quote(query, safe='%')}"))
    for name, text in TOML_TEXTS.items():
        toml = partial(request, "POST", "/api/publications.toml", as_bytes(text), "application/toml")
        yield HostileRequest("TOML", name, toml)
    yield from _body_requests()
    yield from _http_requests()


def _body_requests() -> Iterator[HostileRequest]:
    publication = "/api/publications"
    for name, body in JSON_BODIES.items():
        yield HostileRequest("API bodies", f"JSON of {name}", partial(request, "POST", publication, body))
    small = b'{"name": "x", "base_url": "http://a.example/"}'
    values: dict[str, tuple[str, object]] = {
        "accepted servers": (
            publication,
            {"name": "x", "base_url": "http://a.example/", "accept": ["*a" * 90 + "b"] * 500},
        ),
        "types": (publication, {"name": "x", "base_url": "http://a.example/", "add_types": ["a/b"] * 100_000}),
        "base URL": (publication, {"name": "x", "base_url": "http://" + "a." * 100_000 + "pt/"}),
        "numbers": (
            publication,
            {"name": "x", "base_url": "http://a.pt/", "depth": 10**400, "delay": 1e308, "timeout": -1},
        ),
        "period": (
            publication,
            {"name": "x", "base_url": "http://a.pt/", "every": "9" * 5_000 + "d", "zone": "../" * 500},
        ),
        "rules": (publication, {"name": "x", "base_url": "http://a.pt/", "attention": ["errors > 20%"] * 20_000}),
        "notifications": (
            publication,
            {"name": "x", "base_url": "http://a.pt/", "notify": ["json://127.0.0.1"] * 20_000},
        ),
        "URLs in a scope": (
            "/api/checks/scope",
            {"fields": {"name": "x", "base_url": "http://a.pt/"}, "urls": ["http://a.pt/" + "a/" * 1_900] * 200},
        ),
        "patterns in a scope": (
            "/api/checks/scope",
            {
                "fields": {"name": "x", "base_url": "http://a.pt/", "accept": ["*" + "a*" * 100] * 200},
                "urls": ["http://" + "a" * 60 + ".pt/"] * 200,
            },
        ),
        "tree of conditions": ("/api/checks/alert", {**_alert("x"), "condition": _tree(150)}),
        "wide tree of conditions": (
            "/api/checks/alert",
            {**_alert("x"), "condition": {"kind": "all", "of": [_tree(1)] * 20_000}},
        ),
        "moments": (
            "/api/checks/alert/past",
            {**_alert("value > 1"), "begin": "0001-01-01T00:00:00Z", "end": "9999-12-31T00:00:00Z"},
        ),
        "unknown fields": (publication, {f"f{n}": n for n in range(50_000)}),
        "views": ("/api/views", {**_view("a"), "parts": [{"source": SERIES, "field": "value"}] * 20_000}),
        "formulas": ("/api/views", {**_view("a"), "formulas": [{"text": "(" * 400}] * 5_000}),
        "order": ("/api/views/order", {"views": list(range(100_000))}),
        "firings": ("/api/firings/dismiss", {"firings": [1] * 100_000}),
        "password": ("/api/people", {"name": "x", "role": "reader", "password": "p" * 2 * MEGABYTE}),
        "name": (
            "/api/people",
            {"name": "\u202ea\u0301" * 50_000, "role": "reader", "password": "correct horse battery"},
        ),
        "token": ("/api/tokens", {"name": "x", "days": 10**30, "scopes": ["items"] * 50_000}),
        "withholding": ("/api/withholdings", {"urls": ["http://a.pt/" + "x" * 3_000] * 5_000}),
        "suggestion": ("/api/suggestions", {"url": "http://" + "a" * 100_000}),
        "types with patterns": ("/api/types", {"mime": "a/" + "b" * 100_000, "name": "x"}),
        "fields of a source": (
            "/api/streams",
            {
                "name": "x.y",
                "url": "http://a.pt/",
                "fields": [{"key": f"k{n}", "place": {"xpath": "//*" * 60}} for n in range(100)],
            },
        ),
        "variables of a source": (
            "/api/streams",
            {
                "name": "x.y",
                "url": "http://a.pt/{a}",
                "variables": {f"v{n}": "{a}" * 99 for n in range(5_000)},
                "fields": [],
            },
        ),
        "steps of a source": (
            "/api/streams",
            {
                "name": "x.y",
                "url": "http://a.pt/",
                "steps": [{"do": "click", "css": ":has(" * 99}] * 2_000,
                "fields": [],
            },
        ),
    }
    for name, (path, value) in values.items():
        method = "PUT" if path.endswith("/order") else "POST"
        yield HostileRequest("API bodies", name, _json(path, value, method))
    for name, kind in {"form": "application/x-www-form-urlencoded", "parts": "multipart/form-data; boundary=x"}.items():
        yield HostileRequest(
            "API bodies", f"body as {name}", partial(request, "POST", publication, b"--x\r\n" * 50_000, kind)
        )
    yield HostileRequest(
        "API bodies",
        "compressed body",
        partial(
            request, "POST", publication, gzip.compress(bytes(MEGABYTE)), "application/json", "Content-Encoding: gzip"
        ),
    )
    yield HostileRequest(
        "API bodies",
        "charset",
        partial(request, "POST", publication, small.decode().encode("utf-7"), "application/json; charset=utf-7"),
    )
    for megabytes in (1, 15, 17):
        # As many values as fit.
        yield HostileRequest(
            "API bodies",
            f"{megabytes} MB of lists",
            partial(
                request,
                "POST",
                "/api/checks/publication",
                b'{"fields":{"x":[' + b"[]," * (megabytes * 349_000) + b"[]]}}",
            ),
        )


def _http_requests() -> Iterator[HostileRequest]:
    head = b"GET /api/me HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n"
    post = b"POST /api/publications HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n"
    wrong: dict[str, Iterable[bytes]] = {
        "nonsense": [b"\x00\xff" * 1_000],
        "TLS hello": [b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(500)],
        "HTTP/2": [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(200)],
        "URL of 1 MB": [b"GET /" + b"a" * MEGABYTE + b" HTTP/1.1\r\nHost: {host}\r\n\r\n"],
        "50,000 headers": [head, *[b"X: y\r\n" * 1_000] * 50, b"\r\n"],
        "header of 1 MB": [head + b"X: " + b"x" * MEGABYTE + b"\r\n\r\n"],
        "cookies": [head + b"Cookie: " + b"a=b; " * 12_000 + b"\r\n\r\n"],
        "token of 60 KB": [head + b"Authorization: Bearer " + b"a" * 60_000 + b"\r\n\r\n"],
        "basic authorization": [head + b"Authorization: Basic " + b64encode(b":" * 40_000) + b"\r\n\r\n"],
        "languages": [head + b"Accept-Language: " + b"pt;q=0.1," * 6_000 + b"\r\n\r\n"],
        "ranges": [head + b"Range: bytes=" + b"0-1," * 12_000 + b"\r\n\r\n"],
        "two hosts": [b"GET /api/me HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n"],
        "no host": [b"GET /api/me HTTP/1.1\r\nConnection: close\r\n\r\n"],
        "odd host": [b"GET /login HTTP/1.1\r\nHost: \xff[:::]:99999999\r\nConnection: close\r\n\r\n"],
        "origin": [head + b"Origin: http://[::1:99999\r\nSec-Fetch-Site: cross-site\r\n\r\n"],
        "length and chunks": [post + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"],
        "length of 10^30": [post + b"Content-Length: 1" + b"0" * 30 + b"\r\n\r\n{"],
        "negative length": [post + b"Content-Length: -1\r\n\r\n{}"],
        "chunk of 2^64": [post + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n{"],
        "20 MB of chunks": chain(
            [post + b"Transfer-Encoding: chunked\r\n\r\n"], repeat(b"10000\r\n" + b" " * 65536 + b"\r\n", 320)
        ),
        "chunks of a byte": chain(
            [post + b"Transfer-Encoding: chunked\r\n\r\n"], repeat(b"1\r\n \r\n" * 1_000, 100), [b"0\r\n\r\n"]
        ),
        "method": [b"NONSENSE" * 1_000 + b" / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"],
        "websocket": [
            head
            + b"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: x\r\n\r\n"
        ],
        "percent signs": [
            b"GET /api/items/%ff%00%c0%af..%2f..%2fetc HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        ],
        "path that climbs": [
            b"GET /static/../../../../etc/passwd HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        ],
        "query of 60 KB": [
            b"GET /search?" + b"q=a&" * 15_000 + b" HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        ],
        "1,000 requests at once": [b"GET /health HTTP/1.1\r\nHost: {host}\r\n\r\n" * 1_000],
        "connection that says nothing": [],
        "expectation": [post + b"Expect: 100-continue\r\nContent-Length: 100\r\n\r\n"],
    }
    for name, pieces in wrong.items():
        stored = list(pieces)
        yield HostileRequest("requests", name, lambda stored=stored: stored)  # type: ignore[misc]
    yield HostileRequest("requests", "slow headers", lambda: chain([head], repeat(b"X: y\r\n", 60)), 0.1)
    yield HostileRequest(
        "requests", "slow body", lambda: chain([post + b"Content-Length: 1000\r\n\r\n"], repeat(b" ", 60)), 0.1
    )


DOCUMENTS: tuple[Callable[[], Iterator[HostileDocument]], ...] = (
    *(html_documents, encoded_documents, css_documents, xml_documents, image_documents, pdf_documents),
    *(archive_documents, feed_documents, sitemap_documents, compressed_documents),
)
SOURCES: tuple[Callable[[], Iterator[HostileSource]], ...] = (source_bodies, source_expressions)


def all_documents() -> list[HostileDocument]:
    """Return every document that a collector downloads, except robots.txt."""
    return list(chain.from_iterable(make() for make in DOCUMENTS))


def all_sources() -> list[HostileSource]:
    """Return every source."""
    return list(chain.from_iterable(make() for make in SOURCES))
