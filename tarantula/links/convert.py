"""Convert the links of a document for a mirror: HTML, XHTML, SVG, feeds, sitemaps and CSS."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import accumulate

from turbohtml import Element, HTMLParseError, parse_xml

from tarantula.links.charset import decode_text, escape_value, repair_entities, unescape_value
from tarantula.links.extract import Extractor, css_links, extractor_for, xml_links
from tarantula.links.link import ANY_ELEMENT, XML_ROOTS, LinkKind, LinkPlace, LinkPlaces, ValueForm
from tarantula.links.markup import (
    MAX_NESTED_PAGES,
    base_of,
    elements_and_places,
    html_links,
    stylesheet_spans,
    xml_markup_links,
)
from tarantula.links.relocation import PageReferences, Relocator
from tarantula.links.rewriter import (
    CONVERTED_PLACES,
    MIRROR_POLICY,
    ReferenceRewriter,
    TagRewriter,
    in_quotes,
    is_policy,
    verbatim,
)
from tarantula.links.source import (
    ATTRIBUTES,
    PositionedTree,
    SourceText,
    ValueSpan,
    end_of_prologue,
    end_of_tag,
    plain_anchors,
    value_of,
)
from tarantula.links.values import SPACE, join_reference

_ONE, _STYLE = ValueForm.ONE, ValueForm.STYLE
_PLACES_WITHOUT_ANCHORS = CONVERTED_PLACES.without("a")
POLICY_TAG = f'<meta http-equiv="Content-Security-Policy" content="{MIRROR_POLICY}"{{}}>'
# Browsers load nothing of a feed or a sitemap.
_FEED_PLACES = {
    root: {tag: tuple(one._replace(kind=LinkKind.NAVIGATION) for one in places) for tag, places in places_of.items()}
    for root, places_of in XML_ROOTS.items()
}


def convert_html(body: bytes, url: str, charset: str | None, relocator: Relocator, folder: str) -> bytes:
    """Return an HTML page with converted links; its copy is in *folder*."""
    source = SourceText.of_html(body, charset)
    page = HtmlConverter(source, PageReferences(relocator, url, folder, source.encoding))
    page.convert()
    return page.bytes()


class HtmlConverter(TagRewriter):
    """Converts an HTML page, or a page nested in another."""

    def __init__(self, source: SourceText, page: PageReferences, depth: int = MAX_NESTED_PAGES) -> None:
        super().__init__(source, page)
        self._depth = depth

    def convert(self) -> None:
        """Replace the references of a whole page."""
        tree = PositionedTree(self.source.shape, 0)
        self._follow_base(tree)
        if not self.page.live_requests:
            self._insert_policy(tree)
        self._convert(tree, self.source.shape, 0)

    def convert_inner(self) -> None:
        """Replace the references of a page in an attribute, which may have a base of its own."""
        outer = self.page.base
        tree = PositionedTree(self.source.shape, 0)
        self._follow_base(tree)
        self._convert(tree, self.source.shape, 0)
        self.page.rebase(outer)

    def _follow_base(self, tree: PositionedTree) -> None:
        base, element = base_of(tree.document, self.page.base, lambda href: self.source.decoded(tree.as_written(href)))
        self.rebase(base, tree.place(element) if element else None)

    def _convert(self, tree: PositionedTree, markup: str, start: int) -> None:
        is_own_base = self.page.base == self.page.url
        elements, places_of = elements_and_places(tree.document, _PLACES_WITHOUT_ANCHORS)
        for element in elements:
            self._places(element, places_of.get(element.tag, ANY_ELEMENT), tree, is_own_base)
        anchors = list(tree.document.iter_elements("a"))
        is_html = places_of is _PLACES_WITHOUT_ANCHORS.html
        places = (CONVERTED_PLACES.html if is_html else CONVERTED_PLACES.with_svg)["a"]
        for element in self._convert_plain_anchors(anchors, tree.places(anchors), markup, start, is_own_base):
            self._places(element, places, tree, is_own_base)
        for element in filter(is_policy, tree.document.select("meta[http-equiv]")):
            self.empty(tree.place(element), "content")

    def _insert_policy(self, tree: PositionedTree) -> None:
        """Insert the mirror's policy before everything that a page may load."""
        if "<" not in self.source.shape:
            return
        self._stop_speculation(tree)
        for tag in ("head", "html"):
            element = next(tree.document.iter_elements(tag), None)
            start = tree.place(element) if element is not None else None
            if start is not None and (end := end_of_tag(self.source.shape, start)) is not None:
                break
        else:
            end = end_of_prologue(self.source.shape)
        self.edits.append((end, end, POLICY_TAG.format("")))

    def _stop_speculation(self, tree: PositionedTree) -> None:
        """Switch off the rules by which a browser loads linked pages in advance: no policy stops that."""
        for element in tree.document.select('script[type*="speculationrules" i]'):
            tag = tree.place(element)
            if tag is not None and (value := value_of(self.source.shape, tag, "type")):
                self.edits.append((*value[:2], "off-speculationrules"))

    def _convert_plain_anchors(
        self, anchors: list[Element], places: list[int | None], markup: str, start: int, is_own_base: bool
    ) -> list[Element]:
        """Replace the references of plainly written anchors; return the other ones."""
        pieces = plain_anchors(markup)
        ends = list(accumulate(map(len, pieces), initial=start))
        tags, addresses = ends[1:-1:3], pieces[2::3]
        written = self.page.written(addresses)
        spans = zip(ends[2::3], ends[3::3], addresses, written, strict=True)
        if tags == places and is_own_base and written.count("") == addresses.count(""):
            self.edits += [(first, last, new) for first, last, address, new in spans if new != address]
            return []
        others = dict(zip(places, anchors, strict=True))
        others.pop(None, None)
        for tag, (first, last, address, new) in zip(tags, spans, strict=True):
            if tag in others and (new or (is_own_base and not address)):
                del others[tag]
                if new != address:
                    self.edits.append((first, last, new))
        return list(others.values())

    def _places(self, element: Element, places: tuple[LinkPlace, ...], tree: PositionedTree, is_own_base: bool) -> None:
        """Replace the references in all places of an element."""
        for place in places:
            attribute, kind, form, _, _ = place
            if attribute is None:
                self._text(element, place, tree)
                continue
            value, replacement = tree.value(element, attribute), None
            if not value and (value is None or is_own_base):
                continue
            if form is _ONE:
                # Most references do not change: those within the page, and those to the web outside the mirror.
                value = value.strip(SPACE)
                if value.isascii() and (replacement := self.page.replacement(value.partition("#")[0], kind)) is None:
                    continue
            elif form is _STYLE and "(" not in value:
                continue
            if (tag := tree.place(element)) is not None:
                self.attribute(element, tag, place, value, replacement)

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
            markup = self.source.shape[start:end]
            self._convert(PositionedTree(markup, start), markup, start)
            self._depth += 1

    def inner_page(self, written: ValueSpan) -> None:
        """Convert a nested page in an attribute."""
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
    """An open XML element."""

    name: str
    """Local name, without its prefix."""
    start: int
    shape: str
    base: str = ""
    """Base URL of its parent."""

    def attr(self, name: str, /) -> str | None:
        """Return the value of an attribute."""
        value = value_of(self.shape, self.start, name)
        return None if value is None else unescape_value(self.shape[value[0] : value[1]]).value


