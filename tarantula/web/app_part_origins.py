"""The management pages and the archived ones, each on a port of its own."""

from __future__ import annotations

import socket
from collections.abc import Sequence

from starlette.types import ASGIApp

from tarantula.core.sockets import open_listener
from tarantula.web.app import create_app
from tarantula.web.auth_part_gate import Authenticator
from tarantula.web.picker.service import PickerService
from tarantula.web.replay.addresses import ReplayOrigin, checked_address
from tarantula.web.replay.app import create_replay_app
from tarantula.web.replay.security_part_tickets import TicketSigner

AppsWithSockets = Sequence[tuple[ASGIApp, socket.socket]]


def create_apps(gate: Authenticator, host: str, port: int, replay_port: int, replay_address: str) -> AppsWithSockets:
    """Return both applications with the ports that they took; the management pages come first."""
    address = checked_address(replay_address)
    taken = open_listener(host, port)
    apart = open_listener(host, replay_port, "--replay-port")
    tickets = TicketSigner()
    picking = PickerService(gate.installation.user_agent)
    replay = ReplayOrigin(tickets, apart.getsockname()[1], address, picking)
    return [
        (create_app(gate, replay), taken),
        (create_replay_app(gate.installation, gate.database, tickets, picking.routes(tickets)), apart),
    ]
