"""Answer threads: results in order, errors passed on, no work for disconnected clients."""

from __future__ import annotations

import asyncio
from threading import Event

import pytest

from tarantula.search.barrels.barrel import AnswerThreads


class Refused(BaseException):
    """An exception like a Rust panic, which is not an `Exception`."""


def test_results_and_errors_are_returned() -> None:
    def refuse(body: bytes) -> bytes:
        raise Refused(body)

    async def go() -> None:
        answering = AnswerThreads(2)
        answers = await asyncio.gather(*(answering.answer(bytes.upper, b"%c" % letter) for letter in b"spider"))
        assert b"".join(answers) == b"SPIDER"
        with pytest.raises(Refused, match="why"):
            await answering.answer(refuse, b"why")
        assert await answering.answer(bytes.upper, b"on") == b"ON"
        answering.end()

    asyncio.run(go())


def test_no_work_for_disconnected_clients() -> None:
    done: list[bytes] = []
    held, goes_on = Event(), Event()

    def hold(body: bytes) -> bytes:
        held.set()
        goes_on.wait(20)
        done.append(body)
        return body

    async def go() -> None:
        answering = AnswerThreads(1)
        first, second = (asyncio.create_task(answering.answer(hold, body)) for body in (b"1", b"2"))
        await asyncio.to_thread(held.wait, 20)
        for gone in (first, second):
            gone.cancel()
        third = asyncio.create_task(answering.answer(hold, b"3"))
        # Queue the second job before the first continues.
        await asyncio.sleep(0)
        goes_on.set()
        assert await third == b"3"
        answering.end()

    asyncio.run(go())
    assert done == [b"1", b"3"]


def test_results_after_the_loop_has_ended_are_dropped() -> None:
    held, goes_on = Event(), Event()

    def hold(body: bytes) -> bytes:
        held.set()
        goes_on.wait(20)
        return body

    async def go() -> AnswerThreads:
        answering = AnswerThreads(1)
        task = asyncio.create_task(answering.answer(hold, b""))
        await asyncio.to_thread(held.wait, 20)
        task.cancel()
        answering.end()
        return answering

    answering = asyncio.run(go())
    goes_on.set()
    for thread in answering.threads:
        thread.join(20)
        assert not thread.is_alive()
