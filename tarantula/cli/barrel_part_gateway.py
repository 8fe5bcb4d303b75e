"""``tarantula gateway``."""

from __future__ import annotations

from typing import Annotated

import typer
import uvloop

from tarantula.core.config import Config
from tarantula.core.database import open_database
from tarantula.core.process_part_saying import log_to_stdout
from tarantula.core.sockets import listener_url, open_listener
from tarantula.search.barrels.gateway_part_gateway_process import run_gateway


def gateway(
    host: Annotated[
        str, typer.Option("--host", help="The address to listen on; only this machine reaches 127.0.0.1.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="The port; 0 is any that is free.")] = 7700,
) -> None:
    """Answer searches by asking barrels, wherever they are, until Ctrl-C."""
    with open_database(Config()) as database, open_listener(host, port) as taken:
        log_to_stdout()
        print(listener_url(host, taken), flush=True)
        uvloop.run(run_gateway(database, taken))
