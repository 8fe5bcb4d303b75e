"""Whether the files of an index are as they were written."""

from __future__ import annotations

import json
import zlib
from mmap import ACCESS_READ, mmap
from pathlib import Path
from struct import Struct
from struct import error as StructError

from tarantula.search.index import DamagedIndex

_TAIL = Struct("<II")
"""At the end of every file: how long the footer before it is, and a number by which it is known."""
_KNOWN_BY = 1337
_PIECE = 1 << 20


def check(folder: Path) -> None:
    """Compare every file of an index with its checksum, and say which does not have it."""
    for path in sorted(_files(folder)):
        try:
            is_whole = _is_whole(path)
        except (OSError, ValueError, KeyError, StructError) as error:
            raise DamagedIndex(folder, f"{path.name}: {error}") from error
        if not is_whole:
            raise DamagedIndex(folder, f"{path.name} is not as it was written")


def _files(folder: Path) -> set[Path]:
    """Return the files that were committed; others are left of what was not."""
    try:
        meta = json.loads((folder / "meta.json").read_bytes())
        segments = {str(segment["segment_id"]).replace("-", "") for segment in meta["segments"]}
    except FileNotFoundError:
        return set()
    except (ValueError, KeyError) as error:
        raise DamagedIndex(folder, f"meta.json: {error}") from error
    return {path for path in folder.iterdir() if path.name.partition(".")[0] in segments}


def _is_whole(path: Path) -> bool:
    with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as content:
        length, known_by = _TAIL.unpack(content[-_TAIL.size :])
        end = len(content) - _TAIL.size - length
        if known_by != _KNOWN_BY or end < 0:
            return False
        expected = json.loads(content[end : -_TAIL.size])["crc"]
        checksum = 0
        for start in range(0, end, _PIECE):
            checksum = zlib.crc32(content[start : min(start + _PIECE, end)], checksum)
    return bool(checksum == expected)
