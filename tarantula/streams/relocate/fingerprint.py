"""Fingerprint of an element: its paths, labels, neighbours and the shape of its texts, stored between readings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from statistics import median
from typing import Any, Self

from turbohtml import Document, Element, Node, Text
from turbohtml.query import escape_identifier

from tarantula.streams.relocate.labels import ElementLabels, LabelledPage
from tarantula.streams.relocate.page_text import INVISIBLE_TAGS, LONGEST_LABEL, as_label, text_of
from tarantula.streams.texts import fold_text

WORDS_SHAPE = "a"
"""Shape of a text without numbers, or with too much text around them."""
LONGEST_SHAPE = 40
LONGEST_UNIT_SHAPE = 6
FEW_NUMBERS = 5
"""With fewer numbers than this, their range is not yet reliable."""
LEAST_SLACK = 1.0
"""Smallest tolerance outside the range of earlier numbers, so that small counts can vary."""
_DATES = re.compile(r"\d{1,4}([./-])\d{1,2}\1\d{2,4}")
_NUMBERS = re.compile(r"\d{1,3}(?:[ \u00a0\u202f'’]\d{3})+(?:[.,]\d+)?(?!\d)|\d+(?:[.,]\d+)*")
_SIGNS = re.compile(r"^[+\-−–±▲▼△▽↑↓]+|\s+")
MOST_SHAPES = 4
MOST_NUMBERS = 30
MARK_POSITIONS = ("term", "aria", "before", "after")
"""Positions of identifying labels, the most reliable first."""
_NAMING_ATTRIBUTES = ("itemprop", "property", "name", "headers", "rel")
_MOST_NEARBY_LABELS = 8
_MARGIN_TAGS = "aside, nav, footer"
_MOST_RIVALS = 8


def shape_of(text: str) -> str:
    """Return the shape of a text: ``9€`` for ``€ 1.234,56``, ``9:9`` for ``14:05``, ``a`` for words, empty if empty."""
    if not text:
        return ""
    if len(text) > 10 * LONGEST_SHAPE:
        return WORDS_SHAPE
    numbered = _NUMBERS.sub("9", _DATES.sub("9/9/9", text))
    bare = _SIGNS.sub("", fold_text(numbered))
    if "9" not in bare:
        return WORDS_SHAPE if any(letter.isalnum() for letter in bare) else bare[:LONGEST_SHAPE]
    if bare.count("9") == 1:
        # A unit can be on either side of its number.
        bare = "9" + bare.replace("9", "").lstrip("+-−–")
    return bare if len(bare) <= LONGEST_SHAPE else WORDS_SHAPE


def shape_fits(shape: str, known: Iterable[str], *, loosely: bool) -> bool:
    """Whether a shape matches one of the known shapes; with *loosely*, a unit may have been added or removed.

    If a text without numbers is known, every shape matches.
    """
    return any(one in (shape, WORDS_SHAPE) or (loosely and _differ_only_by_unit(shape, one)) for one in known)


def _differ_only_by_unit(first: str, second: str) -> bool:
    short, long = sorted((first, second), key=len)
    is_unit = long.count("9") == 1 and len(long) <= LONGEST_UNIT_SHAPE and ":" not in long
    return short == "9" and long.startswith("9") and is_unit


def number_in(text: str) -> float | None:
    """Return the first number of a text, approximately, to compare it with earlier numbers."""
    found = _NUMBERS.search(text[:400])
    if found is None:
        return None
    written = re.sub(r"[ \u00a0\u202f'’]", "", found[0])
    marks = [mark for mark in written if mark in ".,"]
    if len(marks) > 1 and marks[-1] == marks[0]:
        written = written.replace(marks[0], "")
    elif marks:
        whole, _, part = written.rpartition(marks[-1])
        written = f"{re.sub('[.,]', '', whole)}.{part}"
    sign = -1 if text[: found.start()].rstrip().endswith(("-", "−", "–")) else 1
    try:
        return sign * float(written[:300])
    except ValueError:
        return None


def is_usual(number: float, past: Sequence[float], width: float = 1.0) -> bool:
    """Whether a number is within the range of earlier numbers plus a tolerance."""
    if not past:
        return True
    ordered = sorted(past)
    edge = len(ordered) // 20
    low, high, middle = ordered[edge], ordered[-1 - edge], median(ordered)
    slack = width * max(3 * (high - low), abs(middle) * (0.5 if len(ordered) < FEW_NUMBERS else 0.25), LEAST_SLACK)
    return low - slack <= number <= high + slack


@dataclass(slots=True)
class ElementFingerprint:
    """Clues by which an element can be found again, as of its last reading. Stored as JSON."""

    last: str = ""
    shapes: list[str] = field(default_factory=list)
    numbers: list[float] = field(default_factory=list)
    """The last numbers, to determine their usual range."""
    labels: ElementLabels = field(default_factory=dict)
    tag: str = ""
    own: str = ""
    """Its id, classes and naming attributes, as one text."""
    names: list[str] = field(default_factory=list)
    """Selectors by id, attribute or class that match only this element."""
    paths: list[str] = field(default_factory=list)
    """Its path by position from the root, and from the nearest uniquely named ancestor."""
    near: list[list[str]] = field(default_factory=list)
    """Labels before and after it, nearest first."""
    rivals: list[str] = field(default_factory=list)
    """Nearby texts of the same shape."""
    twins: int = 0
    """Number of siblings with the same shape."""
    shared: bool = False
    """Whether another nearby value has the same labels."""
    about: list[str] = field(default_factory=list)
    """Title and first heading of the page."""
    language: str = ""
    landmark: str = ""
    """Its margin area: ``aside``, ``nav`` or ``footer``; empty in the main content."""
    strayed: bool = False
    """Whether it was found where its selector does not lead."""
    doubted: list[str] = field(default_factory=list)
    """The last doubtful text and its path; a person may accept it."""
    day: int = 0
    """Ordinal of the day of the last full update."""

    @classmethod
    def of(cls, remembered: dict[str, Any]) -> Self:
        """Return the fingerprint stored as JSON; unknown keys are ignored."""
        return cls(**{name: value for name, value in remembered.items() if name in cls.__slots__})

    def as_json(self) -> dict[str, Any]:
        """Return the non-empty fields for storage."""
        return {name: value for name in self.__slots__ if (value := getattr(self, name))}

    def add_text(self, text: str) -> None:
        """Add a text that was read: its shape and number."""
        shape = shape_of(text)
        if shape not in self.shapes:
            self.shapes = [*self.shapes, shape][-MOST_SHAPES:]
        if text != self.last and shape.count("9") == 1 and (number := number_in(text)) is not None:
            self.numbers = [*self.numbers, float(f"{number:.6g}")][-MOST_NUMBERS:]
        self.last = text

    @property
    def marks(self) -> list[str]:
        """Labels that identify the value: row and column, or the label next to it and its group."""
        return marks_in(self.labels)

    @property
    def around(self) -> list[str]:
        """All labels before and after it."""
        return [word for words in self.near for word in words]


def marks_in(labels: ElementLabels) -> list[str]:
    """Return the identifying labels among all labels of an element."""
    if "row" in labels:
        return [labels[where] for where in ("row", "column") if where in labels]
    adjacent = next((labels[where] for where in MARK_POSITIONS if where in labels), "")
    return list(dict.fromkeys(filter(None, (labels.get("column"), adjacent, labels.get("group")))))


TextReader = Callable[[Element], str]
"""Function that returns the text of the field in an element; empty if there is none."""


def own_names(element: Element) -> str:
    """Return the id, sorted classes and naming attributes of an element as one text."""
    classes = sorted((element.attr("class") or "").split())
    named = sorted(f"{name}={value}" for name, value in _naming_attributes(element))
    return " ".join((element.attr("id") or "", *classes, *named))[:300]


def _naming_attributes(element: Element) -> Iterable[tuple[str, str]]:
    for name, value in element.attrs.items():
        if isinstance(value, str) and (name in _NAMING_ATTRIBUTES or name.startswith("data-")) and _is_name(value):
            yield name, value


def _is_name(value: str) -> bool:
    return 2 <= len(value) <= 60 and value[0].isalpha() and not any(letter.isdigit() for letter in value)


def unique_selectors(document: Document, element: Element) -> list[str]:
    """Return selectors by name that match only this element."""
    selectors = []
    if _is_name(own_id := element.attr("id") or ""):
        selectors.append(f"#{escape_identifier(own_id)}")
    for name, value in _naming_attributes(element):
        quoted = value.replace("\\", "\\\\").replace('"', '\\"')
        selectors.append(f'[{escape_identifier(name)}="{quoted}"]')
    classes = [name for name in (element.attr("class") or "").split() if _is_name(name)]
    selectors += [f"{element.tag}.{escape_identifier(name)}" for name in classes]
    return [name for name in selectors[:8] if document.select(name) == [element]]


def path_of(element: Element) -> str:
    """Return the path of an element by position from the root."""
    above = [element, *(one for one in element.ancestors if isinstance(one, Element))]
    return " > ".join(map(_position_selector, reversed(above[:60])))


def named_path_of(document: Document, element: Element) -> list[str]:
    """Return the path from the nearest uniquely named ancestor, as a list of at most one selector."""
    below = [element]
    for above in islice((one for one in element.ancestors if isinstance(one, Element)), 12):
        if names := unique_selectors(document, above):
            return [" > ".join((names[0], *map(_position_selector, reversed(below))))]
        below.append(above)
    return []


def _position_selector(element: Element) -> str:
    before = sum(1 for one in element.previous_siblings if isinstance(one, Element) and one.tag == element.tag)
    return f"{escape_identifier(element.tag)}:nth-of-type({before + 1})"


def nearby_labels(element: Element) -> list[list[str]]:
    """Return the labels before and after an element, nearest first."""
    return [_labels_of(element.preceding), _labels_of(element.following)]


def _labels_of(nodes: Iterable[Node]) -> list[str]:
    labels: list[str] = []
    for node in islice(nodes, 150):
        seen = isinstance(node, Text) and isinstance(node.parent, Element) and node.parent.tag not in INVISIBLE_TAGS
        if seen and (label := as_label(text_of(node))):
            labels.append(label)
            if len(labels) == _MOST_NEARBY_LABELS:
                break
    return labels


def innermost_element(element: Element) -> Element:
    """Return the innermost descendant with the whole text of the element."""
    while len(inside := [child for child in element.children if isinstance(child, Element)]) == 1:
        if inside[0].tag in INVISIBLE_TAGS or text_of(inside[0]) != text_of(element):
            break
        element = inside[0]
    return element


def count_twins(element: Element, shapes: Iterable[str]) -> int:
    """Count the siblings with one of these shapes."""
    known = set(shapes)
    siblings = [*islice(element.previous_siblings, 30), *islice(element.next_siblings, 30)]
    return sum(1 for one in siblings if isinstance(one, Element) and shape_of(text_of(one)[:400]) in known)


def find_rivals(element: Element, shapes: Iterable[str]) -> list[Element]:
    """Return nearby elements whose texts have one of these shapes."""
    known, found = set(shapes), dict[Element, None]()
    for above in islice(element.ancestors, 3):
        for node in islice(above.descendants, 200):
            if not isinstance(node, Text) or not isinstance(node.parent, Element) or element in node.ancestors:
                continue
            if node.data.strip() and shape_of(text_of(node)) in known:
                found[node.parent] = None
    return list(found)[:_MOST_RIVALS]


def texts_of(elements: Iterable[Element], but: str) -> list[str]:
    """Return the distinct texts of elements, except *but*."""
    return [text for text in dict.fromkeys(text_of(element)[:60] for element in elements) if text != but]


def landmark_of(element: Element) -> str:
    """Return the margin area that contains an element; empty in the main content."""
    margin = element.closest(_MARGIN_TAGS)
    return margin.tag if margin is not None else ""


def language_of(document: Document) -> str:
    """Return the two-letter language that a page declares."""
    root = document.root
    return (root.attr("lang") or "").lower()[:2] if root is not None else ""


def page_topic(document: Document) -> list[str]:
    """Return the title and the first heading of a page, as labels."""
    found = (document.select_one(selector) for selector in ("head > title", "h1"))
    return [as_label(" ".join(one.text.split())[:LONGEST_LABEL]) if one is not None else "" for one in found]


def update_fingerprint(
    page: LabelledPage, known: ElementFingerprint, element: Element, text: str, labels: ElementLabels, day: int
) -> ElementFingerprint:
    """Update a fingerprint from the element as it is now."""
    document = page.document
    known.add_text(text)
    known.labels, known.tag, known.own = labels, element.tag, own_names(element)
    known.names = unique_selectors(document, element)
    known.paths = [path_of(element), *named_path_of(document, element)]
    known.near, known.twins = nearby_labels(element), count_twins(element, known.shapes)
    others = find_rivals(element, known.shapes)
    known.rivals = texts_of(others, text)
    marks = known.marks
    known.shared = bool(marks) and any(marks_in(page.labels(other)) == marks for other in others)
    known.about, known.language = page_topic(document), language_of(document)
    known.landmark, known.day = landmark_of(element), day
    return known
