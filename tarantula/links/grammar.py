"""Where links live: which attribute or text of which element names other documents, how, and what for."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto
from typing import NamedTuple

from tarantula.links.link import LinkKind

NAVIGATION, REQUISITE = LinkKind.NAVIGATION, LinkKind.REQUISITE

Attributes = Callable[[str], str | None]
"""Looks up an attribute of the element in question."""


class Form(Enum):
    """How a value holds its references."""

    ONE = auto()
    ABSOLUTE = auto()
    """One reference if the value is a web address, none otherwise."""
    SRCSET = auto()
    SPACED = auto()
    COMMAS = auto()
    REFRESH = auto()
    """A time, then a reference."""
    CLASS = auto()
    """The name of a Java class."""
    STYLE = auto()
    """CSS."""
    MARKUP = auto()
    """HTML within HTML."""
    DIRECTORY = auto()
    """The directory below which other references lie."""


class Place(NamedTuple):
    """One place of an element where a link may live."""

    attribute: str | None
    """``None`` stands for the element's text."""
    kind: LinkKind
    form: Form = Form.ONE
    when: Callable[[Attributes], bool] | None = None
    codebase: str | None = None
    """An attribute with the directory below which the references lie."""


Places = dict[str, tuple[Place, ...]]
"""The places of each element, by its name."""


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


_CITE = (Place("cite", NAVIGATION),)
_BACKGROUND = (Place("background", REQUISITE),)
_SOURCE = (Place("src", REQUISITE),)
_MARKUP = (Place(None, REQUISITE, Form.MARKUP),)
_DRAWN = (Place("href", REQUISITE), Place("xlink:href", REQUISITE, when=_has_no_href))

HTML: Places = {
    "a": (Place("href", NAVIGATION),),
    "applet": (
        Place("code", REQUISITE, Form.CLASS, codebase="codebase"),
        Place("archive", REQUISITE, Form.COMMAS, codebase="codebase"),
        Place("object", REQUISITE, codebase="codebase"),
    ),
    "area": (Place("href", NAVIGATION),),
    "audio": _SOURCE,
    "bgsound": _SOURCE,
    "blockquote": _CITE,
    "body": _BACKGROUND,
    "button": (Place("formaction", NAVIGATION, when=_says_get),),
    "del": _CITE,
    "embed": _SOURCE,
    "form": (Place("action", NAVIGATION, when=_submits_by_get),),
    "frame": (*_SOURCE, Place("longdesc", NAVIGATION)),
    "html": (Place("manifest", REQUISITE),),
    "iframe": (*_SOURCE, Place("longdesc", NAVIGATION), Place("srcdoc", REQUISITE, Form.MARKUP)),
    "ilayer": (*_SOURCE, *_BACKGROUND),
    "img": (
        Place("src", REQUISITE),
        Place("srcset", REQUISITE, Form.SRCSET),
        Place("lowsrc", REQUISITE),
        Place("dynsrc", REQUISITE),
        Place("longdesc", NAVIGATION),
    ),
    "input": (
        Place("src", REQUISITE, when=_is_image_button),
        Place("formaction", NAVIGATION, when=_says_get),
    ),
    "ins": _CITE,
    "layer": (*_SOURCE, *_BACKGROUND),
    "link": (
        Place("href", REQUISITE, when=_asks_for_requisite),
        Place("imagesrcset", REQUISITE, Form.SRCSET, when=_asks_for_requisite),
        Place("href", NAVIGATION, when=_leads_on),
    ),
    "meta": (
        Place("content", NAVIGATION, Form.REFRESH, when=_refreshes),
        Place("content", REQUISITE, when=_shows_preview),
    ),
    "noembed": _MARKUP,
    "noframes": _MARKUP,
    "noscript": _MARKUP,
    "object": (
        Place("data", REQUISITE),
        Place("classid", REQUISITE, codebase="codebase"),
        Place("archive", REQUISITE, Form.SPACED, codebase="codebase"),
    ),
    "param": (Place("value", REQUISITE, when=_names_resource),),
    "q": _CITE,
    "script": _SOURCE,
    "source": (Place("src", REQUISITE), Place("srcset", REQUISITE, Form.SRCSET)),
    "style": (Place(None, REQUISITE, Form.STYLE, when=_is_css),),
    "table": _BACKGROUND,
    "tbody": _BACKGROUND,
    "td": _BACKGROUND,
    "tfoot": _BACKGROUND,
    "th": _BACKGROUND,
    "thead": _BACKGROUND,
    "tr": _BACKGROUND,
    "track": _SOURCE,
    "video": (Place("src", REQUISITE), Place("poster", REQUISITE)),
}
SVG: Places = {
    "a": (Place("xlink:href", NAVIGATION, when=_has_no_href),),
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
"""What SVG adds, within HTML or alone."""

UNVISITED: Places = {
    "a": (Place("ping", NAVIGATION, Form.SPACED),),
    "applet": (Place("codebase", NAVIGATION, Form.DIRECTORY),),
    "area": (Place("ping", NAVIGATION, Form.SPACED),),
    "button": (Place("formaction", NAVIGATION),),
    "form": (Place("action", NAVIGATION),),
    "head": (Place("profile", NAVIGATION, Form.SPACED),),
    "input": (Place("formaction", NAVIGATION),),
    "link": (Place("href", NAVIGATION),),
    "object": (Place("codebase", NAVIGATION, Form.DIRECTORY),),
}
"""Addresses that a collector does not ask for, and that a copy of the page has all the same."""

PROMISES = ("integrity", "crossorigin")
"""What an attribute says of the target of a link: no longer true when the link leads to a copy."""

ANYWHERE = (Place("style", REQUISITE, Form.STYLE),)
"""What any element of HTML or SVG may have besides."""

SITEMAP: Places = {
    "content_loc": (Place(None, NAVIGATION),),
    "link": (Place("href", NAVIGATION),),
    "loc": (Place(None, NAVIGATION),),
    "player_loc": (Place(None, NAVIGATION),),
    "thumbnail_loc": (Place(None, NAVIGATION),),
}
RSS: Places = {
    "comments": (Place(None, NAVIGATION, Form.ABSOLUTE),),
    "content": (Place("url", NAVIGATION),),
    "enclosure": (Place("url", NAVIGATION),),
    "guid": (Place(None, NAVIGATION, Form.ABSOLUTE, when=_is_permalink),),
    "image": (Place("href", REQUISITE),),
    "link": (Place(None, NAVIGATION), Place("href", NAVIGATION, when=_leads_on)),
    "source": (Place("url", NAVIGATION),),
    "thumbnail": (Place("url", REQUISITE),),
    "url": (Place(None, REQUISITE),),
}
ATOM: Places = {
    "content": (Place("src", NAVIGATION),),
    "icon": (Place(None, REQUISITE),),
    "link": (Place("href", NAVIGATION, when=_leads_on),),
    "logo": (Place(None, REQUISITE),),
    "uri": (Place(None, NAVIGATION),),
}
XML_ROOTS = {"urlset": SITEMAP, "sitemapindex": SITEMAP, "rss": RSS, "RDF": RSS, "feed": ATOM}
"""The grammar that a root element announces, by its local name."""
