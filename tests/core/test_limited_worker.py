"""Worker processes for parsers: what they may do, and what happens when they do more."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from socket import create_server
from typing import Any

import pytest

from tarantula.core.errors import TarantulaError
from tarantula.core.limited_worker import (
    MEMORY_SETTING,
    SECONDS_SETTING,
    ParserFailedError,
    ParserLimitError,
    close_workers,
    in_parser_thread,
    run_limited,
)

GENEROUS_SECONDS = 30.0


@pytest.fixture(autouse=True)
def _new_workers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    close_workers()
    monkeypatch.setenv(SECONDS_SETTING, "5")
    monkeypatch.setenv(MEMORY_SETTING, "200")
    yield
    close_workers()


def probe(do: str, **data: Any) -> Any:
    return run_limited("probe", {"do": do, **data})


def code_of(do: str, **data: Any) -> str:
    began = time.monotonic()
    with pytest.raises(ParserLimitError) as raised:
        probe(do, **data)
    assert time.monotonic() - began < GENEROUS_SECONDS
    return raised.value.reason.code


def test_a_worker_is_kept_and_gets_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TARANTULA_SECRET", "hunter2")
    first, second = probe("state"), probe("state")
    assert first["pid"] == second["pid"] != os.getpid()
    assert "hunter2" not in str(first["environment"])


@pytest.mark.parametrize(
    ("do", "data", "code"),
    [
        ("loop", {}, "parser_time"),
        ("allocate", {"bytes": 1_000_000_000}, "parser_memory"),
        ("output", {}, "parser_output"),
        ("kill", {}, "parser_died"),
    ],
)
def test_a_worker_beyond_its_limits_is_stopped_and_replaced(do: str, data: dict[str, Any], code: str) -> None:
    before = probe("state")["pid"]
    assert code_of(do, **data) == code
    assert probe("state")["pid"] != before


def test_the_reason_is_a_sentence_with_the_limit() -> None:
    with pytest.raises(ParserLimitError, match=r"took longer than 0\.2 seconds"):
        run_limited("probe", {"do": "loop"}, seconds=0.2)


def test_memory_within_the_limit_can_be_used() -> None:
    assert probe("allocate", bytes=100_000_000)["length"] == 100_000_000


def test_bodies_and_answers_pass_whole() -> None:
    assert run_limited("probe", {}, bytes(20_000_000))["length"] == 20_000_000


def test_what_a_parser_prints_is_no_answer() -> None:
    assert probe("print") == {"length": 0}


def test_a_worker_cannot_connect_by_python_or_below() -> None:
    with create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(ParserFailedError, match="may not use socket"):
            probe("connect", host="127.0.0.1", port=port)
        if os.geteuid() == 0 or set(probe("state")["links"]) <= {"lo"}:
            assert probe("connect below", host="127.0.0.1", port=port) == {"connected": False}


def test_a_worker_cannot_write_files(tmp_path: Path) -> None:
    with pytest.raises(ParserFailedError, match="may not write"):
        probe("write", path=str(tmp_path / "x"))
    assert not list(tmp_path.iterdir())


def test_calls_of_several_threads_are_answered() -> None:
    with ThreadPoolExecutor(12) as threads:
        found = list(threads.map(lambda size: run_limited("probe", {}, bytes(size))["length"], range(200)))
    assert found == list(range(200))


def test_waiting_for_a_worker_leaves_the_loop_free() -> None:
    assert asyncio.run(longest_pause()) < 1.0


async def longest_pause() -> float:
    waiting = asyncio.ensure_future(in_parser_thread(code_of, "loop"))
    longest = 0.0
    while not waiting.done():
        began = time.monotonic()
        await asyncio.sleep(0.01)
        longest = max(longest, time.monotonic() - began)
    assert await waiting == "parser_time"
    return longest


@pytest.mark.parametrize("written", ["no", "0", "-1", "nan"])
def test_a_limit_that_is_no_number_is_named(monkeypatch: pytest.MonkeyPatch, written: str) -> None:
    monkeypatch.setenv(SECONDS_SETTING, written)
    with pytest.raises(TarantulaError, match=SECONDS_SETTING):
        probe("state")
