"""The URL scheduler of 2021 with a million URLs, from file to file, with each of its strategies."""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tarantula.frontier.escalona import CommandFile, UrlScheduler
from tarantula.frontier.strategies import STRATEGIES

MILLION = 1_000_000
DEEPEST = 5


def measure(urls: int = MILLION, hosts: int = 1000) -> dict[str, Any]:
    """Time ADD_URLS with a number of URLs, and ESCALONA_TUDO after it."""
    with tempfile.TemporaryDirectory() as directory:
        commands, output = Path(directory, "commands.txt"), Path(directory, "output.txt")
        with commands.open("w") as file:
            file.write(f"ADD_URLS {urls}\n")
            file.writelines(f"{url}\n" for url in some_urls(urls, hosts))
        return {name: _timed(name, commands, output, urls) for name in STRATEGIES}


def some_urls(count: int, hosts: int) -> Iterator[str]:
    """Yield distinct URLs, spread at random over hosts and depths, the same in every run."""
    dice = random.Random(2021)
    sections = [f"secao{number}" for number in range(50)]
    for number in range(count):
        path = "/".join(dice.choices(sections, k=dice.randrange(DEEPEST)))
        yield f"http://www.host{dice.randrange(hosts)}.com.br/{path}/pagina{number}.html"


def _timed(name: str, commands: Path, output: Path, urls: int) -> dict[str, float]:
    scheduler = UrlScheduler(name)
    started = time.monotonic()
    with commands.open() as lines:
        shown = list(CommandFile("adding", lines, scheduler).execute())
    added = time.monotonic()
    with output.open("w") as file:
        file.writelines(f"{url}\n" for url in CommandFile("scheduling", ["ESCALONA_TUDO"], scheduler).execute())
    ended = time.monotonic()
    with output.open() as lines:
        scheduled = len(set(lines))
    if shown or scheduled != urls:
        raise SystemExit(f"{name} scheduled {scheduled} of {urls} URLs")
    return {
        "seconds_per_million_add_urls": round((added - started) * MILLION / urls, 2),
        "schedule_all_seconds": round(ended - added, 2),
    }
