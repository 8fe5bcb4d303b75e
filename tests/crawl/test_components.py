"""Checks of a publication's own components."""

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
def test_async_spider_middlewares_are_accepted(path: str) -> None:
    check_components({"SPIDER_MIDDLEWARES": {path: 500}})


def test_a_synchronous_spider_middleware_is_refused() -> None:
    with pytest.raises(
        TarantulaError, match=r"tests\.support\.faulty_components\.OldFashioned is written for an older Scrapy"
    ):
        check_components({"SPIDER_MIDDLEWARES": {"tests.support.faulty_components.OldFashioned": 500}})


@pytest.mark.parametrize("setting", ["SPIDER_MIDDLEWARES", "ITEM_PIPELINES", "DOWNLOADER_MIDDLEWARES", "EXTENSIONS"])
def test_a_missing_component_is_refused_unless_it_is_disabled(setting: str) -> None:
    check_components({setting: {"nowhere.at.All": None}, "LOG_LEVEL": "INFO"})
    with pytest.raises(TarantulaError, match=r"There is no component nowhere\.at\.All"):
        check_components({setting: {"nowhere.at.All": 500}})
