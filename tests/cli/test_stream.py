"""``tarantula stream``: sources from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tarantula.store.database import open_database
from tests.sites.server import Answer, Web
from tests.support.command_result import Tarantula
from tests.support.crawls import TARANTULA, run
from tests.support.sources import all_values, doubted, ingest, put_aside

ADD = ("stream", "add", "weather.lisboa", "http://example.org/weather")


def test_a_source_is_added_listed_changed_and_removed(tarantula: Tarantula) -> None:
    done = tarantula(
        *ADD, "--css", "temperature=#now", "--kind", "temperature=quantity °C", "--xpath", "words=//p[1]",
        "--interval", "5m", "--tags", "weather;Lisboa", "--title", "Tempo em Lisboa", "--misses", "5",
        "--variable", "user=ana", "--variable", "password=segredo",
    )  # fmt: skip
    assert done.code == 0, done.err
    (listed,) = json.loads(tarantula("stream", "list", "tempo", "--json").out)
    assert listed["name"] == "weather.lisboa"
    assert (listed["interval"], listed["misses"], listed["status"]) == (300.0, 5, "new")
    assert [field["key"] for field in listed["fields"]] == ["temperature", "words"]
    assert listed["fields"][0]["unit"] == "°C"
    assert listed["variables"] == {"user": "ana", "password": "•••"}
    assert "segredo" not in tarantula("stream", "show", "weather.lisboa").out
    assert json.loads(tarantula("stream", "list", "--below", "stock", "--json").out) == []

    assert tarantula("stream", "edit", "weather.lisboa", "--css", "temperature=.now", "--no-robots").code == 0
    shown = json.loads(tarantula("stream", "show", "weather.lisboa", "--json").out)
    assert shown["fields"][0]["place"]["css"] == ".now"
    assert shown["fields"][0]["kind"] == "quantity"
    assert shown["robots"] is False
    assert tarantula("stream", "pause", "weather.lisboa").code == 0
    assert "paused" in tarantula("stream", "list").out
    assert tarantula("stream", "resume", "weather.lisboa").code == 0
    assert tarantula("stream", "remove", "weather.lisboa", "--yes").out == "weather.lisboa is removed.\n"
    gone = tarantula("stream", "show", "weather.lisboa")
    assert gone.code == 2
    assert "weather.lisboa" in gone.err


def test_removal_needs_the_name_typed_again(tarantula: Tarantula, monkeypatch: pytest.MonkeyPatch) -> None:
    tarantula(*ADD, "--css", "value=#now")
    monkeypatch.setattr("typer.prompt", lambda _question: "another")
    refused = tarantula("stream", "remove", "weather.lisboa")
    assert (refused.code, refused.err) == (2, "That is not weather.lisboa: nothing was removed.\n")
    assert tarantula("stream", "show", "weather.lisboa").code == 0


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        (("--interval", "0"), "between one second and one year"),
        (("--interval", "often"), "interval"),
        (("--css", "value"), "KEY=VALUE"),
        (("--css", "Value Of=#now"), "not a valid field key"),
        (("--place", "value=#now"), "FIELD.PART=VALUE"),
        (("--adapter", "pages"), "no adapter pages"),
        (("--kind", "value=number"), "cannot be 'number'"),
        (("--step", "jump #here", "--css", "value=#now"), "go"),
        (("--misses", "0"), "misses"),
        ((), "Say where a value is"),
        (("--css", "value=#now", "--kind", "value=quantity furlongz"), "is not a unit of measure"),
        (("--css", "value=#now", "--step", "click"), "needs a target"),
        (("--css", "value=#now", "--step", "fill #user {user}"), "The variable user has no value"),
        (("--css", "value=#now", "--aggregation", "value=median"), "cannot be 'median'"),
        (("--css", "value=#now", "--retention", "events=soon"), "is not a retention limit"),
        (("--css", "value=#now", "--retention", "seconds=1d"), "is not a retention setting"),
    ],
)
def test_wrong_options_are_refused(tarantula: Tarantula, typed: tuple[str, ...], words: str) -> None:
    refused = tarantula(*ADD, *typed)
    assert refused.code == 2
    assert words in refused.err
    assert "Traceback" not in refused.err


@pytest.mark.parametrize("url", ["nonsense", "ftp://example.org/", "http://", "http://example.org/{place}"])
def test_an_invalid_address_is_refused(tarantula: Tarantula, url: str) -> None:
    refused = tarantula("stream", "add", "weather.lisboa", url, "--css", "value=#now")
    assert refused.code == 2
    assert "not a web address" in refused.err or "The variable place has no value" in refused.err


def test_fields_have_titles_and_aggregations_and_can_be_removed(tarantula: Tarantula) -> None:
    csv = ("--adapter", "csv", "--place", "solar.column=2024", "--place", "wind.number=3", "--set", "separator=;")
    told = ("--aggregation", "solar=sum", "--label", "solar=Painéis", "--retention", "events=30d minutes=60d")
    done = tarantula(*ADD, *csv, *told)
    assert done.code == 0, done.err
    assert tarantula("stream", "edit", "weather.lisboa", "--retention", "hours=10y", "--without", "wind").code == 0
    shown = json.loads(tarantula("stream", "show", "weather.lisboa", "--json").out)
    (solar,) = shown["fields"]
    assert (solar["place"], solar["aggregation"], solar["title"]) == ({"column": "2024"}, "sum", "Painéis")
    assert [shown["retention"][level] for level in ("events", "minutes", "hours")] == ["30d", "60d", "10y"]
    assert "no field 'wind'" in tarantula("stream", "edit", "weather.lisboa", "--without", "wind").err
    assert "There is nothing to change" in tarantula("stream", "edit", "weather.lisboa").err


def test_a_source_is_copied_with_other_variables(tarantula: Tarantula) -> None:
    tarantula(
        "stream", "add", "weather.lisboa", "http://example.org/{town}", "--css", "value=#now", "--variable",
        "town=lisboa", "--tags", "tempo",
    )  # fmt: skip
    copied = tarantula(
        "stream", "copy", "weather.lisboa", "weather.porto", "--variable", "town=porto", "--tags", "norte"
    )
    assert copied.code == 0, copied.err
    shown = json.loads(tarantula("stream", "show", "weather.porto", "--json").out)
    assert (shown["url"], shown["variables"]) == ("http://example.org/{town}", {"town": "porto"})
    assert (shown["tags"], shown["fields"][0]["place"], shown["status"]) == (["norte"], {"css": "#now"}, "new")
    assert "already" in tarantula("stream", "copy", "weather.lisboa", "weather.porto").err


def test_names_are_unique(tarantula: Tarantula) -> None:
    assert tarantula(*ADD, "--css", "value=#now").code == 0
    taken = tarantula(*ADD, "--css", "value=#now")
    assert taken.code == 2
    assert "already" in taken.err


@pytest.mark.parametrize("form", ["--json", ""])
def test_sources_are_exported_and_imported_without_their_secrets(
    tarantula: Tarantula, tmp_path: Path, form: str
) -> None:
    tarantula(*ADD, "--css", "value=#now", "--variable", "api_token=abc", "--variable", "place=Lisboa", "--delay", "2")
    file = tmp_path / "sources"
    assert tarantula("stream", "describe", "-o", str(file), *([form] if form else [])).code == 0
    assert "abc" not in file.read_text()
    assert "already" in tarantula("stream", "import", str(file)).err
    assert tarantula("stream", "import", "--replace", str(file)).out == "1 source is stored.\n"
    tarantula("stream", "remove", "weather.lisboa", "--yes")
    assert tarantula("stream", "import", str(file)).code == 0
    shown = json.loads(tarantula("stream", "show", "weather.lisboa", "--json").out)
    assert (shown["variables"], shown["delay"]) == ({"place": "Lisboa"}, 2.0)
    file.write_text("[source.a]\nurl = 1\n[source.b]\nadapter = 'none'\n")
    wrong = tarantula("stream", "import", str(file))
    assert wrong.code == 2
    assert wrong.err.count("\n") >= 2


def test_a_web_service_gets_headers_and_a_body_and_its_key_is_hidden(tarantula: Tarantula, tmp_path: Path) -> None:
    asked = (
        "--adapter",
        "json",
        "--place",
        "value.path=now",
        "--variable",
        "api_key=abc123",
        "--variable",
        "town=Faro",
    )
    body = tmp_path / "body"
    body.write_text('{"town": "{town}"}')
    with Web({"/": Answer('{"now": 12}', "application/json")}) as web:
        sending = ("--header", "X-API-Key: {api_key}", "--header", "Accept: application/json", "--body", f"@{body}")
        assert tarantula("stream", "add", "weather.faro", web.url(), *asked, *sending, "--delay", "0").code == 0
        code, out, err = run(TARANTULA, "stream", "poll", "weather.faro", "--json")
        assert (code, [value["value"] for value in json.loads(out)["values"]]) == (0, ["12"]), err
        (visit,) = web.visits_to("/")
        assert (visit.method, visit.headers["x-api-key"], visit.body) == ("POST", "abc123", b'{"town": "Faro"}')
    for shown in (("show", "weather.faro"), ("show", "weather.faro", "--json"), ("list", "--json"), ("describe",)):
        out = tarantula("stream", *shown).out
        assert "{town}" in out
        assert "abc123" not in out
    edited = ("stream", "edit", "weather.faro")
    for wrong, sentence in (
        (("--header", "Authorization: Bearer abc"), "The header Authorization is a secret. Write {token} in its place"),
        (("--header", "abc"), "Write a header as 'NAME: VALUE'"),
        (("--body", "{"), "The body is not valid JSON"),
        (("--method", "PUT"), "'PUT' is not a supported method. Choose GET or POST."),
        (("--method", "GET"), "A body can only be sent with POST"),
        (("--body", f"@{tmp_path / 'none'}"), "No such file"),
    ):
        refused = tarantula(*edited, *wrong)
        assert (refused.code, sentence in refused.err) == (2, True), refused.err
    assert tarantula(*edited, "--header", "accept:", "--body", "").code == 0
    now = json.loads(tarantula("stream", "show", "weather.faro", "--json").out)
    assert (now["method"], now["headers"], now["body"]) == ("GET", {"X-API-Key": "{api_key}"}, "")


def test_texts_put_aside_are_listed_accepted_and_dismissed(tarantula: Tarantula) -> None:
    tarantula(*ADD, "--css", "value=#now", "--kind", "value=integer")
    with open_database() as database:
        ingest(database, 1, doubted("7", "It may be the one of yesterday."))
        (listed,) = json.loads(tarantula("stream", "aside", "list", "--json").out)
        assert (listed["source"], listed["read"], listed["number"]) == ("weather.lisboa", "7", 1)
        assert "yesterday" in tarantula("stream", "aside").out
        assert tarantula("stream", "aside", "accept", "1", "--by", "ana").out.startswith("7 is the value.")
        ingest(database, 1, doubted("8"), 1)
        assert tarantula("stream", "aside", "dismiss", "2").code == 0
        assert [row.decided_by for row in put_aside(database)][:1] == ["ana"]
        assert all_values(database) == ["7"]
    assert "number" in tarantula("stream", "aside", "accept").err


def test_poll_reads_a_source_once(tarantula: Tarantula) -> None:
    with Web({"/": Answer('<p id="now">12</p>')}) as web:
        tarantula("stream", "add", "weather.lisboa", web.url(), "--css", "value=#now", "--delay", "0")
        code, out, err = run(TARANTULA, "stream", "poll", "weather.lisboa", "--dry")
        assert code == 0, err
        assert "12" in out
        assert "Nothing is stored." in out
        with open_database() as database:
            assert all_values(database) == []
            code, out, err = run(TARANTULA, "stream", "poll", "weather.lisboa", "--json")
            assert code == 0, err
            told = json.loads(out)
            assert [value["value"] for value in told["values"]] == ["12"]
            assert (told["status"], told["events"]) == ("read", 1)
            assert all_values(database) == ["12"]
    code, out, err = run(TARANTULA, "stream", "poll", "weather.lisboa")
    assert code == 0, err
    assert "refused" in out.lower()
    assert tarantula("server", "set", web.url().split("/")[2], "--exclude").code == 0
    assert "is excluded" in run(TARANTULA, "stream", "poll", "weather.lisboa")[1]


def test_a_source_is_created_from_a_category(tarantula: Tarantula) -> None:
    assert "Address of the feed" in tarantula("stream", "categories").out
    asked = {one["name"]: one["asks"] for one in json.loads(tarantula("stream", "categories", "--json").out)}
    assert [ask["key"] for ask in asked["feed"]] == ["address"]
    made = tarantula("stream", "make", "feed", "address=http://127.0.0.1:1/rss.xml", "--name", "feeds.nasa")
    assert made.out.startswith("feeds.nasa is stored.")
    (source,) = json.loads(tarantula("stream", "list", "--json").out)
    assert (source["name"], source["category"], source["adapter"]) == ("feeds.nasa", "feed", "feed")
    wrong = tarantula("stream", "make", "feed", "adress=x")
    assert wrong.code == 2
    assert "RSS or Atom feed does not ask for adress. Did you mean address?" in wrong.err
    assert "There is no category 'fed'. Did you mean feed?" in tarantula("stream", "make", "fed", "a=b").err
