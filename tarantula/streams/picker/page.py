"""A stranger's page that can be looked at: what it says and how it looks, and nothing that acts or asks."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import NamedTuple

from turbohtml import Doctype, Element, Namespace, Text
from turbohtml.clean import OnDisallowed, Policy, Sanitizer

from tarantula.core.errors import TarantulaError
from tarantula.core.urls import is_web, resolve
from tarantula.streams.picker.page_part_safe_css import ALLOWED_PROPERTIES, safe_css
from tarantula.streams.picker.page_part_tree import PageTree

NUMBER_ATTRIBUTE = "data-tarantula"
"""The attribute that carries an element's number."""
MOST_SHEETS, MOST_IMAGES = 20, 100
"""What else of a page is shown."""
_PICTURES = ("data:image/png", "data:image/gif", "data:image/jpeg", "data:image/webp")

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
_INERT = {"form": "div", "button": "span", "input": "span", "select": "span", "textarea": "span", "dialog": "div"}
"""What would act becomes what does not."""
_GONE = frozenset(
    "head script style link meta base title template noscript noframes noembed iframe frame frameset object embed "
    "applet param svg math canvas audio video source track map area portal xmp plaintext listing".split()
)

_sanitizer = Sanitizer(
    Policy(
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        url_schemes=frozenset({"data"}),
        on_disallowed_tag=OnDisallowed.STRIP,
        remove_with_content=_GONE,
        css_properties=ALLOWED_PROPERTIES,
        transform_tags=_INERT,
        custom_element_check=lambda name: True,
        allow_svg=False,
        allow_mathml=False,
    )
)


class PageSheet(NamedTuple):
    """A stylesheet of a page."""

    url: str = ""
    """Where it is, unless it is in the page."""
    text: str = ""
    media: str = ""


@dataclass(slots=True)
class SafePage:
    """What is shown of a page; sheets and images are asked for by their place in these lists."""

    title: str
    body: str
    attributes: str
    """Of the html element."""
    doctype: str
    sheets: list[PageSheet] = field(default_factory=list)
    images: list[str] = field(default_factory=list)

    def document(self, nonce: str, script: str) -> str:
        """Return the page with one script, which is ours, has the *nonce*, and runs before anything can be clicked."""
        links = "".join(
            f'<link rel="stylesheet" href="sheet/{number}" media="{escape(sheet.media)}">'
            for number, sheet in enumerate(self.sheets)
        )
        return (
            f'{self.doctype}<html{self.attributes}><head><meta charset="utf-8"><title>{escape(self.title)}</title>'
            f'<script nonce="{escape(nonce)}" src="{escape(script)}"></script>{links}</head>{self.body}</html>'
        )


def safe_page(tree: PageTree, url: str) -> SafePage:
    """Return what can be shown of a page; the tree is used up."""
    document = tree.document
    if (frames := document.select("frameset frame[src]")) or document.select_one("body") is None:
        named = ", ".join(filter(None, (resolve(url, frame.attr("src") or "") for frame in frames[:5])))
        raise TarantulaError(f"The page is made of frames. Open one of them: {named or 'none has an address'}.")
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
        page.attributes = "".join(f' {name}="{escape(str(root.attr(name) or ""))}"' for name in root.attrs)
    return page


def _prepare(element: Element, page: SafePage, base: str) -> None:
    """Put what is needed of an element where it survives."""
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
    if address.startswith(_PICTURES):
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
    """Show what stands in a field, which becomes a text that nobody can type into."""
    kind = (element.attr("type") or "text").lower()
    value = element.field_value
    shown = value if isinstance(value, str) else ""
    if element.tag == "input":
        shown = {"hidden": "", "password": "••••"}.get(kind, shown or element.attr("placeholder") or "▭")
    element.clear()
    element.append(Text(shown[:200]))


def _doctype(tree: PageTree) -> str:
    return "<!doctype html>" if any(isinstance(node, Doctype) for node in tree.document.children) else ""
