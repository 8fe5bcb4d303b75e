"""``tarantula serve``."""

from __future__ import annotations

from tarantula.cli.web import USUAL, Host, Port, ReplayAddress, ReplayPort, Where, run_pages
from tarantula.core.config import Config
from tarantula.core.process_part_saying import say_what_is_done
from tarantula.lifecycle.daemon_part_daemon import ticking


def serve(
    host: Host = USUAL.host,
    port: Port = USUAL.port,
    replay_port: ReplayPort = USUAL.replay_port,
    replay_address: ReplayAddress = USUAL.replay_address,
) -> None:
    """Start the management pages and the daemon, until Ctrl-C."""
    installation = Config()
    say_what_is_done()
    run_pages(installation, Where(host, port, replay_port, replay_address), ticking(installation))
