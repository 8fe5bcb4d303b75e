"""Documents that are small, and expensive to parse."""

from __future__ import annotations

import zlib


def huge_stream_pdf(operators: int = 12_000_000) -> bytes:
    """Return a small PDF of one page, whose content is *operators* texts after decompression."""
    content = zlib.compress(b"BT /F1 1 Tf\n" + b"(a)Tj\n" * operators + b"ET", 9)
    return pdf_of(
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R "
        b"/Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (len(content), content),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    )


def looping_pdf(kids: int = 5_000) -> bytes:
    """Return a PDF whose page tree contains itself many times, and says that it has a billion pages."""
    return pdf_of(
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [%s] /Count 1000000000 >>" % (b"2 0 R 3 0 R " * kids),
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] >>",
    )


def pdf_of(*objects: bytes) -> bytes:
    """Return a PDF file of these objects, numbered from 1; the first is its root."""
    paper, offsets = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        offsets.append(len(paper))
        paper += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    size = len(objects) + 1
    end = b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (size, len(paper))
    return paper + b"xref\n0 %d\n0000000000 65535 f \n" % size + table + end


def root_attributes(tags: int = 40_000) -> bytes:
    """Return an HTML page whose parser collects the attributes of many tags, in quadratic memory."""
    return b"".join(b"<html a%d=1>" % number for number in range(tags)) + b"<p>texto"


def attributes_page(attributes: int = 150_000) -> str:
    """Return an HTML page with elements that have very many attributes."""
    many = " ".join(f"a{number}=1" for number in range(attributes))
    return f"<html {many}><body><p {many}>texto"


def nested_feed(depth: int) -> str:
    """Return a feed with markup nested in a title."""
    title = "<b>" * depth + "fim" + "</b>" * depth
    return (
        '<feed xmlns="http://www.w3.org/2005/Atom"><title>x</title><entry><id>urn:a</id>'
        f'<title type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">{title}</div></title></entry></feed>'
    )
