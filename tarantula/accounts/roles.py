"""Roles, and the person who acts in one."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from tarantula.core.errors import TarantulaError


class Role(StrEnum):
    """Each may do what those before may."""

    READER = "reader"
    """Looks at everything but people."""
    CURATOR = "curator"
    """Describes publications, sees to items, decides about them."""
    ADMINISTRATOR = "administrator"
    """Sees to people, and removes what cannot be had again."""

    @property
    def somebody(self) -> str:
        """Whoever has it, in a sentence."""
        return f"an {self}" if self == Role.ADMINISTRATOR else f"a {self}"

    def allows(self, needed: Role) -> bool:
        """Whether this role is enough for what *needed* is for."""
        return _ORDER.index(self) >= _ORDER.index(needed)

    def at_most(self, other: Role) -> Role:
        """Return the lesser of two roles."""
        return self if other.allows(self) else other


_ORDER = list(Role)


class NotAllowed(TarantulaError):
    """Somebody's role is not enough."""


def parse_role(text: str) -> Role:
    """Return the role of that name, or say which there are."""
    try:
        return Role(text.strip().lower())
    except ValueError:
        raise TarantulaError(f"{text[:40]!r} is not a role. Write one of: {', '.join(Role)}.") from None


class Person(NamedTuple):
    """Who it is, for as long as a request lasts."""

    name: str
    role: Role
    account_id: int | None = None
    """Nothing for whoever came by the link that is printed while there is no account, or typed a command."""
    session: str | None = None
    """The digest of the session in the browser, which may end while a page is open."""
    token: str | None = None
    """The name of the token that a program showed."""

    def check(self, needed: Role) -> None:
        """Refuse what needs another role."""
        if not self.role.allows(needed):
            raise NotAllowed(f"{self.name} is {self.role.somebody}, and this needs {needed.somebody}.")
