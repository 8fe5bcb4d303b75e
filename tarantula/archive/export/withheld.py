"""Exports that were written before a URL was withheld, and still have it."""

from __future__ import annotations

import gzip
import json
from collections.abc import Collection
from datetime import UTC, datetime
from pathlib import Path
from zipfile import BadZipFile, ZipFile

from sqlalchemy import select
from sqlalchemy.orm import Session

from tarantula.archive.export.exporter import existing_exports
from tarantula.archive.omissions import MISSING_LIST
from tarantula.core.config import Config
from tarantula.core.errors import WithheldError
from tarantula.models import Document, Item
from tarantula.store.bulk import chunks
from tarantula.store.withholding import documents_of, spellings, withheld_urls


def exports_with_url(installation: Config, session: Session, url: str) -> list[Path]:
    """Return the exports in this home that have a URL, or are in a format whose index cannot be read here."""
    items = dict.fromkeys(item_id for item_id, _ in documents_of(session, [url]))
    urns = [session.get_one(Item, item_id).urn for item_id in items]
    found = [path for urn in urns for path in existing_exports(installation, urn)]
    return [path for path in found if _has_url(path, spellings(url)) is not False]


def check_export(session: Session, item: Item, path: Path) -> None:
    """Raise `WithheldError` if an export of an item has a URL that was withheld after it was written."""
    written = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    withheld = withheld_urls(session)
    later = [key for key, withholding in withheld.items() if withholding.at >= written]
    of_item = select(Document.url).where(Document.item_id == item.id)
    urls = [url for some in chunks(later) for url in session.scalars(of_item.where(Document.key.in_(some)))]
    if urls and _has_url(path, urls) is not False:
        raise WithheldError(
            "{name} was written before a URL in it was withheld. Export {urn} again.", name=path.name, urn=item.urn
        )


def _has_url(path: Path, urls: Collection[str]) -> bool | None:
    """Whether an export has one of some URLs; ``None`` if that cannot be read."""
    wanted = [json.dumps(url).encode() for url in urls]
    try:
        if path.name.endswith(MISSING_LIST):
            return any(url in path.read_text(encoding="utf-8") for url in urls)
        if path.is_dir():
            with (path / "data" / "indexes" / "index.cdxj").open("rb") as lines:
                return any(url in line for line in lines for url in wanted)
        with ZipFile(path) as archive, archive.open("indexes/index.cdx.gz") as packed, gzip.open(packed) as unpacked:
            return any(url in line for line in unpacked for url in wanted)
    except (OSError, EOFError, KeyError, BadZipFile):
        return None
