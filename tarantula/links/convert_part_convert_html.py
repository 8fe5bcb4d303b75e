"""The references of an HTML page replaced, where a browser's parser sees them."""

from __future__ import annotations

import re
from functools import cache
from itertools import accumulate

from turbohtml import Element

from tarantula.links.character_references import escape_value, unescape_value
from tarantula.links.grammar import ANY_ELEMENT, LinkPlace, ValueForm
from tarantula.links.markup import MAX_NESTED_PAGES, base_of, elements_and_places
from tarantula.links.relocation import Relocator
from tarantula.links.relocation_part_page import PageReferences
from tarantula.links.rewriter import CONVERTED_PLACES, TagRewriter, is_policy
from tarantula.links.rewriter_part_rewriting import verbatim
from tarantula.links.source import SourceText
from tarantula.links.source_part_start_tags import ValueSpan, end_of_tag, plain_anchors
from tarantula.links.source_part_tree import PositionedTree
from tarantula.links.values import SPACE

_ONE, _STYLE = ValueForm.ONE, ValueForm.STYLE
_ALL_BUT_ANCHORS = CONVERTED_PLACES.without("a")


def convert_html(body: bytes, url: str, charset: str | None, relocator: Relocator, folder: str) -> bytes:
    """Return an HTML page whose references lead where they should from *folder*."""
    source = SourceText.of_html(body, charset)
    page = HtmlConverter(source, PageReferences(relocator, url, folder, source.encoding))
    page.convert()
    return page.bytes()


class HtmlConverter(TagRewriter):
    """A page of HTML, or one within another."""

    def __init__(self, source: SourceText, page: PageReferences, depth: int = MAX_NESTED_PAGES) -> None:
        super().__init__(source, page)
        self._depth = depth

    def convert(self) -> None:
        """Replace the references of a whole page."""
        self._convert(0, len(self.source.shape), whole=True)

    def convert_inner(self) -> None:
        """Replace the references of a page that has no base of its own."""
        self._convert(0, len(self.source.shape))

    def _convert(self, start: int, end: int, whole: bool = False) -> None:
        markup = self.source.shape[start:end]
        tree = PositionedTree(markup, start)
        if whole:
            base, element = base_of(
                tree.document, self.page.url, lambda href: self.source.decoded(tree.as_written(href))
            )
            self.rebase(base, tree.place(element) if element else None)
        at_home = self.page.base == self.page.url
        elements, places_of = elements_and_places(tree.document, _ALL_BUT_ANCHORS)
        for element in elements:
            self._places(element, places_of.get(element.tag, ANY_ELEMENT), tree, at_home)
        anchors = list(tree.document.iter_elements("a"))
        places = (CONVERTED_PLACES.html if places_of is _ALL_BUT_ANCHORS.html else CONVERTED_PLACES.with_svg)["a"]
        for element in self._all_but_plain(anchors, tree.places(anchors), markup, start, at_home):
            self._places(element, places, tree, at_home)
        for element in filter(is_policy, tree.document.select("meta[http-equiv]")):
            self.empty(tree.place(element), "content")

    def _all_but_plain(
        self, anchors: list[Element], places: list[int | None], markup: str, start: int, at_home: bool
    ) -> list[Element]:
        """Replace the references of those links that are written as most are; return the others."""
        pieces = plain_anchors(markup)
        ends = list(accumulate(map(len, pieces), initial=start))
        tags, addresses = ends[1:-1:3], pieces[2::3]
        written = self.page.written(addresses)
        spans = zip(ends[2::3], ends[3::3], addresses, written, strict=True)
        if tags == places and at_home and written.count("") == addresses.count(""):
            self.edits += [(first, last, new) for first, last, address, new in spans if new != address]
            return []
        others = dict(zip(places, anchors, strict=True))
        others.pop(None, None)
        for tag, (first, last, address, new) in zip(tags, spans, strict=True):
            if tag in others and (new or (at_home and not address)):
                del others[tag]
                if new != address:
                    self.edits.append((first, last, new))
        return list(others.values())

    def _places(self, element: Element, places: tuple[LinkPlace, ...], tree: PositionedTree, at_home: bool) -> None:
        """Replace the references of an element, wherever they are."""
        for place in places:
            attribute, kind, form, _, _ = place
            if attribute is None:
                self._text(element, place, tree)
                continue
            value, moved = tree.value(element, attribute), None
            if not value and (value is None or at_home):
                continue
            if form is _ONE:
                # Most references stay as they are: those within the page, and those to the rest of the web.
                value = value.strip(SPACE)
                if value.isascii() and (moved := self.page.moved(value.partition("#")[0], kind)) is None:
                    continue
            elif form is _STYLE and "(" not in value:
                continue
            if (tag := tree.place(element)) is not None:
                self.attribute(element, tag, place, value, moved)

    def _text(self, element: Element, place: LinkPlace, tree: PositionedTree) -> None:
        tag = tree.place(element)
        start = end_of_tag(self.source.shape, tag) if tag is not None else None
        if start is None or start in self.done or (place.when and not place.when(element.attr)):
            return
        self.done.add(start)
        found = _end_tag(element.tag).search(self.source.shape, start)
        end = found.start() if found else len(self.source.shape)
        if place.form is not ValueForm.MARKUP:
            self.value(start, end, place.form, place.kind, verbatim, plain=True)
        elif self._depth:
            self._depth -= 1
            self._convert(start, end)
            self._depth += 1

    def inner_page(self, written: ValueSpan) -> None:
        """Convert a page that is the value of an attribute."""
        if not self._depth:
            return
        at, end_of_value, quote = written
        shape = unescape_value(self.source.shape[at:end_of_value])
        text = unescape_value(self.source.text[at:end_of_value])
        source = SourceText(b"", text.value, shape.value, self.source.encoding, self.source.codec)
        inner = HtmlConverter(source, self.page, self._depth - 1)
        inner.convert_inner()
        for start, end, new in inner.edits:
            self.edits.append((at + shape.place(start), at + shape.place(end), escape_value(new, quote)))


@cache
def _end_tag(tag: str) -> re.Pattern[str]:
    return re.compile(rf"</{re.escape(tag)}(?=[ \t\n\f/>])", re.IGNORECASE)
