"""The references of an HTML page replaced, where a browser's parser sees them."""

from __future__ import annotations

import re
from functools import cache
from itertools import accumulate

from turbohtml import Element

from tarantula.links.convert_tags import CONVERTED, TagRewriting, is_policy
from tarantula.links.escapes import escaped, unescaped
from tarantula.links.grammar import ANYWHERE, NAVIGATION, Form, Place
from tarantula.links.markup import DEEPEST_MARKUP, base_of, elements_and_places, parsed
from tarantula.links.relocate import UNKNOWN, Page, Relocator
from tarantula.links.rewriting import as_is
from tarantula.links.source import Source
from tarantula.links.start_tags import Value, end_of_tag
from tarantula.links.values import SPACE

_ONE, _STYLE = Form.ONE, Form.STYLE


def convert_html(body: bytes, url: str, charset: str | None, relocator: Relocator, folder: str) -> bytes:
    """Return an HTML page whose references lead where they should from *folder*."""
    source = Source.of_html(body, charset)
    page = HtmlPage(source, Page(relocator, url, folder, source.encoding))
    page.convert()
    return page.bytes()


class HtmlPage(TagRewriting):
    """A page of HTML, or one within another."""

    def __init__(self, source: Source, page: Page, depth: int = DEEPEST_MARKUP) -> None:
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
        document = parsed(markup, positions=True)
        tags = StartTags(markup, start)
        if whole:
            base, element = base_of(document, self.page.url, self.source.decoded)
            self.rebase(base, tags.place(element) if element else None)
        at_home = self.page.base == self.page.url
        elements, places_of = elements_and_places(document, CONVERTED)
        for element in elements:
            if element.tag != "a" or not self._anchor(element, tags):
                self._places(element, places_of.get(element.tag, ANYWHERE), tags, at_home)
        for element in filter(is_policy, document.select("meta[http-equiv]")):
            self.empty(tags.place(element), "content")

    def _anchor(self, element: Element, tags: StartTags) -> bool:
        """Replace the reference of a link that is written as most are; say whether it is."""
        value = element.attr("href")
        if not value or element.attr("ping") is not None or not value.isascii():
            return False
        address, sharp, _ = value.partition("#")
        moved = self.page.named.get(address, UNKNOWN)
        if moved is UNKNOWN:
            if value[0] <= " " or value[-1] <= " ":
                return False
            moved = self.page.moved(address, NAVIGATION)
        if moved is None:
            return True
        tag = tags.place(element)
        if tag is None or not moved.to_copy or not self.source.shape.startswith(f'<a href="{value}"', tag):
            return False
        start = tag + 9
        if start not in self.done:
            self.done.add(start)
            new = moved.address if sharp else moved.address + moved.fragment
            self.edits.append((start, start + len(address), new))
        return True

    def _places(self, element: Element, places: tuple[Place, ...], tags: StartTags, at_home: bool) -> None:
        """Replace the references of an element, wherever they are."""
        for place in places:
            attribute, kind, form, _, _ = place
            if attribute is None:
                self._text(element, place, tags)
                continue
            value, moved = element.attr(attribute), None
            if not value and (value is None or at_home):
                continue
            if form is _ONE:
                # Most references stay as they are: those within the page, and those to the rest of the web.
                value = value.strip(SPACE)
                if value.isascii() and (moved := self.page.moved(value.partition("#")[0], kind)) is None:
                    continue
            elif form is _STYLE and "(" not in value:
                continue
            if (tag := tags.place(element)) is not None:
                self.attribute(element, tag, place, value, moved)

    def _text(self, element: Element, place: Place, tags: StartTags) -> None:
        tag = tags.place(element)
        start = end_of_tag(self.source.shape, tag) if tag is not None else None
        if start is None or start in self.done or (place.when and not place.when(element.attr)):
            return
        self.done.add(start)
        found = _end_tag(element.tag).search(self.source.shape, start)
        end = found.start() if found else len(self.source.shape)
        if place.form is not Form.MARKUP:
            self.value(start, end, place.form, place.kind, as_is, plain=True)
        elif self._depth:
            self._depth -= 1
            self._convert(start, end)
            self._depth += 1

    def inner_page(self, written: Value) -> None:
        """Convert a page that is the value of an attribute."""
        if not self._depth:
            return
        at, end_of_value, quote = written
        shape = unescaped(self.source.shape[at:end_of_value])
        text = unescaped(self.source.text[at:end_of_value])
        source = Source(b"", text.value, shape.value, self.source.encoding, self.source.codec)
        inner = HtmlPage(source, self.page, self._depth - 1)
        inner.convert_inner()
        for start, end, new in inner.edits:
            self.edits.append((at + shape.place(start), at + shape.place(end), escaped(new, quote)))


class StartTags:
    """Knows where the elements of a piece of the document are written."""

    def __init__(self, markup: str, offset: int) -> None:
        self._offset = offset - 1
        self._lines = list(accumulate(map(len, markup.split("\n")), initial=0))

    def place(self, element: Element) -> int | None:
        """Return where the start tag of an element is, if it is written at all."""
        position = element.position
        if position is None:
            return None
        line, column = position
        return self._offset + self._lines[line - 1] + line + column


@cache
def _end_tag(tag: str) -> re.Pattern[str]:
    return re.compile(rf"</{re.escape(tag)}(?=[ \t\n\f/>])", re.IGNORECASE)
