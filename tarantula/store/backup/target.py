"""Directory of backups: one pool of files, and generations that each list the files that belong to them.

```
TARGET/
  backup.json                        marks the directory; version of its layout
  files/items/URN/archive/*.warc.gz  the pool: each file once, whatever the number of generations
  files.jsonl                        size and digest of each file in the pool, appended when it was read back
  generations/NAME/                  the database, manifest.json and the digest of the manifest
```

A file in the pool only grows: a generation has its first *size* bytes. A generation without a manifest is incomplete.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path, PurePosixPath
from secrets import token_hex
from typing import Annotated, BinaryIO

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError

from tarantula.core.errors import ConflictError, TarantulaError
from tarantula.core.files import file_lock, sync_path
from tarantula.store.backup.copying import (
    CountBytes,
    DamagedBackup,
    Progress,
    byte_counter,
    check_sizes,
    check_written,
    digest_of,
    draft_of,
    open_original,
    pieces_of,
    write_whole,
    writing,
)

LAYOUT = 1
"""Version of the layout."""
MARKER = "backup.json"
LOCK = ".lock"
BEFORE_MARKER = frozenset({LOCK, draft_of(MARKER)})
"""Files that a directory may have whose creation was interrupted, as on a full disk."""
POOL_INDEX = "files.jsonl"
MANIFEST = "manifest.json"
MANIFEST_DIGEST = "manifest.json.sha256"


def _inside(path: str) -> str:
    """Accept only relative paths that stay below their directory: a manifest may come from anywhere."""
    parts = PurePosixPath(path).parts
    if not parts or parts[0] == "/" or ".." in parts:
        raise ValueError(f"{path!r} is not below the directory")
    return path


RelativePath = Annotated[str, AfterValidator(_inside)]


class BackupFile(BaseModel):
    """A file of the home, as one generation has it."""

    model_config = ConfigDict(frozen=True)

    path: RelativePath
    """Below the home."""
    size: int
    sha256: str
    stored: RelativePath
    """Below ``files`` of the backup, which may have more bytes."""
    modified: int
    """Time of modification of the original, in nanoseconds."""


class DatabaseFile(BaseModel):
    """The database of a generation."""

    kind: str
    """``sqlite`` or ``postgresql``."""
    name: str
    size: int
    sha256: str


class Manifest(BaseModel):
    """Contents of a generation."""

    version: str
    """Version of the program that made it."""
    schema_version: str
    created_at: datetime
    """Moment of the database; the files have at least what it names."""
    home_id: str
    home: str
    database: DatabaseFile
    files: list[BackupFile]
    problems: list[str]
    """A sentence for everything that should be in it and is not, or is damaged."""
    left_out: list[str]
    """Directories of the home that are not in it."""

    @property
    def bytes(self) -> int:
        """Total size of the files and the database."""
        return self.database.size + sum(file.size for file in self.files)


class BackupDirectory:
    """A directory of backups."""

    def __init__(self, root: Path) -> None:
        self.root = root.expanduser().absolute()
        self.files = self.root / "files"
        self.generations = self.root / "generations"
        self._index: dict[str, BackupFile] = {}
        """The newest version of each file, by its path below the home."""

    def create(self) -> None:
        """Create the directory, or check that an existing one is a directory of backups."""
        marker = self.root / MARKER
        with writing(self.root):
            self.root.mkdir(parents=True, exist_ok=True)
            if marker.exists():
                self.check()
            elif {path.name for path in self.root.iterdir()} - BEFORE_MARKER:
                raise TarantulaError(
                    "{root} is not empty and is no directory of backups. Name another.", root=self.root
                )
            if not marker.exists():
                write_whole(marker, json.dumps({"layout": LAYOUT}).encode())
            self.files.mkdir(exist_ok=True)
            self.generations.mkdir(exist_ok=True)

    def check(self) -> None:
        """Check that this is a directory of backups whose layout is known."""
        try:
            layout = json.loads((self.root / MARKER).read_bytes())["layout"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise TarantulaError(
                "{root} is no directory of backups: {marker} cannot be read in it.", root=self.root, marker=MARKER
            ) from error
        if layout != LAYOUT:
            raise TarantulaError(
                "{root} has layout {layout}; this program knows {known}. Use the version that made it.",
                root=self.root,
                layout=layout,
                known=LAYOUT,
            )

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Let one process at a time write here."""
        with ExitStack() as stack:
            with writing(self.root):
                is_free = stack.enter_context(file_lock(self.root / LOCK))
            if not is_free:
                raise ConflictError("Another process is writing to {root}. Try again when it is done.", root=self.root)
            yield

    def generation_names(self) -> tuple[list[str], list[str]]:
        """Return the names of the complete and of the incomplete generations, oldest first."""
        names = sorted(path.name for path in self.generations.iterdir() if path.is_dir())
        complete = [name for name in names if (self.generations / name / MANIFEST).exists()]
        return complete, [name for name in names if name not in complete]

    def start_generation(self) -> Path:
        """Remove generations that were never finished, and return the directory of a new one."""
        for name in self.generation_names()[1]:
            shutil.rmtree(self.generations / name)
        name = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
        complete = self.generation_names()[0]
        while complete and name <= complete[-1]:
            # Two in one second, or a clock that was set back: names keep the order.
            name = f"{complete[-1]}-{token_hex(2)}"
        folder = self.generations / name
        with writing(self.root):
            folder.mkdir()
        return folder

    def write_manifest(self, folder: Path, manifest: Manifest) -> None:
        """Finish a generation."""
        content = manifest.model_dump_json(indent=1).encode()
        with writing(self.root):
            write_whole(folder / MANIFEST_DIGEST, f"{sha256(content).hexdigest()}  {MANIFEST}\n".encode())
            write_whole(folder / MANIFEST, content)
            sync_path(self.generations)

    def read_manifest(self, name: str | None = None) -> tuple[str, Manifest]:
        """Return the name and the manifest of a generation, by default the newest complete one."""
        self.check()
        complete, incomplete = self.generation_names()
        if name is None and not complete:
            raise TarantulaError("{root} has no complete backup.", root=self.root)
        name = complete[-1] if name is None else name
        if name in incomplete:
            raise TarantulaError(
                "The backup {name} in {root} is incomplete: it was interrupted.", name=name, root=self.root
            )
        if name not in complete:
            raise TarantulaError(
                "{root} has no backup {name!r}. It has: {complete}.",
                root=self.root,
                name=name,
                complete=", ".join(complete) or "none",
            )
        path = self.generations / name / MANIFEST
        try:
            content = path.read_bytes()
            digest = (path.parent / MANIFEST_DIGEST).read_text(encoding="ascii")[:64]
            if digest != sha256(content).hexdigest():
                raise DamagedBackup.of(path)
            return name, Manifest.model_validate_json(content)
        except (OSError, ValidationError, UnicodeDecodeError) as error:
            raise DamagedBackup("{path} cannot be read: the backup is damaged.", path=path) from error

    def load_index(self) -> None:
        """Read the index of the pool; a last line that was not written to its end is removed."""
        path = self.root / POOL_INDEX
        if not path.exists():
            return
        with writing(self.root), path.open("r+b") as index:
            content = index.read()
            index.truncate(content.rfind(b"\n") + 1)
        try:
            for line in content.splitlines(keepends=True):
                if line.endswith(b"\n"):
                    file = BackupFile.model_validate_json(line)
                    self._index[file.path] = file
        except ValidationError as error:
            raise DamagedBackup(
                "{path} is damaged. Delete it: the next backup then copies every file again.", path=path
            ) from error

    def store(self, source: Path, path: str, count: CountBytes) -> tuple[BackupFile, int | None]:
        """Put a file of the home into the pool; return it, and the number of bytes copied, ``None`` if it was there.

        Of a file that has grown, only the new part is copied. What was copied is read back and compared.
        """
        with open_original(source) as original:
            status = os.fstat(original.fileno())
            known = self._index.get(path)
            if known is not None and not self._has(known):
                known = None
            if known is not None and (known.size, known.modified) == (status.st_size, status.st_mtime_ns):
                count(known.size)
                return known, None
            with writing(self.root):
                file, copied = self._copy(original, path, status, known, count)
                self._append_to_index(file)
            return file, copied

    def _has(self, file: BackupFile) -> bool:
        """Whether the pool has all bytes of a file, as far as its size says."""
        try:
            return (self.files / file.stored).stat().st_size >= file.size
        except OSError:
            return False

    def _copy(
        self, original: BinaryIO, path: str, status: os.stat_result, known: BackupFile | None, count: CountBytes
    ) -> tuple[BackupFile, int | None]:
        digest, start, stored = sha256(), 0, path
        grows = False
        if known is not None:
            for piece in pieces_of(original, known.size):
                digest.update(piece)
            # A damaged file in the pool is not continued: the new version is copied whole.
            grows = known.sha256 == digest.hexdigest() == digest_of(self.files / known.stored, known.size)
        if known is not None and grows:
            start, stored = known.size, known.stored
            count(start)
        else:
            original.seek(0)
            digest = sha256()
            if (self.files / path).exists():
                # It was replaced, as a log or an index is; earlier generations keep theirs.
                stored = f"{path}.{token_hex(8)}"
        target = self.files / stored
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = target if grows else target.with_name(f"{target.name}.part")
        added = sha256()
        with draft.open("r+b" if grows else "wb") as copy:
            # An interrupted copy may have left more than the index says.
            copy.truncate(start)
            copy.seek(start)
            for piece in pieces_of(original, status.st_size - start):
                digest.update(piece)
                added.update(piece)
                copy.write(piece)
                count(len(piece))
            copy.flush()
            os.fsync(copy.fileno())
            size = copy.tell()
        check_written(draft, size - start, added.hexdigest(), start)
        os.replace(draft, target)
        sync_path(target.parent)
        modified = status.st_mtime_ns if size == status.st_size else 0
        file = BackupFile(path=path, size=size, sha256=digest.hexdigest(), stored=stored, modified=modified)
        return file, None if grows and size == start else size - start

    def _append_to_index(self, file: BackupFile) -> None:
        with (self.root / POOL_INDEX).open("ab") as index:
            index.write(file.model_dump_json().encode() + b"\n")
            index.flush()
            os.fsync(index.fileno())
        self._index[file.path] = file

    def verify(self, names: Iterable[str], progress: Progress) -> list[str]:
        """Read everything that some generations have; return a sentence for each file that is damaged."""
        problems: list[str] = []
        wanted: dict[str, dict[int, str]] = {}
        for name in names:
            try:
                _, manifest = self.read_manifest(name)
            except DamagedBackup as error:
                problems.append(str(error))
                continue
            database = manifest.database
            wanted.setdefault(f"generations/{name}/{database.name}", {})[database.size] = database.sha256
            for file in manifest.files:
                wanted.setdefault(f"files/{file.stored}", {})[file.size] = file.sha256
        count = byte_counter(progress, sum(max(sizes) for sizes in wanted.values()))
        for path, sizes in sorted(wanted.items()):
            problems += [str(error) for error in check_sizes(self.root / path, sizes, count)]
        return problems

    def prune(self, keep: int) -> list[str]:
        """Remove all but the newest *keep* complete generations, and the files that only they had; return their
        names."""
        complete, _ = self.generation_names()
        removed = complete[:-keep]
        for name in removed:
            # Without its manifest a generation is incomplete, however far its removal gets.
            (self.generations / name / MANIFEST).unlink()
            shutil.rmtree(self.generations / name)
        if removed:
            self._prune_pool({file.stored for name in complete[-keep:] for file in self.read_manifest(name)[1].files})
        return removed

    def _prune_pool(self, needed: set[str]) -> None:
        self._index = {path: file for path, file in self._index.items() if file.stored in needed}
        lines = "".join(f"{file.model_dump_json()}\n" for file in self._index.values())
        with writing(self.root):
            write_whole(self.root / POOL_INDEX, lines.encode())
            for folder, _, names in os.walk(self.files, topdown=False):
                for name in names:
                    path = Path(folder, name)
                    if path.relative_to(self.files).as_posix() not in needed:
                        path.unlink()
                if Path(folder) != self.files and not os.listdir(folder):
                    os.rmdir(folder)
