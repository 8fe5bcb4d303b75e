"""``scrapy parse``: print the document and the links that a publication makes of a URL, without storing it."""

from __future__ import annotations

import argparse

from scrapy.commands.parse import Command as ScrapyParse

from tarantula.spiders.preview import preview_loader


class Command(ScrapyParse):
    """Scrapy's command, with previews of the spiders of publications."""

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        assert self.crawler_process is not None
        self.crawler_process.spider_loader = preview_loader(self.crawler_process.settings, args)
        super().run(args, opts)
