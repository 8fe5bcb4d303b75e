"""Settings of a collection: which ones it may have, and which are rejected or reported."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest
from scrapy.settings import Settings, default_settings

from tarantula.core.errors import TarantulaError
from tarantula.engine.settings import (
    COLLECTION_SETTINGS,
    apply_collection_settings,
    check_command_line,
    check_publication_settings,
)
from tarantula.publications.scrapy_settings import (
    COMPONENT_SETTINGS,
    EFFECTIVE_SETTINGS,
    FIXED_SETTINGS,
    NUMBER_SETTINGS,
    PROJECT_SETTINGS,
    ineffective_setting,
    setting_problem,
)

SCRAPY_SETTINGS = {name: value for name, value in vars(default_settings).items() if name.isupper()}
REJECTED: tuple[tuple[str, Any, str], ...] = (
    ("SCHEDULER", "scrapy.core.scheduler.Scheduler", "The setting SCHEDULER cannot be changed"),
    ("DOWNLOADER", "a.b", "The setting DOWNLOADER cannot be changed"),
    ("DOWNLOAD_HANDLERS", {"http": "a.b"}, "The setting DOWNLOAD_HANDLERS cannot be changed"),
    ("ITEM_PROCESSOR", "a.b", "The setting ITEM_PROCESSOR cannot be changed"),
    ("ITEM_PIPELINES_BASE", {}, "The setting ITEM_PIPELINES_BASE cannot be changed"),
    ("TWISTED_REACTOR", "a.b", "The setting TWISTED_REACTOR cannot be changed"),
    ("SPIDER_MODULES", ["a"], "Set it in tarantula/settings.py"),
    ("DOWNLOAD_DELAY", 3, "Set the publication's delay (--delay)."),
    ("AUTOTHROTTLE_ENABLED", True, "Set the publication's delay (--delay)."),
    ("DOWNLOAD_TIMEOUT", 3, "Set the publication's timeout (--timeout)."),
    ("CONCURRENT_REQUESTS_PER_DOMAIN", 1, "Set the publication's requests per server (--per-server)."),
    ("CONCURRENT_REQUESTS_PER_IP", 1, "Set the publication's requests per server (--per-server)."),
    ("DEPTH_LIMIT", 1, "Set the publication's maximum link depth (--depth)."),
    ("ROBOTSTXT_OBEY", False, "Set whether the publication obeys robots.txt"),
    ("JOBDIR", "jobs", "Items keep their queue in the database"),
    ("DUPEFILTER_CLASS", "a.b", "A URL is a row of the item"),
    ("DOWNLAOD_TIMEOUT", 3, "Did you mean DOWNLOAD_TIMEOUT?"),
    ("USER_AGNET", "x", "Did you mean USER_AGENT?"),
    ("ITEM_PIPELINE", {}, "Did you mean ITEM_PIPELINES?"),
    ("TARANTULA_SCOPE_RULE", [], "Did you mean TARANTULA_SCOPE_RULES?"),
    ("CONCURRENT_ITEMS", 0, "The setting CONCURRENT_ITEMS must be a number of 1 or more."),
    ("CONCURRENT_REQUESTS", "abc", "The setting CONCURRENT_REQUESTS must be a number of 1 or more."),
    ("LOG_LEVEL", "LOUD", "The setting LOG_LEVEL must be one of DEBUG, INFO"),
    (
        "ITEM_PIPELINES",
        {"tarantula.pipelines.StorePipeline": None},
        "tarantula.pipelines.StorePipeline in ITEM_PIPELINES cannot be switched off",
    ),
)
ACCEPTED: dict[str, Any] = {
    "CONCURRENT_REQUESTS": "32",
    "HTTPCACHE_ENABLED": True,
    "LOG_LEVEL": "DEBUG",
    "MY_PIPELINE_FILE": "x",
    "PLAYWRIGHT_MAX_PAGES_PER_CONTEXT": 3,
    "STATS_CLASS": "scrapy.statscollectors.DummyStatsCollector",
    "ITEM_PIPELINES": {"tests.support.faulty_components.Choosy": 100},
    "DOWNLOADER_MIDDLEWARES": {"scrapy.downloadermiddlewares.stats.DownloaderStats": None},
}


def from_command_line(name: str, value: Any) -> Settings:
    """Return settings with one of the command line, where each value is a string."""
    text = value if isinstance(value, str) else json.dumps(value)
    return Settings({name: text}, priority="cmdline")


def test_every_setting_of_scrapy_is_known() -> None:
    """A new version of Scrapy may have settings whose effect on a collection must be found out."""
    known = EFFECTIVE_SETTINGS | FIXED_SETTINGS | PROJECT_SETTINGS
    assert [name for name in SCRAPY_SETTINGS if name not in known and ineffective_setting(name) is None] == []
    assert known - SCRAPY_SETTINGS.keys() == set()
    assert [name for name in EFFECTIVE_SETTINGS if ineffective_setting(name) is not None] == []


def test_numbers_are_those_whose_default_is_a_number() -> None:
    numbers = {name for name, value in SCRAPY_SETTINGS.items() if type(value) in (int, float)} & EFFECTIVE_SETTINGS
    others = {name for name in numbers if name.startswith(("AWS_", "MAIL_", "REMOTE_", "REACTOR_", "TELNET"))}
    assert numbers - others == NUMBER_SETTINGS.keys()


@pytest.mark.parametrize(("name", "value", "sentence"), REJECTED)
def test_wrong_settings_are_rejected_wherever_they_are_given(name: str, value: Any, sentence: str) -> None:
    complaint = setting_problem(name, value)
    assert complaint is not None
    assert sentence in complaint
    with pytest.raises(TarantulaError) as raised:
        check_command_line(from_command_line(name, value))
    if not name.startswith("TARANTULA_"):
        assert sentence in str(raised.value)


@pytest.mark.parametrize(("name", "value"), ACCEPTED.items())
def test_others_are_accepted(name: str, value: Any) -> None:
    assert setting_problem(name, value) is None
    settings = from_command_line(name, value)
    apply_collection_settings(settings)
    kept = settings.getdict(name).items() if isinstance(value, dict) else settings[name]
    assert value.items() <= kept if isinstance(value, dict) else str(kept).lower() == str(value).lower()


@pytest.mark.parametrize("name", sorted(COMPONENT_SETTINGS))
def test_components_of_the_command_line_are_added(name: str) -> None:
    settings = from_command_line(name, {})
    apply_collection_settings(settings)
    assert settings.getdict(name) == COLLECTION_SETTINGS[name]


def test_settings_of_a_publication_have_no_place_on_the_command_line() -> None:
    with pytest.raises(TarantulaError, match="has no effect with -s"):
        check_command_line(from_command_line("TARANTULA_SCOPE_RULES", "a.b"))


def test_a_publication_with_settings_without_effect_is_collected_with_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    check_publication_settings({"DOWNLOAD_DELAY": 3, "USER_AGNET": "x", "USER_AGENT": "y"})
    messages = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert len(messages) == 2
    assert all(message.endswith("Remove it from the publication.") for message in messages)
    with pytest.raises(TarantulaError, match=r"a collection needs its own\. Change the publication"):
        check_publication_settings({"SCHEDULER": "a.b"})


def test_settings_of_the_project_without_effect_are_reported(caplog: pytest.LogCaptureFixture) -> None:
    apply_collection_settings(Settings({"DOWNLOAD_DELAY": 3, "ROBOTSTXT_OBEY": True}, priority="project"))
    assert [record.getMessage() for record in caplog.records] == [
        "The setting DOWNLOAD_DELAY has no effect on a collection. Set the publication's delay (--delay). "
        "It holds for hand-written spiders only."
    ]


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"FEEDS": {"a.zzz": {"format": "zzz"}}}, "The feed a.zzz has the unknown format 'zzz'"),
        ({"FEEDS": {"a.jsn": {"format": "jsno"}}}, "Did you mean json"),
        ({"FEEDS": {"a.json": "json", "zzz://a": {"format": "csv"}}}, "has the unknown storage 'zzz'"),
        ({"FEED_EXPORTERS": {"json": "nowhere.X"}}, "There is no component nowhere.X"),
        ({"STATS_CLASS": "nowhere.X"}, "There is no component nowhere.X"),
        ({"LOG_FORMATTER": "nowhere.X"}, "There is no component nowhere.X"),
        ({"ADDONS": {"nowhere.X": 1}}, "There is no component nowhere.X"),
        ({"SPIDER_MIDDLEWARES": {"tests.support.faulty_components.OldFashioned": 1}}, "for an older Scrapy"),
    ],
)
def test_components_that_cannot_be_used_are_rejected(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(TarantulaError) as raised:
        apply_collection_settings(Settings(settings, priority="cmdline"))
    assert sentence in str(raised.value)
