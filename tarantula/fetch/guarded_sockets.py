"""Hold the sockets of other libraries, in one thread, to the egress policy.

Python reports each connection before it is opened, with the address itself (``sys.addaudithook``). So the check applies
to the address that is connected to, whatever the library resolved, was redirected to or read from a file.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from tarantula.core.reasons import Reason
from tarantula.fetch.egress import EgressPolicy, refusal

EVENTS = frozenset({"socket.connect", "socket.sendto", "socket.sendmsg"})


class ConnectionNotPermitted(OSError):
    """The egress policy does not permit a connection. Libraries treat it as an address that cannot be reached."""


class _Guard(threading.local):
    policy: EgressPolicy | None = None
    refused: list[Reason] | None = None


_guard = _Guard()


@contextmanager
def guarded_sockets(policy: EgressPolicy) -> Iterator[list[Reason]]:
    """Let this thread connect only to permitted addresses; yield a list that gets the reason of each refusal."""
    _install_hook()
    refused: list[Reason] = []
    _guard.policy, _guard.refused = policy, refused
    try:
        yield refused
    finally:
        _guard.policy = _guard.refused = None


@cache
def _install_hook() -> None:
    sys.addaudithook(_audit)


def _audit(event: str, args: tuple[Any, ...]) -> None:
    if event in EVENTS and _guard.policy is not None and args[1] is not None:
        _check(_guard.policy, args[1])


def _check(policy: EgressPolicy, target: Any) -> None:
    if isinstance(target, tuple) and len(target) >= 2:
        address, port = str(target[0]), int(target[1])
        if _permits(policy, address, port):
            return
        reason = refusal(address, address)
    else:
        # A socket in the file system, as of the system's log.
        reason = Reason.of("socket_not_permitted", target=str(target)[:100])
    assert _guard.refused is not None
    _guard.refused.append(reason)
    raise ConnectionNotPermitted(str(reason))


def _permits(policy: EgressPolicy, address: str, port: int) -> bool:
    try:
        return policy.permits(address, port, address)
    except ValueError:
        # A name: the system would resolve it unseen.
        return False
