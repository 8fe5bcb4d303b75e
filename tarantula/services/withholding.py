"""Withheld URLs: take a URL down or put it under embargo in all items, release it, and list what is withheld."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from pydantic import BaseModel
from sqlalchemy import select
from sqlalchemy.orm import Session

from tarantula.accounts.roles import Role
from tarantula.archive.export.exporter import exports_with_url
from tarantula.archive.withheld_files import WithholdingFollower, apply_withholdings
from tarantula.core.errors import TarantulaError
from tarantula.core.times import parse_moment
from tarantula.models import Item, Withholding
from tarantula.services.context import ServiceContext
from tarantula.store import withholding
from tarantula.store.withholding import distinct_urls, documents_of, is_in_force


class WithholdingRow(BaseModel):
    """A withheld URL: who withheld it, when, why and until when."""

    url: str
    until: datetime | None
    """End of the embargo; ``None`` for a takedown."""
    at: datetime
    by: str
    why: str
    in_force: bool
    lifted_at: datetime | None
    lifted_by: str | None
    items: list[str]
    """The items that have the URL."""


class WithholdingResult(WithholdingRow):
    """Result of withholding a URL."""

    exports: list[str]
    """Exports in this home that were written before and have the URL, or are in a format that cannot be checked."""


def withhold(context: ServiceContext, urls: Sequence[str], why: str, until: str = "") -> list[WithholdingResult]:
    """Withhold URLs in all items, for good or until a moment; the mirrors and indexes of this home follow."""
    now = datetime.now(UTC)
    moment = _read_moment(context, until)
    made: list[Withholding] = []
    for url in list(distinct_urls(urls)):
        detail = {"why": why[:200], "until": moment.isoformat() if moment else None}
        with context.changing("url.withhold", url[:200], Role.ADMINISTRATOR, **detail) as session:
            made.append(withholding.withhold(session, url, context.person.name, why, moment, now))
    apply_withholdings(context.installation, context.database, {one.url for one in made})
    with context.reading() as session:
        return [
            WithholdingResult(
                **_row(session, one, now).model_dump(),
                exports=[str(path) for path in exports_with_url(context.installation, session, one.url)],
            )
            for one in made
        ]


def release(context: ServiceContext, urls: Sequence[str]) -> list[WithholdingRow]:
    """Release withheld URLs; the mirrors and indexes of this home get them again."""
    now = datetime.now(UTC)
    lifted: list[Withholding] = []
    for url in list(distinct_urls(urls)):
        with context.changing("url.release", url[:200], Role.ADMINISTRATOR) as session:
            lifted += withholding.release(session, url, context.person.name, now)
    apply_withholdings(context.installation, context.database, {one.url for one in lifted})
    with context.reading() as session:
        return [_row(session, one, now) for one in lifted]


def apply(context: ServiceContext) -> None:
    """Note the end of embargoes, and bring the mirrors and indexes of this home in line, as the daemon does."""
    context.person.check(Role.CURATOR)
    WithholdingFollower(context.installation, context.database).check()


def list_withholdings(context: ServiceContext, *, lifted: bool = False) -> list[WithholdingRow]:
    """Return what is withheld, newest first; with *lifted*, also what was."""
    now = datetime.now(UTC)
    chosen = select(Withholding).order_by(Withholding.id.desc())
    with context.reading(Role.CURATOR) as session:
        rows = session.scalars(chosen if lifted else chosen.where(is_in_force(now)))
        return [_row(session, one, now) for one in rows.all()]


def _read_moment(context: ServiceContext, text: str) -> datetime | None:
    try:
        moment = parse_moment(text.strip(), context.installation.zone)
    except ValueError as error:
        raise TarantulaError(
            "The end of the embargo cannot be read: {error}", error=error, fields={"until": str(error)}
        ) from error
    return moment.astimezone(UTC) if moment is not None else None


def _row(session: Session, one: Withholding, now: datetime) -> WithholdingRow:
    items = dict.fromkeys(item_id for item_id, _ in documents_of(session, [one.url]))
    urns = [session.get_one(Item, item_id).urn for item_id in items]
    is_over = one.lifted_at is not None or (one.until is not None and one.until <= now)
    columns = ("url", "until", "at", "by", "why", "lifted_at", "lifted_by")
    return WithholdingRow(**{name: getattr(one, name) for name in columns}, in_force=not is_over, items=urns)
