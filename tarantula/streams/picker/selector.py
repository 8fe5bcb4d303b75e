"""Build a short CSS selector that matches one element, preferring ids and classes that will stay."""

from __future__ import annotations

import re
from collections.abc import Iterator

from turbohtml import Document, Element, Namespace

_NAME = re.compile(r"-?[A-Za-z_][A-Za-z0-9_-]{0,59}")
_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
_MADE_UP = re.compile(
    # What frameworks write, numbers that count, and hashes: css-1q2w3e, ember421, jss12, ext-gen7, sc-bdVaJa, _3xKq2.
    r"(css|sc|jss|jsx|ember|react|yui|ext-gen|ng|mui|svelte|emotion|styled|radix|headlessui)[-_]?[\w-]*\d[\w-]*"
    r"|sc-[A-Za-z]{5,}|.*\d{4}.*|.*[a-z]\d+[a-z]+\d.*|.*__?[A-Za-z0-9]*\d[A-Za-z0-9]*",
    re.IGNORECASE,
)
_NO_VOWEL = re.compile(r"[bcdfghjklmnpqrstvwxz]{5,}", re.IGNORECASE)
STATE_CLASSES = frozenset(
    "active selected current odd even first last open closed hover focus up down positive negative plus minus "
    "win loss winner loser new updated changed visible hidden show hide collapsed expanded loading loaded "
    "disabled enabled checked highlight green red".split()
)
"""Classes that tell how something is at the moment, and not what it is."""


def is_stable(name: str) -> bool:
    """Whether an id or a class looks as if a person had chosen it, for good."""
    if not _NAME.fullmatch(name) or _MADE_UP.fullmatch(name) or _NO_VOWEL.search(name):
        return False
    parts = _PARTS.findall(name)
    # aBcXyZ: more turns between small and large letters than words have.
    short = [part for part in parts if len(part) <= 2]
    return not (len(parts) >= 4 and len(short) * 2 > len(parts))


def is_state_class(name: str) -> bool:
    """Whether a class comes and goes."""
    return name.lower() in STATE_CLASSES or name.lower().startswith(("is-", "has-", "js-"))


NAMING_ATTRIBUTES = ("itemprop", "property", "data-field", "data-testid", "data-test", "data-name", "data-key")
"""Attributes that say what an element is."""
MOST_CLASSES = 3
UNIQUE_TAGS = frozenset({"main", "h1", "table", "time", "output", "meter"})
"""Elements of which a page may well have only one."""
_TAG = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_VALUE = re.compile(r"[A-Za-z][A-Za-z_-]{0,39}")


def selector_for(element: Element, within: Document | Element | None = None) -> str:
    """Return a selector of one element of a page, or of what is *within* another one.

    Names that will stay come first; then the place among siblings, seen from the nearest ancestor with such a name.
    """
    top = within if within is not None else _document(element)
    own = list(selectors_by_name(element))
    for name in own:
        if _is_only(top, name, element):
            return name
    chain = selector_by_position(element)
    for ancestor in element.ancestors:
        if not isinstance(ancestor, Element) or ancestor == top:
            break
        for name in selectors_by_name(ancestor):
            if not _is_only(top, name, ancestor):
                continue
            for css in (*(f"{name} {one}" for one in own), f"{name} > {chain}"):
                if _is_only(top, css, element):
                    return css
        chain = f"{selector_by_position(ancestor)} > {chain}"
    return f":scope > {chain}" if isinstance(top, Element) else chain.removeprefix("html > ")


def selectors_by_name(element: Element) -> Iterator[str]:
    """Yield an element by the names that it has and that will stay, the most telling first."""
    tag = _tag(element)
    if is_stable(name := element.attr("id") or ""):
        yield f"#{name}"
    for attribute in NAMING_ATTRIBUTES:
        if _VALUE.fullmatch(value := element.attr(attribute) or ""):
            yield f'{tag}[{attribute}="{value}"]'
    classes = stable_classes(element)
    for one in classes:
        yield f"{tag}.{one}"
    if len(classes) > 1:
        yield f"{tag}.{'.'.join(classes)}"
    if tag in UNIQUE_TAGS:
        yield tag


def stable_classes(element: Element) -> list[str]:
    """Return the classes of an element that will stay."""
    own = dict.fromkeys((element.attr("class") or "").split())
    return [name for name in own if is_stable(name) and not is_state_class(name)][:MOST_CLASSES]


def selector_by_position(element: Element) -> str:
    """Return an element by its place among its siblings."""
    tag = _tag(element)
    siblings = [node for node in element.parent or () if isinstance(node, Element)]
    if not tag:
        return f"*:nth-child({siblings.index(element) + 1})"
    alike = [node for node in siblings if node.tag == element.tag]
    if any(node.namespace != element.namespace for node in alike):
        return f"*:nth-child({siblings.index(element) + 1})"
    return tag if len(alike) <= 1 else f"{tag}:nth-of-type({alike.index(element) + 1})"


def _tag(element: Element) -> str:
    """Return the name of an element, if it can be written as it is."""
    plain = element.namespace == Namespace.HTML and _TAG.fullmatch(element.tag)
    return element.tag if plain else ""


def _document(element: Element) -> Document | Element:
    return next((node for node in element.ancestors if isinstance(node, Document)), element)


def _is_only(top: Document | Element, css: str, element: Element) -> bool:
    found = top.select(css)
    return len(found) == 1 and found[0] == element
