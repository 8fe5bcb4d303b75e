"""BagIt 0.97 export: an item as a folder with a checksum for every file.

Version 1.0 (RFC 8493) requires percent signs in names to be escaped, which the library that most archives use does not
undo.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from hashlib import file_digest
from pathlib import Path
from typing import Any, TextIO

from sqlalchemy import inspect
from sqlalchemy.orm import Session

from tarantula import __version__
from tarantula.archive.export.exporter import WITHHOLDING_POLICY, Exporter
from tarantula.archive.export.records import ExportProgress, ExportRecords, HashingFile
from tarantula.archive.omissions import MISSING_LIST, as_csv
from tarantula.archive.quality.report import make_report
from tarantula.core.config import Config
from tarantula.core.secrets import masked
from tarantula.models import Item
from tarantula.publications.config import PublicationConfig
from tarantula.store import listings
from tarantula.store.warc_reader import READ_CHUNK_BYTES
from tarantula.store.withholding import spellings, urls_withheld_now

HASH_ALGORITHM = "sha512"
MANIFEST = f"manifest-{HASH_ALGORITHM}.txt"
DECLARATION = "BagIt-Version: 0.97\nTag-File-Character-Encoding: UTF-8\n"


class BagitExporter(Exporter):
    """Exports an item as a BagIt folder."""

    suffix = ".bag"

    def write(
        self, session: Session, installation: Config, item: Item, path: Path, scratch: Path, progress: ExportProgress
    ) -> dict[str, int]:
        """Write an item to the folder *path*; return the number of records and files."""
        path.mkdir()
        with (path / MANIFEST).open("w", encoding="utf-8", newline="\n") as manifest:
            bag = _Bag(path, manifest)
            index = scratch / "index.cdxj"
            records = ExportRecords(session, installation, item, bag, progress).write(index)
            bag.add("indexes/index.cdxj", index)
            _write_description(session, item, bag)
            _add_log(session, bag, installation.items / item.urn / "crawl.log")
            _add_mirror(bag, installation.archived / item.urn, progress)
            if missing := progress.omissions:
                with bag.open(MISSING_LIST) as file:
                    file.write(as_csv(missing))
        info = {**_info(installation, item), **_withheld(progress), "Payload-Oxum": f"{bag.bytes}.{bag.files}"}
        if missing:
            info["Missing-From-Item"] = f"{len(missing)}, listed in data/{MISSING_LIST}"
        _write_tags(path, info)
        return {"records": records, "files": bag.files}


class _Bag:
    """A bag whose manifest is written along with its files."""

    def __init__(self, path: Path, manifest: TextIO) -> None:
        self._path = path
        self._manifest = manifest
        self.bytes = 0
        self.files = 0

    @contextmanager
    def open(self, name: str, size: int = 0) -> Iterator[HashingFile]:
        """Open a file of the payload."""
        path = self._path / "data" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as file:
            hashing = HashingFile(file, HASH_ALGORITHM)
            yield hashing
        self._manifest.write(f"{hashing.hexdigest}  {_escaped(f'data/{name}')}\n")
        self.bytes += hashing.size
        self.files += 1

    def add(self, name: str, source: Path) -> None:
        """Add a file."""
        with self.open(name) as target, source.open("rb") as file:
            while piece := file.read(READ_CHUNK_BYTES):
                target.write(piece)


def _write_tags(path: Path, info: dict[str, str]) -> None:
    """Write the tag files of a bag whose payload is complete."""
    lines = (f"{name}: {' '.join(value.split())}\n" for name, value in info.items() if value.strip())
    (path / "bagit.txt").write_text(DECLARATION, encoding="utf-8")
    (path / "bag-info.txt").write_text("".join(lines), encoding="utf-8")
    hashes = "".join(f"{_hash(path / name)}  {name}\n" for name in ("bag-info.txt", "bagit.txt", MANIFEST))
    (path / f"tag{MANIFEST}").write_text(hashes, encoding="utf-8")


def _escaped(name: str) -> str:
    return name.replace("\n", "%0A").replace("\r", "%0D")


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, HASH_ALGORITHM).hexdigest()


def _write_description(session: Session, item: Item, bag: _Bag) -> None:
    with bag.open("item.json") as file:
        file.write(json.dumps(_description(session, item), indent=2, ensure_ascii=False).encode())
    with bag.open("documents.jsonl") as file:
        for row in listings.list_documents(session, item):
            if row.withheld is None:
                file.write(json.dumps(row.as_dict(), ensure_ascii=False).encode() + b"\n")


def _add_log(session: Session, bag: _Bag, log: Path) -> None:
    """Add the log, if there is one, without the lines about withheld URLs."""
    if not log.exists():
        return
    urls = [spelling.encode() for url in urls_withheld_now(session.connection()) for spelling in spellings(url)]
    with bag.open("crawl.log") as target, log.open("rb") as file:
        for line in file:
            if not any(url in line for url in urls):
                target.write(line)


def _add_mirror(bag: _Bag, mirror: Path, progress: ExportProgress) -> None:
    """Add the mirror, if there is one."""
    progress.begin("files of the mirror")
    for path in sorted(mirror.rglob("*")):
        if path.is_file() and not path.is_symlink():
            bag.add(f"mirror/{path.relative_to(mirror).as_posix()}", path)
            progress.advance()


def _description(session: Session, item: Item) -> dict[str, Any]:
    columns = {column.key: getattr(item, column.key) for column in inspect(Item).column_attrs}
    plain = {
        name: value.isoformat() if isinstance(value, datetime) else value
        for name, value in columns.items()
        if not name.endswith("id")
    }
    # Addresses and settings contain passwords, and a deposit is for others to keep.
    plain["configuration"] = masked(item.configuration)
    return {**plain, "publication": item.publication.name, "report": make_report(session, item).as_dict()}


def _withheld(progress: ExportProgress) -> dict[str, str]:
    """Return the statement that records were left out."""
    if not progress.withheld:
        return {}
    return {"Withheld-Records": str(progress.withheld), "Withheld-Policy": WITHHOLDING_POLICY}


def _info(installation: Config, item: Item) -> dict[str, str]:
    config = PublicationConfig.model_validate(item.configuration)
    return {
        "External-Identifier": item.urn,
        "External-Description": config.description or f"The publication {config.name}",
        "Internal-Sender-Identifier": config.name,
        "Contact-Email": installation.mail,
        "Bagging-Date": f"{datetime.now(UTC):%Y-%m-%d}",
        "Bag-Software-Agent": f"Tarântula/{__version__}",
    }
