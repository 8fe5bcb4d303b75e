"""``tarantula barrel`` and ``tarantula gateway``: the processes that answer searches."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
import uvloop

from tarantula.core.config import Config
from tarantula.core.errors import TarantulaError
from tarantula.core.process import log_to_stdout
from tarantula.core.sockets import WILDCARD_HOSTS, listener_url, open_listener, trusted_hosts
from tarantula.search import check_available
from tarantula.search.barrels.gateway import run_gateway
from tarantula.search.barrels.http_server import RequestGuard
from tarantula.search.barrels.signatures import RequestSigner, RequestVerifier, SearchKeys
from tarantula.services.context import local_context

Host = Annotated[
    str, typer.Option("--host", help="The address to listen on; 127.0.0.1 is reachable from this machine only.")
]
Port = Annotated[int, typer.Option("--port", help="The port; 0 is any free port.")]


def barrel(
    host: Host = "127.0.0.1",
    port: Port = 0,
    address: Annotated[
        str, typer.Option("--address", metavar="URL", help="Address for gateways, if it differs from host and port.")
    ] = "",
    folder: Annotated[
        Path | None, typer.Option("--folder", metavar="DIR", help="Folder of its index; default in the home.")
    ] = None,
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Rebuild its index.")] = False,
) -> None:
    """Run a search server with its own index, for gateways, until Ctrl-C."""
    check_available()
    from tarantula.search.barrels.barrel import BarrelService, open_barrel_index, run_barrel

    if host in WILDCARD_HOSTS and not address:
        raise TarantulaError("Gateways cannot reach a barrel at {host!r}. Give its address with --address.", host=host)
    installation = Config()
    keys = SearchKeys(installation, create=True)
    index = open_barrel_index(folder or installation.make_home() / "search" / "barrel", rebuild)
    with local_context() as context, open_listener(host, port) as listener:
        address = address.rstrip("/") or listener_url(host, listener)
        log_to_stdout()
        context.database.log_outages()
        print(address, flush=True)
        guard = RequestGuard(RequestVerifier(keys), trusted_hosts(installation, host, address))
        uvloop.run(run_barrel(BarrelService(context.database, index, address), listener, guard))


def gateway(
    host: Host = "127.0.0.1",
    port: Port = 7700,
    unsigned: Annotated[
        bool,
        typer.Option(
            "--unsigned", help="Also answer clients without the key: everyone who reaches the port can search."
        ),
    ] = False,
) -> None:
    """Answer searches by forwarding them to barrels, until Ctrl-C."""
    installation = Config()
    keys = SearchKeys(installation, create=True)
    guard = RequestGuard(RequestVerifier(keys, is_required=not unsigned), trusted_hosts(installation, host))
    with local_context() as context, open_listener(host, port) as listener:
        log_to_stdout()
        context.database.log_outages()
        print(listener_url(host, listener), flush=True)
        uvloop.run(run_gateway(context.database, listener, guard, RequestSigner(keys)))
