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
"""Characters."""
MAX_PASSWORD_LENGTH = 1000
CONCURRENT_HASHES = 2
"""Passwords hashed at the same time. Each takes 64 MB, and the login form is public."""

_hash_slots = BoundedSemaphore(CONCURRENT_HASHES)


def hash_password(password: str) -> str:
    """Return the hash of a password to store; raise an error if the password is too short or too long."""
    if len(password) < MIN_PASSWORD_LENGTH:
        raise TarantulaError(
            "The password has {length} characters; it needs at least {minimum}.",
            length=len(password),
            minimum=MIN_PASSWORD_LENGTH,
        )
    if len(password) > MAX_PASSWORD_LENGTH:
        raise TarantulaError(
            "The password has {length} characters; at most {limit} are allowed.",
            length=len(password),
            limit=MAX_PASSWORD_LENGTH,
        )
    try:
        with _hash_slots:
            return _hasher().hash(password)
    except UnicodeEncodeError as error:
        raise TarantulaError("The password is not valid UTF-8.") from error


def verify_password(password: str, stored: str | None) -> bool:
    """Whether a password matches a stored hash; takes the same time if there is none, or an empty one."""
    from argon2.exceptions import InvalidHashError, VerificationError

    try:
        with _hash_slots:
            return _hasher().verify(stored or _dummy_hash(), password[: MAX_PASSWORD_LENGTH + 1]) and bool(stored)
    except (VerificationError, InvalidHashError, UnicodeEncodeError):
        return False


def needs_rehash(stored: str) -> bool:
    """Whether a hash was made with weaker parameters than the present ones."""
    return _hasher().check_needs_rehash(stored)


@cache
def _hasher() -> PasswordHasher:
    try:
        from argon2 import PasswordHasher
    except ModuleNotFoundError as error:
        raise TarantulaError("Passwords need argon2. Install it with: pip install 'tarantula[web]'") from error
    return PasswordHasher()


@cache
def _dummy_hash() -> str:
    return _hasher().hash("dummy password")


def new_secret() -> str:
    """Return a random secret."""
    return secrets.token_urlsafe(32)


def secret_digest(secret: str) -> str:
    """Return the digest of a secret to store. A fast hash is enough, since the secret is long and random."""
    return hashlib.sha256(secret.encode(errors="replace")).hexdigest()
