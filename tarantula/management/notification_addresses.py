"""Which addresses somebody may have this machine send to."""

from __future__ import annotations

from collections.abc import Iterable

from tarantula.download.addresses import is_public
from tarantula.download.resolve import look_up
from tarantula.people.person import Person
from tarantula.people.roles import NotAllowed, Role
from tarantula.publications.addresses import plugin_for
from tarantula.publications.fields import split_words


def check_reachable(person: Person, notify: object) -> None:
    """Refuse addresses in private networks to readers: this machine reaches what they may not."""
    if person.role.allows(Role.CURATOR):
        return
    for address in _addresses(notify):
        plugin = plugin_for(address)
        host = getattr(plugin, "smtp_host", None) or getattr(plugin, "host", None)
        if isinstance(host, str) and any(not is_public(found) for found in look_up(host)):
            raise NotAllowed(
                f"{host[:100]!r} is in a private network, and sending there needs {Role.CURATOR.somebody}."
            )


def _addresses(notify: object) -> Iterable[str]:
    parts = notify if isinstance(notify, list | tuple) else [notify]
    return [word for part in parts if isinstance(part, str) for word in split_words(part)]
