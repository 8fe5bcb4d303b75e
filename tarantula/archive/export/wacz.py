"""WACZ 1.1.1: an item as one file, which replay tools open where it lies."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from sqlalchemy.orm import Session

from tarantula import __version__
from tarantula.archive.export.records import ExportProgress, ExportRecords, HashingFile
from tarantula.archive.replay.pages import ReplayPage, replay_pages
from tarantula.core.config import Config
from tarantula.models import Item
from tarantula.publications.config import PublicationConfig
from tarantula.store.warc_reader import READ_CHUNK_BYTES

WACZ_VERSION = "1.1.1"
INDEX_BLOCK_LINES = 3000
"""Lines of the index that are packed together; a reader unpacks one such block to find a URL."""
ZIP64_BYTES = 1_900_000_000
"""Bytes from which a file in the package needs long numbers."""


def write_wacz(
    session: Session, installation: Config, item: Item, path: Path, scratch: Path, watcher: ExportProgress
) -> dict[str, int]:
    """Write an item to *path*; return how many records and pages it has."""
    with ZipFile(path, "x", allowZip64=True) as archive:
        package = _Package(archive)
        index = scratch / "index.cdxj"
        records = ExportRecords(session, installation, item, package, watcher).pack(index)
        _write_index(package, index, scratch / "index.idx")
        base, count = _write_pages(session, installation, item, package, scratch / "pages.jsonl", watcher)
        package.close(_description(item, base))
    return {"records": records, "pages": count}


class _Package:
    """The files of a WACZ, and what its datapackage.json says of them."""

    def __init__(self, archive: ZipFile) -> None:
        self._archive = archive
        self._resources: list[dict[str, Any]] = []

    @contextmanager
    def open(self, name: str, size: int, packed: bool = True) -> Iterator[HashingFile]:
        """Begin a file; what is *packed* already is stored as it is, so that readers can seek in it."""
        info = ZipInfo(name, time.gmtime()[:6])
        info.compress_type = ZIP_STORED if packed else ZIP_DEFLATED
        with self._archive.open(info, "w", force_zip64=size >= ZIP64_BYTES) as file:
            hashing = HashingFile(file, "sha256")
            yield hashing
        self._resources.append(
            {
                "name": Path(name).name.lower(),
                "path": name,
                "hash": f"sha256:{hashing.hexdigest}",
                "bytes": hashing.size,
            }
        )

    def add(self, name: str, path: Path, packed: bool = False) -> None:
        """Take a file in."""
        with self.open(name, path.stat().st_size, packed) as target, path.open("rb") as file:
            while piece := file.read(READ_CHUNK_BYTES):
                target.write(piece)

    def close(self, description: dict[str, Any]) -> None:
        """Say what is there, and by which hash that can be believed."""
        package = {"profile": "data-package", "resources": self._resources, "wacz_version": WACZ_VERSION, **description}
        content = json.dumps(package, indent=2, ensure_ascii=False).encode()
        digest = {"path": "datapackage.json", "hash": f"sha256:{sha256(content).hexdigest()}"}
        self._archive.writestr("datapackage.json", content, ZIP_DEFLATED)
        self._archive.writestr("datapackage-digest.json", json.dumps(digest, indent=2), ZIP_DEFLATED)


def _write_index(package: _Package, index: Path, idx: Path) -> None:
    """Pack the sorted index in blocks, with a short index of these."""
    meta = {"format": "cdxj-gzip-1.0", "filename": "index.cdx.gz"}
    with (
        index.open("rb") as lines,
        idx.open("wb") as short,
        package.open("indexes/index.cdx.gz", index.stat().st_size) as target,
    ):
        short.write(f"!meta 0 {json.dumps(meta)}\n".encode())
        while block := list(islice(lines, INDEX_BLOCK_LINES)):
            packed = gzip.compress(b"".join(block), mtime=0)
            place = {
                "offset": target.size,
                "length": len(packed),
                "digest": f"sha256:{sha256(packed).hexdigest()}",
                "filename": "index.cdx.gz",
            }
            short.write(block[0].partition(b"{")[0] + json.dumps(place).encode() + b"\n")
            target.write(packed)
    package.add("indexes/index.idx", idx)


def _write_pages(
    session: Session, installation: Config, item: Item, package: _Package, path: Path, watcher: ExportProgress
) -> tuple[ReplayPage | None, int]:
    """Write the list of pages; return the first, which is the base document if it is a page, and how many there are."""
    watcher.begin("titles of pages")
    first: ReplayPage | None = None
    count = 0
    with path.open("w", encoding="utf-8") as file:
        header = {"format": "json-pages-1.0", "id": "pages", "title": "All Pages", "hasText": False}
        file.write(json.dumps(header) + "\n")
        for page in replay_pages(session, installation.items, item):
            watcher.advance()
            if not isinstance(page, ReplayPage):
                watcher.warn(f"{page} The page is not listed.")
                continue
            first = first or page
            count += 1
            file.write(json.dumps(_page(page), ensure_ascii=False) + "\n")
    package.add("pages/pages.jsonl", path)
    return first, count


def _page(page: ReplayPage) -> dict[str, str]:
    return {
        "id": f"{page.document.id:x}",
        "url": page.document.url,
        "ts": _time(page.document.collected_at),
        "title": page.title or page.document.url,
    }


def _description(item: Item, base: ReplayPage | None) -> dict[str, Any]:
    config = PublicationConfig.model_validate(item.configuration)
    described = {
        "title": item.urn,
        "description": config.description or f"The publication {config.name}",
        "created": _time(datetime.now(UTC)),
        "software": f"Tarântula/{__version__}",
    }
    if base is not None:
        described |= {"mainPageUrl": base.document.url, "mainPageDate": _time(base.document.collected_at)}
    return described


def _time(moment: datetime | None) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}" if moment else ""
