"""Two collectors on PostgreSQL compared with `wget -r --warc-file`, on the same site, in the same run.

Their time is measured from the first to the last request that reaches the site, without the start and the end of the
processes. A second ratio includes the time until the processes have ended.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.crawl import NAME, TIMEOUT_SECONDS, check_visited, describe, run
from benchmarks.postgresql import Server, postgresql
from tests.sites.large import LargeWeb

COLLECTORS = 2
PAGES = 8000
"""Enough pages that the start of two processes does not matter."""


class Times(NamedTuple):
    """Seconds from the first to the last request, and to the end of the process."""

    asking: float
    whole: float


def measure(pages: int = PAGES, servers: int = 64) -> dict[str, Any]:
    """Compare pages per second: ours, wget, and ours again."""
    wget = shutil.which("wget")
    if wget is None:
        return {"skipped": "There is no wget here; install it, for example with apt-get install wget."}
    with LargeWeb(pages, servers) as web, postgresql() as database:
        ours = [_timed(web, lambda work: _collect(web, work, database))]
        theirs = _timed(web, lambda work: _mirror(wget, web, work))
        ours.append(_timed(web, lambda work: _collect(web, work, database)))
    asking, whole = (sum(times) / len(ours) for times in zip(*ours, strict=True))
    return {
        "ratio_to_wget": round(theirs.asking / asking, 2),
        "ratio_to_wget_whole_process": round(theirs.whole / whole, 2),
        "wget_pages_per_second": round(pages / theirs.asking, 1),
        "tarantula_pages_per_second": round(pages / asking, 1),
        "collectors": COLLECTORS,
        "pages": pages,
        "servers": servers,
    }


def _timed(web: LargeWeb, crawl: Callable[[Path], None]) -> Times:
    web.visits.clear()
    with tempfile.TemporaryDirectory() as directory:
        crawl(Path(directory))
        ended = time.monotonic()
        check_visited(web)
    first = web.visits[0].time
    return Times(web.visits[-1].time - first, ended - first)


def _collect(web: LargeWeb, work: Path, database: Server) -> None:
    """Collect with two processes into a new database."""
    name = f"bench_{time.monotonic_ns()}"
    database.execute(f"CREATE DATABASE {name}")
    url = {"TARANTULA_DATABASE_URL": database.url_of(name)}
    describe(web, work, url)
    run(work, "tarantula", "crawl", NAME, "--collectors", str(COLLECTORS), more=url)


def _mirror(wget: str, web: LargeWeb, work: Path) -> None:
    options = ("--recursive", "--level=inf", "--span-hosts", "--no-verbose", "--no-proxy", "--execute=robots=off")
    command = [wget, *options, "--warc-file=wget", web.base_url]
    with (work / "wget.log").open("wb") as words:
        subprocess.run(command, cwd=work, stdout=words, stderr=words, check=True, timeout=TIMEOUT_SECONDS)
