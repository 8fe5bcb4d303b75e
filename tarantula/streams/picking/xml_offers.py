"""Values of XML, by their paths."""

from __future__ import annotations

import re
from typing import Any

from lxml import etree

from tarantula.streams.adapter import Answer
from tarantula.streams.xml_trees import tree_of

Place = tuple[str, str, str]
"""What it may be called, its path, and what is there."""
MOST_ALIKE = 1000
"""Elements beside one another that are compared."""
_WORD = re.compile(r"[A-Za-z][\w .-]{0,39}")
_NAME = re.compile(r"[A-Za-z_][\w.-]*")


def xml_places(answer: Answer, most: int) -> tuple[list[Place], dict[str, str]]:
    """Return elements that hold a text, and attributes, by their paths; and the prefixes that these use."""
    root = tree_of(answer)
    namespaces: dict[str, str] = {}
    places: list[Place] = []
    for element in root.iter(etree.Element):
        if len(places) >= most or element not in _alike(element):
            break
        text = " ".join((element.text or "").split()) if not len(element) else ""
        named = [(name, value) for name, value in element.attrib.items() if _NAME.fullmatch(name) and value.strip()]
        if text or named:
            path = _path(element, namespaces)
            title = " ".join(filter(None, (_known_by(element)[1], etree.QName(element).localname)))
            places += [(title, path, text)] if text else []
            places += [(f"{title} {name}", f"{path}/@{name}", value) for name, value in named]
    return places[:most], namespaces


def _path(element: Any, namespaces: dict[str, str]) -> str:
    steps = []
    for node in (element, *element.iterancestors()):
        name = etree.QName(node)
        prefix = _prefix(name.namespace, namespaces)
        alike = _alike(node)
        by, value = _known_by(node)
        place = f"[@{by}='{value}']" if by else f"[{alike.index(node) + 1}]" if len(alike) > 1 else ""
        steps.append(f"{prefix}{name.localname}{place}")
    return "/" + "/".join(reversed(steps))


def _known_by(element: Any) -> tuple[str, str]:
    """Return the attribute, a word, by which an element is told from others beside it; nothing if it needs none."""
    alike = _alike(element)
    if len(alike) > 1:
        for name, value in element.attrib.items():
            if _NAME.fullmatch(name) and _WORD.fullmatch(value) and [one.get(name) for one in alike].count(value) == 1:
                return name, value
    return "", ""


def _alike(element: Any) -> list[Any]:
    parent = element.getparent()
    return [one for one in parent if one.tag == element.tag][:MOST_ALIKE] if parent is not None else [element]


def _prefix(namespace: str | None, namespaces: dict[str, str]) -> str:
    if not namespace:
        return ""
    for known, meant in namespaces.items():
        if meant == namespace:
            return f"{known}:"
    prefix = f"n{len(namespaces) + 1}"
    namespaces[prefix] = namespace
    return f"{prefix}:"
