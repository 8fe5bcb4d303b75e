"""Find a Chromium for rendered pages, or install one in the first way that works."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

from tarantula.browser.chromium import find_browser
from tarantula.core.errors import TarantulaError

TIMEOUT_SECONDS = 300
"""Timeout of each command, in seconds."""
WAYS = {
    "playwright install": [[sys.executable, "-m", "playwright", "install", "chromium"]],
    "apt-get install": [["apt-get", "update"], ["apt-get", "install", "--yes", "chromium"]],
}


def main() -> int:
    """Write the path of the Chromium to a file, installing one if needed; an empty file means that there is none."""
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
    """Try each way of installation in turn; return the path of the installed Chromium."""
    for name, commands in WAYS.items():
        print(f"· Chromium: trying {name}", flush=True)
        if all(map(succeeds, commands)) and (path := usable_browser()):
            return path
    return None


def succeeds(command: list[str]) -> bool:
    """Whether a command exists and succeeds within the timeout."""
    if not shutil.which(command[0]):
        return False
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    null = subprocess.DEVNULL
    try:
        ended = subprocess.run(command, stdin=null, stdout=null, stderr=null, timeout=TIMEOUT_SECONDS, env=quiet)
    except subprocess.TimeoutExpired:
        return False
    return ended.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
