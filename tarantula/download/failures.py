"""The system's errors as sentences."""

from __future__ import annotations

import os
import ssl

from tarantula.download.errors import NotReached
from tarantula.download.tls import problem


def not_reached(server: str, error: OSError) -> NotReached:
    """Say why a server could not be connected to, or why the connection ended."""
    return NotReached(f"The server {server} {_what_happened(error)}.")


def _what_happened(error: OSError) -> str:
    if isinstance(error, ssl.SSLError):
        return f"was reached, but {problem(error)}"
    if isinstance(error, ConnectionRefusedError):
        return "refused the connection"
    if isinstance(error, ConnectionResetError | BrokenPipeError):
        return "reset the connection"
    if isinstance(error, TimeoutError):
        return "did not take the connection"
    reason = os.strerror(error.errno) if error.errno else str(error) or type(error).__name__
    return f"cannot be reached: {reason}"
