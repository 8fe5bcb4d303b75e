"""Neutralise what makes a browser connect to other servers before a policy can stop it: frames, refreshes, hints.

A content security policy forbids requests, but Chromium opens the connection of a frame or a refresh first. The
references of such elements therefore become what they are in a mirror without live requests.

Every place of the text that could begin a start tag is read as one, also in comments, scripts and values: whatever a
browser's parser makes a tag of is among them. What is done with an attribute depends on its element, name and value
only. The text is read again until nothing is left to change.
"""

from __future__ import annotations

import re

from tarantula.links.charset import decode_text, escape_value, html_encoding, unescape_value
from tarantula.links.markup import MAX_NESTED_PAGES
from tarantula.links.relocation import NOT_LOADED
from tarantula.links.rewriter import REFRESH_OFF
from tarantula.links.source import Edit, SourceText
from tarantula.links.values import join_reference

MAX_ATTRIBUTES = 100_000
"""Attributes of the elements below that are read in one document."""
MAX_ROUNDS = 6
"""Readings of one document."""
OFF = "off-"
"""Start of a value that switches an element off."""

_SOURCES = {
    **dict.fromkeys(("iframe", "frame", "embed", "object", "applet", "portal", "fencedframe"), ("src", "data")),
    "a": ("href",),
    "area": ("href",),
    "button": ("formaction",),
    "form": ("action",),
    "input": ("formaction",),
    "link": ("href",),
    "param": ("value",),
}
"""Attributes with one reference."""
_EMPTIED = {
    "a": ("ping", "attributionsrc"),
    "area": ("ping", "attributionsrc"),
    "base": ("href",),
    "img": ("attributionsrc",),
    "link": ("imagesrcset",),
    "object": ("archive", "classid", "codebase"),
    "applet": ("archive", "code", "codebase", "object"),
    "script": ("attributionsrc",),
}
"""Attributes without which a page can be shown; they are emptied, except a base within the item."""
_TAGS = sorted({*_SOURCES, *_EMPTIED, "animate", "meta", "set"})

# HTML, "tag open state" to "after attribute value (quoted) state"; in XML a name may have a prefix.
_START = re.compile(rf"<(?:[^\s<>/!?:]++:)?({'|'.join(_TAGS)})(?=[\s/>])", re.IGNORECASE)
_ATTRIBUTE = re.compile(
    r"""[ \t\n\f\r/]*+(?P<name>[^ \t\n\f\r/>][^ \t\n\f\r/>=]*+)
    (?:[ \t\n\f\r]*+=[ \t\n\f\r]*+
    (?:"(?P<double>[^"]*+)(?:"|\Z)|'(?P<single>[^']*+)(?:'|\Z)|(?P<bare>[^ \t\n\f\r>]*+)))?+""",
    re.VERBOSE,
)
_QUOTES = {"double": '"', "single": "'", "bare": ""}
_BASES = ("http://one.invalid/a/b/c", "https://another.invalid/a/b/c")
_CONTROLS = "".join(map(chr, range(0x21)))
_LOCAL_REFRESH = re.compile(
    r"""\s*[0-9]+(?:\.[0-9]*)?\s*(?:[;,]\s*(?:url\s*=\s*)?(?P<quote>['"]?)(?P<url>[^'"]*)(?P=quote)\s*)?""",
    re.IGNORECASE,
)
_NOT_BUILT_IN = re.compile("&(?!#|amp;|lt;|gt;|quot;|apos;)")
_ATTRIBUTE_DEFAULTS = re.compile(r"""<!ATTLIST(?:"[^"]*+"|'[^']*+'|[^"'>])*+>""")
_PLAIN_ENTITY = re.compile(r"""<!ENTITY\s+[^\s%"'>]++\s+(?:"[^"<&%]*+"|'[^'<&%]*+')\s*>""")
_DECLARATION = re.compile("<!(?:ENTITY|ATTLIST)")
_STYLESHEET = re.compile(r"<\?xml-stylesheet(?=\s)(?P<attributes>[^>]*)")
_CSS_ONLY = re.compile(
    r"""(?:\s+(?!type\b)[\w-]+\s*=\s*(?:"[^"]*"|'[^']*'))*\s+type\s*=\s*(?:"text/css"|'text/css')
    (?:\s+(?!type\b)[\w-]+\s*=\s*(?:"[^"]*"|'[^']*'))*\s*\?""",
    re.VERBOSE,
)


