"""What is typed of what a source sends to its server."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from tarantula.cli.terminal_part_files import read_text
from tarantula.core.errors import TarantulaError


def headers_of(before: Mapping[str, str], texts: Iterable[str]) -> dict[str, str]:
    """Read headers, as ``X-API-Key: {key}``; one that says nothing is left out."""
    headers = {name.lower(): (name, value) for name, value in before.items()}
    for text in texts:
        name, colon, value = (part.strip() for part in text.partition(":"))
        if not colon or not name:
            # It may be a secret: it is not said again.
            raise TarantulaError("A header is written as 'NAME: VALUE', as 'X-API-Key: {key}'.")
        headers[name.lower()] = (name, value)
    return {name: value for name, value in headers.values() if value}


def body_text(typed: str) -> str:
    """Return what is to be sent: as it is typed, or what is in a file behind ``@``."""
    return read_text(Path(typed[1:])) if typed.startswith("@") else typed
