"""Addresses of notifications, as Apprise has them."""

from __future__ import annotations

import warnings
from typing import Any


def plugin_for(address: str) -> Any:
    """Return what Apprise makes of an address, or nothing."""
    with warnings.catch_warnings():
        # Some of its plugins import what newer Pythons will no longer have.
        warnings.simplefilter("ignore")
        from apprise import Apprise

        return Apprise.instantiate(address)


def check_address(address: str) -> str:
    """Refuse what nothing could be sent to."""
    if plugin_for(address) is None:
        # Addresses carry passwords: only the beginning is shown.
        raise ValueError(
            f"An address that begins with {address.partition('://')[0][:20]!r} is none that Apprise can send to. "
            "Write it as mailto://user:password@example.org or json://host/path."
        )
    return address
