"""``tarantula web``."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Annotated

import typer

from tarantula.config import Config
from tarantula.db import Database, open_database
from tarantula.errors import TarantulaError

Host = Annotated[str, typer.Option("--host", help="The address to listen on; only this machine reaches 127.0.0.1.")]
Port = Annotated[int, typer.Option("--port", help="The port of the pages; 0 is any that is free.")]
HOST = "127.0.0.1"
PORT = 8090

ReplayPort = Annotated[
    int,
    typer.Option("--replay-port", help="The port of archived pages, an origin of their own; 0 is any that is free."),
]
ReplayAddress = Annotated[
    str,
    typer.Option(
        "--replay-address",
        metavar="URL",
        help="Where browsers find archived pages, if a proxy stands before that port.",
    ),
]
REPLAY_PORT = 8091


def web(
    host: Host = HOST, port: Port = PORT, replay_port: ReplayPort = REPLAY_PORT, replay_address: ReplayAddress = ""
) -> None:
    """Start the management pages, until Ctrl-C."""
    run_pages(Config(), host, port, replay_port, replay_address)


def run_pages(
    installation: Config,
    host: str,
    port: int,
    replay_port: int,
    replay_address: str,
    meanwhile: AbstractContextManager[None] | None = None,
) -> None:
    """Serve the pages until Ctrl-C; *meanwhile* something else goes on."""
    try:
        from tarantula.web.gate import Gate
        from tarantula.web.origins import both_origins
        from tarantula.web.serving import serve
    except ModuleNotFoundError as error:
        raise TarantulaError(f"The pages need {error.name}. Install them with: pip install 'tarantula[web]'") from error
    installation.make_home()
    with open_database(installation) as database:
        has_accounts = _check_accounts(database, host)
        gate = Gate(installation, database)
        served = both_origins(gate, host, port, replay_port, replay_address)
        shown = f"[{host}]" if ":" in host else host
        way_in = "" if has_accounts else f"begin?code={gate.open_once()}"
        print(f"http://{shown}:{served[0][1].getsockname()[1]}/{way_in}", flush=True)
        with meanwhile or nullcontext():
            serve(served)


def _check_accounts(database: Database, host: str) -> bool:
    """Whether somebody can log in; refuse to be reached from elsewhere while nobody can."""
    from tarantula.people import accounts
    from tarantula.web.serving import is_loopback

    with database.reading() as session:
        has_accounts = accounts.exist(session)
    if not has_accounts and not is_loopback(host):
        raise TarantulaError(
            f"There is no account yet, and {host} can be reached from elsewhere. "
            "Make one with `tarantula user add NAME`, then start it again."
        )
    return has_accounts
