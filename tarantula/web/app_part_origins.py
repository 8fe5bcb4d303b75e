"""The management pages and the archived ones, each on a port of its own."""

from __future__ import annotations

import socket
from collections.abc import Sequence

from starlette.types import ASGIApp

from tarantula.core.sockets import listen
from tarantula.web.app import create_app
from tarantula.web.auth_part_gate import Gate
from tarantula.web.picker.service import Picking
from tarantula.web.replay.addresses import Replay, checked_address
from tarantula.web.replay.app import create_replay_app
from tarantula.web.replay.security_part_tickets import Tickets

Served = Sequence[tuple[ASGIApp, socket.socket]]


def both_origins(gate: Gate, host: str, port: int, replay_port: int, replay_address: str) -> Served:
    """Return both applications with the ports that they took; the management pages come first."""
    address = checked_address(replay_address)
    taken = listen(host, port)
    apart = listen(host, replay_port, "--replay-port")
    tickets = Tickets()
    picking = Picking(gate.installation.user_agent)
    replay = Replay(tickets, apart.getsockname()[1], address, picking)
    return [
        (create_app(gate, replay), taken),
        (create_replay_app(gate.installation, gate.database, tickets, picking.routes(tickets)), apart),
    ]
