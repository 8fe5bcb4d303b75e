"""Long-running processes: logging, garbage collector, periodic jobs, limits of memory and files."""

from __future__ import annotations

import ctypes
import gc
import logging
import resource
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from logging import Logger
from pathlib import Path
from typing import NamedTuple

from tarantula.core.errors import DatabaseUnreachableError, TarantulaError

GC_THRESHOLDS = (20_000, 10, 5)
"""Allocations before a collection of each generation; Python's default starts with 700."""


def log_to_stdout() -> None:
    """Log to standard output, one line per message, from level INFO."""
    logging.basicConfig(
        stream=sys.stdout, format="%(asctime)s %(message)s", datefmt="%Y-%m-%d %H:%M:%S", level=logging.INFO
    )
    for name in ("apscheduler", "apprise"):
        logging.getLogger(name).setLevel(logging.ERROR)


def collect_and_freeze() -> None:
    """Collect garbage once, then exclude all present objects from later collections and make these rarer."""
    gc.collect()
    freeze_and_relax_gc()


def freeze_and_relax_gc() -> None:
    """Exclude all present objects from garbage collection and make collections rarer, without collecting now."""
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)


RESERVED_FILES = 128
"""Open files that are not for connections to servers: database, WARC files, logs, name lookups, browser."""


def raise_open_files_limit() -> None:
    """Raise the limit of open files of this process and its children to the hard limit."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # Some systems have a hard limit that they do not accept as the soft one.
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def open_files_limit() -> int:
    """Return how many files this process may have open."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return sys.maxsize if soft == resource.RLIM_INFINITY else soft


def connection_limit() -> int:
    """Return how many connections to servers this process may have open."""
    limit = open_files_limit()
    return max(limit - RESERVED_FILES, limit // 4, 1)


class PeriodicJob:
    """Run a job; log an error once and keep going, so that the scheduler retries on its next tick.

    An outage of the database is left to `Database.log_outages`, which logs it once for all jobs.
    """

    def __init__(self, job: Callable[[], None], logger: Logger) -> None:
        self._job = job
        self._logger = logger
        self._last_error = ""

    def __call__(self) -> None:
        try:
            self._job()
            self._last_error = ""
        except DatabaseUnreachableError:
            return
        except TarantulaError as error:
            if str(error) != self._last_error:
                self._logger.error("%s", error)
            self._last_error = str(error)
        except Exception:
            self._logger.exception("This is a bug of Tarântula.")


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
