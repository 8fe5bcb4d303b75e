"""Which addresses somebody may have this machine send to."""

from __future__ import annotations

from collections.abc import Iterable

from tarantula.accounts.roles import NotAllowed, Role
from tarantula.accounts.roles_part_person import Person
from tarantula.core.errors import TarantulaError
from tarantula.fetch.resolver import look_up
from tarantula.fetch.resolver_part_addresses import is_public
from tarantula.publications.fields import split_words
from tarantula.publications.fields_part_addresses import apprise_plugin, check_notification_address
from tarantula.publications.notifications import NotificationMessage, send_message

TRIAL_MESSAGE = NotificationMessage("Tarântula", "This is a trial: alerts will be told here.", "info")


def check_reachable(person: Person, notify: object) -> None:
    """Refuse addresses in private networks to readers: this machine reaches what they may not."""
    if person.role.allows(Role.CURATOR):
        return
    for address in addresses_in(notify):
        plugin = apprise_plugin(address)
        host = getattr(plugin, "smtp_host", None) or getattr(plugin, "host", None)
        if isinstance(host, str) and any(not is_public(found) for found in look_up(host)):
            complaint = f"{host[:100]!r} is in a private network, and sending there needs {Role.CURATOR.somebody}."
            raise NotAllowed(complaint, fields={"notify": complaint})


def send_trial(person: Person, notify: object) -> int:
    """Send a message to addresses before anything depends on them; return how many took it, or say which refused."""
    check_reachable(person, notify)
    addresses = list(addresses_in(notify))
    for address in addresses:
        try:
            check_notification_address(address)
        except ValueError as error:
            raise TarantulaError(str(error), fields={"notify": str(error)}) from error
    # Addresses carry passwords: only what comes before them is said.
    deaf = [address.partition("://")[0] for address in addresses if not send_message(TRIAL_MESSAGE, address)]
    if deaf or not addresses:
        complaint = f"Refused, or not reached: {', '.join(deaf)}. Look at its host, its name and its password."
        if not addresses:
            complaint = "There is no address to tell. Write one."
        raise TarantulaError(complaint, fields={"notify": complaint})
    return len(addresses)


def addresses_in(notify: object) -> Iterable[str]:
    """Return the addresses that somebody wrote, as a list or in one line."""
    parts = notify if isinstance(notify, list | tuple) else [notify]
    return [word for part in parts if isinstance(part, str) for word in split_words(part)]
