"""A barrel as a process: one thread follows the journal, one gives signs of life, others answer."""

from __future__ import annotations

import asyncio
import gc
import os
import socket
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from http import HTTPStatus
from pathlib import Path
from threading import Event

from pydantic import BaseModel

from tarantula.core.errors import TarantulaError
from tarantula.search.barrels.barrel import Barrel, NotReady
from tarantula.search.barrels.barrel_part_answering import Answering
from tarantula.search.barrels.http_server import Handler, Server, told_by_signals
from tarantula.search.barrels.http_server_part_http_request import NoAnswer
from tarantula.search.barrels.http_server_part_posted import read_wish
from tarantula.search.index.storage import DamagedIndex, Index, damage_told, remove
from tarantula.search.index.storage_part_checking import check
from tarantula.search.results import Completions, Prefix, Request, Results

TURN = 0.001
"""Seconds for which a thread may have the interpreter while others wait: an answer takes a dozen turns."""
NOT_READY = "This barrel is catching up with the journal. Ask another."


def opened(folder: Path, rebuild: bool) -> Index:
    """Open a barrel's index for itself alone, or say why it cannot be; *rebuild* begins anew."""
    if rebuild:
        forget(folder)
    try:
        check(folder)
        index = Index(folder, is_for_writing=True)
        index.hold()
        index.seen()
    except (DamagedIndex, ValueError) as error:
        raise TarantulaError(
            f"The index of this barrel, in {folder}, is damaged. Build it anew with `tarantula barrel --rebuild`."
        ) from error
    return index


def forget(folder: Path) -> None:
    """Remove an index, if it is one and nobody is at work on it."""
    if not folder.exists():
        return
    names = {path.name for path in folder.iterdir()}
    if names and not names & {"place.json", "meta.json"}:
        raise TarantulaError(f"{folder} has other files than those of an index. Name another with --folder.")
    remove(folder)


async def run_barrel(barrel: Barrel, taken: socket.socket) -> None:
    """Be a barrel until Ctrl-C."""
    sys.setswitchinterval(TURN)
    # What is there now stays: nobody need look for waste in it again and again.
    gc.freeze()
    await serve_barrel(barrel, taken, told_by_signals())


async def serve_barrel(barrel: Barrel, taken: socket.socket, told: asyncio.Event) -> None:
    """Be a barrel until *told*, or until it cannot follow any more."""
    loop, stopping, ending = asyncio.get_running_loop(), Event(), asyncio.Event()
    answering = Answering(max(2, os.cpu_count() or 2))

    def answers(answer: Callable[[Barrel, bytes], BaseModel]) -> Handler:
        return partial(answering.answer, partial(_answer, answer, barrel))

    with ThreadPoolExecutor(2, "following") as following:
        work = [loop.run_in_executor(following, job, stopping) for job in (barrel.follow, barrel.beat)]
        routes = {"/find": ("POST", answers(_found)), "/complete": ("POST", answers(_completed))}
        serving = asyncio.create_task(Server(routes).run(taken, ending))
        for job in work:
            job.add_done_callback(lambda _: told.set())
        await told.wait()
        stopping.set()
        # First nobody is told of it any more, then it answers nobody.
        await asyncio.wait(work)
        ending.set()
        await serving
    answering.end()
    for job in work:
        job.result()


def _found(barrel: Barrel, body: bytes) -> Results:
    return barrel.find(read_wish(Request, body))


def _completed(barrel: Barrel, body: bytes) -> Completions:
    return barrel.complete(read_wish(Prefix, body))


def _answer(answer: Callable[[Barrel, bytes], BaseModel], barrel: Barrel, body: bytes) -> bytes:
    try:
        with damage_told(barrel.folder):
            return answer(barrel, body).model_dump_json().encode()
    except NotReady:
        raise NoAnswer(HTTPStatus.SERVICE_UNAVAILABLE, NOT_READY) from None
    except DamagedIndex as error:
        raise NoAnswer(HTTPStatus.SERVICE_UNAVAILABLE, str(error)) from error
