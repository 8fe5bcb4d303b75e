"""Replace the references in values and start tags of one document; all other bytes stay the same."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Protocol

from tarantula.links import values
from tarantula.links.charset import escape_value, unescape_value
from tarantula.links.link import HINT, INTEGRITY_ATTRIBUTES, UNVISITED, LinkKind, LinkPlace, LinkPlaces, ValueForm
from tarantula.links.markup import PlaceTables
from tarantula.links.relocation import PageReferences, Replacement
from tarantula.links.source import Edit, SourceText, ValueSpan, span_of, value_of
from tarantula.links.values import SPACE, SPANS

Escape = Callable[[str], str]
"""Function that escapes a value for its context."""

_CSS_SPECIAL = re.compile(r"""[\\'"()\s]""")
_QUOTES = re.compile("['\"]")


def verbatim(value: str) -> str:
    """Return a value unchanged, for contexts without escapes."""
    return value


def in_quotes(quote: str) -> Escape:
    """Return a function that escapes values for attributes with these quotes."""
    return lambda value: escape_value(value, quote)


class ReferenceRewriter:
    """Collects the edits that replace the references of one document."""

    def __init__(self, source: SourceText, page: PageReferences) -> None:
        self.source = source
        self.page = page
        self.edits: list[Edit] = []

    def bytes(self) -> bytes:
        """Return the document with all edits applied."""
        return self.source.edited(self.edits)

    def value(self, start: int, end: int, form: ValueForm, kind: LinkKind, escape: Escape, plain: bool = False) -> bool:
        """Replace the references in a value; return whether one of them leads to a copy.

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
            replacement = self._reference(first_place, last_place, form, kind, escape, plain)
            led_to_copy = led_to_copy or (replacement is not None and replacement.to_copy)
        return led_to_copy

    def _reference(
        self, start: int, end: int, form: ValueForm, kind: LinkKind, escape: Escape, plain: bool
    ) -> Replacement | None:
        raw = self.source.text[start:end]
        meant = self.source.decoded(raw)
        if not plain:
            meant = unescape_value(meant).value
        if form is ValueForm.STYLE:
            meant = values.unescape_css(meant)
        address, sharp, fragment = meant.strip(SPACE).partition("#")
        replacement = self.page.replacement(address, kind)
        if replacement is None:
            return None
        if sharp and (plain or "&" not in raw) and "\\" not in raw:
            # Keep the fragment as written.
            self.edits.append((start, self.source.shape.index("#", start), escape(_fit(replacement.address, form))))
        else:
            whole = replacement.address + (f"#{_ascii(fragment)}" if sharp else replacement.fragment)
            self.edits.append((start, end, escape(_fit(whole, form))))
        return replacement


def _fit(address: str, form: ValueForm) -> str:
    """Escape an address for a value of this form."""
    if form is ValueForm.STYLE:
        return _CSS_SPECIAL.sub(lambda found: f"\\{found[0]}", address)
    if form is ValueForm.REFRESH:
        return _QUOTES.sub(lambda found: f"%{ord(found[0]):02X}", address)
    if form is ValueForm.SRCSET and (address[0] == "," or address[-1] == ","):
        return re.sub(r"^,|,$", "%2C", address)
    return address


def _ascii(fragment: str) -> str:
    return "".join(one if one.isascii() else "".join(f"%{byte:02X}" for byte in one.encode()) for one in fragment)


def _as_loaded(places_of: LinkPlaces) -> LinkPlaces:
    """Return the places with the kinds by which browsers load them, which previews of a page are not."""
    previews = tuple(place._replace(kind=LinkKind.NAVIGATION) for place in places_of["meta"])
    return {**places_of, "link": (HINT, *places_of["link"]), "meta": previews}


CONVERTED_PLACES = PlaceTables(*map(_as_loaded, PlaceTables.of(UNVISITED)))
POLICY = "content-security-policy"
MIRROR_POLICY = "default-src 'self' file: data: blob: 'unsafe-inline' 'unsafe-eval'"
"""Policy of a copy that loads nothing from the web, not even by a script."""
REFRESH_OFF = "off: "
"""Start of the content of a ``meta`` refresh that would leave the mirror; browsers ignore it."""


class TagAttributes(Protocol):
    """Access to the attributes of an element."""

    def attr(self, name: str, /) -> str | None:
        """Return the value of an attribute."""


def is_policy(meta: TagAttributes) -> bool:
    """Whether a meta element is a content security policy, which is wrong for a copy."""
    return (meta.attr("http-equiv") or "").strip(SPACE).lower() == POLICY


class TagRewriter(ReferenceRewriter):
    """Replaces the references in start tags; common to HTML and XML."""

    def __init__(self, source: SourceText, page: PageReferences) -> None:
        super().__init__(source, page)
        self.done: set[int] = set()
        """Positions of values that are done: the parser may return an element twice, and the grammar an attribute."""

    def rebase(self, base: str, tag: int | None, attribute: str = "href") -> None:
        """Resolve references against *base*, and empty the base of the copy, whose links are relative to itself."""
        if base != self.page.base:
            self.page.rebase(base)
        if tag is not None:
            self.empty(tag, attribute)

    def empty(self, tag: int | None, attribute: str) -> None:
        """Replace a value by the empty string."""
        if tag is not None and (value := value_of(self.source.shape, tag, attribute)):
            start, end, quote = value
            self.edits.append((start, end, "" if quote else '""'))

    def attribute(
        self, element: TagAttributes, tag: int, place: LinkPlace, value: str, replacement: Replacement | None = None
    ) -> None:
        """Replace the references in an attribute of the element whose start tag is at *tag*.

        *replacement* is the replacement of the only reference of an ASCII value, if it is known already.
        """
        attribute, kind, form, when, codebase = place
        if attribute is None or (when and not when(element.attr)) or (codebase and element.attr(codebase)):
            return
        written = value_of(self.source.shape, tag, attribute)
        if written is None or written[0] in self.done:
            return
        start, end, quote = written
        self.done.add(start)
        if replacement is not None and self.source.shape[start:end] == value:
            self._whole(start, value, replacement, quote)
            led_to_copy = replacement.to_copy
        else:
            led_to_copy = self._parts(written, form, kind)
        if led_to_copy and kind:
            self._drop_integrity(element, tag)

    def _whole(self, start: int, value: str, replacement: Replacement, quote: str) -> None:
        """Replace a reference that is written without escapes."""
        address, sharp, _ = value.partition("#")
        new = replacement.address if sharp else replacement.address + replacement.fragment
        self.edits.append((start, start + len(address), new if replacement.to_copy else escape_value(new, quote)))

    def _parts(self, written: ValueSpan, form: ValueForm, kind: LinkKind) -> bool:
        """Replace the references in a value by its form; return whether one leads to a copy."""
        start, end, quote = written
        if form in SPANS:
            led_to_copy = self.value(start, end, form, kind, in_quotes(quote))
            if form is ValueForm.REFRESH and not led_to_copy and not self.page.live_requests:
                self._stop_refresh(start, end)
            return led_to_copy
        if form is ValueForm.MARKUP:
            self.inner_page(written)
        elif form is ValueForm.DIRECTORY:
            self._directory(written)
        return False

    def _stop_refresh(self, start: int, end: int) -> None:
        """Switch off a refresh to another address, but not one that only reloads the copy."""
        if list(SPANS[ValueForm.REFRESH](unescape_value(self.source.shape[start:end]).value)):
            self.edits.append((start, start, REFRESH_OFF))

    def inner_page(self, written: ValueSpan) -> None:
        """Convert a nested page in an attribute; overridden for HTML."""

    def _directory(self, written: ValueSpan) -> None:
        start, end, quote = written
        meant = unescape_value(self.source.decoded(self.source.text[start:end])).value
        if address := self.page.absolute(meant):
            self.edits.append((start, end, escape_value(address, quote)))

    def _drop_integrity(self, element: TagAttributes, tag: int) -> None:
        """Remove attributes such as ``integrity``, which are wrong for a copy."""
        for attribute in INTEGRITY_ATTRIBUTES:
            if element.attr(attribute) is not None and (span := span_of(self.source.shape, tag, attribute)):
                self.edits.append((*span, ""))
