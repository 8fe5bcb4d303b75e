"""The components that a publication brings with it."""

from __future__ import annotations

import pytest

from tarantula.core.errors import TarantulaError
from tarantula.crawl.components import check_components


@pytest.mark.parametrize(
    "path",
    [
        "examples.print_pages.PrintPages",
        "tests.support.faulty_components.Clumsy",
        "scrapy.spidermiddlewares.depth.DepthMiddleware",
        "scrapy.spidermiddlewares.httperror.HttpErrorMiddleware",
    ],
)
def test_spider_middlewares_as_scrapy_teaches_them(path: str) -> None:
    check_components({"SPIDER_MIDDLEWARES": {path: 500}})


def test_a_spider_middleware_as_scrapy_taught_it_once_is_a_sentence() -> None:
    with pytest.raises(TarantulaError, match=r"tests\.components\.OldFashioned is written for an older Scrapy"):
        check_components({"SPIDER_MIDDLEWARES": {"tests.support.faulty_components.OldFashioned": 500}})


@pytest.mark.parametrize("setting", ["SPIDER_MIDDLEWARES", "ITEM_PIPELINES", "DOWNLOADER_MIDDLEWARES", "EXTENSIONS"])
def test_what_is_not_there_is_a_sentence_unless_it_is_switched_off(setting: str) -> None:
    check_components({setting: {"nowhere.at.All": None}, "LOG_LEVEL": "INFO"})
    with pytest.raises(TarantulaError, match=r"There is no component nowhere\.at\.All"):
        check_components({setting: {"nowhere.at.All": 500}})
