"""Secrets that are handed out once and stored only as hashes: sessions and tokens."""

from __future__ import annotations

import hashlib
import secrets


def new_secret() -> str:
    """Return a secret that nobody can guess."""
    return secrets.token_urlsafe(32)


def secret_digest(secret: str) -> str:
    """Return what is stored of a secret. It is long and random, so one fast hash is enough."""
    return hashlib.sha256(secret.encode(errors="replace")).hexdigest()
