"""Whether the files of an index are as they were written."""

from __future__ import annotations

import json
import zlib
from os import SEEK_END
from pathlib import Path
from struct import Struct
from struct import error as StructError

from tarantula.search.index.storage import DamagedIndex

_TAIL = Struct("<II")
"""At the end of every file: how long the footer before it is, and a number by which it is known."""
_KNOWN_BY = 1337
_PIECE = 1 << 20


def check_index_files(folder: Path) -> None:
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
    # Not mapped: what is only looked at once would count as the memory of this process.
    with path.open("rb") as file:
        size = file.seek(0, SEEK_END)
        file.seek(max(size - _TAIL.size, 0))
        length, known_by = _TAIL.unpack(file.read(_TAIL.size))
        end = size - _TAIL.size - length
        if known_by != _KNOWN_BY or end < 0:
            return False
        file.seek(end)
        expected = json.loads(file.read(length))["crc"]
        file.seek(0)
        checksum = 0
        for start in range(0, end, _PIECE):
            checksum = zlib.crc32(file.read(min(_PIECE, end - start)), checksum)
    return bool(checksum == expected)
