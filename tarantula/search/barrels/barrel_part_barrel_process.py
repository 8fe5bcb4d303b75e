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
from tarantula.search.barrels.barrel import BarrelNotReady, BarrelService
from tarantula.search.barrels.barrel_part_answering import AnswerThreads
from tarantula.search.barrels.http_server import JsonHandler, JsonServer, shutdown_event
from tarantula.search.barrels.http_server_part_http_request import HttpError
from tarantula.search.barrels.http_server_part_posted import parse_body
from tarantula.search.index.storage import DamagedIndex, SearchIndex, remove_index, reporting_damage
from tarantula.search.index.storage_part_checking import check_index_files
from tarantula.search.results import CompletionRequest, Completions, SearchRequest, SearchResults

THREAD_SWITCH_SECONDS = 0.001
"""Seconds for which a thread may have the interpreter while others wait: an answer takes a dozen turns."""
NOT_READY_MESSAGE = "This barrel is catching up with the journal. Ask another."


def open_barrel_index(folder: Path, rebuild: bool) -> SearchIndex:
    """Open a barrel's index for itself alone, or say why it cannot be; *rebuild* begins anew."""
    if rebuild:
        remove_barrel_index(folder)
    try:
        check_index_files(folder)
        index = SearchIndex(folder, is_for_writing=True)
        index.hold()
        index.seen()
    except (DamagedIndex, ValueError) as error:
        raise TarantulaError(
            f"The index of this barrel, in {folder}, is damaged. Build it anew with `tarantula barrel --rebuild`."
        ) from error
    return index


def remove_barrel_index(folder: Path) -> None:
    """Remove an index, if it is one and nobody is at work on it."""
    if not folder.exists():
        return
    names = {path.name for path in folder.iterdir()}
    if names and not names & {"place.json", "meta.json"}:
        raise TarantulaError(f"{folder} has other files than those of an index. Name another with --folder.")
    remove_index(folder)


async def run_barrel(barrel: BarrelService, taken: socket.socket) -> None:
    """Be a barrel until Ctrl-C."""
    sys.setswitchinterval(THREAD_SWITCH_SECONDS)
    # What is there now stays: nobody need look for waste in it again and again.
    gc.freeze()
    await serve_barrel(barrel, taken, shutdown_event())


async def serve_barrel(barrel: BarrelService, taken: socket.socket, told: asyncio.Event) -> None:
    """Be a barrel until *told*, or until it cannot follow any more."""
    loop, stopping, ending = asyncio.get_running_loop(), Event(), asyncio.Event()
    answering = AnswerThreads(max(2, os.cpu_count() or 2))

    def answers(answer: Callable[[BarrelService, bytes], BaseModel]) -> JsonHandler:
        return partial(answering.answer, partial(_answer, answer, barrel))

    with ThreadPoolExecutor(2, "following") as following:
        work = [loop.run_in_executor(following, job, stopping) for job in (barrel.follow, barrel.beat)]
        routes = {"/find": ("POST", answers(_found)), "/complete": ("POST", answers(_completed))}
        serving = asyncio.create_task(JsonServer(routes).run(taken, ending))
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


def _found(barrel: BarrelService, body: bytes) -> SearchResults:
    return barrel.find(parse_body(SearchRequest, body))


def _completed(barrel: BarrelService, body: bytes) -> Completions:
    return barrel.complete(parse_body(CompletionRequest, body))


def _answer(answer: Callable[[BarrelService, bytes], BaseModel], barrel: BarrelService, body: bytes) -> bytes:
    try:
        with reporting_damage(barrel.folder):
            return answer(barrel, body).model_dump_json().encode()
    except BarrelNotReady:
        raise HttpError(HTTPStatus.SERVICE_UNAVAILABLE, NOT_READY_MESSAGE) from None
    except DamagedIndex as error:
        raise HttpError(HTTPStatus.SERVICE_UNAVAILABLE, str(error)) from error
