"""``tarantula index``."""

from __future__ import annotations

import os
import time
from typing import Annotated

import typer

from tarantula.cli.terminal import console, progress_bar
from tarantula.core.config import Config
from tarantula.core.database import open_database
from tarantula.search import check_available

IDLE_POLL_SECONDS = 0.5
"""Seconds between two looks, while nothing happens."""


def index(
    follow: Annotated[bool, typer.Option("--follow", help="Go on until Ctrl-C: what is collected is found.")] = False,
    beside: Annotated[int | None, typer.Option(metavar="PID", help="Follow as long as this parent process.")] = None,
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Begin anew, from the texts that were read.")] = False,
    reread: Annotated[bool, typer.Option("--reread", help="Read every text from the archive again.")] = False,
) -> None:
    """Bring the index up to date with what was collected."""
    check_available()
    from tarantula.search.index.updater import IndexUpdater, discard_index, request_rereading

    installation = Config()
    with open_database(installation) as database, progress_bar("Indexing") as show:
        if rebuild:
            discard_index(installation)
        if reread:
            request_rereading(database)
        following = IndexUpdater(installation, database)
        done = following.step()
        while _goes_on(follow, beside) or not done.is_everything:
            show(done.place, done.head)
            if done.is_everything:
                time.sleep(IDLE_POLL_SECONDS)
            done = following.step()
        number = following.index.searcher().num_docs
    console().print(f"{number:,} documents can be found.")


def _goes_on(follow: bool, beside: int | None) -> bool:
    return follow if beside is None else os.getppid() == beside
