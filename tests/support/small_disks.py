"""Small disks that a test fills, and frees again."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


class SmallDisk:
    """A disk of its own, mounted at a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._filling = folder / "filling"

    def fill(self, free: int) -> None:
        """Leave only so many bytes free."""
        state = os.statvfs(self.folder)
        self._filling.write_bytes(bytes(max(state.f_bavail * state.f_frsize - free, 0)))

    def clear(self) -> None:
        """Make the space free again."""
        self._filling.unlink()


@contextmanager
def small_disk(folder: Path, size: int) -> Iterator[SmallDisk]:
    """Mount a disk of *size* bytes at a folder; skip the test where that is not permitted."""
    folder.mkdir(parents=True, exist_ok=True)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size},mode=0700", "tarantula-test", folder],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip("Mounting a small disk needs root.")
    try:
        yield SmallDisk(folder)
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)
