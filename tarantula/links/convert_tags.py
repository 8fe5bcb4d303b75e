"""The references in start tags replaced: what HTML and XML have in common."""

from __future__ import annotations

from typing import Protocol

from tarantula.links.escapes import escaped, unescaped
from tarantula.links.grammar import PROMISES, UNVISITED, Form, Place
from tarantula.links.link import LinkKind
from tarantula.links.markup import Tables
from tarantula.links.relocate import Moved, Page
from tarantula.links.rewriting import Rewriting, in_quotes
from tarantula.links.source import Edit, Source
from tarantula.links.start_tags import Value, span_of, value_of
from tarantula.links.values import SPACE

CONVERTED = Tables.of(UNVISITED)
POLICY = "content-security-policy"

_NAVIGATION = LinkKind.NAVIGATION
_ONE = Form.ONE


class Tag(Protocol):
    """What is asked of an element."""

    def attr(self, name: str, /) -> str | None:
        """Return the value of an attribute."""


def is_policy(meta: Tag) -> bool:
    """Whether a meta element says from where its page may load something: no longer true of a copy."""
    return (meta.attr("http-equiv") or "").strip(SPACE).lower() == POLICY


class TagRewriting(Rewriting):
    """What becomes of the references in the start tags of a document."""

    def __init__(self, source: Source, page: Page) -> None:
        super().__init__(source, page)
        self.done: set[int] = set()
        """Where values were that are dealt with: a parser may see an element twice, and a grammar an attribute."""

    def rebase(self, base: str, tag: int | None, attribute: str = "href") -> None:
        """Take references as relative to *base*, and let a copy's be relative to itself: an empty base is none."""
        self.page.rebase(base)
        if tag is not None:
            self.empty(tag, attribute)

    def empty(self, tag: int | None, attribute: str) -> None:
        """Leave nothing of a value."""
        if tag is not None and (value := value_of(self.source.shape, tag, attribute)):
            self.edits.append(Edit(value.start, value.end, "" if value.quote else '""'))

    def may_move(self, place: Place, value: str) -> bool:
        """Whether a value is worth looking for where it is written."""
        if place.form is not _ONE or not value.isascii():
            return True
        return self.page.moved(value.strip(SPACE).partition("#")[0], place.kind) is not None

    def attribute(self, element: Tag, tag: int | None, place: Place, value: str) -> None:
        """Replace the references of an attribute of the element whose start tag is at *tag*."""
        attribute, kind, form, when, codebase = place
        if (
            tag is None
            or attribute is None
            or (when and not when(element.attr))
            or (codebase and element.attr(codebase))
        ):
            return
        written = value_of(self.source.shape, tag, attribute)
        if written is None or written.start in self.done:
            return
        self.done.add(written.start)
        if self._replace(written, form, kind, value) and kind is not _NAVIGATION:
            self._release(element, tag)

    def _replace(self, written: Value, form: Form, kind: LinkKind, value: str) -> bool:
        """Replace the references of a value; say whether one leads to a copy."""
        if form is _ONE:
            address, sharp, _ = value.partition("#")
            if (
                value.isascii()
                and self.source.shape[written.start : written.end] == value
                and (moved := self.page.moved(address, kind))
            ):
                return self._whole(written, address, bool(sharp), moved)
        elif form is Form.MARKUP:
            self.inner_page(written)
            return False
        elif form is Form.DIRECTORY:
            self._directory(written)
            return False
        elif form is Form.CLASS:
            return False
        return self.value(written.start, written.end, form, kind, in_quotes(written.quote))

    def _whole(self, written: Value, address: str, has_fragment: bool, moved: Moved) -> bool:
        """Replace a reference that is written as it is meant."""
        new = moved.address if has_fragment else moved.address + moved.fragment
        end = written.start + len(address)
        self.edits.append(Edit(written.start, end, new if moved.to_copy else escaped(new, written.quote)))
        return moved.to_copy

    def inner_page(self, written: Value) -> None:
        """Convert a page that is the value of an attribute."""

    def _directory(self, written: Value) -> None:
        meant = unescaped(self.source.decoded(self.source.text[written.start : written.end])).value
        if address := self.page.absolute(meant):
            self.edits.append(Edit(written.start, written.end, escaped(address, written.quote)))

    def _release(self, element: Tag, tag: int) -> None:
        """Take out what the page says of a target that is no longer the same."""
        for attribute in PROMISES:
            if element.attr(attribute) is not None and (span := span_of(self.source.shape, tag, attribute)):
                self.edits.append(Edit(*span, ""))
