"""Elements that may be the one that is followed, with what speaks for each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from turbohtml import Element, Text

from tarantula.streams.relocate.fingerprint import TextReader, innermost_element, nearby_labels, own_names
from tarantula.streams.relocate.fingerprint_part_known import ElementFingerprint
from tarantula.streams.relocate.fingerprint_part_shape import shape_fits, shape_of
from tarantula.streams.relocate.labels import HEADINGS, ElementLabels, LabelledPage
from tarantula.streams.relocate.page_text import INVISIBLE_TAGS, as_label, text_of

MOST_CANDIDATES = 2000
CLOSE_WORDS = 3
"""Words on each side of a value that are its company."""
MOST_PAGE_TEXTS = 30_000
"""Of a page: what is further down is not looked at."""


@dataclass(slots=True)
class ElementCandidate:
    """One element, and which ways lead to it."""

    element: Element
    text: str
    labels: ElementLabels
    chosen: bool = False
    """By the selector that somebody gave."""
    named: bool = False
    """By a name of its own that nothing else has."""
    on_path: bool = False
    near: float = 0.0
    """How much of what was around it still is."""
    has_company: bool = False
    """Whether some of the words that stood closest to it, beside its own, still do."""
    is_as_it_was: bool = False
    """Whether its id, classes and tag are the same."""

    elsewhere: bool = False
    """Whether another path leads to another element."""

    @property
    def by_structure(self) -> bool:
        """Whether it stands where it stood."""
        return self.on_path or self.near >= 0.5


class ElementCandidates:
    """All of them on one page."""

    def __init__(self, sight: LabelledPage, known: ElementFingerprint, chosen: list[Element], read: TextReader) -> None:
        self._sight, self._known, self._read = sight, known, read
        self._document = sight.document
        self._chosen = {innermost_element(element) for element in chosen[:MOST_CANDIDATES]}
        self._named = {innermost_element(element) for name in known.names for element in self._only(name)}
        self._on_path = {innermost_element(element) for path in known.paths for element in self._only(path)}

    def all(self) -> Iterator[ElementCandidate]:
        """Yield every candidate once."""
        seen = set[Element]()
        for element in (*self._chosen, *self._named, *self._on_path, *self._like_it()):
            if element not in seen:
                seen.add(element)
                yield self._judged(element)

    @cached_property
    def texts(self) -> list[str]:
        """The texts of the page."""
        return [text_of(node) for node in self._nodes()]

    @cached_property
    def words(self) -> set[str]:
        """All that could be a label on the page."""
        return {label for text in self.texts if (label := as_label(text))}

    @cached_property
    def headings(self) -> set[str]:
        """The headings of the page."""
        return {as_label(text_of(heading)) for heading in self._document.select(", ".join(HEADINGS))}

    def _nodes(self) -> Iterator[Text]:
        for node in islice(self._document.descendants, 4 * MOST_PAGE_TEXTS):
            if isinstance(node, Text) and node.data.strip():
                parent = node.parent
                if isinstance(parent, Element) and parent.tag not in INVISIBLE_TAGS and parent.tag != "title":
                    yield node

    def _only(self, selector: str) -> list[Element]:
        found = self._document.select(selector)
        return found if len(found) == 1 else []

    def _like_it(self) -> Iterable[Element]:
        """Return elements whose text looks as those did, if there are words that say which one it is."""
        if not self._known.marks:
            return ()
        parents = (node.parent for node in self._nodes())
        leaves = dict.fromkeys(parent for parent in parents if isinstance(parent, Element))
        like = (innermost_element(leaf) for leaf in leaves if self._fits(self._read(leaf)))
        return islice(like, MOST_CANDIDATES)

    def _closest(self, around: list[list[str]]) -> set[str]:
        return {word for words in around for word in words[:CLOSE_WORDS]} - set(self._known.marks)

    def _fits(self, text: str) -> bool:
        return bool(text) and shape_fits(shape_of(text), self._known.shapes, loosely=True)

    def _judged(self, element: Element) -> ElementCandidate:
        known = self._known
        around = nearby_labels(element) if known.near else [[], []]
        words = {word for some in around for word in some}
        share = sum(1 for word in known.around if word in words) / len(known.around) if known.around else 0.0
        return ElementCandidate(
            element,
            self._read(element),
            self._sight.labels(element),
            chosen=element in self._chosen,
            named=element in self._named,
            on_path=element in self._on_path,
            elsewhere=len(self._on_path) > 1,
            near=share,
            has_company=bool(self._closest(known.near) & self._closest(around)),
            is_as_it_was=element.tag == known.tag and own_names(element) == known.own,
        )
