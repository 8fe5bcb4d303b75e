"""Memory that this process may still use: by the limits of its cgroup and process, and by what the machine has."""

from __future__ import annotations

import ctypes
import gc
import resource
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

PROC, CGROUPS = Path("/proc"), Path("/sys/fs/cgroup")


class _CgroupFiles(NamedTuple):
    """Names of the files with the limits and the use of a memory cgroup, and of the values of its page cache."""

    limits: tuple[str, ...]
    used: str
    cached: tuple[str, ...]


VERSION_1 = _CgroupFiles(
    ("memory.limit_in_bytes",), "memory.usage_in_bytes", ("total_active_file", "total_inactive_file")
)
VERSION_2 = _CgroupFiles(("memory.max", "memory.high"), "memory.current", ("active_file", "inactive_file"))


def available_memory(proc: Path = PROC, cgroups: Path = CGROUPS) -> int | None:
    """Return the bytes that this process may still use; ``None`` if the system does not tell."""
    amounts = [*_of_machine(proc), *_of_cgroups(proc, cgroups), *_of_process(proc)]
    return max(min(amounts), 0) if amounts else None


def trim_memory() -> None:
    """Collect garbage, and give memory that is not used back to the system."""
    gc.collect()
    # Only glibc has it.
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def _of_machine(proc: Path) -> Iterator[int]:
    with suppress(OSError):
        for line in (proc / "meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                yield int(line.split()[1]) * 1024


def _of_process(proc: Path) -> Iterator[int]:
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY:
        with suppress(OSError):
            yield limit - int((proc / "self/statm").read_text().split()[0]) * resource.getpagesize()


def _of_cgroups(proc: Path, cgroups: Path) -> Iterator[int]:
    """Yield what the cgroup of this process and those above it leave; the page cache is freed when it is needed."""
    try:
        lines = (proc / "self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if "memory" in controllers.split(","):
            yield from _of_branch(cgroups / "memory", path, VERSION_1)
        elif not controllers:
            yield from _of_branch(cgroups, path, VERSION_2)


def _of_branch(root: Path, path: str, files: _CgroupFiles) -> Iterator[int]:
    folder = root / path.lstrip("/")
    for group in [folder, *folder.parents]:
        with suppress(OSError, ValueError):
            limits = [text for name in files.limits if (text := (group / name).read_text().strip()) != "max"]
            if limits:
                used = int((group / files.used).read_text())
                stat = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
                yield min(map(int, limits)) - used + sum(int(stat.get(name, 0)) for name in files.cached)
        if group == root:
            return
