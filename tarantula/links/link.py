"""Links, and the link grammar: which attributes and texts of which elements hold references, and of which kind."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, IntEnum, auto
from typing import NamedTuple


class LinkKind(IntEnum):
    """How a page uses the target; it decides by how many steps the target may exceed the maximum depth."""

    NAVIGATION = 0
    """A reader follows it: a, area, form, feeds, sitemaps."""
    REQUISITE = 1
    """The page is incomplete without it: images, styles, scripts, frames."""
    IN_STYLE = 2
    """A stylesheet loads it: imports, fonts, backgrounds."""
    REDIRECT = 3
    """It replaces the document that redirects."""


class Link(NamedTuple):
    """An absolute, canonical URL and its kind."""

    url: str
    kind: LinkKind = LinkKind.NAVIGATION


class ExtractedLinks(NamedTuple):
    """Links of a document, and the encoding in which they were read."""

    links: list[Link]
    encoding: str | None = None
    """WHATWG name; ``None`` if the document is not a text that holds links."""


NAVIGATION, REQUISITE = LinkKind.NAVIGATION, LinkKind.REQUISITE

Attributes = Callable[[str], str | None]
"""Function that returns an attribute of the element."""


class ValueForm(Enum):
    """How a value contains its references."""

    ONE = auto()
    ABSOLUTE = auto()
    """One reference if the value is an http or https URL, else none."""
    SRCSET = auto()
    SPACED = auto()
    COMMAS = auto()
    REFRESH = auto()
    """Seconds, then a reference."""
    CLASS = auto()
    """The name of a Java class."""
    STYLE = auto()
    """CSS."""
    MARKUP = auto()
    """A nested HTML page."""
    DIRECTORY = auto()
    """Base of other references of the element."""


class LinkPlace(NamedTuple):
    """An attribute or the text of an element that may hold links."""

    attribute: str | None
    """``None`` for the text of the element."""
    kind: LinkKind
    form: ValueForm = ValueForm.ONE
    when: Callable[[Attributes], bool] | None = None
    codebase: str | None = None
    """Attribute with the base of the references."""


LinkPlaces = dict[str, tuple[LinkPlace, ...]]
"""Places by the name of the element."""


REQUISITE_RELS = frozenset(
    {
        "apple-touch-icon",
        "apple-touch-icon-precomposed",
        "apple-touch-startup-image",
        "fluid-icon",
        "icon",
        "image_src",
        "import",
        "manifest",
        "mask-icon",
        "modulepreload",
        "preload",
        "stylesheet",
    }
)
UNVISITED_RELS = frozenset(
    {
        "dns-prefetch",
        "edituri",
        "hub",
        "micropub",
        "pingback",
        "preconnect",
        "profile",
        "webmention",
        "wlwmanifest",
    }
)
HINT_RELS = frozenset({"dns-prefetch", "preconnect", "prefetch", "prerender"})
"""Relations by which a browser connects to a server that the reader has not chosen."""
PREVIEW_IMAGES = frozenset(
    {
        "msapplication-tileimage",
        "og:image",
        "og:image:secure_url",
        "og:image:url",
        "twitter:image",
        "twitter:image:src",
    }
)
RESOURCE_PARAMETERS = frozenset({"filename", "movie", "src", "url"})


def _rels(attributes: Attributes) -> frozenset[str]:
    return frozenset((attributes("rel") or "").lower().split())


def _asks_for_requisite(attributes: Attributes) -> bool:
    return not REQUISITE_RELS.isdisjoint(_rels(attributes))


def _leads_on(attributes: Attributes) -> bool:
    rels = _rels(attributes)
    return REQUISITE_RELS.isdisjoint(rels) and UNVISITED_RELS.isdisjoint(rels)


def _hints(attributes: Attributes) -> bool:
    return not HINT_RELS.isdisjoint(_rels(attributes))


def _refreshes(attributes: Attributes) -> bool:
    return (attributes("http-equiv") or "").lower() == "refresh"


def _shows_preview(attributes: Attributes) -> bool:
    return (attributes("property") or attributes("name") or "").lower() in PREVIEW_IMAGES


def _submits_by_get(attributes: Attributes) -> bool:
    return (attributes("method") or "").lower() not in ("post", "dialog")


def _says_get(attributes: Attributes) -> bool:
    return (attributes("formmethod") or "").lower() == "get"


def _is_image_button(attributes: Attributes) -> bool:
    return (attributes("type") or "").lower() == "image"


def _is_css(attributes: Attributes) -> bool:
    return (attributes("type") or "text/css").lower() == "text/css"


def _names_resource(attributes: Attributes) -> bool:
    return (attributes("name") or "").lower() in RESOURCE_PARAMETERS


def _has_no_href(attributes: Attributes) -> bool:
    return attributes("href") is None


def _is_permalink(attributes: Attributes) -> bool:
    return attributes("isPermaLink") != "false"


_CITE = (LinkPlace("cite", NAVIGATION),)
_BACKGROUND = (LinkPlace("background", REQUISITE),)
_SOURCE = (LinkPlace("src", REQUISITE),)
_MARKUP = (LinkPlace(None, REQUISITE, ValueForm.MARKUP),)
_DRAWN = (LinkPlace("href", REQUISITE), LinkPlace("xlink:href", REQUISITE, when=_has_no_href))

HTML: LinkPlaces = {
    "a": (LinkPlace("href", NAVIGATION),),
    "applet": (
        LinkPlace("code", REQUISITE, ValueForm.CLASS, codebase="codebase"),
        LinkPlace("archive", REQUISITE, ValueForm.COMMAS, codebase="codebase"),
        LinkPlace("object", REQUISITE, codebase="codebase"),
    ),
    "area": (LinkPlace("href", NAVIGATION),),
    "audio": _SOURCE,
    "bgsound": _SOURCE,
    "blockquote": _CITE,
    "body": _BACKGROUND,
    "button": (LinkPlace("formaction", NAVIGATION, when=_says_get),),
    "del": _CITE,
    "embed": _SOURCE,
    "form": (LinkPlace("action", NAVIGATION, when=_submits_by_get),),
    "frame": (*_SOURCE, LinkPlace("longdesc", NAVIGATION)),
    "html": (LinkPlace("manifest", REQUISITE),),
    "iframe": (*_SOURCE, LinkPlace("longdesc", NAVIGATION), LinkPlace("srcdoc", REQUISITE, ValueForm.MARKUP)),
    "ilayer": (*_SOURCE, *_BACKGROUND),
    "img": (
        LinkPlace("src", REQUISITE),
        LinkPlace("srcset", REQUISITE, ValueForm.SRCSET),
        LinkPlace("lowsrc", REQUISITE),
        LinkPlace("dynsrc", REQUISITE),
        LinkPlace("longdesc", NAVIGATION),
    ),
    "input": (
        LinkPlace("src", REQUISITE, when=_is_image_button),
        LinkPlace("formaction", NAVIGATION, when=_says_get),
    ),
    "ins": _CITE,
    "layer": (*_SOURCE, *_BACKGROUND),
    "link": (
        LinkPlace("href", REQUISITE, when=_asks_for_requisite),
        LinkPlace("imagesrcset", REQUISITE, ValueForm.SRCSET, when=_asks_for_requisite),
        LinkPlace("href", NAVIGATION, when=_leads_on),
    ),
    "meta": (
        LinkPlace("content", NAVIGATION, ValueForm.REFRESH, when=_refreshes),
        LinkPlace("content", REQUISITE, when=_shows_preview),
    ),
    "noembed": _MARKUP,
    "noframes": _MARKUP,
    "noscript": _MARKUP,
    "object": (
        LinkPlace("data", REQUISITE),
        LinkPlace("classid", REQUISITE, codebase="codebase"),
        LinkPlace("archive", REQUISITE, ValueForm.SPACED, codebase="codebase"),
    ),
    "param": (LinkPlace("value", REQUISITE, when=_names_resource),),
    "q": _CITE,
    "script": _SOURCE,
    "source": (LinkPlace("src", REQUISITE), LinkPlace("srcset", REQUISITE, ValueForm.SRCSET)),
    "style": (LinkPlace(None, REQUISITE, ValueForm.STYLE, when=_is_css),),
    "table": _BACKGROUND,
    "tbody": _BACKGROUND,
    "td": _BACKGROUND,
    "tfoot": _BACKGROUND,
    "th": _BACKGROUND,
    "thead": _BACKGROUND,
    "tr": _BACKGROUND,
    "track": _SOURCE,
    "video": (LinkPlace("src", REQUISITE), LinkPlace("poster", REQUISITE)),
}
SVG: LinkPlaces = {
    "a": (LinkPlace("xlink:href", NAVIGATION, when=_has_no_href),),
    "feImage": _DRAWN,
    "image": _DRAWN,
    "linearGradient": _DRAWN,
    "mpath": _DRAWN,
    "pattern": _DRAWN,
    "radialGradient": _DRAWN,
    "script": _DRAWN,
    "textPath": _DRAWN,
    "use": _DRAWN,
}
"""Additional places of SVG, in HTML or alone."""

UNVISITED: LinkPlaces = {
    "a": (LinkPlace("ping", REQUISITE, ValueForm.SPACED),),
    "applet": (LinkPlace("codebase", NAVIGATION, ValueForm.DIRECTORY),),
    "area": (LinkPlace("ping", REQUISITE, ValueForm.SPACED),),
    "button": (LinkPlace("formaction", NAVIGATION),),
    "form": (LinkPlace("action", NAVIGATION),),
    "head": (LinkPlace("profile", NAVIGATION, ValueForm.SPACED),),
    "input": (LinkPlace("formaction", NAVIGATION),),
    "link": (LinkPlace("href", NAVIGATION),),
    "object": (LinkPlace("codebase", NAVIGATION, ValueForm.DIRECTORY),),
}
"""Addresses that are not collected, but converted in a mirror."""

HINT = LinkPlace("href", REQUISITE, when=_hints)
"""Place of a ``link`` that a browser loads, or connects to, in advance."""

INTEGRITY_ATTRIBUTES = ("integrity", "crossorigin")
"""Attributes about the target of a link that are wrong for its copy, and removed."""

ANY_ELEMENT = (LinkPlace("style", REQUISITE, ValueForm.STYLE),)
"""Places of every element of HTML and SVG."""

SITEMAP: LinkPlaces = {
    "content_loc": (LinkPlace(None, NAVIGATION),),
    "link": (LinkPlace("href", NAVIGATION),),
    "loc": (LinkPlace(None, NAVIGATION),),
    "player_loc": (LinkPlace(None, NAVIGATION),),
    "thumbnail_loc": (LinkPlace(None, NAVIGATION),),
}
RSS: LinkPlaces = {
    "comments": (LinkPlace(None, NAVIGATION, ValueForm.ABSOLUTE),),
    "content": (LinkPlace("url", NAVIGATION),),
    "enclosure": (LinkPlace("url", NAVIGATION),),
    "guid": (LinkPlace(None, NAVIGATION, ValueForm.ABSOLUTE, when=_is_permalink),),
    "image": (LinkPlace("href", REQUISITE),),
    "link": (LinkPlace(None, NAVIGATION), LinkPlace("href", NAVIGATION, when=_leads_on)),
    "source": (LinkPlace("url", NAVIGATION),),
    "thumbnail": (LinkPlace("url", REQUISITE),),
    "url": (LinkPlace(None, REQUISITE),),
}
ATOM: LinkPlaces = {
    "content": (LinkPlace("src", NAVIGATION),),
    "icon": (LinkPlace(None, REQUISITE),),
    "link": (LinkPlace("href", NAVIGATION, when=_leads_on),),
    "logo": (LinkPlace(None, REQUISITE),),
    "uri": (LinkPlace(None, NAVIGATION),),
}
XML_ROOTS = {"urlset": SITEMAP, "sitemapindex": SITEMAP, "rss": RSS, "RDF": RSS, "feed": ATOM}
"""Grammar of an XML document by the local name of its root element."""