def convert_xml_markup(body: bytes, url: str, charset: str | None, relocator: Relocator, folder: str) -> bytes:
    """Return XHTML or SVG with converted links; convert it as HTML if it is not well-formed."""
    text, encoding = decode_text(body, charset)
    try:
        parse_xml(repair_entities(text))
    except HTMLParseError:
        return convert_html(body, url, encoding, relocator, folder)
    return _converted(body, url, charset, relocator, folder)


def convert_xml(body: bytes, url: str, charset: str | None, relocator: Relocator, folder: str) -> bytes:
    """Return a feed, a sitemap, or XHTML and SVG sent as XML with converted links; other XML has only stylesheets."""
    return _converted(body, url, charset, relocator, folder)


def _converted(body: bytes, url: str, charset: str | None, relocator: Relocator, folder: str) -> bytes:
    source = SourceText.of_text(body, charset)
    page = XmlConverter(source, PageReferences(relocator, url, folder, source.encoding))
    page.convert()
    return page.bytes()


class XmlConverter(HtmlConverter):
    """Converts a document in XML."""

    def convert(self) -> None:
        """Replace the references of the document by the grammar of its root element."""
        tokens = list(_TOKEN.finditer(self.source.shape))
        root = next((_local_name(token["opened"]) for token in tokens if token["opened"]), "")
        is_page = root in ("html", "svg")
        if is_page:
            self._find_base(tokens)
        for start, end, quote in stylesheet_spans(self.source.shape):
            self.value(start, end, ValueForm.ONE, LinkKind.REQUISITE, in_quotes(quote))
        if places := _FEED_PLACES.get(root):
            self._walk(tokens, places, (), self._xml_base)
        elif is_page:
            if root == "html" and not self.page.live_requests:
                self._insert_xml_policy(tokens)
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
            if _is_start(token, "base"):
                tag = self._tag(token)
                href = tag.attr("href")
                if href is not None and (base := join_reference(self.page.url, self.source.decoded(href))):
                    self.rebase(base, tag.start)
                    return

    def _insert_xml_policy(self, tokens: list[re.Match[str]]) -> None:
        html, head = (next((one for one in tokens if _is_start(one, name)), None) for name in ("html", "head"))
        assert html is not None
        prefix = html["opened"].removesuffix("html")
        meta = POLICY_TAG.format("/").replace("<meta", f"<{prefix}meta")
        if head is None:
            self.edits.append((html.end(), html.end(), f"<{prefix}head>{meta}</{prefix}head>"))
        elif not head[0].endswith("/>"):
            self.edits.append((head.end(), head.end(), meta))
        else:
            self.edits.append((head.end() - 2, head.end(), f">{meta}</{prefix}head>"))

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


