"""What a document says, as an index needs it."""

from __future__ import annotations

import json
import zlib
from dataclasses import asdict, dataclass, field


@dataclass(slots=True)
class Content:
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
    """What it calls the documents that it leads to: the key of each in hexadecimal, and the words."""

    def packed(self) -> bytes:
        """Return it as bytes."""
        return zlib.compress(json.dumps(asdict(self), ensure_ascii=False).encode("utf-8", "surrogatepass"), 1)


def unpacked(packed: bytes) -> Content:
    """Return what `Content.packed` made bytes of."""
    values = json.loads(zlib.decompress(packed).decode("utf-8", "surrogatepass"))
    anchors = [(key, words) for key, words in values.pop("anchors")]
    return Content(**values, anchors=anchors)
