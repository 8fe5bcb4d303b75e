"""The link converter compared with `wget --convert-links`, on the same pages, in the same run.

Tarântula makes a mirror from the WARC files and the database: it reads, unpacks, converts and writes every record. wget
converts the files that it has just downloaded, in place; the time is the one that wget prints for the conversion.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.crawl import BIN, NAME, TIMEOUT_SECONDS, describe, environment, run
from tests.sites.large import LINKS, LargeWeb

MB = 1_000_000
ROUNDS = 2
_CONVERTED = re.compile(r"^Converted links in (\d+) files in ([\d.]+) seconds", re.MULTILINE)


def measure(pages: int = 3000, servers: int = 64) -> dict[str, Any]:
    """Compare pages per second in alternating rounds; the best round of each counts."""
    wget = shutil.which("wget")
    if wget is None:
        return {"skipped": "There is no wget here; install it, for example with apt-get install wget."}
    with tempfile.TemporaryDirectory() as directory, LargeWeb(pages, servers) as web:
        work = Path(directory)
        describe(web, work)
        run(work, "scrapy", "crawl", NAME)
        (item,) = json.loads(_said(work, "items", "--json"))
        ours, theirs = [], []
        for number in range(ROUNDS):
            ours.append(_converted(work, item["urn"], work / f"mirror{number}"))
            theirs.append(_wget_seconds(wget, web, work / f"wget{number}"))
    best, best_of_wget = min(made["seconds"] for made in ours), min(theirs)
    pages = ours[0]["documents"]
    megabytes = ours[0]["bytes"] / MB
    return {
        "ratio_to_wget": round(best_of_wget / best, 2),
        "wget_pages_per_second": round(pages / best_of_wget, 1),
        "wget_mb_per_second": round(megabytes / best_of_wget, 2),
        "tarantula_pages_per_second": round(pages / best, 1),
        "tarantula_mb_per_second": round(megabytes / best, 2),
        "pages": pages,
        "mb": round(megabytes, 1),
    }


def _converted(work: Path, urn: str, aside: Path) -> dict[str, Any]:
    """Build the mirror in an empty folder."""
    made: dict[str, Any] = json.loads(_said(work, "item", "convert", urn, "--json"))
    _check(made)
    # Not removed: after many deletions, ext4 takes thirty times as long to create a file.
    Path(made["path"]).rename(aside)
    return made


def _said(work: Path, *arguments: str) -> str:
    command = [str(BIN / "tarantula"), *arguments]
    ended = subprocess.run(
        command, env=environment(work), capture_output=True, text=True, check=True, timeout=TIMEOUT_SECONDS
    )
    return ended.stdout


def _check(made: dict[str, Any]) -> None:
    """Check that every page was converted and that its links lead to copies."""
    copies = list(Path(made["path"], "web").rglob("*.html"))
    links = copies[0].read_bytes().count(b'<a href="')
    whole = made["changed"] == made["documents"] == len(copies)
    if not whole or links != LINKS or b"http:" in copies[0].read_bytes():
        raise SystemExit(f"Not everything was converted: {made}")


def _wget_seconds(wget: str, web: LargeWeb, work: Path) -> float:
    work.mkdir()
    options = ("--recursive", "--level=inf", "--span-hosts", "--no-proxy", "--execute=robots=off", "--convert-links")
    log = work / "wget.log"
    with log.open("wb") as words:
        command = [wget, *options, web.base_url]
        subprocess.run(command, cwd=work, stdout=words, stderr=words, check=True, timeout=TIMEOUT_SECONDS)
    found = _CONVERTED.search(log.read_text(errors="replace"))
    if found is None or int(found[1]) < web.pages:
        raise SystemExit(f"wget did not convert every page: {found and found[0]}")
    return float(found[2])
