"""The system's errors as sentences."""

from __future__ import annotations

import os
import ssl

from tarantula.fetch.errors import ServerUnreachable
from tarantula.fetch.tls import tls_problem


def unreachable_error(server: str, error: OSError) -> ServerUnreachable:
    """Say why a server could not be connected to, or why the connection ended."""
    return ServerUnreachable(_sentence(server, error))


def _sentence(server: str, error: OSError) -> str:
    if isinstance(error, ssl.SSLError):
        return f"The server {server} was reached, but {tls_problem(error)}."
    if isinstance(error, ConnectionRefusedError):
        return f"The server {server} refused the connection."
    if isinstance(error, ConnectionResetError | BrokenPipeError):
        return f"The server {server} reset the connection."
    if isinstance(error, TimeoutError):
        return f"The server {server} did not take the connection."
    reason = os.strerror(error.errno) if error.errno else str(error) or type(error).__name__
    return f"The server {server} cannot be reached: {reason}."
