"""Series: one per field and row of a source, created when first needed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cache
from pathlib import Path
from zoneinfo import ZoneInfo, available_timezones

from sqlalchemy import select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from tarantula.core.config import Config
from tarantula.core.times import LOCALTIME_FILE
from tarantula.models import Series
from tarantula.store.bulk import chunks

FALLBACK_ZONE = "UTC"
FieldAndRow = tuple[str, str]
SourceFieldAndRow = tuple[int, str, str]


def series_of(session: Session, source_id: int, places: Iterable[FieldAndRow]) -> dict[FieldAndRow, int]:
    """Return the series ids of fields and rows of a source; missing series are created."""
    with_source = [(source_id, field, row) for field, row in places]
    return {(field, row): identity for (_, field, row), identity in series_of_many(session, with_source).items()}


def series_of_many(session: Session, places: Collection[SourceFieldAndRow]) -> dict[SourceFieldAndRow, int]:
    """Return the series ids of fields and rows of several sources; missing series are created."""
    sources = sorted({source_id for source_id, _, _ in places})
    known = _load(session, sources)
    missing = [one for one in dict.fromkeys(places) if one not in known]
    if missing:
        _create(session, missing)
        known |= _load(session, sorted({source_id for source_id, _, _ in missing}))
    return {one: known[one] for one in places}


def _load(session: Session, sources: Sequence[int]) -> dict[SourceFieldAndRow, int]:
    known: dict[SourceFieldAndRow, int] = {}
    for batch in chunks(sources):
        chosen = select(Series.source_id, Series.field, Series.row, Series.id).where(Series.source_id.in_(batch))
        known.update(((source_id, field, row), identity) for source_id, field, row, identity in session.execute(chosen))
    return known


def known_series(session: Session, source_id: int) -> dict[FieldAndRow, int]:
    """Return all series of a source, in order of creation."""
    rows = session.execute(
        select(Series.field, Series.row, Series.id).where(Series.source_id == source_id).order_by(Series.id)
    )
    return {(field, row): identity for field, row, identity in rows}


def zone_name() -> str:
    """Return the time zone of the installation or of the machine; UTC if unknown."""
    zone = Config().zone
    name = zone.key if isinstance(zone, ZoneInfo) else FALLBACK_ZONE
    if name in _known_zones():
        return name
    return _named_by(LOCALTIME_FILE) or FALLBACK_ZONE


@cache
def _known_zones() -> frozenset[str]:
    # Cached: it reads a directory of 600 files.
    return frozenset(available_timezones())


def _named_by(link: Path) -> str | None:
    parts = link.resolve().parts
    name = "/".join(parts[parts.index("zoneinfo") + 1 :]) if "zoneinfo" in parts else ""
    return name if name in _known_zones() else None


def _create(session: Session, missing: Sequence[SourceFieldAndRow]) -> None:
    dialect = sqlite if session.get_bind().dialect.name == "sqlite" else postgresql
    zone = zone_name()
    rows = [{"source_id": source_id, "field": field, "row": row, "zone": zone} for source_id, field, row in missing]
    session.execute(dialect.insert(Series).on_conflict_do_nothing(), rows)
