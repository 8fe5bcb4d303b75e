"""Tarântula compared with a bare Scrapy spider, on the same site, in the same run.

Each runs in its own process. Its time is measured from the first request that reaches the site to the end of the
process: it includes writing the last rows and closing the files, and leaves out starting Python.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from warcio.archiveiterator import ArchiveIterator

from tests.sites.large import LINKS, LargeWeb

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
TIMEOUT_SECONDS = 600
"""Timeout of one crawl, in seconds."""
NAME = "bench"


def measure(pages: int = 3000, servers: int = 64, rounds: int = 1) -> dict[str, Any]:
    """Compare pages per second: each round runs ours, the bare spider, and ours again."""
    bare: list[float] = []
    ours: list[float] = []
    with LargeWeb(pages, servers) as web:
        for _ in range(rounds):
            ours.append(_timed(web, crawl_with_tarantula))
            bare.append(_timed(web, crawl_bare))
            ours.append(_timed(web, crawl_with_tarantula))
    bare_rate, our_rate = (pages * len(times) / sum(times) for times in (bare, ours))
    return {
        "ratio_to_bare_scrapy": round(our_rate / bare_rate, 2),
        "bare_scrapy_pages_per_second": round(bare_rate, 1),
        "tarantula_pages_per_second": round(our_rate, 1),
        "pages": pages,
        "servers": servers,
        "documents": pages,
        "links": pages * LINKS,
    }


def _timed(web: LargeWeb, crawl: Callable[[LargeWeb, Path], None]) -> float:
    """Return the duration of a crawl in seconds, after checking that it was complete."""
    web.visits.clear()
    with tempfile.TemporaryDirectory() as directory:
        crawl(web, Path(directory))
        ended = time.monotonic()
        check_visited(web)
        if crawl is crawl_with_tarantula:
            check_stored(web, Path(directory, "home"))
    return ended - web.visits[0].time


def check_visited(web: LargeWeb) -> None:
    """Check that every page was requested."""
    visited = len({(visit.server, visit.path) for visit in web.visits})
    if visited != web.pages:
        raise SystemExit(f"Only {visited} of {web.pages} pages were asked for")


def check_stored(web: LargeWeb, home: Path) -> None:
    """Check that every body, row and link was stored."""
    wanted = {"documents": web.pages, "links": web.pages * LINKS, "responses": web.pages}
    stored = count_stored(home)
    if stored != wanted:
        raise SystemExit(f"Not everything was stored: {stored} and not {wanted}")


def crawl_bare(web: LargeWeb, work: Path) -> None:
    """Follow every link from the first page."""
    spider = ROOT / "benchmarks" / "bare_spider.py"
    run(work, "scrapy", "runspider", str(spider), "-a", f"url={web.base_url}", "-s", "LOG_LEVEL=INFO", directory=work)


def crawl_with_tarantula(web: LargeWeb, work: Path) -> None:
    """Collect the publication of the site, with as many concurrent requests as the bare spider."""
    describe(web, work)
    run(work, "scrapy", "crawl", "publication", "-a", f"name={NAME}")


def describe(web: LargeWeb, work: Path, more: Mapping[str, str] | None = None) -> None:
    """Add the publication of the site, to the database that the environment with *more* names."""
    options = ("--accept", "127.0.0.*", "--depth", "20", "--delay", "0", "--per-server", "8", "--no-robots")
    run(work, "tarantula", "publication", "add", NAME, web.base_url, *options, "--no-convert", more=more)


def environment(work: Path) -> dict[str, str]:
    """Return the environment of a new home with its SQLite database, and no proxy for loopback."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if name != "TARANTULA_DATABASE_URL" and not name.lower().endswith("_proxy")
    }
    return {**inherited, "TARANTULA_HOME": str(work / "home")}


def run(
    work: Path, program: str, *arguments: str, directory: Path = ROOT, more: Mapping[str, str] | None = None
) -> None:
    """Run a program of the virtual environment; print its output only if it fails."""
    log = work / f"{program}.log"
    with log.open("wb") as words:
        ended = subprocess.run(
            [str(BIN / program), *arguments],
            cwd=directory,
            env={**environment(work), **(more or {})},
            stdout=words,
            stderr=subprocess.STDOUT,
            timeout=TIMEOUT_SECONDS,
        )
    if ended.returncode:
        raise SystemExit(f"{program} ended with exit code {ended.returncode}:\n{log.read_text()[-3000:]}")


def count_stored(home: Path) -> dict[str, int]:
    """Count what was stored: collected rows, link rows, responses in the WARC files."""
    database = sqlite3.connect(home / "tarantula.sqlite")
    try:
        documents = database.execute("SELECT count(*) FROM document WHERE state = 200").fetchone()[0]
        links = database.execute("SELECT count(*) FROM link").fetchone()[0]
    finally:
        database.close()
    responses = 0
    for path in home.glob("items/*/archive/*.warc.gz"):
        with path.open("rb") as file:
            responses += sum(record.rec_type == "response" for record in ArchiveIterator(file))
    return {"documents": documents, "links": links, "responses": responses}