def without_foreign_loads(body: bytes, media_type: str, charset: str | None) -> str | None:
    """Return the text of an HTML or XML page that connects to no other server; None if it cannot be made so.

    The text is to be served as UTF-8, so that a browser reads the characters that were checked.
    """
    is_html = media_type == "text/html"
    if is_html:
        mark, encoding = html_encoding(body, charset)
        text = body[len(mark) :].decode(encoding if mark else f"whatwg-{encoding}", "replace")
        # Another byte order mark would become the first one, which a browser leaves out.
        text = text.lstrip("\ufeff")
    else:
        text, _ = decode_text(body, charset)
        text = _STYLESHEET.sub(_only_css, _ATTRIBUTE_DEFAULTS.sub("", text))
        if len(_DECLARATION.findall(text)) != len(_PLAIN_ENTITY.findall(text)):
            # Entities that contain markup could be parts of tags.
            return None
    return _neutral(text, is_html, 0)


def _only_css(instruction: re.Match[str]) -> str:
    """Switch off a stylesheet that makes another page of this one."""
    if _CSS_ONLY.fullmatch(instruction["attributes"]):
        return instruction[0]
    return f"<?{OFF}xml-stylesheet{instruction['attributes']}"


def _neutral(text: str, is_html: bool, depth: int) -> str | None:
    for _ in range(MAX_ROUNDS):
        reader = _TagReader(text, is_html, depth)
        if not reader.read():
            return None
        if not reader.edits:
            return text
        # An edit within another one is left to the next round.
        text = SourceText(b"", text, text, "UTF-8", "utf-8").edited(reader.edits).decode("utf-8", "surrogatepass")
    return None


class _TagReader:
    """Collects the edits of one reading of a text."""

    def __init__(self, text: str, is_html: bool, depth: int) -> None:
        self.edits: set[Edit] = set()
        self._text = text
        self._is_html = is_html
        self._depth = depth
        self._seen: set[tuple[str, int]] = set()

    def read(self) -> bool:
        """Read all tags; return whether they were few enough."""
        return all(self._tag(found[1].lower(), found.end()) for found in _START.finditer(self._text))

    def _tag(self, tag: str, position: int) -> bool:
        # A tag within another one has the same attributes from some position on; they are read once.
        while (tag, position) not in self._seen and (found := _ATTRIBUTE.match(self._text, position)) is not None:
            if len(self._seen) >= MAX_ATTRIBUTES:
                return False
            self._seen.add((tag, position))
            position = found.end()
            if (group := found.lastgroup) and group != "name":
                self._attribute(tag, found["name"].lower().rpartition(":")[2], *found.span(group), _QUOTES[group])
        return True

    def _attribute(self, tag: str, name: str, start: int, end: int, quote: str) -> None:
        raw = self._text[start:end]
        value = None if not self._is_html and _NOT_BUILT_IN.search(raw) else unescape_value(raw).value
        if name in _SOURCES.get(tag, ()):
            # In HTML our script asks before a link is followed.
            is_followed = tag in ("a", "area") and self._is_html and not self._depth
            if not is_followed and not _is_local(value, tag):
                self.edits.add((start, start, NOT_LOADED))
        elif name in _EMPTIED.get(tag, ()):
            if raw and not (tag == "base" and _is_local(value, tag)):
                self.edits.add((start, end, "" if quote else '""'))
        elif name == "srcdoc" and tag == "iframe":
            self._inner_page(start, end, quote, value)
        elif (prefix := _switch_off(tag, name, value)) and not raw.startswith(prefix):
            self.edits.add((start, start, prefix))

    def _inner_page(self, start: int, end: int, quote: str, value: str | None) -> None:
        is_read = value is not None and self._depth < MAX_NESTED_PAGES
        new = (_neutral(value or "", True, self._depth + 1) if is_read else None) or ""
        if new != value:
            written = escape_value(new, quote or '"')
            self.edits.add((start, end, written if quote else f'"{written}"'))


def _switch_off(tag: str, name: str, value: str | None) -> str:
    """Return what switches an element off before this value of an attribute; empty if it need not be."""
    if tag == "meta" and name == "content":
        return "" if value is not None and _stays(value) else REFRESH_OFF
    if tag == "script" and name == "type":
        return OFF if value is None or "speculationrules" in value.lower() else ""
    if tag in ("animate", "set") and name == "attributename":
        return OFF if value is None or value.strip().lower().endswith("href") else ""
    return ""


def _stays(content: str) -> bool:
    """Whether the content of a meta element is no refresh, or one within the item, also for lenient browsers."""
    if not content.strip().strip(_CONTROLS).startswith(tuple("0123456789.+-")):
        return True
    refresh = _LOCAL_REFRESH.fullmatch(content)
    return refresh is not None and _is_local(refresh["url"] or "", "meta")


def _is_local(value: str | None, tag: str) -> bool:
    """Whether a reference stays on the server that the page is shown from."""
    if value is None:
        return False
    if value.strip(_CONTROLS).lower().startswith(("about:", "data:") if tag == "link" else "about:"):
        return True
    # A reference with a scheme is local to at most one of them, and so is one with a host.
    return all((join_reference(base, value) or "").startswith(base[: base.index("/a/") + 1]) for base in _BASES)
