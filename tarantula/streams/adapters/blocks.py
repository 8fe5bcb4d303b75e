"""Blocks adapter: the same fields in every repeated block of a page; one block is selected, similar ones are found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import islice
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict
from turbohtml import Document, Element

from tarantula.core.messages import Message
from tarantula.streams.adapters.base import (
    Adapter,
    AdapterMemory,
    DoubtfulText,
    SourceReading,
    SourceResponse,
    add_rows_by_mode,
    check_key_field,
    parse_page,
)
from tarantula.streams.relocate.fingerprint import WORDS_SHAPE, shape_fits, shape_of
from tarantula.streams.relocate.labels import LabelledPage
from tarantula.streams.relocate.page_text import text_of
from tarantula.streams.selectors import ElementPlace, check_css, select_css, select_xpath
from tarantula.streams.sources.config import SourceConfig
from tarantula.streams.texts import extract_text

SIMILAR_SHARE = 0.5
"""Smallest share of common paths for two blocks to be similar."""
MOST_BLOCKS = 1000
_MOST_LEVELS = 4
_MOST_PATHS = 200

BlockStructure = frozenset[str]
"""Tag paths from a block to the elements inside it."""
MOST_SHAPES = 8
USUAL_SHARE = 0.8
"""Smallest share of blocks with the same label for that label to be learned."""


def block_structure(block: Element) -> BlockStructure:
    """Return the tag paths inside a block, up to a maximum depth and number."""
    paths = set[str]()
    waiting = [("", block, 0)]
    while waiting and len(paths) < _MOST_PATHS:
        above, element, depth = waiting.pop()
        for child in islice(element.children, 50):
            if isinstance(child, Element) and depth < _MOST_LEVELS:
                path = f"{above}/{child.tag}"
                paths.add(path)
                waiting.append((path, child, depth + 1))
    return frozenset(paths)


def are_similar(first: BlockStructure, second: BlockStructure) -> bool:
    """Whether two blocks have enough paths in common."""
    return first == second or len(first & second) >= SIMILAR_SHARE * len(first | second)


def similar_blocks(document: Document, picked: Element) -> list[Element]:
    """Return the picked block and similar ones, in page order.

    Similar siblings are preferred; without any, similar blocks elsewhere with the same ancestor tags and classes.
    """
    make = block_structure(picked)
    siblings = [
        one
        for one in _child_elements(picked.parent)
        if one.tag == picked.tag and are_similar(block_structure(one), make)
    ]
    if len(siblings) > 1:
        return siblings[:MOST_BLOCKS]
    above = _ancestry(picked)
    elsewhere = [one for one in document.select(picked.tag)[: 4 * MOST_BLOCKS] if _ancestry(one) == above]
    return [one for one in elsewhere if are_similar(block_structure(one), make)][:MOST_BLOCKS]


def blocks_with_structure(document: Document, tag: str, make: BlockStructure) -> list[Element]:
    """Return the blocks with a known structure if the page has exactly one list of them, else an empty list."""
    by_parent: dict[Element, list[Element]] = {}
    for one in document.select(tag)[: 4 * MOST_BLOCKS]:
        if isinstance(one.parent, Element) and make and are_similar(block_structure(one), make):
            by_parent.setdefault(one.parent, []).append(one)
    lists = [blocks for blocks in by_parent.values() if len(blocks) > 1]
    return lists[0][:MOST_BLOCKS] if len(lists) == 1 else []


def _child_elements(parent: object) -> list[Element]:
    return [child for child in parent.children if isinstance(child, Element)] if isinstance(parent, Element) else []


def _ancestry(element: Element) -> list[tuple[str, str]]:
    above = islice((one for one in element.ancestors if isinstance(one, Element)), 4)
    return [(one.tag, one.attr("class") or "") for one in (element, *above)]


class BlocksOptions(BaseModel):
    """Options of the `blocks` adapter."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    block: Annotated[str, AfterValidator(check_css)] = ""
    """CSS selector of one block, or of all blocks."""
    key: str = ""
    """Field that names the blocks; without one, each new block is news."""
    only: tuple[str, ...] = ()
    """Names of the blocks to follow; all by default."""


