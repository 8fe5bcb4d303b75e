"""Passwords, hashed with argon2; secrets of sessions and tokens, which are random and stored only as digests."""

from __future__ import annotations

import hashlib
import secrets
from functools import cache
from threading import BoundedSemaphore
from typing import TYPE_CHECKING

from tarantula.core.errors import TarantulaError

if TYPE_CHECKING:
    from argon2 import PasswordHasher

MIN_PASSWORD_LENGTH = 10
"""Characters of a password."""
MAX_PASSWORD_LENGTH = 1000
CONCURRENT_HASHES = 2
"""How many are hashed together: each takes 64 MB of memory, and anybody may ask for it."""

_turn = BoundedSemaphore(CONCURRENT_HASHES)


def hash_password(password: str) -> str:
    """Return what is stored of a password, or say why it will not do."""
    if len(password) < MIN_PASSWORD_LENGTH:
        raise TarantulaError(f"The password has {len(password)} characters, and {MIN_PASSWORD_LENGTH} is the least.")
    if len(password) > MAX_PASSWORD_LENGTH:
        raise TarantulaError(f"The password has {len(password)} characters, and {MAX_PASSWORD_LENGTH} is the most.")
    try:
        with _turn:
            return _hasher().hash(password)
    except UnicodeEncodeError as error:
        raise TarantulaError("The password holds bytes that are no text in UTF-8.") from error


def verify_password(password: str, stored: str | None) -> bool:
    """Whether a password is the one that was stored; it takes as long when nothing was."""
    from argon2.exceptions import InvalidHashError, VerificationError

    try:
        with _turn:
            return _hasher().verify(stored or _nobodys(), password[: MAX_PASSWORD_LENGTH + 1]) and stored is not None
    except (VerificationError, InvalidHashError, UnicodeEncodeError):
        return False


def needs_rehash(stored: str) -> bool:
    """Whether a stored password was made with weaker parameters than are used now."""
    return _hasher().check_needs_rehash(stored)


@cache
def _hasher() -> PasswordHasher:
    try:
        from argon2 import PasswordHasher
    except ModuleNotFoundError as error:
        raise TarantulaError("Passwords need argon2. Install it with: pip install 'tarantula[web]'") from error
    return PasswordHasher()


@cache
def _nobodys() -> str:
    return _hasher().hash("the password of nobody")


def new_secret() -> str:
    """Return a secret that nobody can guess."""
    return secrets.token_urlsafe(32)


def secret_digest(secret: str) -> str:
    """Return what is stored of a secret. It is long and random, so one fast hash is enough."""
    return hashlib.sha256(secret.encode(errors="replace")).hexdigest()
