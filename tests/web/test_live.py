"""Live item streams: one poll for all readers, only for those who may read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack

from sqlalchemy import update

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.core.reasons import ItemReason
from tarantula.models import Item
from tests.support.item_lifecycles import change, new_item
from tests.support.web_server import api_client, web_server


def messages(lines: Iterator[str]) -> Iterator[str]:
    """Yield the messages of a stream."""
    return (line.removeprefix("data: ") for line in lines if line.startswith("data: "))


def test_all_readers_receive_the_same_events(sqlite: Database, config: Config) -> None:
    urn = new_item(config, sqlite)
    change(sqlite, urn, state="collecting")
    with web_server() as place, api_client(place.address) as client, ExitStack() as opened:
        address = f"/api/items/{urn}/live"
        assert client.get(address).status_code == 401
        client.get(place.way_in)
        missing = client.get("/api/items/nothing/live")
        assert missing.status_code == 404
        assert "There is no item" in missing.text

        streams = []
        for _ in range(3):
            answer = opened.enter_context(client.stream("GET", address))
            assert answer.headers["Content-Type"].startswith("text/event-stream")
            streams.append(messages(answer.iter_lines()))
        for stream in streams:
            seen = json.loads(next(stream))
            assert (seen["urn"], seen["state"], seen["waiting"]) == (urn, "collecting", 1)
        with sqlite.session() as session:
            session.execute(update(Item).values(state="interrupted", reason_code=ItemReason.STOPPED))
        ended = [next(line for line in stream if json.loads(line)["state"] == "interrupted") for stream in streams]
        assert json.loads(ended[0])["reason"] == "It was stopped by a user."
        assert ended[0] == ended[1] == ended[2]
