"""``tarantula serve``."""

from __future__ import annotations

from tarantula.cli.web import HOST, PORT, Host, Port, run_pages
from tarantula.config import Config
from tarantula.daemon import say_what_is_done, ticking


def serve(host: Host = HOST, port: Port = PORT) -> None:
    """Start the management pages and the daemon, until Ctrl-C."""
    installation = Config()
    say_what_is_done()
    run_pages(installation, host, port, ticking(installation))
