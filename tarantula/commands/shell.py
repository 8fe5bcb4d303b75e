"""``scrapy shell``: an interactive console on a response, without storing it."""

from __future__ import annotations

import argparse

from scrapy.commands.shell import Command as ScrapyShell

from tarantula.spiders.preview import preview_loader


class Command(ScrapyShell):
    """Scrapy's command, with previews of the spiders of publications."""

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        assert self.crawler_process is not None
        self.crawler_process.spider_loader = preview_loader(self.crawler_process.settings, args)
        super().run(args, opts)
