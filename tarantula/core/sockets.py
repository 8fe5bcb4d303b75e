"""Ports of this machine, for whatever serves."""

from __future__ import annotations

import socket
from ipaddress import ip_address

from tarantula.core.errors import TarantulaError


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def open_listener(host: str, port: int, option: str = "--port") -> socket.socket:
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


def listener_url(host: str, taken: socket.socket) -> str:
    """Return the address of what listens on a port of a host."""
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{taken.getsockname()[1]}"
