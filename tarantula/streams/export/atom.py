"""Atom feed of events, RFC 4287."""

from __future__ import annotations

from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from sqlalchemy.orm import Session

from tarantula.models import Event, Source
from tarantula.streams.export.rows import ExportQuery
from tarantula.streams.history import moment_of, newest_events
from tarantula.streams.sources import registry

ATOM_NAMESPACE = "http://www.w3.org/2005/Atom"
MAX_FEED_ENTRIES = 100


def atom_feed(
    session: Session, source: Source, query: ExportQuery, address: str, most: int = MAX_FEED_ENTRIES
) -> bytes:
    """Return the newest events of a source as a feed, with a link to *address* if it is given."""
    config = registry.config_of(source)
    series = {one.id: one for one in query.series}
    found = [event for one in series for event in newest_events(session, one, query.begin, query.end, limit=most)]
    newest = sorted(found, key=lambda event: (-event.at, event.series_id))[:most]
    feed = Element("feed", xmlns=ATOM_NAMESPACE)
    _add(feed, "id", f"urn:tarantula:stream:{source.name}")
    _add(feed, "title", config.title or source.name)
    if config.description:
        _add(feed, "subtitle", config.description)
    if address:
        SubElement(feed, "link", rel="self", type="application/atom+xml", href=_clean(address))
    updated = moment_of(newest[0].at) if newest else source.changed_at
    _add(feed, "updated", updated.isoformat())
    author = SubElement(feed, "author")
    _add(author, "name", source.owner or "Tarântula")
    fields = {field.key: field for field in config.fields}
    for event in newest:
        one = series[event.series_id]
        field = fields.get(one.field)
        name = (field.title if field else "") or one.field
        what_it_is = " ".join(part for part in (one.row, name) if part)
        _entry(feed, source.name, event, what_it_is, field.unit if field else "")
    document = ElementTree.tostring(feed, encoding="utf-8", xml_declaration=True)
    return bytes(document)


def _entry(feed: Element, source: str, event: Event, what: str, unit: str) -> None:
    entry = SubElement(feed, "entry")
    _add(entry, "id", f"urn:tarantula:stream:{source}:{event.series_id}:{event.at}")
    _add(entry, "title", f"{what}: {event.value} {unit}".strip())
    _add(entry, "updated", moment_of(event.at).isoformat())
    SubElement(entry, "content", type="text").text = _clean(event.value)


def _add(parent: Element, name: str, text: str) -> None:
    SubElement(parent, name).text = _clean(text)


def _clean(text: str) -> str:
    """Remove characters that XML 1.0, section 2.2, does not allow."""
    return "".join(
        letter
        for letter in text
        if letter in "\t\n\r" or " " <= letter <= "\ud7ff" or "\ue000" <= letter <= "\ufffd" or letter > "\uffff"
    )
