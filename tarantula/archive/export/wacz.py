"""WACZ 1.1.1 export: an item as one ZIP file that replay tools open in place."""

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
from tarantula.archive.export.exporter import WITHHOLDING_POLICY, Exporter
from tarantula.archive.export.records import ExportProgress, ExportRecords, HashingFile
from tarantula.archive.omissions import MISSING_LIST, Omission, as_csv, cause_of
from tarantula.archive.replay import ReplayPage, UnreadablePage, replay_pages
from tarantula.core.config import Config
from tarantula.models import Item
from tarantula.publications.config import PublicationConfig
from tarantula.store.warc_reader import READ_CHUNK_BYTES

WACZ_VERSION = "1.1.1"
INDEX_BLOCK_LINES = 3000
"""Lines per compressed block of the index; a reader decompresses one block to find a URL."""
ZIP64_BYTES = 1_900_000_000
"""Size from which a file in the package needs ZIP64 fields."""


class WaczExporter(Exporter):
    """Exports an item as a WACZ file."""

    suffix = ".wacz"

    def write(
        self, session: Session, installation: Config, item: Item, path: Path, scratch: Path, progress: ExportProgress
    ) -> dict[str, int]:
        """Write an item to *path*; return the number of records and pages."""
        with ZipFile(path, "x", allowZip64=True) as archive:
            package = _Package(archive)
            index = scratch / "index.cdxj"
            records = ExportRecords(session, installation, item, package, progress).write(index)
            _write_index(package, index, scratch / "index.idx")
            base, count = _write_pages(session, installation, item, package, scratch / "pages.jsonl", progress)
            description = _description(item, base) | _withheld(progress)
            package.close(description | _write_missing(package, progress.omissions))
        return {"records": records, "pages": count}


class _Package:
    """The files of a WACZ, with their entries in datapackage.json."""

    def __init__(self, archive: ZipFile) -> None:
        self._archive = archive
        self._resources: list[dict[str, Any]] = []

    @contextmanager
    def open(self, name: str, size: int, packed: bool = True) -> Iterator[HashingFile]:
        """Open a file; compressed content (*packed*) is stored as it is, so that readers can seek in it."""
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
        """Add a file."""
        with self.open(name, path.stat().st_size, packed) as target, path.open("rb") as file:
            while piece := file.read(READ_CHUNK_BYTES):
                target.write(piece)

    def close(self, description: dict[str, Any]) -> None:
        """Write datapackage.json and its digest."""
        package = {"profile": "data-package", "resources": self._resources, "wacz_version": WACZ_VERSION, **description}
        content = json.dumps(package, indent=2, ensure_ascii=False).encode()
        digest = {"path": "datapackage.json", "hash": f"sha256:{sha256(content).hexdigest()}"}
        self._archive.writestr("datapackage.json", content, ZIP_DEFLATED)
        self._archive.writestr("datapackage-digest.json", json.dumps(digest, indent=2), ZIP_DEFLATED)


def _write_index(package: _Package, index: Path, idx: Path) -> None:
    """Write the sorted index in compressed blocks, with an index of the blocks."""
    meta = {"format": "cdxj-gzip-1.0", "filename": "index.cdx.gz"}
    with (
        index.open("rb") as lines,
        idx.open("wb") as blocks,
        package.open("indexes/index.cdx.gz", index.stat().st_size) as target,
    ):
        blocks.write(f"!meta 0 {json.dumps(meta)}\n".encode())
        while block := list(islice(lines, INDEX_BLOCK_LINES)):
            packed = gzip.compress(b"".join(block), mtime=0)
            place = {
                "offset": target.size,
                "length": len(packed),
                "digest": f"sha256:{sha256(packed).hexdigest()}",
                "filename": "index.cdx.gz",
            }
            blocks.write(block[0].partition(b"{")[0] + json.dumps(place).encode() + b"\n")
            target.write(packed)
    package.add("indexes/index.idx", idx)


def _write_pages(
    session: Session, installation: Config, item: Item, package: _Package, path: Path, progress: ExportProgress
) -> tuple[ReplayPage | None, int]:
    """Write the list of pages; return the first page (the base document if it is a page) and the number of pages."""
    progress.begin("titles of pages")
    first: ReplayPage | None = None
    count = 0
    with path.open("w", encoding="utf-8") as file:
        header = {"format": "json-pages-1.0", "id": "pages", "title": "All Pages", "hasText": False}
        file.write(json.dumps(header) + "\n")
        for page in replay_pages(session, installation.items, item):
            progress.advance()
            if isinstance(page, UnreadablePage):
                progress.leave_out(page.document.url, cause_of(page.error), str(page.error))
                continue
            first = first or page
            count += 1
            file.write(json.dumps(_page(page), ensure_ascii=False) + "\n")
    package.add("pages/pages.jsonl", path)
    return first, count


def _write_missing(package: _Package, omissions: list[Omission]) -> dict[str, Any]:
    """Write the list of what is left out; return its description for datapackage.json."""
    if not omissions:
        return {}
    # py-wacz accepts files only in a folder.
    content, name = as_csv(omissions), f"logs/{MISSING_LIST}"
    with package.open(name, len(content), packed=False) as file:
        file.write(content)
    return {"incomplete": {"missing": len(omissions), "list": name}}


def _page(page: ReplayPage) -> dict[str, str]:
    return {
        "id": f"{page.document.id:x}",
        "url": page.document.url,
        "ts": _time(page.document.collected_at),
        "title": page.title or page.document.url,
    }


def _description(item: Item, base: ReplayPage | None) -> dict[str, Any]:
    config = PublicationConfig.model_validate(item.configuration)
    description = {
        "title": item.urn,
        "description": config.description or f"The publication {config.name}",
        "created": _time(datetime.now(UTC)),
        "software": f"Tarântula/{__version__}",
    }
    if base is not None:
        description |= {"mainPageUrl": base.document.url, "mainPageDate": _time(base.document.collected_at)}
    return description


def _withheld(progress: ExportProgress) -> dict[str, Any]:
    """Return the statement that records were left out; a property of our own, which the specification allows."""
    return {"withheld": {"records": progress.withheld, "policy": WITHHOLDING_POLICY}} if progress.withheld else {}


def _time(moment: datetime | None) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}" if moment else ""
