"""Somebody who does something."""

from __future__ import annotations

from typing import NamedTuple

from tarantula.accounts.roles import NotAllowed, Role


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
