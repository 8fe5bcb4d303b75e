"""A word of ours in every copy: it tells the page around it what is shown, and which keys are pressed."""

from __future__ import annotations

import re

from tarantula.fetch.media_types import media_type
from tarantula.links.charset import BYTE_ORDER_MARKS

TELL_SCRIPT = "/tell.js"
"""Where it is."""
HTML_SCRIPT_TAG = '<script nonce="{nonce}" src="/tell.js"></script>'
XHTML_SCRIPT_TAG = '<script xmlns="http://www.w3.org/1999/xhtml" nonce="{nonce}" src="/tell.js"/>'

# Before the doctype it would change how a browser lays the page out.
_BEFORE = re.compile(
    rb"(?:\s|<!--(?!-?>).*?--!?>|<!--->|<!-->|<\?[^>]*>)*(?:<!doctype[^>]*>)?", re.IGNORECASE | re.DOTALL
)


def insert_script(body: bytes, content_type: str, nonce: str) -> bytes:
    """Return a page that runs our script; what is no page comes back as it was."""
    kind = media_type(content_type)
    if kind == "text/html":
        return _in_html(body, content_type, HTML_SCRIPT_TAG.format(nonce=nonce))
    if kind == "application/xhtml+xml":
        end = body.rfind(b"</")
        return body[:end] + XHTML_SCRIPT_TAG.format(nonce=nonce).encode() + body[end:] if end >= 0 else body
    return body


def _in_html(body: bytes, content_type: str, script: str) -> bytes:
    mark, encoding = next(
        ((mark, name) for mark, name in BYTE_ORDER_MARKS if body.startswith(mark)), (b"", content_type)
    )
    if "utf-16" in encoding.lower():
        codec = "utf-16-be" if "be" in encoding.lower() else "utf-16-le"
        start = _BEFORE.match(body[len(mark) :].decode(codec, "replace").encode())
        assert start is not None
        place = len(mark) + len(start[0].decode().encode(codec))
        return body[:place] + script.encode(codec) + body[place:]
    start = _BEFORE.match(body, len(mark))
    assert start is not None
    return body[: start.end()] + script.encode() + body[start.end() :]
