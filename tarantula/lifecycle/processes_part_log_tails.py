"""What the processes of an item said."""

from __future__ import annotations

from pathlib import Path

TAIL_BYTES = 1 << 16
"""Bytes of a log, from its end, that are looked at."""


def read_log_tail(directory: Path, lines: int) -> list[str]:
    """Return the last lines of the log in a directory that was written to last."""
    logs = [(path.stat().st_mtime, path) for path in directory.glob("*.log")]
    if not logs:
        return []
    with max(logs)[1].open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(size - TAIL_BYTES, 0))
        words = file.read(TAIL_BYTES).decode("utf-8", "replace").splitlines()
    return (words if size <= TAIL_BYTES else words[1:])[-lines:]
