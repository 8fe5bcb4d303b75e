"""The references of XML replaced: XHTML, SVG, feeds and sitemaps."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from turbohtml import HTMLParseError, parse_xml

from tarantula.links.character_references import escape_value, unescape_value
from tarantula.links.character_references_part_entities import repair_entities
from tarantula.links.charset import decode_text
from tarantula.links.convert_part_convert_html import HtmlConverter, convert_html
from tarantula.links.grammar import ANY_ELEMENT, XML_ROOTS, LinkPlace, LinkPlaces, ValueForm
from tarantula.links.relocation import Relocator
from tarantula.links.relocation_part_page import PageReferences
from tarantula.links.resolve import join_reference
from tarantula.links.rewriter import CONVERTED_PLACES, is_policy
from tarantula.links.rewriter_part_rewriting import verbatim
from tarantula.links.source import SourceText
from tarantula.links.source_part_start_tags import ATTRIBUTES, value_of

_TOKEN = re.compile(
    rf"""<!--.*?(?:-->|\Z) | <\?.*?(?:\?>|\Z)
    | <!\[CDATA\[(?P<cdata>.*?)(?:\]\]>|\Z)
    | <!(?:[^<>\[]++|\[.*?\]\s*(?=>))*+>
    | </(?P<closed>[^\s>]++)[^>]*+>
    | <(?P<opened>[^\s/>!?<]++)(?:{ATTRIBUTES})[\s/]*+(?:>|\Z)
    | (?P<text>[^<]++)""",
    re.VERBOSE | re.DOTALL,
)
_BASE = "xml:base"


@dataclass(slots=True)
class XmlTag:
    """An element that is open."""

    name: str
    """Without its prefix."""
    start: int
    shape: str
    base: str = ""
    """What its parents' references are relative to."""

    def attr(self, name: str, /) -> str | None:
        """Return the value of an attribute."""
        value = value_of(self.shape, self.start, name)
        return None if value is None else unescape_value(self.shape[value[0] : value[1]]).value


def convert_xml_markup(body: bytes, url: str, charset: str | None, relocator: Relocator, folder: str) -> bytes:
    """Return XHTML or SVG whose references lead where they should; what breaks the rules of XML is taken as HTML."""
    try:
        parse_xml(repair_entities(decode_text(body, charset)[0]))
    except HTMLParseError:
        return convert_html(body, url, charset, relocator, folder)
    return _converted(body, url, charset, relocator, folder)


def convert_xml(body: bytes, url: str, charset: str | None, relocator: Relocator, folder: str) -> bytes:
    """Return a feed, a sitemap, or markup that travels as XML; other XML stays as it is."""
    return _converted(body, url, charset, relocator, folder)


def _converted(body: bytes, url: str, charset: str | None, relocator: Relocator, folder: str) -> bytes:
    source = SourceText.of_text(body, charset)
    page = XmlConverter(source, PageReferences(relocator, url, folder, source.encoding))
    page.convert()
    return page.bytes()


class XmlConverter(HtmlConverter):
    """A document in XML."""

    def convert(self) -> None:
        """Replace the references of the whole document, by the grammar that its root element announces."""
        tokens = list(_TOKEN.finditer(self.source.shape))
        root = next((_local_name(token["opened"]) for token in tokens if token["opened"]), "")
        if places := XML_ROOTS.get(root):
            self._walk(tokens, places, (), self._xml_base)
        elif root in ("html", "svg"):
            self._find_base(tokens)
            self._walk(tokens, CONVERTED_PLACES.with_style, ANY_ELEMENT, self._policy)

    def _walk(
        self,
        tokens: list[re.Match[str]],
        places_of: LinkPlaces,
        anywhere: tuple[LinkPlace, ...],
        opened: Callable[[XmlTag], None],
    ) -> None:
        tags: list[XmlTag] = []
        for token in tokens:
            if token.lastgroup == "opened":
                tag = self._tag(token)
                opened(tag)
                self._attributes(tag, places_of.get(tag.name, anywhere))
                tags.append(tag)
                if token[0].endswith("/>"):
                    self._close(tags, tag.name)
            elif token.lastgroup == "closed":
                self._close(tags, _local_name(token["closed"]))
            elif token.lastgroup and tags:
                self._content(token, tags[-1], places_of.get(tags[-1].name, ()))

    def _close(self, tags: list[XmlTag], name: str) -> None:
        if any(tag.name == name for tag in tags):
            while tags:
                tag = tags.pop()
                self.page.rebase(tag.base)
                if tag.name == name:
                    return

    def _attributes(self, tag: XmlTag, places: tuple[LinkPlace, ...]) -> None:
        for place in places:
            if place.attribute and (value := tag.attr(place.attribute)):
                self.attribute(tag, tag.start, place, value)

    def _content(self, token: re.Match[str], tag: XmlTag, places: tuple[LinkPlace, ...]) -> None:
        for place in places:
            if place.attribute or place.form is ValueForm.MARKUP or (place.when and not place.when(tag.attr)):
                continue
            start, end = token.span(token.lastgroup or 0)
            if not self.source.shape[start:end].isspace():
                plain = token.lastgroup == "cdata"
                self.value(start, end, place.form, place.kind, verbatim if plain else escape_value, plain)

    def _find_base(self, tokens: list[re.Match[str]]) -> None:
        for token in tokens:
            if token["opened"] and _local_name(token["opened"]) == "base":
                tag = self._tag(token)
                href = tag.attr("href")
                if href is not None and (base := join_reference(self.page.url, self.source.decoded(href))):
                    self.rebase(base, tag.start)
                    return

    def _xml_base(self, tag: XmlTag) -> None:
        written = tag.attr(_BASE)
        if written and (base := join_reference(self.page.base, self.source.decoded(written))):
            self.rebase(base, tag.start, _BASE)

    def _policy(self, tag: XmlTag) -> None:
        if tag.name == "meta" and is_policy(tag):
            self.empty(tag.start, "content")

    def _tag(self, token: re.Match[str]) -> XmlTag:
        return XmlTag(_local_name(token["opened"]), token.start(), self.source.shape, self.page.base)


def _local_name(name: str) -> str:
    return name.rpartition(":")[2]
