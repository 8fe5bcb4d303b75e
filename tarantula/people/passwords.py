"""Passwords, which nobody can read once they are stored."""

from __future__ import annotations

from functools import cache

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from tarantula.errors import TarantulaError

SHORTEST = 10
"""Characters of a password."""
LONGEST = 1000


def hashed(password: str) -> str:
    """Return what is stored of a password, or say why it will not do."""
    if len(password) < SHORTEST:
        raise TarantulaError(f"The password has {len(password)} characters, and {SHORTEST} is the least.")
    if len(password) > LONGEST:
        raise TarantulaError(f"The password has {len(password)} characters, and {LONGEST} is the most.")
    return _hasher().hash(password)


def fits(password: str, stored: str | None) -> bool:
    """Whether a password is the one that was stored; it takes as long when nothing was."""
    try:
        return _hasher().verify(stored or _nobodys(), password[:LONGEST]) and stored is not None
    except (VerificationError, InvalidHashError):
        return False


def is_old(stored: str) -> bool:
    """Whether a stored password was made with weaker parameters than are used now."""
    return _hasher().check_needs_rehash(stored)


@cache
def _hasher() -> PasswordHasher:
    return PasswordHasher()


@cache
def _nobodys() -> str:
    return _hasher().hash("the password of nobody")
