"""Small pictures, pages and PDF files, generated on demand."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable
from html import escape


def png(width: int, height: int, colour: tuple[int, int, int]) -> bytes:
    """Return a picture of one colour, darker towards the bottom."""
    rows = bytearray()
    for row in range(height):
        shade = bytes(int(part * (1 - row / height / 2)) for part in colour)
        rows += b"\0" + shade * width
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(bytes(rows), 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in parts)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def pdf(title: str) -> bytes:
    """Return a PDF of one empty page."""
    objects = (
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] >>",
        b"<< /Title <FEFF%s> >>" % title.encode("utf-16-be").hex().encode(),
    )
    paper, offsets = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        offsets.append(len(paper))
        paper += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    end = b"trailer\n<< /Size 5 /Root 1 0 R /Info 4 0 R >>\nstartxref\n%d\n%%%%EOF\n" % len(paper)
    return paper + b"xref\n0 5\n0000000000 65535 f \n" + table + end


def page(title: str, links: Iterable[str] = (), images: Iterable[str] = (), styles: Iterable[str] = ()) -> str:
    """Return a plain page with links."""
    head = "".join(f'<link rel="stylesheet" href="{escape(url)}">' for url in styles)
    body = [f'<p><a href="{escape(url)}">{escape(url[:80])}</a>' for url in links]
    body += [f'<img src="{escape(url)}" alt="">' for url in images]
    name = escape(title)
    return f"<!doctype html>\n<title>{name}</title>{head}\n<h1>{name}</h1>\n" + "\n".join(body) + "\n"
