"""What a document says, as an index needs it."""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass, field, fields


@dataclass(slots=True)
class ExtractedText:
    """The words of a document, by what they are there for."""

    title: str = ""
    headings: str = ""
    description: str = ""
    main: str = ""
    """What the page is about."""
    rest: str = ""
    """What else is on it: menus, side notes."""
    language: str = ""
    """As ``pt``; nothing if it cannot be told."""
    anchors: list[tuple[str, str]] = field(default_factory=list)
    """The documents that it leads to: the key of each in hexadecimal, and what it calls it."""
    likeness: str = ""
    """By which nearly equal documents are told, as `tarantula.search.texts.similarity` has it, in hexadecimal."""

    def packed(self) -> bytes:
        """Return it as bytes."""
        values = [getattr(self, name) for name in PACKED_FIELDS]
        return zlib.compress(json.dumps(values, ensure_ascii=False).encode("utf-8", "surrogatepass"), 1)


PACKED_FIELDS = [each.name for each in fields(ExtractedText)]


def unpack_text(packed: bytes) -> ExtractedText:
    """Return what `Content.packed` made bytes of."""
    content = ExtractedText(*json.loads(zlib.decompress(packed).decode("utf-8", "surrogatepass")))
    content.anchors = [(key, words) for key, words in content.anchors]
    return content
