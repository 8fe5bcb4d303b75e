"""The page shown in the picker: numbered elements, sanitised HTML and CSS, and its stylesheets and images."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from typing import NamedTuple, TypeVar

from turbohtml import Doctype, Document, Element, Namespace, Text
from turbohtml.clean import OnDisallowed, Policy, Sanitizer

from tarantula.core.errors import TarantulaError
from tarantula.core.limited_worker import in_parser_thread
from tarantula.core.urls import is_web, resolve
from tarantula.fetch.egress import EgressPolicy
from tarantula.fetch.exchange import Exchange
from tarantula.fetch.media_types import charset_of, media_type
from tarantula.links.charset import decode_text
from tarantula.links.values import spans_in_css
from tarantula.streams.adapters.base import SourceResponse, UnreadableResponse, parse_page
from tarantula.streams.limited import ask_worker
from tarantula.streams.picker.client import PickerClient, PickerRequest

MOST_ELEMENTS = 40_000
"""Maximum number of elements of a page shown in the picker."""
EMPTY_URL = "data:,"
LONGEST_SHEET = 1_000_000
"""Maximum number of characters of a stylesheet."""
_SIDES = ("top", "right", "bottom", "left")
_CSS_PROPERTIES = """
    align-content align-items align-self background background-color border border-collapse border-color border-radius
    border-spacing border-style border-width bottom box-shadow box-sizing caption-side clear color column-count
    column-gap columns cursor direction display flex flex-basis flex-direction flex-flow flex-grow flex-shrink
    flex-wrap float font font-family font-size font-style font-variant font-weight gap grid grid-area grid-column
    grid-row grid-template grid-template-areas grid-template-columns grid-template-rows height justify-content
    justify-items justify-self left letter-spacing line-height list-style list-style-position list-style-type margin
    max-height max-width min-height min-width opacity order outline overflow overflow-wrap overflow-x overflow-y
    padding position right row-gap table-layout text-align text-decoration text-indent text-overflow text-transform
    top transform unicode-bidi vertical-align visibility white-space width word-break word-spacing z-index
"""
ALLOWED_PROPERTIES = frozenset(
    {
        *_CSS_PROPERTIES.split(),
        *(f"{part}-{side}" for part in ("margin", "padding", "border") for side in _SIDES),
        *(f"border-{side}-{what}" for side in _SIDES for what in ("color", "style", "width")),
    }
)
"""CSS properties allowed in style attributes."""
_ESCAPE = r"\\(?:[0-9a-fA-F]{1,6}(?:\r\n|[ \t\n\r\f])?+|.)"
_CSS_NAME = re.compile(rf"(?<![\w\\-])(?:[\w-]++|{_ESCAPE})++(?=\()|@(?:[\w-]++|{_ESCAPE})++", re.DOTALL)
"""Names of functions and at-rules, which may contain CSS escapes."""
NUMBER_ATTRIBUTE = "data-tarantula"
"""Attribute with the number of an element."""
MOST_SHEETS, MOST_IMAGES = 20, 100
"""Maximum numbers of stylesheets and images shown."""
_IMAGE_DATA_URLS = ("data:image/png", "data:image/gif", "data:image/jpeg", "data:image/webp")
_TAGS = frozenset(
    "html body main section article aside header footer nav address h1 h2 h3 h4 h5 h6 hgroup div p hr pre blockquote "
    "ol ul li menu dl dt dd figure figcaption a abbr b bdi bdo br cite code data del dfn em i ins kbd mark q rp rt "
    "ruby s samp small span strong sub sup time u var wbr img table caption colgroup col thead tbody tfoot tr td th "
    "details summary output meter progress center font big tt strike acronym nobr label fieldset legend".split()
)
_ATTRIBUTES = {
    "*": frozenset(
        {NUMBER_ATTRIBUTE, "class", "id", "style", "title", "lang", "dir", "hidden", "align", "valign", "width"}
    )
    | frozenset({"height", "bgcolor", "color", "size", "face", "nowrap", "role"}),
    "a": frozenset({"href", "tabindex"}),
    "img": frozenset({"src", "alt", "border"}),
    "table": frozenset({"border", "cellpadding", "cellspacing"}),
    "td": frozenset({"colspan", "rowspan", "headers"}),
    "th": frozenset({"colspan", "rowspan", "headers", "scope"}),
    "col": frozenset({"span"}),
    "colgroup": frozenset({"span"}),
    "ol": frozenset({"start", "type", "reversed"}),
    "li": frozenset({"value"}),
    "time": frozenset({"datetime"}),
    "data": frozenset({"value"}),
    "details": frozenset({"open"}),
    **dict.fromkeys(("meter", "progress"), frozenset({"value", "min", "max"})),
}
_REPLACED_TAGS = {
    "form": "div",
    "button": "span",
    "input": "span",
    "select": "span",
    "textarea": "span",
    "dialog": "div",
}
"""Interactive elements and their inert replacements."""
_REMOVED_TAGS = frozenset(
    "head script style link meta base title template noscript noframes noembed iframe frame frameset object embed "
    "applet param svg math canvas audio video source track map area portal xmp plaintext listing".split()
)
LARGEST_IMAGE_BYTES = 2_000_000
MAX_PARSE_SECONDS = 0.2
"""Maximum processor time for the element tree of a page: while it is built, nothing else is answered."""
PART_TIMEOUT_SECONDS = 15.0
"""Timeout of one stylesheet or image."""
IMAGE_TYPES = frozenset(
    f"image/{kind}" for kind in ("png", "gif", "jpeg", "webp", "avif", "bmp", "svg+xml", "x-icon", "vnd.microsoft.icon")
)


class PageTree:
    """The elements of a page, numbered in page order."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.elements = [node for node in document.descendants if isinstance(node, Element)]
        if len(self.elements) > MOST_ELEMENTS:
            raise TarantulaError(
                "The page has {count:,} elements; at most {limit:,} can be shown. "
                "Use selectors with `tarantula stream add`.",
                count=len(self.elements),
                limit=MOST_ELEMENTS,
            )

    @classmethod
    def of(cls, response: SourceResponse) -> PageTree:
        """Parse a response as the adapters do."""
        try:
            return cls(parse_page(response))
        except UnreadableResponse as error:
            raise TarantulaError(str(error)) from error

    @cached_property
    def _numbers(self) -> dict[Element, int]:
        return {element: number for number, element in enumerate(self.elements)}

    def element(self, number: int) -> Element:
        """Return the element with that number; raise `TarantulaError` if there is none."""
        if not 0 <= number < len(self.elements):
            raise TarantulaError("This element is not on the page. Open the page again.")
        return self.elements[number]

    def number(self, element: Element) -> int:
        """Return the number of an element."""
        return self._numbers[element]