def _is_start(token: re.Match[str], name: str) -> bool:
    return bool(token["opened"]) and _local_name(token["opened"]) == name


ConvertFunction = Callable[[bytes, str, "str | None", Relocator, str], bytes]


def convert_links(
    body: bytes, media_type: str | None, url: str, charset: str | None, relocator: Relocator, folder: str
) -> bytes:
    """Return a document whose references lead to copies, relative to *folder*, or else to the web.

    *body*, *media_type*, *url* and *charset* are what `tarantula.links.extract.extract_links` takes. Documents without
    references, and types without a converter, are returned unchanged.
    """
    reader = extractor_for(body, media_type or "", url)
    converter = CONVERTERS.get(reader) if reader else None
    return converter(body, url, charset, relocator, folder) if converter else body


def convert_css(body: bytes, url: str, charset: str | None, relocator: Relocator, folder: str) -> bytes:
    """Return a stylesheet with converted links; its copy is in *folder*."""
    sheet = ReferenceRewriter(SourceText.of_text(body, charset), PageReferences(relocator, url, folder))
    sheet.value(0, len(sheet.source.shape), ValueForm.STYLE, LinkKind.IN_STYLE, verbatim, plain=True)
    return sheet.bytes()


CONVERTERS: dict[Extractor, ConvertFunction] = {
    html_links: convert_html,
    xml_markup_links: convert_xml_markup,
    xml_links: convert_xml,
    css_links: convert_css,
}
"""Converter for each extractor of links."""
