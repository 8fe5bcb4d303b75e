"""Notification addresses: who may write which, and test messages."""

from __future__ import annotations

from collections.abc import Collection

from tarantula.accounts.roles import NotAllowed, Role
from tarantula.core.errors import TarantulaError
from tarantula.core.messages import Message
from tarantula.core.secrets import is_sealed
from tarantula.fetch.egress import EgressPolicy
from tarantula.fetch.exchange import PrivateAddress
from tarantula.fetch.names import look_up
from tarantula.publications.fields import apprise_plugin, check_notification_address, split_words
from tarantula.publications.notifications import NotificationMessage, check_service, notification_host, send_message
from tarantula.services.context import ServiceContext

TRIAL_MESSAGE = NotificationMessage("Tarântula", "This is a test message: alerts will be sent here.", "info")


def addresses_in(notify: object) -> list[str]:
    """Return the addresses in a field, which is a list or one line."""
    parts = notify if isinstance(notify, list | tuple) else [notify]
    return [word for part in parts if isinstance(part, str) for word in split_words(part)]


def check_notify(context: ServiceContext, notify: object, stored: Collection[str] = ()) -> None:
    """Refuse new addresses that this person may not write; *stored* ones may stay.

    In the pages and the API only some services can be chosen: others read files, or connect to addresses that are not
    in their own. Readers cannot use private networks: this machine can reach servers that they cannot. A sealed address
    is not accepted: unsealed, it would show another person's password.
    """
    for address in addresses_in(notify):
        if address in stored:
            continue
        if is_sealed(address):
            complaint = Message("An encrypted address cannot be used here. Write the address itself.")
            raise TarantulaError(complaint, fields={"notify": complaint})
        if not context.may_run_code:
            _check_service(address)
        if not context.person.role.allows(Role.CURATOR):
            _check_public(context, address)


def _check_service(address: str) -> None:
    try:
        check_service(address)
    except ValueError as error:
        raise NotAllowed(str(error), fields={"notify": str(error)}) from error


def _check_public(context: ServiceContext, address: str) -> None:
    host = notification_host(apprise_plugin(address))
    try:
        EgressPolicy.of(context.installation).check_all(host, 0, look_up(host) if host else ())
    except PrivateAddress as error:
        complaint = Message(
            "{host!r} is in a private network. Only {role} can send there.",
            host=host[:100],
            role=Message(Role.CURATOR.with_article),
        )
        raise NotAllowed(complaint, fields={"notify": complaint}) from error


def send_trial(context: ServiceContext, notify: object, stored: Collection[str] = ()) -> int:
    """Send a test message to addresses; return how many accepted it, or raise with those that failed."""
    check_notify(context, notify, stored)
    addresses = addresses_in(notify)
    for address in addresses:
        try:
            check_notification_address(address)
        except ValueError as error:
            raise TarantulaError(str(error), fields={"notify": str(error)}) from error
    # Addresses contain passwords: the message names only their schemes.
    failed = [
        address.partition("://")[0]
        for address in addresses
        if not send_message(context.installation, TRIAL_MESSAGE, address)
    ]
    if failed or not addresses:
        complaint = Message(
            "Refused or not reachable: {receivers}. Check the host, the name and the password.",
            receivers=", ".join(failed),
        )
        if not addresses:
            complaint = Message("There is no address to send to. Write one.")
        raise TarantulaError(complaint, fields={"notify": complaint})
    return len(addresses)
