"""Draft of a source in the picker: the picked fields, their kinds and units, the follow mode and a suggested name.

Documents that are not HTML pages are offered as a whole: an adapter for the response, and what can be followed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from threading import RLock
from typing import Any
from urllib.parse import unquote, urlsplit

from tarantula.core.errors import TarantulaError
from tarantula.fetch.media_types import media_type
from tarantula.streams.adapters import adapter_named, adapter_names
from tarantula.streams.adapters.base import SourceReading, SourceResponse, UnreadableResponse
from tarantula.streams.kinds import Aggregation, ValueKind
from tarantula.streams.limited import offers_in, read_response, title_in
from tarantula.streams.picker.follow_modes import FollowMode, FollowPlan, follow_plans
from tarantula.streams.picker.page import PageTree
from tarantula.streams.picker.pick import Pick, pick_element, title_for
from tarantula.streams.sources.config import MOST_FIELDS, PERSONAL_PREFIX, SourceConfig, parse_source
from tarantula.streams.suggestions import DocumentOffer, key_of
from tarantula.streams.texts import fold_text
from tarantula.streams.values import FieldGuess, guess_field

LONGEST_WORD = 40
_OTHER = re.compile(r"[^a-z0-9]+")
_FIGURES = re.compile(r"[\d.:]+")
_PART = re.compile(r"[a-z0-9][a-z0-9_-]*")
DRAFT_NAME = "draft"
"""Placeholder name of a source that has none yet."""
NO_REQUEST: Mapping[str, Any] = {"variables": {}, "method": "GET", "headers": {}, "body": ""}
"""Request fields to clear: the response has been fetched already."""


def _word(text: str) -> str:
    words = [word for word in _OTHER.split(fold_text(text)) if word]
    return "-".join(words[:4])[:LONGEST_WORD].strip("-")


def source_name_for(person: str, title: str, url: str) -> str:
    """Return a suggested name for a personal source: ``user.ana.hoquei``."""
    parts = urlsplit(url)
    host = (parts.hostname or "").removeprefix("www.")
    # Without a title, use the file name, else the host name unless it is an IP address.
    named = (title, PurePosixPath(unquote(parts.path)).stem, "" if _FIGURES.fullmatch(host) else host.partition(".")[0])
    word = next(filter(None, map(_word, named)), "source")
    owner = person.lower()
    return f"{PERSONAL_PREFIX}.{owner}.{word}" if _PART.fullmatch(owner) else word


@dataclass(slots=True)
class DraftField:
    """One field of a draft."""

    title: str
    text: str
    """Current text."""
    guessed: FieldGuess
    kind: ValueKind | None = None
    """Kind chosen by a person; the guess by default."""
    unit: str | None = None
    """Unit chosen by a person; the guess by default."""
    pick: Pick | None = None
    place: dict[str, Any] = field(default_factory=dict)
    """Place in a document that is not an HTML page; unused for picked elements."""
    texts: list[str] = field(default_factory=list)
    """Texts of all rows."""
    key: str = ""
    """Key of the field; made from the title by default."""
    aggregation: Aggregation | None = None
    """Aggregation chosen by a person; the default of the kind otherwise."""

    @property
    def effective_kind(self) -> ValueKind:
        """Effective kind."""
        return self.kind or self.guessed.kind

    @property
    def effective_unit(self) -> str:
        """Effective unit."""
        if self.unit is not None:
            return self.unit
        return self.guessed.unit if self.effective_kind == self.guessed.kind else ""


class SourceDraft:
    """A source under construction in the picker; safe for use from several threads."""

    def __init__(
        self,
        response: SourceResponse,
        tree: PageTree | None = None,
        adapter: str = "page",
        options: Mapping[str, Any] | None = None,
        named_by: Mapping[str, Any] | None = None,
    ) -> None:
        self.answer = response
        self.fields: list[DraftField] = []
        # A quick second click is handled in another thread while the first one is still being processed.
        self._turn = RLock()
        self._tree = tree
        self._adapter, self._options = adapter, dict(options or {})
        self._named_by = named_by
        self._plans: list[FollowPlan] = []
        self._mode: FollowMode | None = None

    @classmethod
    def from_source(cls, response: SourceResponse, values: Mapping[str, Any]) -> SourceDraft:
        """Return a draft with the values of a complete source, such as one made by a category."""
        config = parse_source({"name": DRAFT_NAME, **values, "url": response.url, **NO_REQUEST})
        draft = cls(response, None, config.adapter, config.options)
        draft.fields = [
            DraftField(
                one.title or one.key,
                "",
                FieldGuess(one.kind or ValueKind.TEXT, one.unit, one.aggregation or Aggregation.LAST),
                one.kind,
                one.unit or None,
                place=one.place,
                key=one.key,
                aggregation=one.aggregation,
            )
            for one in config.fields
        ]
        draft._guess()
        return draft

    def pick(self, number: int, part: str = "") -> DraftField:
        """Add the picked element as a field; raise `TarantulaError` if it cannot be followed."""
        with self._turn:
            if self._tree is None:
                raise TarantulaError("There is no page to pick from.")
            pick = pick_element(self._tree, number, part)
            same = [one for one in self.fields if one.pick is not None and _is_same(one.pick, pick)]
            if same:
                raise TarantulaError("This was already picked: {title}.", title=same[0].title)
            return self._add(DraftField(title_for(self._tree, pick), pick.text, guess_field([pick.text]), pick=pick))

    def add_value(self, title: str, text: str, place: Mapping[str, Any]) -> DraftField:
        """Add a value of a document that is not an HTML page, by its place."""
        with self._turn:
            return self._add(DraftField(title, text, guess_field([text]), place=dict(place)))

    def field_at(self, place: Mapping[str, Any]) -> DraftField | None:
        """Return the field at a place of the document, if any."""
        return next((one for one in self.fields if one.place == place), None)

    def remove(self, field: DraftField) -> None:
        """Remove a field, if present."""
        with self._turn:
            self.fields = [one for one in self.fields if one is not field]
            self._update_plans()

    def restrict(self, field: DraftField, part: str = "", attribute: str = "") -> None:
        """Restrict a field to a part of the text or to an attribute; without either, use the whole text."""
        with self._turn:
            pick = field.pick
            assert pick is not None, "Only picked elements have parts."
            changed = Pick(pick.number, pick.element, " ".join(part.split()), attribute)
            changed.part_options()
            field.pick, field.text = changed, changed.text
            self._update_plans()

    @property
    def plans(self) -> list[FollowPlan]:
        """Possible follow plans, the most likely first."""
        return self._plans

    @property
    def plan(self) -> FollowPlan | None:
        """The chosen follow plan."""
        return next((plan for plan in self._plans if plan.mode == self._mode), next(iter(self._plans), None))

    def choose_mode(self, mode: FollowMode) -> None:
        """Choose the follow mode."""
        with self._turn:
            self._mode = mode
            self._guess()

    def similar_numbers(self) -> list[int]:
        """Return the numbers of the other elements that will be read."""
        plan = self.plan
        return (
            [self._tree.number(one) for one in plan.similar_elements]
            if plan is not None and self._tree is not None
            else []
        )

    def keys(self) -> list[str]:
        """Return a key for every field, made from its title."""
        taken: set[str] = set()
        return [one.key or key_of(one.title, taken) for one in self.fields]

    def configuration(self, **about: Any) -> dict[str, Any]:
        """Return the source configuration for `parse_source`."""
        with self._turn:
            keys, plan = self.keys(), self.plan
            options = dict(plan.options if plan is not None else self._options)
            if (naming := self._naming_index()) is not None:
                options["key"] = keys[naming]
            places = plan.places if plan is not None else [one.place for one in self.fields]
            fields = [
                {
                    "key": key,
                    "title": one.title,
                    "kind": one.effective_kind,
                    "unit": one.effective_unit,
                    "aggregation": one.aggregation,
                    "place": place,
                }
                for key, one, place in zip(keys, self.fields, places, strict=True)
            ]
            adapter = plan.adapter if plan is not None else self._adapter
            read_how = {"adapter": adapter, "options": options, "fields": fields}
            return {"name": DRAFT_NAME, "url": self.answer.url, **about, **read_how}

    def _naming_index(self) -> int | None:
        """Return the index of the field that names the rows, if any."""
        if self.plan is not None:
            return self.plan.named_by
        return next((number for number, one in enumerate(self.fields) if one.place == self._named_by), None)

    def reading(self, config: SourceConfig | None = None) -> SourceReading:
        """Read the document with the adapter of the draft."""
        config = config or parse_source(self.configuration())
        try:
            return read_response(self.answer, config, {})
        except UnreadableResponse as error:
            raise TarantulaError(str(error)) from error

    def _add(self, field: DraftField) -> DraftField:
        if len(self.fields) >= MOST_FIELDS:
            raise TarantulaError("A source has at most {limit} fields.", limit=MOST_FIELDS)
        self.fields.append(field)
        try:
            self._update_plans()
        except TarantulaError:
            self.fields.remove(field)
            raise
        return field

    def _update_plans(self) -> None:
        picks = [one.pick for one in self.fields if one.pick is not None]
        self._plans = follow_plans(picks)
        self._guess()

    def _guess(self) -> None:
        """Guess the kinds of all fields from the texts of all rows."""
        rows = self.reading().rows if self.fields else []
        for key, one in zip(self.keys(), self.fields, strict=True):
            one.texts = [text for row in rows if (text := row.texts.get(key, ""))]
            one.guessed = guess_field(one.texts or [one.text])
            if one.pick is None and one.texts:
                one.text = one.texts[0]


def _is_same(one: Pick, other: Pick) -> bool:
    return (one.number, one.part, one.attribute) == (other.number, other.part, other.attribute)


def adapter_for_response(response: SourceResponse) -> str:
    """Return the name of the adapter that suits the response best; empty if none does."""
    name = max(adapter_names(), key=lambda one: adapter_named(one).suitability(response))
    return name if adapter_named(name).suitability(response) else ""


def is_page(response: SourceResponse) -> bool:
    """Whether elements of the response can be picked."""
    name = adapter_for_response(response)
    return bool(name) and adapter_named(name).has_elements


def offers_of(response: SourceResponse) -> list[DocumentOffer]:
    """Return the offers of a document that is not an HTML page; raise `TarantulaError` if there are none."""
    name = adapter_for_response(response)
    if not name:
        kind = media_type(response.content_type)
        raise TarantulaError("This is {kind}, which no adapter reads. Use another address.", kind=kind)
    try:
        offers = offers_in(response, name)
    except UnreadableResponse as error:
        raise TarantulaError(str(error)) from error
    if not offers:
        raise TarantulaError("This document contains no value to follow.")
    return offers


def document_title(response: SourceResponse) -> str:
    """Return the title of a document that is not an HTML page, if it has one."""
    name = adapter_for_response(response)
    try:
        return title_in(response, name)[:200] if name else ""
    except UnreadableResponse:
        return ""
