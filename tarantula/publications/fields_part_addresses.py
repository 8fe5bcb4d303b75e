"""Addresses of notifications, as Apprise has them."""

from __future__ import annotations

import warnings
from typing import Any


def apprise_plugin(address: str) -> Any:
    """Return what Apprise makes of an address, or nothing."""
    with warnings.catch_warnings():
        # Some of its plugins import what newer Pythons will no longer have.
        warnings.simplefilter("ignore")
        from apprise import Apprise

        return Apprise.instantiate(address)


def check_notification_address(address: str) -> str:
    """Refuse what nothing could be sent to."""
    if apprise_plugin(address) is None:
        # Addresses carry passwords: only the beginning is shown.
        raise ValueError(
            f"An address that begins with {address.partition('://')[0][:20]!r} is none that Apprise can send to. "
            "Write it as mailto://user:password@example.org or json://host/path."
        )
    return address
