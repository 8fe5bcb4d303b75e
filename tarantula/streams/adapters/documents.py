"""Parse a response body as HTML or XML, within limits: no entities, nothing fetched, no unlimited depth."""

from __future__ import annotations

import re
from email.message import Message
from functools import lru_cache
from typing import NamedTuple

from lxml import etree
from turbohtml import Document, parse

from tarantula.fetch.media_types import media_type
from tarantula.links.charset import decode_text, encoding_by_label
from tarantula.streams.adapters.base import SourceResponse, UnreadableResponse

NOT_PAGE_TYPES = ("application/json", "application/pdf", "application/zip", "image/", "audio/", "video/", "font/")
_OTHER_SIGNATURES = (b"%PDF-", b"\x89PNG", b"GIF8", b"PK\x03\x04", b"\xff\xd8\xff", b"\x1f\x8b")
_ENTITY = re.compile(r"<!ENTITY")
_DECLARATION = re.compile(r"^\s*<\?xml[^>]*\?>")


def parse_page(response: SourceResponse) -> Document:
    """Parse a body as HTML as browsers do; raise `UnreadableResponse` if it is not HTML."""
    check_not_empty(response)
    kind, charset = type_and_charset(response.content_type)
    if kind.startswith(NOT_PAGE_TYPES) or response.body.startswith(_OTHER_SIGNATURES):
        raise UnreadableResponse("This is not an HTML page, but {kind}.", kind=kind or "something else")
    if b"<" not in response.body[:100_000]:
        raise UnreadableResponse("This is not an HTML page: it contains no markup.")
    # With scripting enabled, the content of <noscript> is ignored, as in a browser.
    return parse(
        response.body, encoding=encoding_by_label(charset), scripting=True, allow_declarative_shadow_roots=False
    )


class BodyFormat(NamedTuple):
    """Declared media type and first bytes of a response, by which an adapter recognises its format."""

    media_type: str
    start: bytes
    """First bytes in lower case, without byte order mark and white space."""

    @classmethod
    def of(cls, response: SourceResponse) -> BodyFormat:
        """Return the format of a response."""
        start = response.body[:2000].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
        return cls(media_type(response.content_type) or "", start)

    @property
    def is_vague(self) -> bool:
        """Whether the media type says nothing about the format."""
        return self.media_type in ("", "text/plain", "application/octet-stream")

    @property
    def is_xml(self) -> bool:
        """Whether the body is XML."""
        declared = self.media_type in ("application/xml", "text/xml") or self.media_type.endswith("+xml")
        return declared or (self.is_vague and self.start.startswith(b"<?xml"))


def check_not_empty(response: SourceResponse) -> None:
    """Raise `UnreadableResponse` if the body is empty."""
    if not response.body.strip():
        raise UnreadableResponse("The response is empty.")


@lru_cache(maxsize=1024)
def type_and_charset(content_type: str) -> tuple[str, str | None]:
    """Return the media type and the charset of a Content-Type header."""
    header = Message()
    header["content-type"] = content_type[:200].replace("\n", " ").replace("\r", " ") or "text/html"
    charset = header.get_param("charset")
    return (header.get_content_type() if content_type else "", charset if isinstance(charset, str) else None)


def check_no_entities(response: SourceResponse) -> None:
    """Reject a document that declares entities: they can expand to any size, or refer to local files."""
    if _ENTITY.search(_decoded_text(response)):
        raise UnreadableResponse("The document declares entities and was rejected: they can expand to any size.")


def parse_xml(response: SourceResponse) -> etree._Element:
    """Return the root of an XML document; raise `UnreadableResponse` if it is not well-formed."""
    check_not_empty(response)
    text = _decoded_text(response)
    if _ENTITY.search(text):
        check_no_entities(response)
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, recover=False)
    try:
        # The text is decoded already, so its encoding declaration would be wrong.
        return etree.fromstring(_DECLARATION.sub("", text, count=1).encode("utf-8", "replace"), parser)
    except etree.XMLSyntaxError as error:
        raise UnreadableResponse("This is not well-formed XML: {error}.", error=error.msg) from error
    except ValueError as error:
        raise UnreadableResponse("This is not well-formed XML: {error}.", error=error) from error


def _decoded_text(response: SourceResponse) -> str:
    _, charset = type_and_charset(response.content_type)
    return decode_text(response.body, charset)[0]
