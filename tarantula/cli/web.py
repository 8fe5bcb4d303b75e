"""``tarantula web`` and ``tarantula serve``: the management pages, without and with the daemon."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Annotated, NamedTuple

import typer

from tarantula.core.config import Config
from tarantula.core.errors import TarantulaError
from tarantula.core.process import log_to_stdout
from tarantula.core.sockets import is_loopback, listener_url
from tarantula.core.termination import is_terminating
from tarantula.lifecycle.daemon import SHUTDOWN_TIMEOUT_SECONDS, running_daemon
from tarantula.services import machines
from tarantula.services.context import ServiceContext, local_context

Host = Annotated[
    str, typer.Option("--host", help="The address to listen on; 127.0.0.1 is reachable from this machine only.")
]
Port = Annotated[int, typer.Option("--port", help="The port of the pages; 0 is any free port.")]
ReplayPort = Annotated[
    int,
    typer.Option("--replay-port", help="The port of archived pages, a separate origin; 0 is any free port."),
]
ReplayAddress = Annotated[
    str,
    typer.Option(
        "--replay-address",
        metavar="URL",
        help="Address of archived pages for browsers, if there is a proxy.",
    ),
]


class ListenAddress(NamedTuple):
    """Addresses of the management pages and of the archived pages."""

    host: str = "127.0.0.1"
    port: int = 8090
    replay_port: int = 8091
    replay_address: str = ""


DEFAULT_ADDRESS = ListenAddress()


def web(
    host: Host = DEFAULT_ADDRESS.host,
    port: Port = DEFAULT_ADDRESS.port,
    replay_port: ReplayPort = DEFAULT_ADDRESS.replay_port,
    replay_address: ReplayAddress = DEFAULT_ADDRESS.replay_address,
) -> None:
    """Start the management pages, until Ctrl-C."""
    run_pages(Config(), ListenAddress(host, port, replay_port, replay_address))


def run_pages(
    installation: Config, where: ListenAddress, meanwhile: AbstractContextManager[None] | None = None
) -> None:
    """Serve the pages until Ctrl-C, inside the context *meanwhile*."""
    try:
        from tarantula.web.app import create_apps
        from tarantula.web.auth import Authenticator
        from tarantula.web.server import serve
    except ModuleNotFoundError as error:
        raise TarantulaError(
            "The pages need {module}. Install them with: pip install 'tarantula[web]'", module=error.name
        ) from error
    installation.make_home()
    with local_context() as context:
        context.database.log_outages()
        has_accounts = _check_accounts(context, where.host)
        authenticator = Authenticator(installation, context.database)
        served = create_apps(authenticator, *where)
        path = "" if has_accounts else f"begin?code={authenticator.create_code()}"
        print(f"{listener_url(where.host, served[0][1])}/{path}", flush=True)
        with meanwhile or nullcontext():
            serve(served, installation.address_connections, installation.proxies)


def _check_accounts(context: ServiceContext, host: str) -> bool:
    """Return whether there is an account; without one, refuse to listen on addresses other machines can reach."""
    from tarantula.services.accounts import have_accounts

    has_accounts = have_accounts(context)
    if not has_accounts and not is_loopback(host):
        raise TarantulaError(
            "There is no account yet, and other machines can reach {host}. "
            "Create one with `tarantula user add NAME`, then start again.",
            host=host,
        )
    return has_accounts


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
    if is_terminating():
        machines.end_all(installation, SHUTDOWN_TIMEOUT_SECONDS)
