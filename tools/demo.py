"""Serve a small web on loopback, collect it, show the report, and print commands to try next."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from tests.sites.demo import LARGEST, DemoWeb

HOME = Path("demo-home")
TARANTULA = Path(sys.executable).parent / "tarantula"
NAME = "demo"


def main() -> int:
    """Collect the web of the demo into demo-home, which is replaced."""
    shutil.rmtree(HOME, ignore_errors=True)
    try:
        with DemoWeb() as web:
            describe(web)
            run("crawl", NAME)
        urn = json.loads(ask("items", NAME, "--json"))[0]["urn"]
        say_what_next(urn, web.url("/visita.mp4"))
    except subprocess.CalledProcessError as error:
        return error.returncode
    return 0


def describe(web: DemoWeb) -> None:
    """Add the publication: the faculty and its neighbours, without videos."""
    servers = ";".join(web.addresses[1:])
    wanted = ("--accept", servers, "--exclude-types", "video/mp4", "--max-size", str(LARGEST))
    run("publication", "add", NAME, web.url(), *wanted, "--delay", "0.05", "--description", "A faculty on loopback")


def run(*arguments: str) -> None:
    """Print a command and run it."""
    print(f"\n$ tarantula {shlex.join(arguments)}", flush=True)
    subprocess.run([TARANTULA, *arguments], env=environment(), check=True)


def ask(*arguments: str) -> str:
    """Run a command and return its output."""
    return subprocess.run([TARANTULA, *arguments], env=environment(), check=True, capture_output=True, text=True).stdout


def environment() -> dict[str, str]:
    """Return the environment of the commands: home and SQLite database of the demo, and no proxy for loopback."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("TARANTULA_DATABASE")}
    return {**inherited, "TARANTULA_HOME": str(HOME), "no_proxy": "*"}


def say_what_next(urn: str, refused: str) -> None:
    """Print commands that work as they are, the pages first."""
    program = os.path.relpath(TARANTULA)
    print("\nEverything is in demo-home: the rows in tarantula.sqlite, the bodies in items/. To see it in a browser:\n")
    print(f"  TARANTULA_HOME={HOME} {program} web\n")
    print("Or on the command line:\n")
    for arguments in (
        ("documents", urn),
        ("documents", urn, "--jsonl"),
        ("report", urn, "--json"),
        ("why", NAME, refused),
        ("publication", "show", NAME),
    ):
        print(f"  TARANTULA_HOME={HOME} {program} {shlex.join(arguments)}")
    print("\nFor a publication of your own:\n")
    print(f"  {program} publication add NAME URL --depth 2")
    print(f"  {program} crawl NAME\n")


if __name__ == "__main__":
    sys.exit(main())
