"""Parse a response body as HTML or XML, within limits: no entities, nothing fetched, no unlimited depth."""

from __future__ import annotations

import re
from email.message import Message
from functools import lru_cache

from lxml import etree
from turbohtml import Document, parse

from tarantula.links.charset import decode_text, encoding_by_label
from tarantula.streams.adapters.base import SourceResponse, UnreadableResponse

NOT_PAGE_TYPES = ("application/json", "application/pdf", "application/zip", "image/", "audio/", "video/", "font/")
_MARKS_OF_OTHERS = (b"%PDF-", b"\x89PNG", b"GIF8", b"PK\x03\x04", b"\xff\xd8\xff", b"\x1f\x8b")


def parse_page(answer: SourceResponse) -> Document:
    """Parse a body as HTML as browsers do; raise `UnreadableResponse` if it is not HTML."""
    check_not_empty(answer)
    kind, charset = type_and_charset(answer.content_type)
    if kind.startswith(NOT_PAGE_TYPES) or answer.body.startswith(_MARKS_OF_OTHERS):
        raise UnreadableResponse(f"This is not an HTML page, but {kind or 'something else'}.")
    if b"<" not in answer.body[:100_000]:
        raise UnreadableResponse("This is not an HTML page: it contains no markup.")
    # With scripting enabled, the content of <noscript> is ignored, as in a browser.
    return parse(answer.body, encoding=encoding_by_label(charset), scripting=True, allow_declarative_shadow_roots=False)


def check_not_empty(answer: SourceResponse) -> None:
    """Raise `UnreadableResponse` if the body is empty."""
    if not answer.body.strip():
        raise UnreadableResponse("The response is empty.")


@lru_cache(maxsize=1024)
def type_and_charset(content_type: str) -> tuple[str, str | None]:
    """Return the media type and the charset of a Content-Type header."""
    header = Message()
    header["content-type"] = content_type[:200].replace("\n", " ").replace("\r", " ") or "text/html"
    charset = header.get_param("charset")
    return (header.get_content_type() if content_type else "", charset if isinstance(charset, str) else None)


_ENTITY = re.compile(r"<!ENTITY")
_DECLARATION = re.compile(r"^\s*<\?xml[^>]*\?>")


def check_no_entities(answer: SourceResponse) -> None:
    """Reject a document that declares entities: they can expand to any size, or refer to local files."""
    if _ENTITY.search(_text(answer)):
        raise UnreadableResponse("The document declares entities and was rejected: they can expand to any size.")


def parse_xml(answer: SourceResponse) -> etree._Element:
    """Return the root of an XML document; raise `UnreadableResponse` if it is not well-formed."""
    check_not_empty(answer)
    text = _text(answer)
    if _ENTITY.search(text):
        check_no_entities(answer)
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, recover=False)
    try:
        # The text is decoded already, so its encoding declaration would be wrong.
        return etree.fromstring(_DECLARATION.sub("", text, count=1).encode("utf-8", "replace"), parser)
    except etree.XMLSyntaxError as error:
        raise UnreadableResponse(f"This is not well-formed XML: {error.msg}.") from error
    except ValueError as error:
        raise UnreadableResponse(f"This is not well-formed XML: {error}.") from error


def _text(answer: SourceResponse) -> str:
    _, charset = type_and_charset(answer.content_type)
    return decode_text(answer.body, charset)[0]
