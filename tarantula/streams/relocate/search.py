"""Locate a known element on a page: in its place, elsewhere with certainty, doubtful, or not at all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from turbohtml import Element, Text

from tarantula.core.messages import Message
from tarantula.streams.relocate.fingerprint import (
    ElementFingerprint,
    TextReader,
    count_twins,
    innermost_element,
    is_usual,
    landmark_of,
    language_of,
    nearby_labels,
    number_in,
    own_names,
    page_topic,
    path_of,
    shape_fits,
    shape_of,
)
from tarantula.streams.relocate.labels import HEADING_KEYS, HEADINGS, ElementLabels, LabelledPage
from tarantula.streams.relocate.page_text import INVISIBLE_TAGS, as_label, text_of

MOST_CANDIDATES = 2000
CLOSE_WORDS = 3
"""Number of labels on each side that count as close."""
MOST_PAGE_TEXTS = 30_000
"""Maximum number of texts of a page to search."""
FAR_OUTSIDE_FACTOR = 10.0
"""Factor on the usual range for an element that has not moved."""


@dataclass(frozen=True, slots=True)
class Located:
    """The value was located with certainty."""

    element: Element
    text: str
    labels: ElementLabels
    moved: bool = False


@dataclass(frozen=True, slots=True)
class LocatedDoubtfully:
    """A text was found that may be another value."""

    text: str
    why: str
    element: Element | None = None


@dataclass(frozen=True, slots=True)
class NotLocated:
    """No value was found."""

    why: str


LocateResult = Located | LocatedDoubtfully | NotLocated


@dataclass(slots=True)
class ElementCandidate:
    """An element that may be the value, and the clues that lead to it."""

    element: Element
    text: str
    labels: ElementLabels
    is_selected: bool = False
    """Matched by the given selector."""
    has_unique_name: bool = False
    """Matched by a unique name."""
    on_path: bool = False
    near: float = 0.0
    """Share of the known surrounding labels that are still around it."""
    has_close_labels: bool = False
    """Whether a close label, other than its own, is still close."""
    is_unchanged: bool = False
    """Whether its tag, id, classes and naming attributes are unchanged."""

    paths_differ: bool = False
    """Whether the known paths lead to different elements."""

    @property
    def is_in_place(self) -> bool:
        """Whether it is at its known position, or has most of its surroundings."""
        return self.on_path or self.near >= 0.5


class ElementCandidates:
    """All candidates on one page."""

    def __init__(
        self, page: LabelledPage, known: ElementFingerprint, selected: list[Element], read: TextReader
    ) -> None:
        self._page_labels, self._known, self._read = page, known, read
        self._document = page.document
        self._selected = {innermost_element(element) for element in selected[:MOST_CANDIDATES]}
        self._named = {innermost_element(element) for name in known.names for element in self._only(name)}
        self._on_path = {innermost_element(element) for path in known.paths for element in self._only(path)}

    def all(self) -> Iterator[ElementCandidate]:
        """Yield every candidate once."""
        seen = set[Element]()
        for element in (*self._selected, *self._named, *self._on_path, *self._with_known_shape()):
            if element not in seen:
                seen.add(element)
                yield self._candidate(element)

    @cached_property
    def texts(self) -> list[str]:
        """All texts of the page."""
        return [text_of(node) for node in self._nodes()]

    @cached_property
    def words(self) -> set[str]:
        """All labels of the page."""
        return {label for text in self.texts if (label := as_label(text))}

    @cached_property
    def headings(self) -> set[str]:
        """All headings of the page."""
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

    def _with_known_shape(self) -> Iterable[Element]:
        """Return elements with a known text shape, if identifying labels are known."""
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

    def _candidate(self, element: Element) -> ElementCandidate:
        known = self._known
        around = nearby_labels(element) if known.near else [[], []]
        words = {word for some in around for word in some}
        share = sum(1 for word in known.around if word in words) / len(known.around) if known.around else 0.0
        return ElementCandidate(
            element,
            self._read(element),
            self._page_labels.labels(element),
            is_selected=element in self._selected,
            has_unique_name=element in self._named,
            on_path=element in self._on_path,
            paths_differ=len(self._on_path) > 1,
            near=share,
            has_close_labels=bool(self._closest(known.near) & self._closest(around)),
            is_unchanged=element.tag == known.tag and own_names(element) == known.own,
        )


class ElementSearch:
    """Search a changed page for a known element."""

    def __init__(
        self, page: LabelledPage, known: ElementFingerprint, selected: list[Element], read: TextReader
    ) -> None:
        self._page_labels, self._known, self._document = page, known, page.document
        self._page = ElementCandidates(page, known, selected, read)
        self._candidates = [candidate for candidate in self._page.all() if candidate.text]

    def outcome(self) -> LocateResult:
        """Return the location of the value, if it is certain."""
        known = self._known
        if has_other_topic(known, page_topic(self._document)) and not self._is_translated():
            return self._another_all()
        exactly, loosely = ([one for one in self._candidates if self._fits(one, loosely=way)] for way in (False, True))
        if not known.marks:
            return self._by_position(exactly) if exactly else self._without_match()
        for like in (exactly, loosely):
            if same := [one for one in like if self._has_identifying_labels(one)]:
                return self._by_labels(same)
        return self._with_other_labels(loosely) if loosely else self._without_match()

    def _fits(self, one: ElementCandidate, *, loosely: bool) -> bool:
        return shape_fits(shape_of(one.text), self._known.shapes, loosely=loosely)

    def _another_all(self) -> LocateResult:
        matching = [one for one in self._candidates if one.is_selected or one.has_unique_name]
        now = _quoted([words for words in page_topic(self._document) if words])
        why = Message(
            "The page was about {before}, and is now about {now}.",
            before=_quoted([words for words in self._known.about if words]),
            now=now,
        )
        return _doubtful(_best(matching), why) if matching else NotLocated(why)

    def _by_labels(self, same: list[ElementCandidate]) -> LocateResult:
        one = self._single(same)
        if one is None:
            return _doubtful(_best(same), Message("{count} values on the page have the same labels.", count=len(same)))
        if contradiction := self._contradiction(one):
            return _doubtful(one, contradiction)
        if self._known.shared and not (one.is_selected and one.on_path):
            return _doubtful(one, Message("Other values had the same labels, and it is no longer in its place."))
        headings = [self._known.labels[where] for where in HEADING_KEYS if where in self._known.labels]
        under_known_heading = any(heading in one.labels.values() for heading in headings)
        if one.is_selected or one.has_unique_name or one.is_in_place or under_known_heading:
            return _located(one)
        return _doubtful(one, Message("Only its labels are the same; everything around it is new."))

    def _with_other_labels(self, like: list[ElementCandidate]) -> LocateResult:
        one = _best(like)
        there = set(one.labels.values())
        if self._is_translated() and all(mark in there or mark not in self._page.words for mark in self._known.marks):
            as_before = one.is_selected and one.on_path and one.is_unchanged
            alone = count_twins(one.element, self._known.shapes) == self._known.twins
            if as_before and alone and not self._contradiction(one):
                return _located(one)
        if not (one.is_selected or one.has_unique_name):
            return NotLocated(
                Message(
                    "{marks} is not on the page, or no matching value is next to it.", marks=_quoted(self._known.marks)
                )
            )
        now = [label for label in one.labels.values() if label not in self._known.labels.values()]
        before = _quoted(self._known.marks)
        reason = (
            Message("{before} was next to it; now it is {now}.", before=before, now=_quoted(now))
            if now
            else Message("{before} was next to it.", before=before)
        )
        return _doubtful(one, reason)

    def _by_position(self, like: list[ElementCandidate]) -> LocateResult:
        sure = [one for one in like if (one.is_selected or one.has_unique_name) and one.is_in_place]
        one = self._single(sure)
        if one is None or one.paths_differ:
            return _doubtful(
                _best(like), Message("The page has changed, and the value was identified only by its place.")
            )
        contradiction = self._contradiction(one)
        return _doubtful(one, contradiction) if contradiction else _located(one)

    def _single(self, candidates: list[ElementCandidate]) -> ElementCandidate | None:
        if len({one.text for one in candidates}) == 1:
            return _best(candidates)
        twins_now = [one for one in candidates if count_twins(one.element, self._known.shapes) == self._known.twins]
        for narrowed in (
            [one for one in candidates if one.has_unique_name],
            [one for one in candidates if one.is_unchanged and self._known.own] if _are_siblings(candidates) else [],
            [one for one in twins_now if one.is_selected and one.on_path and one.is_unchanged],
        ):
            if len(narrowed) == 1:
                return narrowed[0]
        return None

    def _has_identifying_labels(self, one: ElementCandidate) -> bool:
        """Whether a candidate has the identifying labels, and no label contradicts them."""
        now = one.labels
        known, there = self._known.labels, set(now.values())
        if not all(mark in there for mark in self._known.marks):
            return False
        for where, label in known.items():
            if label in there:
                continue
            if label in self._page.headings if where in HEADING_KEYS else (where in now or label in self._page.words):
                return False
        at_known_position = one.is_selected and one.on_path and one.is_unchanged
        if at_known_position or len(self._known.marks) > 1:
            return True
        # A single identifying label is not enough: the surroundings must match too.
        in_known_section = known.get("heading", "") in {"", *there}
        return (
            in_known_section
            and one.has_close_labels
            and not any(self._is_new_label(now.get(at)) for at in ("group", "heading"))
        )

    def _is_new_label(self, label: str | None) -> bool:
        """Whether a group or heading label was not near the value before."""
        known = self._known
        return label is not None and label not in (*known.labels.values(), *known.around, *known.about)

    def _contradiction(self, one: ElementCandidate) -> str:
        known = self._known
        named = [other for other in self._candidates if other.has_unique_name and other.text != one.text]
        if named and not one.has_unique_name:
            return Message("The element with its name has another text now: {text!r}.", text=named[0].text[:60])
        is_rival = one.text != known.last and one.text in known.rivals and self._page.texts.count(one.text) == 1
        if is_rival and known.last in self._page.texts:
            return Message("It is the text that was next to it, and its own text is elsewhere on the page.")
        if landmark_of(one.element) != known.landmark and not one.is_selected:
            return Message("It is in another part of the page.")
        width = FAR_OUTSIDE_FACTOR if one.is_selected and one.is_unchanged else 1.0
        number = number_in(one.text) if shape_of(one.text).count("9") == 1 else None
        if number is not None and not is_usual(number, known.numbers, width):
            return Message("The page has changed, and {text!r} is far outside the usual range.", text=one.text[:60])
        return ""

    def _without_match(self) -> LocateResult:
        matching = [one for one in self._candidates if one.is_selected or one.has_unique_name]
        if not matching:
            return NotLocated(Message("Nothing on the page matches its selector or its fingerprint."))
        one = _best(matching)
        return _doubtful(
            one,
            Message(
                "In place of texts such as {before!r} there is now {text!r}.",
                before=self._known.last[:60],
                text=one.text[:60],
            ),
        )

    def _is_translated(self) -> bool:
        now = language_of(self._document)
        return bool(now and self._known.language and now != self._known.language)


def has_other_topic(known: ElementFingerprint, now: list[str]) -> bool:
    """Whether both the title and the first heading of a page have changed."""
    return all(before and after and before != after for before, after in zip(known.about, now, strict=False))


def _are_siblings(candidates: list[ElementCandidate]) -> bool:
    return len({one.element.parent for one in candidates}) == 1


def _located(one: ElementCandidate) -> Located:
    return Located(one.element, one.text, one.labels, moved=True)


def _doubtful(one: ElementCandidate, why: str) -> LocatedDoubtfully:
    return LocatedDoubtfully(one.text, why, one.element)


def _best(candidates: list[ElementCandidate]) -> ElementCandidate:
    return max(
        candidates, key=lambda one: (one.is_selected + one.has_unique_name + one.on_path + one.near, one.is_selected)
    )


def _quoted(words: Sequence[str]) -> str:
    return " and ".join(f"“{word[:60]}”" for word in words)


def locate(
    page: LabelledPage, known: ElementFingerprint, selected: Sequence[Element], read: TextReader
) -> LocateResult:
    """Return where a known value is now; *selected* are the elements that its selector matches."""
    for element in _expected_elements(page, known, selected):
        text = read(element)
        is_there = path_of(element) in known.paths[:1] and element.tag == known.tag and own_names(element) == known.own
        is_same = is_there and (_is_unchanged(page, known, element, text) if known.marks else text == known.last)
        if text and is_same:
            return Located(element, text, known.labels)
    return ElementSearch(page, known, list(selected), read).outcome()


def _expected_elements(page: LabelledPage, known: ElementFingerprint, selected: Sequence[Element]) -> list[Element]:
    """Return the single element that the selector matches, or the known location if the selector had failed before."""
    if known.strayed:
        found = page.document.select(known.paths[0]) if known.paths and known.marks else []
        return [innermost_element(element) for element in found[:1]]
    return [innermost_element(selected[0])] if len(selected) == 1 else []


def _is_unchanged(page: LabelledPage, known: ElementFingerprint, element: Element, text: str) -> bool:
    return (
        shape_fits(shape_of(text), known.shapes, loosely=True)
        and page.labels(element) == known.labels
        and count_twins(element, known.shapes) == known.twins
        and not has_other_topic(known, page_topic(page.document))
    )
