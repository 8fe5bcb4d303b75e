"""What there is to see of an element, for remembering it and for comparing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice

from turbohtml import Document, Element, Node, Text
from turbohtml.query import escape_identifier

from tarantula.streams.relocate.fingerprint_part_known import ElementFingerprint, marks_in
from tarantula.streams.relocate.fingerprint_part_shape import shape_of
from tarantula.streams.relocate.labels import ElementLabels, LabelledPage
from tarantula.streams.relocate.page_text import INVISIBLE_TAGS, LONGEST_LABEL, as_label, text_of

TextReader = Callable[[Element], str]
"""How the text of an element is taken; nothing if there is none."""

_NAMING = ("itemprop", "property", "name", "headers", "rel")
_AROUND = 8
_MARGINS = "aside, nav, footer"
_MOST_RIVALS = 8


def own_names(element: Element) -> str:
    """Return the id, the classes and the names of an element, in an order of their own."""
    classes = sorted((element.attr("class") or "").split())
    named = sorted(f"{name}={value}" for name, value in _naming(element))
    return " ".join((element.attr("id") or "", *classes, *named))[:300]


def _naming(element: Element) -> Iterable[tuple[str, str]]:
    for name, value in element.attrs.items():
        if isinstance(value, str) and (name in _NAMING or name.startswith("data-")) and _is_name(value):
            yield name, value


def _is_name(value: str) -> bool:
    return 2 <= len(value) <= 60 and value[0].isalpha() and not any(letter.isdigit() for letter in value)


def unique_selectors(document: Document, element: Element) -> list[str]:
    """Return selectors by name that fit this element and no other."""
    wanted = []
    if _is_name(own_id := element.attr("id") or ""):
        wanted.append(f"#{escape_identifier(own_id)}")
    for name, value in _naming(element):
        quoted = value.replace("\\", "\\\\").replace('"', '\\"')
        wanted.append(f'[{escape_identifier(name)}="{quoted}"]')
    classes = [name for name in (element.attr("class") or "").split() if _is_name(name)]
    wanted += [f"{element.tag}.{escape_identifier(name)}" for name in classes]
    return [name for name in wanted[:8] if document.select(name) == [element]]


def path_of(element: Element) -> str:
    """Return the way to an element from the top, by the places of all above it."""
    above = [element, *(one for one in element.ancestors if isinstance(one, Element))]
    return " > ".join(map(_step, reversed(above[:60])))


def named_path_of(document: Document, element: Element) -> list[str]:
    """Return the way to an element from the nearest above that has a name of its own, if there is one."""
    below = [element]
    for above in islice((one for one in element.ancestors if isinstance(one, Element)), 12):
        if names := unique_selectors(document, above):
            return [" > ".join((names[0], *map(_step, reversed(below))))]
        below.append(above)
    return []


def _step(element: Element) -> str:
    before = sum(1 for one in element.previous_siblings if isinstance(one, Element) and one.tag == element.tag)
    return f"{escape_identifier(element.tag)}:nth-of-type({before + 1})"


def nearby_labels(element: Element) -> list[list[str]]:
    """Return words before an element and words after it, the nearest first."""
    return [_labels(element.preceding), _labels(element.following)]


def _labels(nodes: Iterable[Node]) -> list[str]:
    labels: list[str] = []
    for node in islice(nodes, 150):
        seen = isinstance(node, Text) and isinstance(node.parent, Element) and node.parent.tag not in INVISIBLE_TAGS
        if seen and (label := as_label(text_of(node))):
            labels.append(label)
            if len(labels) == _AROUND:
                break
    return labels


def innermost_element(element: Element) -> Element:
    """Return the innermost element that has the whole text of this one."""
    while len(inside := [child for child in element.children if isinstance(child, Element)]) == 1:
        if inside[0].tag in INVISIBLE_TAGS or text_of(inside[0]) != text_of(element):
            break
        element = inside[0]
    return element


def count_twins(element: Element, shapes: Iterable[str]) -> int:
    """Count the elements beside this one that look like it."""
    known = set(shapes)
    siblings = [*islice(element.previous_siblings, 30), *islice(element.next_siblings, 30)]
    return sum(1 for one in siblings if isinstance(one, Element) and shape_of(text_of(one)[:400]) in known)


def find_rivals(element: Element, shapes: Iterable[str]) -> list[Element]:
    """Return other elements near whose texts have the same shape."""
    known, found = set(shapes), dict[Element, None]()
    for above in islice(element.ancestors, 3):
        for node in islice(above.descendants, 200):
            if not isinstance(node, Text) or not isinstance(node.parent, Element) or element in node.ancestors:
                continue
            if node.data.strip() and shape_of(text_of(node)) in known:
                found[node.parent] = None
    return list(found)[:_MOST_RIVALS]


def texts_of(elements: Iterable[Element], but: str) -> list[str]:
    """Return the texts of some elements, each once."""
    return [text for text in dict.fromkeys(text_of(element)[:60] for element in elements) if text != but]


def landmark_of(element: Element) -> str:
    """Return the margin of the page that an element is in; nothing for the page itself."""
    margin = element.closest(_MARGINS)
    return margin.tag if margin is not None else ""


def language_of(document: Document) -> str:
    """Return the language that a page says it has."""
    root = document.root
    return (root.attr("lang") or "").lower()[:2] if root is not None else ""


def page_topic(document: Document) -> list[str]:
    """Return what a page is about: its title, and its first heading."""
    found = (document.select_one(selector) for selector in ("head > title", "h1"))
    return [as_label(" ".join(one.text.split())[:LONGEST_LABEL]) if one is not None else "" for one in found]


def update_fingerprint(
    sight: LabelledPage, known: ElementFingerprint, element: Element, text: str, labels: ElementLabels, day: int
) -> ElementFingerprint:
    """Remember an element as it is now."""
    document = sight.document
    known.saw(text)
    known.labels, known.tag, known.own = labels, element.tag, own_names(element)
    known.names = unique_selectors(document, element)
    known.paths = [path_of(element), *named_path_of(document, element)]
    known.near, known.twins = nearby_labels(element), count_twins(element, known.shapes)
    others = find_rivals(element, known.shapes)
    known.rivals = texts_of(others, text)
    marks = known.marks
    known.shared = bool(marks) and any(marks_in(sight.labels(other)) == marks for other in others)
    known.about, known.language = page_topic(document), language_of(document)
    known.landmark, known.day = landmark_of(element), day
    return known
