"""A document whose references are converted."""

from __future__ import annotations

from tarantula.links.charset import encode_query, query_encoder
from tarantula.links.link import LinkKind
from tarantula.links.relocation import Relocator
from tarantula.links.relocation_part_moved import UNKNOWN_REPLACEMENT, Replacement
from tarantula.links.resolve import join_reference, server_and_directory
from tarantula.links.values import SPACE


class PageReferences:
    """Knows to what the references of a document are relative, and what stands in their place."""

    __slots__ = ("_codec", "_memory", "_relocator", "base", "folder", "url")

    def __init__(self, relocator: Relocator, url: str, folder: str, encoding: str = "") -> None:
        self._relocator = relocator
        self._codec = query_encoder(encoding or None)
        self.url = url
        self.folder = folder
        self.rebase(url)

    def rebase(self, base: str) -> None:
        """Take references as relative to *base* from now on."""
        self.base = base
        self._memory = self._relocator.memory(self.folder, server_and_directory(base)[1])

    def written(self, addresses: list[str]) -> list[str]:
        """Return what is written in the place of plain references; nothing for those of which more has to be known."""
        return self._memory.written(addresses)

    def moved(self, address: str, kind: LinkKind) -> Replacement | None:
        """Return what stands in the place of a reference without its fragment."""
        if self._codec and not address.isascii():
            address = encode_query(address, self._codec)
        moved = self._memory.moved(address, bool(kind))
        if moved is not UNKNOWN_REPLACEMENT:
            return moved
        if not address:
            return None if kind or self.base == self.url else self._to_base()
        return self._memory.moved_to(self._relocator.found(self.base, address, bool(kind)))

    def _to_base(self) -> Replacement:
        return self._memory.moved_to(self._relocator.found(self.base, self.base, False)) or Replacement(
            self.base, "", False
        )

    def absolute(self, address: str) -> str | None:
        """Return the web address that a reference means."""
        return join_reference(self.base, address.strip(SPACE))
