"""XML that cannot do harm: no entities of its own, nothing fetched, nothing endlessly deep."""

from __future__ import annotations

import re

from lxml import etree

from tarantula.links.charset import decode_text
from tarantula.streams.adapters.base import SourceResponse, UnreadableResponse
from tarantula.streams.adapters.documents import check_not_empty, type_and_charset

_ENTITY = re.compile(r"<!ENTITY")
_DECLARATION = re.compile(r"^\s*<\?xml[^>]*\?>")


def check_no_entities(answer: SourceResponse) -> None:
    """Refuse a document that declares entities: they can grow to any size, or name any file."""
    if _ENTITY.search(_text(answer)):
        raise UnreadableResponse(
            "The document declares entities of its own, and is not read: they can grow to any size."
        )


def parse_xml(answer: SourceResponse) -> etree._Element:
    """Return the root of an XML document, or say what is wrong with it."""
    check_not_empty(answer)
    text = _text(answer)
    if _ENTITY.search(text):
        check_no_entities(answer)
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, recover=False)
    try:
        # It is decoded already: what it says of its own encoding would be wrong now.
        return etree.fromstring(_DECLARATION.sub("", text, count=1).encode("utf-8", "replace"), parser)
    except etree.XMLSyntaxError as error:
        raise UnreadableResponse(f"This is not XML that could be read: {error.msg}.") from error
    except ValueError as error:
        raise UnreadableResponse(f"This is not XML that could be read: {error}.") from error


def _text(answer: SourceResponse) -> str:
    _, charset = type_and_charset(answer.content_type)
    return decode_text(answer.body, charset)[0]
