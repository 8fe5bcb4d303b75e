"""Listening sockets of the web server, the gateway and the barrels."""

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
    """Return a socket that listens on a port; 0 is any free one. *option* is the command's option for another port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        # Connections that arrive before the application is ready wait in the backlog.
        listener.listen()
    except (OSError, OverflowError) as error:
        listener.close()
        reason = getattr(error, "strerror", None) or str(error)
        raise TarantulaError(
            "Port {port} of {host} cannot be used ({reason}). Choose another with {option}.",
            port=port,
            host=host,
            reason=reason,
            option=option,
        ) from error
    return listener


def listener_url(host: str, listener: socket.socket) -> str:
    """Return the http URL of a listening socket."""
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{listener.getsockname()[1]}"
