"""The feed adapter."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tarantula.streams.adapters.base import (
    MOST_SEEN_ROWS,
    AdapterMemory,
    NewsRow,
    SourceReading,
    SourceResponse,
    UnreadableResponse,
    unseen_rows,
)
from tests.support.stream_answers import NOW, reading, source

PLACES = {"title": {"part": "title"}, "link": {"part": "link"}, "summary": {"part": "summary"}}
CONFIG = source("feed", PLACES)


def item(number: int, day: int = 1, guid: bool = True) -> str:
    known = f"<guid>urn:{number}</guid>" if guid else ""
    return (
        f"<item><title>Entry {number} &amp; more</title><link>http://stream.example/{number}</link>{known}"
        f"<description>&lt;p&gt;About &lt;b&gt;{number}&lt;/b&gt;&lt;/p&gt;</description>"
        f"<pubDate>{day:02d} Nov 2026 10:00:00 GMT</pubDate></item>"
    )


def rss(*items: str) -> str:
    return f'<?xml version="1.0"?><rss version="2.0"><channel><title>NASA</title>{"".join(items)}</channel></rss>'


def titles(got: SourceReading) -> list[str]:
    return [row.texts["title"] for row in got.rows]


def test_every_entry_is_an_event_with_its_own_time() -> None:
    got = reading(CONFIG, rss(item(2, 12), item(1, 11)))
    assert got.news
    assert titles(got) == ["Entry 1 & more", "Entry 2 & more"]
    assert got.rows[0].at == datetime(2026, 11, 11, 10, tzinfo=UTC)
    assert got.rows[0].texts == {"title": "Entry 1 & more", "link": "http://stream.example/1", "summary": "About 1"}


def test_only_unseen_entries_are_new() -> None:
    first = reading(CONFIG, rss(item(1)))
    assert reading(CONFIG, rss(item(1)), first.memory).rows == []
    second = reading(CONFIG, rss(item(2, 2), item(1)), first.memory)
    assert titles(second) == ["Entry 2 & more"]
    gone = reading(CONFIG, rss(item(2, 2)), second.memory)
    assert reading(CONFIG, rss(item(1)), gone.memory).rows == []


def test_an_entry_without_an_id_is_identified_by_its_link() -> None:
    first = reading(CONFIG, rss(item(1, guid=False)))
    changed = rss(item(1, guid=False).replace("Entry 1", "Entry one"))
    assert reading(CONFIG, changed, first.memory).rows == []


def test_entries_of_the_same_second_get_distinct_times() -> None:
    got = reading(CONFIG, rss(*(item(number) for number in range(20))))
    assert len({row.at for row in got.rows}) == 20


def test_an_entry_dated_in_the_future_gets_the_current_time() -> None:
    assert reading(CONFIG, rss(item(1, 30))).rows[0].at == NOW


def test_atom_is_read() -> None:
    atom = """<feed xmlns="http://www.w3.org/2005/Atom"><title>x</title><entry><id>urn:a</id><title>Olá</title>
    <link href="/a"/><updated>2026-11-10T08:00:00+01:00</updated>
    <summary type="html">&lt;i&gt;s&lt;/i&gt;</summary></entry></feed>"""
    row = reading(CONFIG, atom).rows[0]
    assert row.texts == {"title": "Olá", "link": "http://stream.example/a", "summary": "s"}
    assert row.at == datetime(2026, 11, 10, 7, tzinfo=UTC)


def test_the_stored_state_stays_small() -> None:
    memory: AdapterMemory = {}
    for start in range(0, 20_000, 500):
        entries = [NewsRow(f"urn:{number}", {"title": str(number)}) for number in range(start, start + 500)]
        rows, memory = unseen_rows(entries, memory, SourceResponse("", b"", at=NOW))
        assert len(rows) == 500
    assert 500 < len(memory["seen"]) <= MOST_SEEN_ROWS
    assert unseen_rows(entries, memory, SourceResponse("", b"", at=NOW))[0] == []


BOMB = '<?xml version="1.0"?><!DOCTYPE r [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("", "empty"),
        ("<html><body>no feed</body></html>", "not a feed"),
        ("12345", "not a feed"),
        ("\x00\x01\x02", "not a feed"),
        (BOMB + rss(item(1)).partition("?>")[2], "entities"),
    ],
)
def test_other_formats_are_not_feeds(body: str, words: str) -> None:
    with pytest.raises(UnreadableResponse, match=words):
        reading(CONFIG, body)


def test_a_truncated_feed_yields_its_complete_entries() -> None:
    assert titles(reading(CONFIG, rss(item(1), item(2)).partition("<item><title>Entry 2")[0])) == ["Entry 1 & more"]
