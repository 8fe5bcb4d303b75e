"""``tarantula item convert``."""

from __future__ import annotations

import json
import signal

from tarantula.core.config import Config
from tarantula.core.database import Database
from tests.support.command_result import Tarantula
from tests.support.crawls import TARANTULA, start, wait_until
from tests.support.mirrors import Kept, page, store
from tests.support.waits import TIMEOUT_SECONDS

BASE = "http://fc.ul.pt/"
KEYS = ["urn", "path", "documents", "changed", "bytes", "skipped", "seconds", "withheld"]


def test_an_item_is_converted_and_its_location_printed(tarantula: Tarantula, sqlite: Database, config: Config) -> None:
    urn = store(config, sqlite, {BASE: page("<a href=/>"), f"{BASE}x": Kept(b"x", "text/plain")})
    code, out, err = tarantula("item", "convert", urn)
    assert (code, err) == (0, "")
    assert out.startswith("2 documents, 1 of them changed, in ")
    assert out.endswith(f"Open {(config.archived / urn / 'index.html').as_uri()}\n")


def test_json_keys(tarantula: Tarantula, sqlite: Database, config: Config) -> None:
    urn = store(config, sqlite, {BASE: page("x"), f"{BASE}lost": page("y")})
    (path,) = (config.items / urn / "archive").glob("*.warc.gz")
    path.write_bytes(path.read_bytes()[:-900])
    made = json.loads(tarantula("item", "convert", urn, "--json").out)
    assert list(made) == KEYS
    assert (made["documents"], made["bytes"], [one["url"] for one in made["skipped"]]) == (1, 1, [f"{BASE}lost"])
    assert "has no complete record at offset" in tarantula("item", "convert", urn).err


def test_an_unknown_item_is_refused(tarantula: Tarantula) -> None:
    code, _, err = tarantula("item", "convert", "nothing")
    assert (code, err) == (2, "There is no item 'nothing'. `tarantula items` shows them.\n")


def test_an_interrupted_conversion_can_be_continued(tarantula: Tarantula, sqlite: Database, config: Config) -> None:
    # Many links, so that the conversion takes long enough to be interrupted.
    long = page("<a href=/>" * 600)
    urn = store(config, sqlite, {BASE: page("x"), **{f"{BASE}{number}": long for number in range(1200)}})
    process = start([TARANTULA, "item", "convert", urn])
    wait_until(lambda: any(config.archived.rglob("*.html")), process)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=TIMEOUT_SECONDS)
    assert (process.returncode, out) == (130, ""), err
    assert err == f"Item {urn} is not converted yet. `tarantula item convert {urn}` continues.\n"
    assert not (config.archived / urn).exists()
    assert tarantula("item", "convert", urn).out.startswith("1,201 documents, 1,200 of them changed")
