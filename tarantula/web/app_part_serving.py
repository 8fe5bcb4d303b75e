"""Serves applications, each on its port, until somebody ends it."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import uvicorn
from starlette.types import ASGIApp

SHUTDOWN_SECONDS = 2
"""Seconds for requests that are under way when the server ends."""


class _Server(uvicorn.Server):
    """Leaves signals to whoever started it."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Do nothing."""
        yield


def serve(applications: Sequence[tuple[ASGIApp, socket.socket]]) -> None:
    """Serve applications on their sockets until Ctrl-C."""
    asyncio.run(_serve(applications))


async def _serve(applications: Sequence[tuple[ASGIApp, socket.socket]]) -> None:
    servers = [_Server(_config(app)) for app, _ in applications]

    def end() -> None:
        for server in servers:
            server.should_exit = True

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, end)
    await asyncio.gather(
        *(server.serve(sockets=[taken]) for server, (_, taken) in zip(servers, applications, strict=True))
    )


def _config(app: ASGIApp) -> uvicorn.Config:
    return uvicorn.Config(
        app, log_level="warning", access_log=False, timeout_graceful_shutdown=SHUTDOWN_SECONDS, server_header=False
    )
