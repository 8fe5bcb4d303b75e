"""Somebody who leaves before the answer is there is no error of ours; anything else that goes wrong is."""

from __future__ import annotations

import asyncio

import pytest
from starlette.types import Message, Receive, Scope, Send

from tarantula.web.middleware import NO_RESPONSE, DisconnectMiddleware


def ask(complaint: str, message: str) -> None:
    """Ask an application that hears a message, and then fails."""

    async def failing(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        raise RuntimeError(complaint)

    async def receive() -> Message:
        return {"type": message}

    async def send(_message: Message) -> None:
        """Nobody hears it."""

    asyncio.run(DisconnectMiddleware(failing)({"type": "http"}, receive, send))


def test_an_answer_that_nobody_waits_for_is_no_error() -> None:
    ask(NO_RESPONSE, "http.disconnect")


@pytest.mark.parametrize(("complaint", "message"), [(NO_RESPONSE, "http.request"), ("broken", "http.disconnect")])
def test_anything_else_is(complaint: str, message: str) -> None:
    with pytest.raises(RuntimeError, match=complaint):
        ask(complaint, message)
