"""``tarantula web``."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Annotated, NamedTuple

import typer

from tarantula.core.config import Config
from tarantula.core.database import Database, open_database
from tarantula.core.errors import TarantulaError
from tarantula.core.sockets import address_of, is_loopback

Host = Annotated[str, typer.Option("--host", help="The address to listen on; only this machine reaches 127.0.0.1.")]
Port = Annotated[int, typer.Option("--port", help="The port of the pages; 0 is any that is free.")]
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


class Where(NamedTuple):
    """Where the pages are, and the archived ones."""

    host: str = "127.0.0.1"
    port: int = 8090
    replay_port: int = 8091
    replay_address: str = ""


USUAL = Where()


def web(
    host: Host = USUAL.host,
    port: Port = USUAL.port,
    replay_port: ReplayPort = USUAL.replay_port,
    replay_address: ReplayAddress = USUAL.replay_address,
) -> None:
    """Start the management pages, until Ctrl-C."""
    run_pages(Config(), Where(host, port, replay_port, replay_address))


def run_pages(installation: Config, where: Where, meanwhile: AbstractContextManager[None] | None = None) -> None:
    """Serve the pages until Ctrl-C; *meanwhile* something else goes on."""
    try:
        from tarantula.web.app_part_origins import both_origins
        from tarantula.web.app_part_serving import serve
        from tarantula.web.auth_part_gate import Gate
    except ModuleNotFoundError as error:
        raise TarantulaError(f"The pages need {error.name}. Install them with: pip install 'tarantula[web]'") from error
    installation.make_home()
    with open_database(installation) as database:
        has_accounts = _check_accounts(database, where.host)
        gate = Gate(installation, database)
        served = both_origins(gate, *where)
        way_in = "" if has_accounts else f"begin?code={gate.open_once()}"
        print(f"{address_of(where.host, served[0][1])}/{way_in}", flush=True)
        with meanwhile or nullcontext():
            serve(served)


def _check_accounts(database: Database, host: str) -> bool:
    """Whether somebody can log in; refuse to be reached from elsewhere while nobody can."""
    from tarantula.accounts import accounts

    with database.reading() as session:
        has_accounts = accounts.exist(session)
    if not has_accounts and not is_loopback(host):
        raise TarantulaError(
            f"There is no account yet, and {host} can be reached from elsewhere. "
            "Make one with `tarantula user add NAME`, then start it again."
        )
    return has_accounts