class BlocksAdapter(Adapter):
    """Read the same fields in every block."""

    Options = BlocksOptions
    Place = ElementPlace

    def check(self, source: SourceConfig) -> None:
        """Require a block selector and a selector for each field."""
        options = BlocksOptions.model_validate(source.options)
        if not options.block:
            raise ValueError(Message("Set the option block, for example to article:first-of-type."))
        check_key_field(source, options.key, has_rows=True)
        for field in source.fields:
            if not (field.place.get("css") or field.place.get("xpath")):
                raise ValueError(Message("Set css in the place of {field} (:scope is the block).", field=field.key))

    def read(self, response: SourceResponse, source: SourceConfig, memory: AdapterMemory) -> SourceReading:
        """Read the selected blocks."""
        options = BlocksOptions.model_validate(source.options)
        document = parse_page(response)
        reading = SourceReading(memory=memory)
        blocks = _blocks(document, options.block, memory)
        if not blocks:
            why = Message("Nothing on the page matches the block selector or has the structure of the earlier blocks.")
            reading.missing = {field.key: why for field in source.fields}
            return reading
        reader = _Reader(LabelledPage(document), source, options.key, memory.get("fields", {}), reading)
        rows = [reader.texts(block) for block in blocks]
        reader.learn_labels()
        add_rows_by_mode(rows, source, options.key, options.only, True, response, reading)
        made = {"tag": blocks[0].tag, "make": sorted(block_structure(blocks[0]))[:60]}
        reading.memory = {**reading.memory, "block": made, "fields": reader.known}
        return reading

    def has_news(self, options: Mapping[str, Any]) -> bool:
        """Blocks without a key are news."""
        return not options.get("key")


def _blocks(document: Document, selector: str, memory: AdapterMemory) -> list[Element]:
    matching = select_css(document, selector)
    if len(matching) > 1:
        return matching[:MOST_BLOCKS]
    if matching:
        return similar_blocks(document, matching[0])
    known = memory.get("block", {})
    return blocks_with_structure(document, known["tag"], frozenset(known["make"])) if known else []


class _Reader:
    """Read blocks; put a text aside if its shape or its label differs from earlier readings."""

    def __init__(
        self,
        page: LabelledPage,
        source: SourceConfig,
        key: str,
        known: dict[str, dict[str, list[str]]],
        reading: SourceReading,
    ) -> None:
        self._page, self._key, self._reading = page, key, reading
        self._places = {field.key: ElementPlace.model_validate(field.place) for field in source.fields}
        self._before = known
        self._labels: dict[str, list[str]] = {key: [] for key in self._places}
        self.known = {key: {part: list(texts) for part, texts in parts.items()} for key, parts in known.items()}

    def texts(self, block: Element) -> dict[str, str]:
        """Return the texts of one block by field key; doubtful ones go to the reading's doubts."""
        texts, doubts = dict[str, str](), dict[str, tuple[str, str]]()
        for key, place in self._places.items():
            try:
                found = _matching(block, place)
                read = {text: one for one in found if (text := _text(one, place))}
            except ValueError as error:
                self._reading.missing[key] = str(error)
                continue
            if not read:
                continue
            text, element = next(iter(read.items()))
            why = (
                Message("{count} elements of the block match, not one.", count=len(found))
                if len(read) > 1
                else self._doubt(key, text, element)
            )
            if why:
                doubts[key] = (text, why)
            else:
                texts[key] = text
        name = texts.get(self._key, "") if self._key else ""
        self._reading.doubts += [DoubtfulText(key, text, why, name) for key, (text, why) in doubts.items()]
        return {} if doubts and not self._key else texts

    def learn_labels(self) -> None:
        """Store the label that a field has in nearly every block."""
        for key, words in self._labels.items():
            word, times = Counter(words).most_common(1)[0] if words else ("", 0)
            if word and times > 1 and times >= USUAL_SHARE * len(words) and not self.known[key]["words"]:
                self.known[key]["words"] = [word]

    def _doubt(self, key: str, text: str, element: Element | str) -> str:
        """Return why a text is doubtful; if it is not, learn its shape and label and return an empty string."""
        shape, before = shape_of(text), self._before.get(key, {})
        word = _label_next_to(self._page, element) if shape != WORDS_SHAPE else ""
        if before:
            if not shape_fits(shape, before.get("shapes", []), loosely=False):
                return Message("It looks unlike all earlier texts: {text!r}.", text=text[:60])
            words = before.get("words", [])
            if words and word not in words:
                return Message("“{before}” was next to it; now it is “{word}”.", before=words[0], word=word)
        known = self.known.setdefault(key, {"shapes": [], "words": []})
        self._labels[key].append(word)
        if shape not in known["shapes"]:
            known["shapes"] = [*known["shapes"], shape][-MOST_SHAPES:]
        return ""


def _label_next_to(page: LabelledPage, element: Element | str) -> str:
    labels = page.labels(element) if isinstance(element, Element) else {}
    return labels.get("term") or labels.get("before") or labels.get("after") or ""


def _matching(block: Element, place: ElementPlace) -> list[Element | str]:
    found = select_css(block, place.css) if place.css else select_xpath(block, place.xpath)
    return list(found[place.nth - 1 : place.nth] if place.nth else found)[:100]


def _text(one: Element | str, place: ElementPlace) -> str:
    if isinstance(one, str):
        return extract_text(one, place.regex)
    raw = (one.attr(place.attribute) or "") if place.attribute else text_of(one)
    return extract_text(raw, place.regex) if raw else ""
