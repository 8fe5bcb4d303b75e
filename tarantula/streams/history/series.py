"""Series by the field and the row whose values they are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from zoneinfo import ZoneInfo, available_timezones

from sqlalchemy import select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from tarantula.config import Config
from tarantula.models import Series
from tarantula.publications.zones import LOCALTIME

ANYWHERE = "UTC"
FieldAndRow = tuple[str, str]


def series_of(session: Session, source_id: int, wanted: Iterable[FieldAndRow]) -> dict[FieldAndRow, int]:
    """Return the series of fields and rows of a source; those that are not there yet are made."""
    asked = list(dict.fromkeys(wanted))
    found = known(session, source_id)
    missing = [one for one in asked if one not in found]
    if missing:
        _make(session, source_id, missing)
        found = known(session, source_id)
    return {one: found[one] for one in asked}


def known(session: Session, source_id: int) -> dict[FieldAndRow, int]:
    """Return every series of a source, in the order in which they were met."""
    rows = session.execute(
        select(Series.field, Series.row, Series.id).where(Series.source_id == source_id).order_by(Series.id)
    )
    return {(field, row): identity for field, row, identity in rows}


def zone_name() -> str:
    """Return the name of the installation's time zone, or of this machine's; UTC if it has none."""
    zone = Config().zone
    name = zone.key if isinstance(zone, ZoneInfo) else ANYWHERE
    if name in available_timezones():
        return name
    return _named_by(LOCALTIME) or ANYWHERE


def _named_by(link: Path) -> str | None:
    parts = link.resolve().parts
    name = "/".join(parts[parts.index("zoneinfo") + 1 :]) if "zoneinfo" in parts else ""
    return name if name in available_timezones() else None


def _make(session: Session, source_id: int, missing: Sequence[FieldAndRow]) -> None:
    dialect = sqlite if session.get_bind().dialect.name == "sqlite" else postgresql
    zone = zone_name()
    rows = [{"source_id": source_id, "field": field, "row": row, "zone": zone} for field, row in missing]
    session.execute(dialect.insert(Series).on_conflict_do_nothing(), rows)