def safe_css(text: str) -> str:
    """Return a stylesheet with all references removed."""
    text = _without_escapes(text[:LONGEST_SHEET])
    pieces: list[str] = []
    done = 0
    for start, end in spans_in_css(text):
        pieces += (text[done:start], EMPTY_URL)
        done = end
    return "".join((*pieces, text[done:]))


def _without_escapes(text: str) -> str:
    """Replace function and at-rule names that contain escapes, which could hide a reference."""
    return _CSS_NAME.sub(lambda name: "x" if "\\" in name[0] else name[0], text) if "\\" in text else text


_sanitizer = Sanitizer(
    Policy(
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        url_schemes=frozenset({"data"}),
        on_disallowed_tag=OnDisallowed.STRIP,
        remove_with_content=_REMOVED_TAGS,
        css_properties=ALLOWED_PROPERTIES,
        transform_tags=_REPLACED_TAGS,
        custom_element_check=lambda name: True,
        allow_svg=False,
        allow_mathml=False,
    )
)


class PageSheet(NamedTuple):
    """A stylesheet of a page."""

    url: str = ""
    """URL of an external stylesheet; empty for an inline one."""
    text: str = ""
    media: str = ""


@dataclass(slots=True)
class SafePage:
    """Sanitised page; stylesheets and images are requested by their index in these lists."""

    title: str
    body: str
    attributes: str
    """Attributes of the html element."""
    doctype: str
    sheets: list[PageSheet] = field(default_factory=list)
    images: list[str] = field(default_factory=list)

    def document(self, nonce: str, script: str) -> str:
        """Return the page with our script, which has the *nonce* and runs before anything can be clicked."""
        links = "".join(
            f'<link rel="stylesheet" href="sheet/{number}" media="{escape(sheet.media)}">'
            for number, sheet in enumerate(self.sheets)
        )
        return (
            f'{self.doctype}<html{self.attributes}><head><meta charset="utf-8"><title>{escape(self.title)}</title>'
            f'<script nonce="{escape(nonce)}" src="{escape(script)}"></script>{links}</head>{self.body}</html>'
        )


def safe_page(tree: PageTree, url: str) -> SafePage:
    """Return the sanitised page. The tree is modified and cannot be used again."""
    document = tree.document
    if (frames := document.select("frameset frame[src]")) or document.select_one("body") is None:
        named = ", ".join(filter(None, (resolve(url, frame.attr("src") or "") for frame in frames[:5])))
        raise TarantulaError(
            "The page consists of frames. Open one of them: {named}.", named=named or "none has an address"
        )
    base = document.base_url(url) or url
    title = document.select_one("title")
    page = SafePage(" ".join(title.text.split())[:200] if title is not None else "", "", "", _doctype(tree))
    for number, element in enumerate(tree.elements):
        if element.namespace == Namespace.HTML:
            _prepare(element, page, base)
        element.attrs[NUMBER_ATTRIBUTE] = str(number)
    clean = _sanitizer.sanitize_node(document)
    body, root = clean.select_one("body"), clean.root
    page.body = body.html if body is not None else "<body></body>"
    if root is not None:
        page.attributes = "".join(f' {name}="{escape(str(value or ""))}"' for name, value in root.attrs.items())
    return page


