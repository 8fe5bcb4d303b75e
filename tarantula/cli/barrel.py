"""``tarantula barrel``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
import uvloop

from tarantula.core.config import Config
from tarantula.core.database import open_database
from tarantula.core.errors import TarantulaError
from tarantula.core.process_part_saying import say_what_is_done
from tarantula.core.sockets import address_of, listen
from tarantula.search import check_possible

ANYWHERE = ("0.0.0.0", "::", "")


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
    check_possible()
    from tarantula.search.barrels.barrel import Barrel
    from tarantula.search.barrels.barrel_part_barrel_process import opened, run_barrel

    if host in ANYWHERE and not address:
        raise TarantulaError(f"No gateway finds a barrel at {host!r}. Say where it is found, with --address.")
    installation = Config()
    index = opened(folder or installation.make_home() / "search" / "barrel", rebuild)
    with open_database(installation) as database, listen(host, port) as taken:
        address = address.rstrip("/") or address_of(host, taken)
        say_what_is_done()
        print(address, flush=True)
        uvloop.run(run_barrel(Barrel(database, index, address), taken))
