"""The edits of one document: one value after the other, each reference in it replaced and nothing else."""

from __future__ import annotations

import re
from collections.abc import Callable

from tarantula.links import values_part_css
from tarantula.links.character_references import escape_value, unescape_value
from tarantula.links.grammar import ValueForm
from tarantula.links.link import LinkKind
from tarantula.links.relocation_part_moved import Replacement
from tarantula.links.relocation_part_page import PageReferences
from tarantula.links.source import Edit, SourceText
from tarantula.links.values import SPACE, SPANS

Escape = Callable[[str], str]
"""Writes a value into what surrounds it."""

_CSS_SPECIAL = re.compile(r"""[\\'"()\s]""")
_QUOTES = re.compile("['\"]")


def verbatim(value: str) -> str:
    """Write a value where nothing has a second meaning."""
    return value


def in_quotes(quote: str) -> Escape:
    """Return what writes values into attributes with these quotes."""
    return lambda value: escape_value(value, quote)


class ReferenceRewriter:
    """What becomes of the references of one document."""

    def __init__(self, source: SourceText, page: PageReferences) -> None:
        self.source = source
        self.page = page
        self.edits: list[Edit] = []

    def bytes(self) -> bytes:
        """Return the document with what was replaced so far."""
        return self.source.edited(self.edits)

    def value(self, start: int, end: int, form: ValueForm, kind: LinkKind, escape: Escape, plain: bool = False) -> bool:
        """Replace the references in a value; say whether one of them leads to a copy.

        A *plain* value has no character references.
        """
        shape = self.source.shape[start:end]
        value, places = (shape, None) if plain else unescape_value(shape)
        led_to_copy = False
        for first, last in SPANS[form](value):
            if places:
                first_place, last_place = start + places[first], start + places[last]
            else:
                first_place, last_place = start + first, start + last
            moved = self._reference(first_place, last_place, form, kind, escape, plain)
            led_to_copy = led_to_copy or (moved is not None and moved.to_copy)
        return led_to_copy

    def _reference(
        self, start: int, end: int, form: ValueForm, kind: LinkKind, escape: Escape, plain: bool
    ) -> Replacement | None:
        raw = self.source.text[start:end]
        meant = self.source.decoded(raw)
        if not plain:
            meant = unescape_value(meant).value
        if form is ValueForm.STYLE:
            meant = values_part_css.unescape_css(meant)
        address, sharp, fragment = meant.strip(SPACE).partition("#")
        moved = self.page.moved(address, kind)
        if moved is None:
            return None
        if sharp and (plain or "&" not in raw) and "\\" not in raw:
            # The fragment stays as it is written.
            self.edits.append((start, self.source.shape.index("#", start), escape(_fit(moved.address, form))))
        else:
            whole = moved.address + (f"#{_ascii(fragment)}" if sharp else moved.fragment)
            self.edits.append((start, end, escape(_fit(whole, form))))
        return moved


def _fit(address: str, form: ValueForm) -> str:
    """Write an address so that what is around it in a value of this form still is."""
    if form is ValueForm.STYLE:
        return _CSS_SPECIAL.sub(lambda found: f"\\{found[0]}", address)
    if form is ValueForm.REFRESH:
        return _QUOTES.sub(lambda found: f"%{ord(found[0]):02X}", address)
    if form is ValueForm.SRCSET and (address[0] == "," or address[-1] == ","):
        return re.sub(r"^,|,$", "%2C", address)
    return address


def _ascii(fragment: str) -> str:
    return "".join(one if one.isascii() else "".join(f"%{byte:02X}" for byte in one.encode()) for one in fragment)
