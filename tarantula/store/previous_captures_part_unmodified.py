"""Documents that have not changed: what it takes to ask a server that, and the body that it then need not send."""

from __future__ import annotations

import logging
import re
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from tarantula.fetch.exchange import Exchange
from tarantula.fetch.media_types import charset_of
from tarantula.items import FrontierEntry, PreviousCapture
from tarantula.store.warc_reader import DamagedRecord
from tarantula.store.warc_reader_part_answer import read_response
from tarantula.store.warc_records import payload_digest

logger = logging.getLogger(__name__)

VALIDATORS = frozenset({b"etag", b"last-modified"})
LONGEST_CHARSET = 40
# RFC 9110, 8.8.3: what is not written like this is not sent back.
ETAG = re.compile(r'(?:W/)?"[\x21\x23-\x7e]{0,190}"')
HTTP_DATE = re.compile(r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT")


class KeptHeaders(NamedTuple):
    """What a later item needs to know of an answer's headers."""

    charset: str | None
    etag: str | None
    last_modified: str | None


NO_KEPT_HEADERS = KeptHeaders(None, None, None)


def headers_to_keep(exchange: Exchange) -> KeptHeaders:
    """Return those of an answer, as far as they can be sent back."""
    charset = (charset_of(exchange.get(b"content-type")) or "")[:LONGEST_CHARSET].encode("ascii", "replace").decode()
    if exchange.status != 200:
        return KeptHeaders(charset or None, None, None)
    found = _validators(exchange)
    if exchange.not_modified is not None:
        found |= _validators(exchange.not_modified)
    etag, modified = found.get(b"etag", ""), found.get(b"last-modified", "")
    return KeptHeaders(
        charset or None,
        etag if ETAG.fullmatch(etag) else None,
        modified if HTTP_DATE.fullmatch(modified) else None,
    )


def _validators(exchange: Exchange) -> dict[bytes, str]:
    return {name.lower(): value.decode("latin-1") for name, value in exchange.headers if name.lower() in VALIDATORS}


def restore_or_forget(items: Path, entry: FrontierEntry, answer: Exchange) -> Exchange | None:
    """Return the exchange to which a server's *answer* 304 points; if it cannot be read, say so, and forget it."""
    assert entry.earlier is not None
    try:
        return restore_unmodified(items, entry.earlier, answer)
    except DamagedRecord as error:
        logger.warning("%s has not changed, but is asked for once more: %s", entry.url, error)
        entry.earlier = None
        return None


def restore_unmodified(items: Path, earlier: PreviousCapture, answer: Exchange) -> Exchange:
    """Return the earlier exchange to which a server's *answer* 304 points, or say why it cannot be read."""
    path = items / earlier.urn / "archive" / earlier.warc
    whole = replace(answer, **read_response(path, earlier.offset)._asdict(), not_modified=answer)
    if payload_digest(whole) != earlier.digest:
        raise DamagedRecord(f"{path} has another body at {earlier.offset} than the one that was collected.")
    return whole
