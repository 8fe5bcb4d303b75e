"""``tarantula serve``."""

from __future__ import annotations

from tarantula.cli.web import HOST, PORT, REPLAY_PORT, Host, Port, ReplayAddress, ReplayPort, run_pages
from tarantula.config import Config
from tarantula.daemon import say_what_is_done, ticking


def serve(
    host: Host = HOST, port: Port = PORT, replay_port: ReplayPort = REPLAY_PORT, replay_address: ReplayAddress = ""
) -> None:
    """Start the management pages and the daemon, until Ctrl-C."""
    installation = Config()
    say_what_is_done()
    run_pages(installation, host, port, replay_port, replay_address, ticking(installation))
