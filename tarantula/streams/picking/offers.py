"""Documents that are no pages: told by their type, and offered with what can be followed in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from tarantula.errors import TarantulaError
from tarantula.media import extension_of, media_type
from tarantula.streams.adapter import Answer, CannotRead
from tarantula.streams.adapters.csv import CsvOptions, lines_of
from tarantula.streams.picking.json_offers import json_places, json_rows
from tarantula.streams.picking.xml_offers import xml_places

MOST_VALUES = 200
"""That are offered of one document."""
LONGEST = 200


class Rows(StrEnum):
    """Which rows of a document are followed."""

    ONE = "one"
    """There is only one."""
    LAST = "last"
    FIRST = "first"
    NAMED = "named"
    """All of them, each by its name."""
    NEWS = "news"
    """Each when it is new."""
    NEXT = "next"
    """What comes next in a calendar."""


@dataclass(frozen=True, slots=True)
class Offered:
    """A value that can be followed."""

    title: str
    text: str
    place: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Offer:
    """One way of reading a document."""

    adapter: str
    rows: Rows
    values: list[Offered]
    options: dict[str, Any] = field(default_factory=dict)
    where: str = ""
    """Which list of it, if it has several."""
    named_by: int | None = None
    """The value that names the rows."""


def is_page(answer: Answer) -> bool:
    """Whether an answer is a page that can be pointed at."""
    kind = media_type(answer.content_type)
    if kind in ("text/html", "application/xhtml+xml"):
        return True
    return kind is None and answer.body.lstrip()[:1] == b"<" and not _is_xml(answer, kind)


def offers_of(answer: Answer) -> list[Offer]:
    """Return what can be followed in a document that is no page, or say that nothing can."""
    kind = media_type(answer.content_type)
    for fits, offer in _READERS:
        if fits(answer, kind):
            try:
                found = [one for one in offer(answer) if one.values]
            except CannotRead as error:
                raise TarantulaError(str(error)) from error
            if found:
                return found
            raise TarantulaError("There is no value in this document that could be followed.")
    raise TarantulaError(
        f"This is {kind or 'of no known type'}, which nothing reads. Give the address of something else."
    )


def _is_json(answer: Answer, kind: str | None) -> bool:
    begins = answer.body.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    return bool(kind and (kind.endswith(("/json", "+json")))) or (
        kind in (None, "text/plain") and begins in (b"{", b"[")
    )


def _is_calendar(answer: Answer, kind: str | None) -> bool:
    return kind == "text/calendar" or answer.body[:100].lstrip().upper().startswith(b"BEGIN:VCALENDAR")


def _is_feed(answer: Answer, kind: str | None) -> bool:
    start = answer.body[:2000].lower()
    named = kind in ("application/rss+xml", "application/atom+xml", "application/rdf+xml")
    return named or (_is_xml(answer, kind) and any(mark in start for mark in (b"<rss", b"<feed", b"<rdf:rdf")))


def _is_xml(answer: Answer, kind: str | None) -> bool:
    if kind in ("application/xml", "text/xml") or (kind or "").endswith("+xml"):
        return kind != "application/xhtml+xml"
    return kind in (None, "text/plain") and answer.body.lstrip()[:5] == b"<?xml"


def _is_csv(answer: Answer, kind: str | None) -> bool:
    return kind in ("text/csv", "text/tab-separated-values") or (
        (kind or "text/plain").startswith("text/plain") or extension_of(answer.url) == "csv"
    )


def _json(answer: Answer) -> Iterator[Offer]:
    places = json_places(answer, MOST_VALUES)
    yield Offer("json", Rows.ONE, [Offered(path, text[:LONGEST], {"path": path}) for path, text in places])
    for rows, columns, named_by in json_rows(answer):
        values = [Offered(path, text[:LONGEST], {"path": path}) for path, text in columns]
        options = {"rows": rows}
        if named_by is not None:
            yield Offer("json", Rows.NAMED, values, options, rows, named_by)
        yield Offer("json", Rows.NEWS, values, options, rows)


def _csv(answer: Answer) -> Iterator[Offer]:
    titles, lines = lines_of(answer, CsvOptions())
    full = [line for line in lines if any(cell.strip() for cell in line)]
    if len(titles) < 2 or not full:
        return
    for rows, line in ((Rows.LAST, full[-1]), (Rows.FIRST, full[0]), (Rows.NEWS, full[-1])):
        values = [
            Offered(title or str(number), line[number - 1][:LONGEST], _column(titles, number))
            for number, title in enumerate(titles[:MOST_VALUES], 1)
            if number <= len(line)
        ]
        yield Offer("csv", rows, values, {"rows": str(rows)})


def _column(titles: list[str], number: int) -> dict[str, Any]:
    title = titles[number - 1]
    return {"column": title} if title and titles.count(title) == 1 else {"number": number}


def _feed(answer: Answer) -> Iterator[Offer]:
    from tarantula.streams.adapters.feed import Part, entries_of, text_of_part

    entries = entries_of(answer)
    parts: tuple[Part, ...] = ("title", "link", "summary", "author", "published", "categories", "enclosure")
    first = entries[0] if entries else {}
    values = [Offered(part, text_of_part(first, part)[:LONGEST], {"part": part}) for part in parts]
    yield Offer("feed", Rows.NEWS, [one for one in values if one.text or one.title in ("title", "link")])


def _calendar(answer: Answer) -> Iterator[Offer]:
    from tarantula.streams.adapters.ical import calendar_of

    calendar_of(answer)
    parts = ("summary", "start", "end", "location", "description", "url")
    yield Offer("ical", Rows.NEXT, [Offered(part, "", {"part": part}) for part in parts])


def _xml(answer: Answer) -> Iterator[Offer]:
    places, namespaces = xml_places(answer, MOST_VALUES)
    options = {"namespaces": namespaces} if namespaces else {}
    values = [Offered(title, text[:LONGEST], {"xpath": path}) for title, path, text in places]
    yield Offer("xml", Rows.ONE, values, options)


_READERS: list[tuple[Callable[[Answer, str | None], bool], Callable[[Answer], Iterator[Offer]]]] = [
    (_is_json, _json),
    (_is_calendar, _calendar),
    (_is_feed, _feed),
    (_is_xml, _xml),
    (_is_csv, _csv),
]
"""Who knows a type, and who reads it; in this order."""
