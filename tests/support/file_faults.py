"""Faults of files: what stands in the place of a file, or what the system says when it is read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

Fault = Callable[[Path], object]


def _replace_by_link(path: Path, target: str) -> None:
    path.unlink()
    path.symlink_to(target)


def make_unopenable(path: Path) -> None:
    """Let every attempt to open a file fail, also those of root: no name is that long."""
    _replace_by_link(path, "x" * 300)


def make_unreadable(path: Path) -> None:
    """Let every read of a file fail with EIO, as on a disk that has failed; it can be opened."""
    # The first pages of a process are never mapped.
    _replace_by_link(path, "/proc/self/mem")


def _make_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


ABSENCES: dict[str, Fault] = {
    "no file": Path.unlink,
    "a folder in its place": _make_folder,
    "a link that leads nowhere": lambda path: _replace_by_link(path, "/nowhere/at-all"),
    "a link to itself": lambda path: _replace_by_link(path, path.name),
}
"""Ways in which a file is not there."""
