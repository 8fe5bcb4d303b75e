"""An export format: the URLs of an item, one per line."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import select
from sqlalchemy.orm import Session

from tarantula.archive.export.exporter import Exporter
from tarantula.archive.export.records import ExportProgress
from tarantula.core.config import Config
from tarantula.models import Document, Item


class UrlList(Exporter):
    """Writes the URLs of an item, one per line."""

    suffix = ".txt"

    def write(
        self, session: Session, installation: Config, item: Item, path: Path, scratch: Path, progress: ExportProgress
    ) -> dict[str, int]:
        urls = session.scalars(select(Document.url).where(Document.item_id == item.id).order_by(Document.id)).all()
        path.write_text("".join(f"{url}\n" for url in urls), encoding="utf-8")
        return {"urls": len(urls)}
