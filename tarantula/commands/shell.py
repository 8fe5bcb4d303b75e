"""``scrapy shell``: an interactive console on a response, without storing it."""

from __future__ import annotations

from scrapy.commands.shell import Command as ScrapyShell

from tarantula.spiders.loader import PreviewCommand


class Command(PreviewCommand, ScrapyShell):
    """Scrapy's command, with previews of the spiders of publications."""
