"""TLS settings of the client, and messages for failed handshakes."""

from __future__ import annotations

import os
import ssl
from importlib import import_module

from tarantula.core.reasons import Reason

# SSL_OP_LEGACY_SERVER_CONNECT: old servers do not support secure renegotiation, and only public pages are read.
_LEGACY_SERVER_CONNECT = 0x4


def make_tls_context(*, verify: bool) -> ssl.SSLContext:
    """Return the TLS settings of a client's connections."""
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    # Many servers end a body without close_notify; its length or its chunks show whether it is complete.
    context.options |= ssl.OP_IGNORE_UNEXPECTED_EOF | _LEGACY_SERVER_CONNECT
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif not _has_system_certificates():
        _load_bundle(context)
    return context


def describe_tls(connection: ssl.SSLObject | None) -> str:
    """Return the TLS version and cipher of a connection, or an empty string for plain HTTP."""
    if connection is None:
        return ""
    cipher = connection.cipher()
    return f"{connection.version()} {cipher[0] if cipher else ''}".strip()


def tls_problem(server: str, error: ssl.SSLError) -> Reason:
    """Return the reason of a failed TLS connection to a server."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return Reason.of("certificate_not_accepted", server=server, problem=error.verify_message.rstrip("."))
    problem = str(error.reason or (error.args[-1] if error.args else ""))
    return Reason.of("tls_failed", server=server, problem=problem.lower().replace("_", " "))


def _has_system_certificates() -> bool:
    paths = ssl.get_default_verify_paths()
    return bool(paths.cafile or (paths.capath and os.listdir(paths.capath)))


def _load_bundle(context: ssl.SSLContext) -> None:
    try:
        context.load_verify_locations(import_module("certifi").where())
    except ImportError:
        return
