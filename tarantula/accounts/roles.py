"""Roles, and the person who acts in a role."""

from __future__ import annotations

import getpass
from enum import StrEnum
from typing import NamedTuple

from tarantula.core.errors import TarantulaError
from tarantula.core.messages import Message


class Role(StrEnum):
    """Role of an account; each includes the permissions of those before."""

    READER = "reader"
    """Reads everything except accounts."""
    CURATOR = "curator"
    """Edits publications, controls and validates items."""
    ADMINISTRATOR = "administrator"
    """Manages accounts, and deletes collected data."""

    @property
    def with_article(self) -> str:
        """The role with its article, as in "an administrator"."""
        return f"an {self}" if self == Role.ADMINISTRATOR else f"a {self}"

    def allows(self, needed: Role) -> bool:
        """Whether this role includes the role *needed*."""
        return _ORDER.index(self) >= _ORDER.index(needed)

    def at_most(self, other: Role) -> Role:
        """Return the lesser of two roles."""
        return self if other.allows(self) else other


_ORDER = list(Role)


class NotAllowed(TarantulaError):
    """The role of the person does not allow the action."""


def parse_role(text: str) -> Role:
    """Return the role with a name; raise an error that lists the roles."""
    try:
        return Role(text.strip().lower())
    except ValueError:
        raise TarantulaError(
            "{text!r} is not a role. Write one of: {roles}.", text=text[:40], roles=", ".join(Role)
        ) from None


class Owner(NamedTuple):
    """Whose a source, a view or an alert is. A later account with the same name is another owner."""

    name: str = ""
    """Empty for the installation itself."""
    account_id: int | None = None
    """``None`` for the installation, and for the printed setup link, which works while there is no account."""


INSTALLATION = Owner()


class Person(NamedTuple):
    """The person who makes a request."""

    name: str
    role: Role
    account_id: int | None = None
    """``None`` for the printed setup link, which works while there is no account, and for the command line."""
    session: str | None = None
    """Digest of the browser session, which may end while a page is open."""
    token: str | None = None
    """Name of the API token."""
    scopes: frozenset[str] | None = None
    """Parts of the API that the token may use; ``None`` for all."""
    needs_factor: bool = False
    """Whether the person must set up a second factor before anything else."""

    @property
    def owner(self) -> Owner:
        """The owner of what the person creates."""
        return Owner(self.name, self.account_id)

    def check(self, needed: Role) -> None:
        """Raise `NotAllowed` if the role does not include *needed*."""
        if not self.role.allows(needed):
            raise NotAllowed(
                "{name} is {role}, and this needs {needed}.",
                name=self.name,
                role=Message(self.role.with_article),
                needed=Message(needed.with_article),
            )


def local_person() -> Person:
    """Return the operating system's user as an administrator; the name is empty if the system has none for it."""
    try:
        name = getpass.getuser()
    except (ImportError, KeyError, OSError):
        # As in some containers.
        name = ""
    return Person(name, Role.ADMINISTRATOR)
