"""Documents with converted links, where every path with a ``c`` has a copy."""

from __future__ import annotations

from tarantula.core.urls import path_of
from tarantula.links.convert import convert_links
from tarantula.links.relocation import LinkDestination, Relocator

URL = "http://fc.ul.pt/dir/page.html"
FOLDER = "web/fc.ul.pt/dir/"


def locate(url: str, requisite: bool) -> LinkDestination:
    """Return the copy of a URL with a ``c`` in its path; redirects add a fragment, errors have a copy as requisites."""
    path = path_of(url)
    if "redirect" in path:
        return LinkDestination("http://fc.ul.pt/dir/c", "web/fc.ul.pt/dir/c.x", "#there")
    if "c" in path or ("error" in path and requisite):
        return LinkDestination(url, f"web/fc.ul.pt{path}.x")
    return LinkDestination(url, None)


def converted(document: str | bytes, media_type: str | None = "text/html", charset: str | None = "utf-8") -> bytes:
    """Convert the document at `URL`."""
    body = document.encode() if isinstance(document, str) else document
    return convert_links(body, media_type, URL, charset, Relocator(locate), FOLDER)
