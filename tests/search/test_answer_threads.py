"""Threads answer in order, tell what went wrong, and do nothing for whoever has gone."""

from __future__ import annotations

import asyncio
from threading import Event

import pytest

from tarantula.search.barrels.barrel import AnswerThreads


class Refused(BaseException):
    """What Rust raises where it gives up is no Exception either."""


def test_questions_are_answered_or_what_went_wrong_is_told() -> None:
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


def test_whoever_has_gone_is_not_worked_for() -> None:
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
        # It is asked before the first goes on.
        await asyncio.sleep(0)
        goes_on.set()
        assert await third == b"3"
        answering.end()

    asyncio.run(go())
    assert done == [b"1", b"3"]


def test_what_ends_after_the_loop_is_lost_without_a_word() -> None:
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
