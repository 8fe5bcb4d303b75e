"""``tarantula publication``."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from tarantula.core.config import Config
from tarantula.core.database import Database
from tarantula.publications import registry
from tarantula.publications.config import (
    DEFAULT_ATTENTION_RULES,
    DEFAULT_INCOMPLETE_RULES,
    PublicationConfig,
    read_config,
)
from tarantula.store.database import open_database
from tests.support.command_result import Tarantula
from tests.support.deposit import deposit

FCUL = ("publication", "add", "fcul", "http://www.fc.ul.pt/index.html")


def stored(config: Config, name: str = "fcul") -> PublicationConfig:
    with open_database(config) as database, database.reading() as session:
        return registry.config_of(registry.get_publication(session, name))


def everything(config: Config) -> list[PublicationConfig]:
    with open_database(config) as database, database.reading() as session:
        return [registry.config_of(row) for row in registry.all_publications(session)]


def test_the_example_of_2001_in_one_command(tarantula: Tarantula, database_config: Config) -> None:
    outcome = tarantula(
        *FCUL, "--depth", "5", "--accept", ".fc.ul.pt", "--exclude", "ptmat.lmc.fc.ul.pt",
        "--profile", "HTML_com_IMAGENS", "--add-types", "application/pdf;application/postscript",
        "--exclude-types", "image/bmp", "--max-size", "500000", "--timeout", "300", "--every", "monthly",
        "--start", "2026-06-12 22:00+01:00", "--max-duration", "10d", "--strategy", "best-first",
        "--description", "Recolha mensal dos sites da Faculdade de Ciências da Universidade de Lisboa.",
    )  # fmt: skip
    assert outcome == (0, "fcul is stored. Collect it now with `tarantula crawl fcul`.\n", "")
    config = stored(database_config)
    assert config.model_dump(mode="json") == {
        "name": "fcul",
        "base_url": "http://www.fc.ul.pt/index.html",
        "description": "Recolha mensal dos sites da Faculdade de Ciências da Universidade de Lisboa.",
        "depth": 5,
        "every": "monthly",
        "zone": "",
        "start": "2026-06-12T22:00:00+01:00",
        "max_duration": 864_000,
        "robots": True,
        "profile": "HTML_com_IMAGENS",
        "add_types": ["application/pdf", "application/postscript"],
        "exclude_types": ["image/bmp"],
        "accept": [".fc.ul.pt"],
        "exclude": ["ptmat.lmc.fc.ul.pt"],
        "max_size": 500_000,
        "timeout": 300.0,
        "delay": 1.0,
        "per_server": 1,
        "strategy": "best-first",
        "convert": True,
        "live_requests": False,
        "render": False,
        "keep_refused": True,
        "allow_private": False,
        "notify": [],
        "attention": list(DEFAULT_ATTENTION_RULES),
        "incomplete": list(DEFAULT_INCOMPLETE_RULES),
        "keep_once": True,
        "refresh": False,
        "refresh_visits": None,
        "settings": {},
    }


def test_the_other_options(tarantula: Tarantula, database_config: Config) -> None:
    outcome = tarantula(
        *FCUL, "--no-robots", "--no-convert", "--render", "--no-keep-refused", "--allow-private", "--delay", "0",
        "--per-server", "4", "--accept", "a.pt", "--accept", "b.pt;c.pt", "--set", "LOG_LEVEL=INFO",
        "--set", 'SPIDER_MIDDLEWARES={"my.middleware": 500, "other": null}', "--set", "STATS_DUMP=false",
        "--refresh", "--refresh-visits", "500", "--every", "weekly",
    )  # fmt: skip
    assert outcome.code == 0
    config = stored(database_config)
    assert (config.refresh, config.refresh_visits) == (True, 500)
    assert (config.robots, config.convert, config.render) == (False, False, True)
    assert (config.keep_refused, config.allow_private) == (False, True)
    assert (config.delay, config.per_server, config.accept) == (0, 4, ["a.pt", "b.pt", "c.pt"])
    assert config.settings == {
        "LOG_LEVEL": "INFO",
        "SPIDER_MIDDLEWARES": {"my.middleware": 500, "other": None},
        "STATS_DUMP": False,
    }


def test_defaults_are_those_of_the_model(tarantula: Tarantula, database_config: Config) -> None:
    assert tarantula(*FCUL).code == 0
    assert stored(database_config) == PublicationConfig(name="fcul", base_url="http://www.fc.ul.pt/index.html")


def test_help_names_every_field(tarantula: Tarantula, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    text = tarantula("publication", "add", "--help").out
    for field in PublicationConfig.model_fields.keys() - {"name", "base_url", "settings"}:
        assert f"--{field.replace('_', '-')}" in text
    assert "--set" in text
    assert "Default breadth-first" in text


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["a/b", "a.pt"], "The name 'a/b' cannot be used"),
        (["a b", "a.pt"], "The name 'a b' cannot be used"),
        (["a" * 200, "a.pt"], "The name has 200 letters"),
        (["publication", "a.pt"], "is taken"),
        (["Streams", "a.pt"], "`scrapy crawl streams` runs a spider of the project"),
        (["fcul", "http://"], "has no host"),
        (["fcul", "/index.html"], "has no host"),
        (["fcul", "ftp://a.pt/"], "is not on the web"),
        (["fcul", "a.pt", "--depth", "-1"], "The depth must be 0 or more"),
        (["fcul", "a.pt", "--depth", "deep"], "--depth"),
        (["fcul", "a.pt", "--max-size", "0"], "The maximum size must be more than 0"),
        (["fcul", "a.pt", "--timeout", "0"], "The timeout must be more than 0"),
        (["fcul", "a.pt", "--delay", "nan"], "The delay must be 0 or more"),
        (["fcul", "a.pt", "--per-server", "0"], "must be 1 or more"),
        (["fcul", "a.pt", "--accept", "x.pt", "--exclude", "x.pt"], "is both accepted and excluded"),
        (["fcul", "a.pt", "--exclude", "a.pt"], "it is the server of the base document"),
        (["fcul", "a.pt", "--accept", "x/y"], "server pattern"),
        (["fcul", "a.pt", "--add-types", "pdf"], "'pdf' is not a type"),
        (["fcul", "a.pt", "--exclude-types", "image/bmp;png"], "'png' is not a type"),
        (["fcul", "a.pt", "--start", "2026-02-30 22:00"], "There is no 2026-02-30 in the calendar"),
        (["fcul", "a.pt", "--max-duration", "long"], "'long' is not a duration"),
        (["fcul", "a.pt", "--refresh"], "A refreshed publication needs a period"),
        (
            ["fcul", "a.pt", "--refresh", "--every", "daily", "--no-keep-once"],
            "A refreshed publication needs keep_once",
        ),
        (["fcul", "a.pt", "--refresh-visits", "0"], "The number of visits must be more than 0"),
        (["fcul", "a.pt", "--every", "often"], "'often' is not a period"),
        (["fcul", "a.pt", "--profile", "HTLM"], "There is no profile 'HTLM'. Did you mean HTML"),
        (["fcul", "a.pt", "--strategy", "fastest"], "'fastest' is not a strategy"),
        (["fcul", "a.pt", "--set", "LOG_LEVEL"], "'LOG_LEVEL' is not a setting"),
        (["fcul", "a.pt", "--set", "log=1"], "'log' is not the name of a setting"),
        (["fcul", "a.pt", "--description", "\udcff"], "is not valid UTF-8"),
        (["fcul"], "URL"),
    ],
)
def test_wrong_input_is_refused_and_stores_nothing(
    tarantula: Tarantula, sqlite_config: Config, arguments: list[str], sentence: str
) -> None:
    outcome = tarantula("publication", "add", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert sentence in outcome.err
    assert "Traceback" not in outcome.err
    assert everything(sqlite_config) == []


def test_one_message_for_each_wrong_field(tarantula: Tarantula) -> None:
    outcome = tarantula("publication", "add", "fcul", "http://", "--depth", "-1", "--max-size", "0", "--every", "often")
    assert outcome.code == 2
    assert len(outcome.err.splitlines()) == 4


def test_names_are_unique(tarantula: Tarantula, database_config: Config) -> None:
    assert tarantula(*FCUL).code == 0
    outcome = tarantula(*FCUL, "--depth", "9")
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert stored(database_config).depth == 5


def test_list(tarantula: Tarantula, database_config: Config) -> None:
    assert json.loads(tarantula("publication", "list", "--json").out) == []
    tarantula(*FCUL)
    tarantula("publication", "add", "bn", "http://www.bn.pt/", "--every", "yearly", "--start", "2999-06-12 22:00")
    bn, fcul = json.loads(tarantula("publication", "list", "--json").out)
    assert (bn["name"], bn["next_due"]) == ("bn", bn["start"].replace("Z", "+00:00"))
    assert (fcul["name"], fcul["next_due"]) == ("fcul", None)
    lines = tarantula("publication", "list").out.splitlines()
    assert lines[1].split() == ["bn", "http://www.bn.pt/", "5", "yearly", "2999-06-12", "22:00"]


def test_show(tarantula: Tarantula, database_config: Config) -> None:
    tarantula(*FCUL, "--max-duration", "36h", "--accept", "[::1];.ul.pt", "--set", "A=1")
    shown = json.loads(tarantula("publication", "show", "fcul", "--json").out)
    assert (shown["name"], shown["max_duration"], shown["last_scheduled_at"]) == ("fcul", 129_600, None)
    text = tarantula("publication", "show", "fcul").out
    for words in ("1d12h", "[::1]; .ul.pt", "A = 1", "robots             yes"):
        assert words in text


@pytest.mark.parametrize("verb", ["show", "edit", "remove", "export"])
def test_an_unknown_publication(tarantula: Tarantula, verb: str) -> None:
    tarantula(*FCUL)
    outcome = tarantula("publication", verb, "fcull")
    assert outcome == (
        2, "", "There is no publication 'fcull'. Did you mean fcul? `tarantula publication list` shows them.\n"
    )  # fmt: skip


def test_edit(tarantula: Tarantula, database_config: Config) -> None:
    tarantula(*FCUL, "--accept", ".fc.ul.pt", "--max-duration", "10d", "--set", "A=1", "--set", "B=2", "--no-robots")
    edited = tarantula(
        "publication", "edit", "fcul", "--depth", "3", "--accept", "", "--max-duration", "", "--set", "A=3",
        "--unset", "B", "--url", "fc.ul.pt", "--robots",
    )  # fmt: skip
    assert edited.code == 0
    assert stored(database_config) == read_config(
        {"name": "fcul", "base_url": "http://fc.ul.pt/", "depth": 3, "settings": {"A": 3}}
    )


def test_a_bad_edit_changes_nothing(tarantula: Tarantula, database_config: Config) -> None:
    tarantula(*FCUL)
    assert tarantula("publication", "edit", "fcul", "--depth", "3", "--max-size", "0").code == 2
    assert stored(database_config).depth == 5


def test_remove_asks_for_confirmation(
    tarantula: Tarantula, database_config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    tarantula(*FCUL)
    for answer in ("n\n", ""):
        monkeypatch.setattr("sys.stdin", io.StringIO(answer))
        assert tarantula("publication", "remove", "fcul").code == 1
        assert everything(database_config)
    assert tarantula("publication", "remove", "fcul", "--yes").code == 0
    assert everything(database_config) == []


def test_a_publication_with_items_cannot_be_removed(tarantula: Tarantula, database: Database) -> None:
    deposit(database)
    outcome = tarantula("publication", "remove", "fcul", "--yes")
    assert outcome.code == 2
    assert "has 1 item and cannot be removed" in outcome.err


def test_export_and_import(tarantula: Tarantula, database_config: Config, tmp_path: Path) -> None:
    tarantula(*FCUL, "--set", 'SPIDER_MIDDLEWARES={"a.b": null}', "--start", "2026-06-12 22:00")
    tarantula("publication", "add", "bn", "http://www.bn.pt/")
    before = everything(database_config)
    file = tmp_path / "all.toml"
    assert tarantula("publication", "export", "-o", str(file)).code == 0
    assert tarantula("publication", "export").out == file.read_text()
    assert "bn" not in tarantula("publication", "export", "fcul").out
    for name in ("fcul", "bn"):
        tarantula("publication", "remove", name, "--yes")
    assert tarantula("publication", "import", str(file)) == (0, "2 publications are stored.\n", "")
    assert everything(database_config) == before


def test_import_stores_all_or_nothing(tarantula: Tarantula, database_config: Config, tmp_path: Path) -> None:
    tarantula(*FCUL)
    file = tmp_path / "two.toml"
    file.write_text("[publication.bn]\nbase_url = 'www.bn.pt'\n[publication.fcul]\nbase_url = 'fc.ul.pt'\ndepth = 9")
    assert tarantula("publication", "import", str(file)).code == 2
    assert [config.name for config in everything(database_config)] == ["fcul"]
    assert tarantula("publication", "import", str(file), "--replace").code == 0
    assert [(config.name, config.depth) for config in everything(database_config)] == [("bn", 5), ("fcul", 9)]


def test_import_from_standard_input(tarantula: Tarantula, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("[publication.bn]\nbase_url = 'www.bn.pt'"))
    assert tarantula("publication", "import", "-").code == 0


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "cannot be used: No such file or directory."),
        (b"\xff\xfe", "is not UTF-8 text"),
        (b"[publication", "This is not TOML"),
    ],
)
def test_invalid_files_are_refused(tarantula: Tarantula, tmp_path: Path, content: Any, sentence: str) -> None:
    file = tmp_path / "publications.toml"
    if content is not None:
        file.write_bytes(content)
    outcome = tarantula("publication", "import", str(file))
    assert outcome.code == 2
    assert sentence in outcome.err
