"""``tarantula serve``."""

from __future__ import annotations

from tarantula.cli.web import DEFAULT_ADDRESS, Host, ListenAddress, Port, ReplayAddress, ReplayPort, run_pages
from tarantula.core.config import Config
from tarantula.core.process_part_saying import log_to_stdout
from tarantula.lifecycle.daemon_part_daemon import running_daemon


def serve(
    host: Host = DEFAULT_ADDRESS.host,
    port: Port = DEFAULT_ADDRESS.port,
    replay_port: ReplayPort = DEFAULT_ADDRESS.replay_port,
    replay_address: ReplayAddress = DEFAULT_ADDRESS.replay_address,
) -> None:
    """Start the management pages and the daemon, until Ctrl-C."""
    installation = Config()
    log_to_stdout()
    run_pages(installation, ListenAddress(host, port, replay_port, replay_address), running_daemon(installation))
