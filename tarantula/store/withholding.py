"""Withheld URLs: taken down for good, or under embargo until a date, in all items.

The bytes stay in the WARC files, and the texts in the search indexes: every way to show them asks here first, so that a
withholding takes effect at once. An embargo ends by itself: a withholding is in force until its date, whether or not
anything has noted its end.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import lru_cache
from itertools import product

from pydantic import BaseModel
from sqlalchemy import BindParameter, ColumnElement, Connection, bindparam, or_, select
from sqlalchemy.orm import Session

from tarantula.core.column_types import UtcDateTime
from tarantula.core.errors import TarantulaError, WithheldError
from tarantula.core.messages import Message
from tarantula.core.states import ItemState
from tarantula.core.urls import SCHEMES, canonical, is_web, key_of
from tarantula.models import Document, Item, Withholding

LIFTED_BY_DATE = "embargo"
"""Who lifted a withholding that ended at its date."""
_CACHE = "withheld"
_ESCAPE = re.compile("%[0-9A-Fa-f]{2}")
# RFC 3986 2.3
_UNRESERVED = re.compile("[A-Za-z0-9._~-]")


class WithheldMark(BaseModel):
    """Marks a row of a list as withheld. The reason is for curators only."""

    until: datetime | None
    """End of the embargo; ``None`` for a takedown."""

    def __str__(self) -> str:
        if self.until is None:
            return "taken down"
        return f"withheld until {self.until.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


@lru_cache(maxsize=65536)
def spellings(url: str) -> tuple[str, ...]:
    """Return the URLs that are withheld with a canonical URL: other spellings of it, which servers treat as the same.

    These are http and https, the host name with and without the dot at its end, and unreserved characters with and
    without percent-encoding.
    """
    _, _, server, rest = url.split("/", 3)
    name, colon, port = server.partition(":") if not server.endswith("]") else (server, "", "")
    servers = (server, f"{name.removesuffix('.') if name.endswith('.') else f'{name}.'}{colon}{port}")
    rests = (rest, _ESCAPE.sub(_unescaped, rest))
    variants = (f"{scheme}{one}/{path}" for scheme, one, path in product(SCHEMES, servers, rests))
    return tuple(dict.fromkeys([url, *filter(None, map(canonical, variants))]))


def _unescaped(escape: re.Match[str]) -> str:
    # RFC 3986 6.2.2: an escaped unreserved character equals the character, and the case of the digits does not count.
    character = chr(int(escape[0][1:], 16))
    return character if _UNRESERVED.match(character) else escape[0].upper()


def is_in_force(now: datetime | BindParameter[datetime]) -> ColumnElement[bool]:
    """Return the condition for withholdings that are in force."""
    return Withholding.lifted_at.is_(None) & or_(Withholding.until.is_(None), Withholding.until > now)


# Built once, because gateways run it for every query.
_URLS_IN_FORCE = select(Withholding.url).where(is_in_force(bindparam("now", type_=UtcDateTime)))


def withheld_urls(session: Session) -> dict[bytes, Withholding]:
    """Return the withholdings in force by the keys of all `spellings` of their URLs; read once for each session."""
    known: dict[bytes, Withholding] | None = session.info.get(_CACHE)
    if known is None:
        rows = session.scalars(select(Withholding).where(is_in_force(datetime.now(UTC))).order_by(Withholding.id))
        known = session.info[_CACHE] = {key_of(url): row for row in rows for url in spellings(row.url)}
    return known


def urls_withheld_now(connection: Connection) -> list[str]:
    """Return the URLs of the withholdings in force, each in one of its spellings."""
    return list(connection.scalars(_URLS_IN_FORCE, {"now": datetime.now(UTC)}))


def check_access(session: Session, document: Document) -> None:
    """Raise `WithheldError` if the URL of a document is withheld."""
    withholding = withheld_urls(session).get(bytes(document.key))
    if withholding is not None:
        raise WithheldError(withheld_message(withholding))


def withheld_mark(session: Session, url: str) -> WithheldMark | None:
    """Return the mark of a canonical URL in a list; ``None`` if it is not withheld."""
    withheld = withheld_urls(session)
    withholding = withheld.get(key_of(url)) if withheld else None
    return WithheldMark(until=withholding.until) if withholding is not None else None


def withheld_message(withholding: Withholding) -> str:
    """Return the sentence shown instead of a withheld document. The reason is for curators only."""
    if withholding.until is None:
        return Message("Access to {url} is withheld.", url=withholding.url)
    return Message(
        "Access to {url} is withheld until {until:%Y-%m-%d %H:%M} UTC.",
        url=withholding.url,
        until=withholding.until.astimezone(UTC),
    )


def withhold(session: Session, url: str, by: str, why: str, until: datetime | None, now: datetime) -> Withholding:
    """Withhold a URL; a withholding in force is replaced."""
    address = checked_url(url)
    if not why.strip():
        raise TarantulaError("Give the reason: it is recorded with the withholding.")
    if until is not None and until <= now:
        raise TarantulaError(
            "{until:%Y-%m-%d %H:%M:%S %Z} is past. Give an end of the embargo in the future.", until=until
        )
    for earlier in _in_force(session, address, now):
        earlier.lifted_at, earlier.lifted_by = now, by
    made = Withholding(key=key_of(address), url=address, until=until, at=now, by=by, why=why.strip())
    session.add(made)
    session.flush()
    return made


def release(session: Session, url: str, by: str, now: datetime) -> list[Withholding]:
    """Lift the withholding of a URL."""
    address = checked_url(url)
    found = _in_force(session, address, now)
    if not found:
        raise TarantulaError("{address} is not withheld. `tarantula withholding list` shows what is.", address=address)
    for one in found:
        one.lifted_at, one.lifted_by = now, by
    return found


def lift_expired(session: Session, now: datetime) -> None:
    """Record the end of embargoes whose date has come."""
    ended = (Withholding.lifted_at.is_(None)) & (Withholding.until <= now)
    for one in session.scalars(select(Withholding).where(ended).with_for_update(skip_locked=True)):
        one.lifted_at, one.lifted_by = one.until, LIFTED_BY_DATE


def _in_force(session: Session, url: str, now: datetime) -> list[Withholding]:
    """Return the withholdings in force of a URL, or of another spelling of it."""
    wanted = set(spellings(url))
    rows = session.scalars(select(Withholding).where(is_in_force(now)).with_for_update())
    return [row for row in rows if not wanted.isdisjoint(spellings(row.url))]


def checked_url(url: str) -> str:
    """Return the canonical form of a URL; raise if it has none."""
    address = canonical(url.strip())
    if address is None or not is_web(address):
        raise TarantulaError("{url!r} is not a URL of the web. Write it as http://server/path.", url=url[:200])
    return address


def distinct_urls(urls: Iterable[str]) -> Iterator[str]:
    """Yield the canonical forms of URLs, without other spellings of those before; raise if one has none."""
    known: set[str] = set()
    for url in map(checked_url, urls):
        if known.isdisjoint(spellings(url)):
            yield url
        known.update(spellings(url))


def documents_of(session: Session, urls: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Yield item id and document id of URLs, in any spelling, in all items."""
    for url in urls:
        # One lookup in the index of items and keys for each item and spelling.
        keys = [key_of(spelling) for spelling in spellings(url)]
        rows = select(Item.id, Document.id).join(Document, (Document.item_id == Item.id) & Document.key.in_(keys))
        yield from session.execute(rows.where(Item.state != ItemState.REMOVING).order_by(Item.id, Document.id))
