"""``tarantula web``."""

from __future__ import annotations

from typing import Annotated

import typer

from tarantula.config import Config
from tarantula.db import open_database
from tarantula.errors import TarantulaError


def web(
    host: Annotated[str, typer.Option(help="The address to listen on; only this machine reaches 127.0.0.1.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(help="The port of the pages; 0 is any that is free.")] = 8090,
    replay_port: Annotated[
        int, typer.Option(help="The port of archived pages, an origin of their own; 0 is any that is free.")
    ] = 8091,
    replay_address: Annotated[
        str, typer.Option(metavar="URL", help="Where browsers find archived pages, if a proxy stands before that port.")
    ] = "",
) -> None:
    """Start the management pages, until Ctrl-C."""
    try:
        from tarantula.web.gate import Gate
        from tarantula.web.origins import both_origins
        from tarantula.web.serving import is_loopback, serve
    except ModuleNotFoundError as error:
        raise TarantulaError(f"The pages need {error.name}. Install them with: pip install 'tarantula[web]'") from error
    from tarantula.people import accounts

    installation = Config()
    installation.make_home()
    with open_database(installation) as database:
        with database.reading() as session:
            is_open = accounts.exist(session)
        if not is_open and not is_loopback(host):
            raise TarantulaError(
                f"There is no account yet, and {host} can be reached from elsewhere. "
                "Make one with `tarantula user add NAME`, then start it again."
            )
        gate = Gate(installation, database)
        served = both_origins(gate, host, port, replay_port, replay_address)
        address = f"http://{host}:{served[0][1].getsockname()[1]}"
        print(f"{address}/{'' if is_open else 'begin?code=' + gate.open_once()}", flush=True)
        serve(served)
