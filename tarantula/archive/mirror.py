"""The link converter: a copy of an item that can be browsed from a folder."""

from __future__ import annotations

from dataclasses import dataclass

from tarantula.config import Config
from tarantula.db import Database


@dataclass(frozen=True, slots=True)
class Conversion:
    """What a conversion did."""

    documents: int = 0


def convert_item(installation: Config, database: Database, urn: str) -> Conversion:
    """Write ``archived/<urn>/`` below the home."""
    (installation.archived / urn).mkdir(parents=True, exist_ok=True)
    return Conversion()
