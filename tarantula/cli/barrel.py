"""``tarantula barrel`` and ``tarantula gateway``: the processes that answer searches."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
import uvloop

from tarantula.core.config import Config
from tarantula.core.database import open_database
from tarantula.core.errors import TarantulaError
from tarantula.core.process import log_to_stdout
from tarantula.core.sockets import listener_url, open_listener
from tarantula.search import check_available
from tarantula.search.barrels.gateway import run_gateway

WILDCARD_HOSTS = ("0.0.0.0", "::", "")


def barrel(
    host: Annotated[
        str, typer.Option("--host", help="The address to listen on; only this machine reaches 127.0.0.1.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="The port; 0 is any that is free.")] = 0,
    address: Annotated[
        str, typer.Option("--address", metavar="URL", help="Where gateways find it, if not at that host and port.")
    ] = "",
    folder: Annotated[
        Path | None, typer.Option("--folder", metavar="DIR", help="Where its index is; in the home unless told.")
    ] = None,
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Begin its index anew.")] = False,
) -> None:
    """Answer searches from an index of its own, for gateways, until Ctrl-C."""
    check_available()
    from tarantula.search.barrels.barrel import BarrelService, open_barrel_index, run_barrel

    if host in WILDCARD_HOSTS and not address:
        raise TarantulaError(f"No gateway finds a barrel at {host!r}. Say where it is found, with --address.")
    installation = Config()
    index = open_barrel_index(folder or installation.make_home() / "search" / "barrel", rebuild)
    with open_database(installation) as database, open_listener(host, port) as taken:
        address = address.rstrip("/") or listener_url(host, taken)
        log_to_stdout()
        print(address, flush=True)
        uvloop.run(run_barrel(BarrelService(database, index, address), taken))


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
