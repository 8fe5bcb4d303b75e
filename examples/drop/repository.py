"""DROP, the digital deposit of a library: items that librarians found valid leave for its repository.

Tell Tarântula of the hook, and the hook of the repository's folder::

    export TARANTULA_ON_DECISION=examples.drop.repository.receive
    export DROP_REPOSITORY=/srv/repository
    tarantula item validate fcul-20260612T220000

An item arrives whole or not at all: ``URN/data`` has its WARC files and their index, ``URN/metadata.json`` says
what it is and who accepted it, ``URN/manifest-sha256.txt`` has the sum of every file. One that is rejected later is
withdrawn.
"""

from __future__ import annotations

import json
import os
import shutil
from hashlib import file_digest
from pathlib import Path

from tarantula.archive.validation import Decided
from tarantula.deposit import Deposit


def receive(decided: Decided) -> None:
    """Take in what is valid, and withdraw what is not."""
    repository = Path(os.environ["DROP_REPOSITORY"])
    place, arriving = repository / decided.urn, repository / f".{decided.urn}.arriving"
    shutil.rmtree(arriving, ignore_errors=True)
    if decided.validation == "valid":
        _pack(decided, arriving)
    shutil.rmtree(place, ignore_errors=True)
    if arriving.exists():
        arriving.rename(place)


def _pack(decided: Decided, folder: Path) -> None:
    with Deposit() as deposit:
        shutil.copytree(deposit.directory(decided.urn), folder / "data")
        metadata = {
            "decision": decided.as_dict(),
            "indicators": deposit.indicators(decided.urn).as_dict(),
            "urls": [document.url for document in deposit.documents(decided.urn) if document.state == 200],
        }
    (folder / "metadata.json").write_text(json.dumps(metadata, ensure_ascii=False, indent=2), encoding="utf-8")
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    sums = [f"{_sum(path)}  {path.relative_to(folder)}\n" for path in files]
    (folder / "manifest-sha256.txt").write_text("".join(sums), encoding="utf-8")


def _sum(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()
