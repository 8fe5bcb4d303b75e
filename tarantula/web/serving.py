"""Serves applications, each on its port, until somebody ends it."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from ipaddress import ip_address

import uvicorn
from starlette.types import ASGIApp

from tarantula.errors import TarantulaError

GRACE = 2
"""Seconds for requests that are under way when the server ends."""


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def listen(host: str, port: int, option: str = "--port") -> socket.socket:
    """Take a port, or say why it cannot be had, and with which option to choose another; 0 is any that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    taken = socket.socket(family, socket.SOCK_STREAM)
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        taken.bind((host, port))
        # Whoever comes before the application is ready waits.
        taken.listen()
    except (OSError, OverflowError) as error:
        taken.close()
        words = getattr(error, "strerror", None) or str(error)
        raise TarantulaError(
            f"Port {port} of {host} cannot be used ({words}). Choose another with {option}."
        ) from error
    return taken


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
        app, log_level="warning", access_log=False, timeout_graceful_shutdown=GRACE, server_header=False
    )
