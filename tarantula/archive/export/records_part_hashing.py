"""A file that is hashed while it is written."""

from __future__ import annotations

from hashlib import new
from typing import IO


class HashingFile:
    """Hands bytes on, and knows how many they were and their hash."""

    def __init__(self, file: IO[bytes], algorithm: str) -> None:
        self._file = file
        self._hash = new(algorithm)
        self.size = 0

    def write(self, data: bytes, /) -> int:
        """Take some bytes."""
        self._file.write(data)
        self._hash.update(data)
        self.size += len(data)
        return len(data)

    @property
    def hexdigest(self) -> str:
        """The hash of all that was written."""
        return self._hash.hexdigest()
