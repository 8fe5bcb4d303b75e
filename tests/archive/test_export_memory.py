"""The memory of an export does not grow with the item."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from random import Random

import pytest

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.fetch.exchange import Exchange
from tests.support.archived_items import BASE, archive
from tests.support.exchanges import answer, exchange

FULL_SIZE = bool(os.environ.get("TARANTULA_FULL_SIZE"))
LARGE = 10_000_000_000 if FULL_SIZE else 80_000_000
BODY = 4_000_000
MORE = 48_000_000
"""Bytes of memory that a large export may take more than a small one."""
EXPORT = r"""
import re, sys
from pathlib import Path
from tarantula.archive.export.exporter import export_item
from tarantula.core.config import Config
from tarantula.store.database import open_database
with open_database() as database:
    assert export_item(Config(), database, sys.argv[1], sys.argv[2]).problems == []
print(1024 * int(re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[1]))
"""


def films(size: int) -> Iterator[Exchange]:
    random = Random(size)
    body = random.randbytes(BODY)
    for number in range(size // BODY):
        packed = number.to_bytes(4, "big") + body[4:]
        yield exchange(f"{BASE}{number}.mp4", answer("Content-Type: video/mp4", f"Content-Length: {BODY}"), packed)


def memory_for(urn: str, form: str) -> int:
    return int(subprocess.run([sys.executable, "-c", EXPORT, urn, form], capture_output=True, check=True).stdout)


@pytest.mark.parametrize("form", ["wacz", "bagit"] if FULL_SIZE else ["wacz"])
def test_memory_does_not_grow_with_the_item(sqlite: Database, config: Config, form: str) -> None:
    small = archive(sqlite, config, films(BODY))
    large = archive(sqlite, config, films(LARGE), months=1)
    later = archive(sqlite, config, films(LARGE), after=large, months=2)
    enough = memory_for(small, form) + MORE
    assert memory_for(later, form) < enough
    if FULL_SIZE:
        assert memory_for(large, form) < enough
