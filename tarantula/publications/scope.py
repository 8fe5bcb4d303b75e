"""Whether a publication may lead its collectors to private addresses, and which servers are at one."""

from __future__ import annotations

from tarantula.core.urls import host_of
from tarantula.fetch.resolver import look_up
from tarantula.fetch.resolver_part_addresses import is_public
from tarantula.publications.config import PublicationConfig


def may_visit_private(config: PublicationConfig) -> bool:
    """Whether private addresses may be visited: not from a public base document, unless it says so."""
    return config.allow_private or any(not is_public(address) for address in look_up(host_of(config.base_server)))


def private_address(server: str) -> str | None:
    """Return the private address of a server that has no public one."""
    addresses = look_up(host_of(server))
    if not addresses or any(map(is_public, addresses)):
        return None
    return addresses[0]