def _prepare(element: Element, page: SafePage, base: str) -> None:
    """Rewrite one element so that the sanitiser keeps its content."""
    if style := element.attr("style"):
        element.attrs["style"] = safe_css(style)
    match element.tag:
        case "img":
            _image(element, page, base)
        case "style":
            _sheet(page, PageSheet(text=safe_css(element.text), media=element.attr("media") or ""))
        case "link":
            _linked_sheet(element, page, base)
        case "a" | "area":
            if "href" in element.attrs:
                element.attrs["href"], element.attrs["tabindex"] = "#", "-1"
        case "details":
            element.attrs["open"] = ""
        case "input" | "select" | "textarea":
            _field(element)
        case _:
            pass


def _image(element: Element, page: SafePage, base: str) -> None:
    address = element.attr("src") or ""
    if address.startswith(_IMAGE_DATA_URLS):
        return
    url = resolve(base, address) if address else None
    if url is None or not is_web(url) or (url not in page.images and len(page.images) >= MOST_IMAGES):
        element.attrs.pop("src", None)
        return
    if url not in page.images:
        page.images.append(url)
    element.attrs["src"] = f"image/{page.images.index(url)}"


def _linked_sheet(element: Element, page: SafePage, base: str) -> None:
    kinds = (element.attr("rel") or "").lower().split()
    url = resolve(base, element.attr("href") or "")
    if "stylesheet" in kinds and "alternate" not in kinds and url is not None and is_web(url):
        _sheet(page, PageSheet(url=url, media=element.attr("media") or ""))


def _sheet(page: SafePage, sheet: PageSheet) -> None:
    if len(page.sheets) < MOST_SHEETS and sheet.media.strip().lower() != "print":
        page.sheets.append(sheet)


def _field(element: Element) -> None:
    """Replace an input field by its text."""
    kind = (element.attr("type") or "text").lower()
    value = element.field_value
    shown = value if isinstance(value, str) else ""
    if element.tag == "input":
        shown = {"hidden": "", "password": "••••"}.get(kind, shown or element.attr("placeholder") or "▭")
    element.clear()
    element.append(Text(shown[:200]))


def _doctype(tree: PageTree) -> str:
    return "<!doctype html>" if any(isinstance(node, Doctype) for node in tree.document.children) else ""


Part = TypeVar("Part")


@dataclass(frozen=True, slots=True)
class PickerPage:
    """A page in the picker: the response, its element tree, and its sanitised form."""

    response: SourceResponse
    tree: PageTree
    page: SafePage
    policy: EgressPolicy
    """Which addresses stylesheets and images may be at."""

    @classmethod
    def from_response(cls, response: SourceResponse, policy: EgressPolicy) -> PickerPage:
        """Prepare a response for the picker."""
        at = response.at.isoformat() if response.at is not None else None
        about = {"url": response.url, "type": response.content_type, "at": at}
        # A worker parses the page first: what it takes there is what it takes here.
        found = ask_worker("page", {"response": about}, response.body)
        if found["seconds"] > MAX_PARSE_SECONDS:
            raise TarantulaError("The page takes too long to parse. Use selectors with `tarantula stream add`.")
        title, body, attributes, doctype = found["page"]
        sheets = [PageSheet(*sheet) for sheet in found["sheets"]]
        shown = SafePage(title, body, attributes, doctype, sheets, found["images"])
        return cls(response, PageTree.of(response), shown, policy)

    async def sheet(self, number: int, client: PickerClient) -> str:
        """Return one stylesheet without references."""
        sheet = _item_at(self.page.sheets, number)
        if not sheet.url:
            return sheet.text
        exchange = await self._fetch(client, sheet.url, LONGEST_SHEET, "text/css")
        if media_type(exchange.get(b"content-type")) != "text/css":
            raise TarantulaError("This is not a stylesheet.")
        text = decode_text(exchange.body, charset_of(exchange.get(b"content-type")))[0]
        return str(await in_parser_thread(ask_worker, "sheet", {"text": text[:LONGEST_SHEET]}))

    async def image(self, number: int, client: PickerClient) -> tuple[bytes, str]:
        """Return one image and its media type."""
        exchange = await self._fetch(client, _item_at(self.page.images, number), LARGEST_IMAGE_BYTES, "image/*")
        kind = media_type(exchange.get(b"content-type"))
        if kind not in IMAGE_TYPES:
            raise TarantulaError("This is not an image.")
        return exchange.body, kind

    async def _fetch(self, client: PickerClient, url: str, largest: int, accept: str) -> Exchange:
        request = PickerRequest(url, self.policy, largest, PART_TIMEOUT_SECONDS, accept=accept)
        exchange = await client.get(request)
        if exchange.status != 200:
            raise TarantulaError("The server answered {status}.", status=exchange.status)
        return exchange


def _item_at(known: Sequence[Part], number: int) -> Part:
    if not 0 <= number < len(known):
        raise TarantulaError("There is nothing at this address.")
    return known[number]
