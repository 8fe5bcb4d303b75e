"""CPU profile of the collector by stage: a table for docs/performance.md.

py-spy samples the stack of each thread of the collector a few hundred times a second, with native frames. A sample
counts for the stage that is nearest to the top of the stack.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from benchmarks.crawl import BIN, NAME, ROOT, TIMEOUT_SECONDS, describe, environment
from tests.sites.large import LargeWeb

RATE = 400
FRONTIER = "frontier: choosing the next document"
STORE = "store: WARC records, rows, links, index"
STAGES = {
    "tarantula/links/": "links: parsing pages, making URLs absolute",
    "tarantula/core/urls.py": "links: parsing pages, making URLs absolute",
    "tarantula/scope/": "scope and discovery: judging links, remembering them",
    "tarantula/crawl/discovery.py": "scope and discovery: judging links, remembering them",
    "tarantula/frontier/": FRONTIER,
    "tarantula/fetch/politeness.py": FRONTIER,
    "tarantula/store/": STORE,
    "tarantula/fetch/": "download: connections, heads, bodies",
    "tarantula/": "adapters: handler, middlewares, spider, pipeline",
    "scrapy/": "Scrapy, Twisted and the event loop",
    "twisted/": "Scrapy, Twisted and the event loop",
    "asyncio/": "Scrapy, Twisted and the event loop",
}
"""Stage by a part of a path; the first that fits counts."""
STARTING = "starting: imports, settings, migrations"
WAITING = re.compile(r"_next_group \([^;]*\)$")
"""Frames of the idle writer, which py-spy counts as busy."""


def main() -> None:
    """Crawl the large site under py-spy and print the table."""
    pages = int(sys.argv[1]) if len(sys.argv) > 1 else 3000
    with tempfile.TemporaryDirectory() as directory, LargeWeb(pages) as web:
        work = Path(directory)
        describe(web, work)
        samples = watch(work)
    print_table(Counter(stage_of(stack) for stack, count in samples for _ in range(count)))


def watch(work: Path) -> list[tuple[str, int]]:
    """Run the collector under py-spy; return the stacks and their sample counts."""
    raw = work / "stacks"
    options = ("record", "--format", "raw", "--rate", str(RATE), "--output", str(raw), "--")
    command = [str(BIN / "py-spy"), *options, sys.executable, str(BIN / "scrapy"), "crawl", NAME]
    subprocess.run(command, cwd=ROOT, env=environment(work), capture_output=True, check=True, timeout=TIMEOUT_SECONDS)
    lines = (line.rpartition(" ") for line in raw.read_text().splitlines())
    return [(stack, int(count)) for stack, _, count in lines if not WAITING.search(stack)]


def stage_of(stack: str) -> str:
    """Return the stage of a stack."""
    files = re.findall(r"\(([^():]+\.py)", stack)
    if any("importlib" in file for file in re.findall(r"\(([^()]*)\)", stack)):
        return STARTING
    for file in reversed(files):
        for part, stage in STAGES.items():
            if part in file:
                return stage
    return STARTING


def print_table(moments: Counter[str]) -> None:
    """Print the shares, largest first, without the start of the process."""
    del moments[STARTING]
    total = moments.total()
    print("| stage | share of the collector's time |\n|---|---|")
    for stage, count in moments.most_common():
        print(f"| {stage} | {count / total:.0%} |")


if __name__ == "__main__":
    main()
