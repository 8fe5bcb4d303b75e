"""Memory of a collector with a million waiting documents, and with two million.

A real collector collects pages that link to new documents until its set of known URLs is full and is cleared. The
result is the peak of its resident memory.
"""

from __future__ import annotations

import asyncio
import re
import signal
import sqlite3
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.crawl import BIN, NAME, ROOT, environment, run
from tarantula.crawl.discovery import REMEMBERED_URLS
from tests.sites.large import LINKS
from tests.sites.server import Answer, Visit, Web

SERVERS = 64
PAGES = 4 * REMEMBERED_URLS // LINKS + 1000
LONGEST = 120
"""Seconds of observation of a collector."""

_DOCUMENTS = """
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :rows)
    INSERT INTO document (item_id, key, url, server_id, depth, kind, redirects, rank, tries, via_id, state)
    SELECT :item, randomblob(16),
        'http://127.0.0.' || (1 + (i % :servers)) || ':' || :port || '/section-' || (i % 7) || '/page-' || i || '.html',
        (SELECT id FROM server WHERE name = '127.0.0.' || (1 + (i % :servers)) || ':' || :port),
        3, 0, 0, 2 + i % 3, 0, 1, -6
    FROM n
"""


def measure() -> dict[str, Any]:
    """Measure a collector with a million waiting documents, and another with two million."""
    measured = {f"{rows}_waiting_mb": _watched(rows) for rows in (1_000_000, 2_000_000)}
    return {**measured, "pages_collected": PAGES, "servers": SERVERS}


def _watched(rows: int) -> float:
    addresses = [f"127.0.0.{number}" for number in range(1, SERVERS + 1)]
    with tempfile.TemporaryDirectory() as directory, Web({}, addresses, fallback=_page) as web:
        work = Path(directory)
        urn = _prepare(work, web, rows)
        command = [str(BIN / "scrapy"), "crawl", NAME, "-a", f"item={urn}"]
        with (work / "log").open("wb") as log:
            collector = subprocess.Popen(command, cwd=ROOT, env=environment(work), stdout=log, stderr=log)
        try:
            return _watch(collector, web)
        finally:
            collector.send_signal(signal.SIGKILL)
            collector.wait()


def _watch(collector: subprocess.Popen[bytes], web: Web) -> float:
    """Return the peak resident memory of a process in MB, after enough requests."""
    ends = time.monotonic() + LONGEST
    while len(web.visits) < PAGES:
        if collector.poll() is not None or time.monotonic() > ends:
            raise SystemExit(f"The collector only asked for {len(web.visits)} of {PAGES} pages")
        time.sleep(0.2)
    status = Path(f"/proc/{collector.pid}/status").read_text()
    return round(int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0]) / 1000, 1)


async def _page(visit: Visit, _transport: asyncio.Transport) -> Answer:
    """Insert documents that no page links to."""
    links = (f'<a href="{visit.path}/{number}">{number}</a>' for number in range(LINKS))
    return Answer(f"<title>{visit.path}</title>{'<p>word </p>' * 600}{' '.join(links)}")


def _prepare(work: Path, web: Web, rows: int) -> str:
    options = ("--accept", "127.0.0.*", "--depth", "20", "--delay", "0", "--per-server", "8", "--no-robots")
    run(work, "tarantula", "publication", "add", NAME, web.url(), *options, "--no-convert")
    prepare = "from tarantula import config, coordinator; print(coordinator.prepare_item(config.Config(), '{}'))"
    made = [str(BIN / "python"), "-c", prepare.format(NAME)]
    urn = subprocess.run(made, cwd=ROOT, env=environment(work), capture_output=True, check=True, text=True).stdout
    database = sqlite3.connect(work / "home" / "tarantula.sqlite")
    with database:
        names = [(web.server(address),) for address in web.addresses]
        database.executemany("INSERT OR IGNORE INTO server (name) VALUES (?)", names)
        values = {"rows": rows, "item": 1, "servers": SERVERS, "port": web.port}
        database.execute(_DOCUMENTS, values)
    database.close()
    return urn.strip()
