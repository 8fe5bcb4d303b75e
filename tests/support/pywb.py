"""pywb as a process, serving collected items."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from socket import create_server

from tarantula.core.config import PYWB_CONFIG
from tests.support.pywb_environment import wayback
from tests.support.waits import TIMEOUT_SECONDS

ADDRESS = f"127.{os.getpid() >> 16 & 127 | 128}.{os.getpid() >> 8 & 255}.{os.getpid() & 255}"
"""A loopback address for this process alone: no other process can take the port before pywb binds it."""


@contextmanager
def serving(home: Path) -> Iterator[int]:
    """Serve the items of a home, each as a collection; yields the port."""
    with create_server((ADDRESS, 0)) as probe:
        port: int = probe.getsockname()[1]
    if not (home / "config.yaml").exists():
        (home / "config.yaml").write_text(PYWB_CONFIG)
    command: list[str | Path] = [wayback(), "--bind", ADDRESS, "--port", str(port), "--directory", home]
    with (home / "pywb.log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as server:
        try:
            _wait_for(port, server)
            yield port
        finally:
            server.terminate()


def ask(port: int, path: str) -> tuple[HTTPResponse, bytes]:
    """Request a page from pywb; return the response and its body."""
    connection = HTTPConnection(ADDRESS, port, timeout=TIMEOUT_SECONDS)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer, answer.read()
    finally:
        connection.close()


def _wait_for(port: int, server: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + TIMEOUT_SECONDS
    while time.monotonic() < end:
        assert server.poll() is None, "pywb ended"
        try:
            ask(port, "/")
        except ConnectionError:
            time.sleep(0.1)
        else:
            return
    raise TimeoutError("pywb does not answer")
