"""Files that are named on the command line."""

from __future__ import annotations

import sys
from pathlib import Path

from tarantula.core.errors import TarantulaError


def read_text(file: Path) -> str:
    """Return the text of a file; ``-`` is what comes in."""
    try:
        return sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise TarantulaError(f"{file} is not a text in UTF-8.") from error
