"""Finds a Chromium for rendered pages, or installs one by whichever way works here."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

from tarantula.core.errors import TarantulaError
from tarantula.fetch.chromium import find_browser

PATIENCE = 300
"""Seconds for each command."""
WAYS = {
    "playwright install": [[sys.executable, "-m", "playwright", "install", "chromium"]],
    "apt-get install": [["apt-get", "update"], ["apt-get", "install", "--yes", "chromium"]],
}


def main() -> int:
    """Write down where the Chromium is, after installing one if need be; an empty file says that there is none."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("record", type=Path)
    record: Path = arguments.parse_args().record
    try:
        path = usable_browser() or installed_browser()
    except TarantulaError as error:
        print(f"· {error}")
        return 1
    record.write_text(path or "")
    if path is None:
        print("· No Chromium could be installed here. Everything works but rendered pages (--render).")
        print("  Install one by hand, or name one that is there: export TARANTULA_CHROMIUM=/path/to/chromium")
        return 1
    print(f"· Chromium: {path}")
    return 0


def usable_browser() -> str | None:
    """Return the path of a Chromium that starts."""
    found = find_browser()
    if found is None:
        with sync_playwright() as playwright:
            found = playwright.chromium.executable_path
    return found if succeeds([found, "--version"]) else None


def installed_browser() -> str | None:
    """Try each way in turn, and return the path of the Chromium that one of them brought."""
    for name, commands in WAYS.items():
        print(f"· Chromium: trying {name}", flush=True)
        if all(map(succeeds, commands)) and (path := usable_browser()):
            return path
    return None


def succeeds(command: list[str]) -> bool:
    """Whether a command is there, and ends well within its time."""
    if not shutil.which(command[0]):
        return False
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    null = subprocess.DEVNULL
    try:
        ended = subprocess.run(command, stdin=null, stdout=null, stderr=null, timeout=PATIENCE, env=quiet)
    except subprocess.TimeoutExpired:
        return False
    return ended.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
