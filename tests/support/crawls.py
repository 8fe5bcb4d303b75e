"""Crawls as processes: describe a publication, run a collector, read the tables."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import select

from tarantula.core.database import Database
from tarantula.models import Document, Item
from tarantula.publications import registry
from tarantula.publications.config import read_config
from tests.support.waits import POLL_SECONDS, TIMEOUT_SECONDS
from tests.support.warm_processes import WarmProcess, is_warm

ROOT = Path(__file__).parents[2]
SCRAPY = str(Path(sys.executable).with_name("scrapy"))
TARANTULA = str(Path(sys.executable).with_name("tarantula"))

started: list[subprocess.Popen[str]] = []


def describe(database: Database, name: str, **values: Any) -> None:
    """Add a publication."""
    with database.session() as session:
        registry.add_publication(session, read_config({"name": name, "delay": 0, **values}))


def start(command: Sequence[str], **environment: str) -> subprocess.Popen[str]:
    """Start a command in the project's folder."""
    process = (WarmProcess if is_warm(command) else subprocess.Popen)(
        command,
        cwd=ROOT,
        # A configured proxy cannot reach the loopback of this machine.
        env={**os.environ, "no_proxy": "*", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    started.append(process)
    return process


def end_started() -> None:
    """Kill the processes that a failed test left running."""
    while started:
        with started.pop() as process:
            process.kill()


def run(*command: str, **environment: str) -> tuple[int, str, str]:
    """Run a command; return its exit code, standard output and standard error."""
    process = start(command, **environment)
    try:
        out, err = process.communicate(timeout=TIMEOUT_SECONDS)
    finally:
        process.kill()
    return process.returncode, out, err


def collect(name: str, *options: str, exit_code: int = 0, **environment: str) -> str:
    """Collect a publication with ``scrapy crawl``, to its end; return the log."""
    code, _, log = run(SCRAPY, "crawl", "publication", "-a", f"name={name}", *options, **environment)
    assert code == exit_code, log
    assert "Traceback" not in log, log
    return log


def states(database: Database) -> dict[str, int]:
    """Return the state of every document."""
    with database.session() as session:
        return dict(session.execute(select(Document.url, Document.state)).all())


def reasons(database: Database) -> dict[str, str]:
    """Return the reason of every document."""
    with database.session() as session:
        return {document.url: str(document.reason or "") for document in session.scalars(select(Document))}


def only_item(database: Database) -> Item:
    """Return the only item in the database."""
    with database.session() as session:
        return session.scalars(select(Item)).one()


def wait_until(condition: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    """Wait until a running process makes a condition true."""
    end = time.monotonic() + TIMEOUT_SECONDS
    while not condition():
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < end, "the condition did not become true in time"
        time.sleep(POLL_SECONDS)


def log_until(process: subprocess.Popen[str], sentence: str) -> str:
    """Read the log of a process up to the line that contains a sentence; return it."""
    assert process.stderr is not None
    lines = []
    for line in iter(process.stderr.readline, ""):
        lines.append(line)
        if sentence in line:
            return "".join(lines)
    raise AssertionError(f"no line with {sentence!r} in: {''.join(lines)}")


def interrupt(process: subprocess.Popen[str], how: signal.Signals = signal.SIGINT) -> str:
    """Send a signal, wait for the end, and return the log."""
    process.send_signal(how)
    return process.communicate(timeout=TIMEOUT_SECONDS)[1]
